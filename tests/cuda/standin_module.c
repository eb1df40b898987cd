/* Modules of the stand-in: PTX becomes C (ptx2c.py), and that a library, which is kept in a folder by what it was made
 * of. */
#include "standin.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
#define SCRIPT STANDIN_FOLDER "/ptx2c.py"
/* By -O1 a module takes twice as long to compile, and its kernels as long to run. */
#define OPTIONS "cc", "-Og", "-w", "-fPIC", "-shared", "-ffp-contract=off", "-fno-math-errno", "-I" STANDIN_FOLDER

static const char *fma_option(void)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("fma")) return "-mfma";
#endif
    return "-lm";
}

static uint64_t hash(uint64_t h, const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) h = (h ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
    return h;
}

static uint64_t hash_file(uint64_t h, const char *path)
{
    char some[4096];
    FILE *f = fopen(path, "rb");
    for (size_t n; f && (n = fread(some, 1, sizeof some, f)) > 0;) h = hash(h, some, n);
    if (f) fclose(f);
    return h;
}

/* Runs a program; what it says goes to the end of a file. */
static bool run_program(const char *const *command, const char *says)
{
    posix_spawn_file_actions_t actions;
    pid_t child, gone = -1;
    int ended = 1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, says, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (!posix_spawnp(&child, command[0], &actions, NULL, (char *const *)(uintptr_t)command, environ)) {
        do gone = waitpid(child, &ended, 0);
        while (gone < 0 && errno == EINTR);
    }
    posix_spawn_file_actions_destroy(&actions);
    return gone >= 0 && ended == 0;
}

static bool write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    if (!f) return false;
    const bool whole = fputs(text, f) >= 0;
    return fclose(f) == 0 && whole;
}

/* The first line that a program has said. */
static void first_line(const char *path, char *line, size_t room)
{
    FILE *f = fopen(path, "r");
    if (!f || !fgets(line, (int)room, f)) snprintf(line, room, "it says nothing");
    if (f) fclose(f);
    line[strcspn(line, "\n")] = 0;
}

/* Makes the library in a folder of its own, and puts it in its place. */
static bool make(const char *text, const char *library, char *log, size_t room)
{
    char folder[] = "/tmp/wisp-standin-XXXXXX", ptx[64], c[64], object[64], says[64], made[700];
    if (!mkdtemp(folder)) return false;
    snprintf(ptx, sizeof ptx, "%s/kernel.ptx", folder);
    snprintf(c, sizeof c, "%s/kernel.c", folder);
    snprintf(object, sizeof object, "%s/kernel.so", folder);
    snprintf(says, sizeof says, "%s/says", folder);
    snprintf(made, sizeof made, "%s.%ld", library, (long)getpid());
    const char *const translate[] = {"python3", "-SB", SCRIPT, ptx, c, NULL};
    const char *const compile[] = {OPTIONS, "-o", made, c, "-lm", fma_option(), NULL};
    const bool done =
        write_text(ptx, text) && run_program(translate, says) && run_program(compile, says) && !rename(made, library);
    if (!done) first_line(says, log, room);
    unlink(ptx), unlink(c), unlink(object), unlink(says), unlink(made);
    rmdir(folder);
    return done;
}

static void path_of(const char *text, char *path, size_t room)
{
    const char *given = getenv("XDG_CACHE_HOME");
    char folder[500];
    if (given) mkdir(given, 0700);
    snprintf(folder, sizeof folder, "%s/wisp-standin", given ? given : "/tmp");
    mkdir(folder, 0700);
    static const char *const source[] = {SCRIPT, STANDIN_FOLDER "/ptx_numbers.py", STANDIN_FOLDER "/ptx_words.py",
                                         STANDIN_FOLDER "/run.h"};
    uint64_t made_by = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < sizeof source / sizeof source[0]; i++) made_by = hash_file(made_by, source[i]);
    snprintf(path, room, "%s/%016llx%016llx.so", folder, (unsigned long long)hash(made_by, text, strlen(text)),
             (unsigned long long)hash(~made_by, text, strlen(text)));
}

/* Variables of a module lie in the device's memory. */
static CUresult place_variables(CUmodule m)
{
    for (run_variable *v = m->variable; v->name; v++) {
        CUdeviceptr at;
        if (v->address) return standin_wrong(INVALID_VALUE, "a module with the variable '%s' is loaded twice", v->name);
        const CUresult error = standin_alloc(&at, v->bytes);
        if (error) return error;
        v->address = at;
        memcpy(standin_at(at, v->bytes), v->value, v->bytes);
    }
    return CUDA_SUCCESS;
}

CUresult standin_load(CUmodule m, const char *text, char *log, size_t room)
{
    char library[600];
    struct stat is;
    path_of(text, library, sizeof library);
    if (stat(library, &is) && !make(text, library, log, room))
        return standin_wrong(INVALID_PTX, "a module can't be translated: %s", log);
    m->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!m->library) return standin_wrong(INVALID_PTX, "a module can't be loaded: %s", dlerror());
    m->entry = dlsym(m->library, "run_entries");
    m->variable = dlsym(m->library, "run_variables");
    return place_variables(m);
}

CUresult standin_unload(CUmodule m)
{
    const char *use = standin_uses(0, 0, NULL, 0, m);
    if (use) return standin_wrong(INVALID_VALUE, "a module is unloaded, and %s is queued that uses it", use);
    for (run_variable *v = m->variable; v && v->name; v++) {
        if (v->address) standin_free(v->address);
        v->address = 0;
    }
    if (m->library) dlclose(m->library);
    return CUDA_SUCCESS;
}
