/* No two processes of a user pin threads to one core, be they forked or programs of their own. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "ref.h"
#include <dlfcn.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 64, NOT_PINNED = -1 };

static const char *self;

static int cpus(void)
{
    cpu_set_t set;
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    return CPU_COUNT(&set);
}

/* The core of a context of one thread. */
static int core_of(wisp_ctx *ctx)
{
    int core;
    REF_OK(ctx, wisp_ctx_placement(ctx, &core));
    return core < 0 ? NOT_PINNED : core;
}

static wisp_ctx *open_one(void) { return ref_ctx(&(wisp_ctx_opts){.threads = 1}); }

/* A worker makes a context, says where it is, and keeps it until it is let go. */
typedef struct {
    pid_t pid;
    int core, go;
} worker;

static void work(int say, int go)
{
    wisp_ctx *ctx = open_one();
    const int core = core_of(ctx);
    char end;
    if (write(say, &core, sizeof core) != (ssize_t)sizeof core || read(go, &end, 1) < 0) _exit(1);
    wisp_ctx_free(ctx);
    _exit(0);
}

static worker begin(bool program)
{
    int say[2], go[2];
    char number[2][16];
    worker w = {0};
    assert_true(!pipe(say) && !pipe(go));
    snprintf(number[0], sizeof number[0], "%d", say[1]);
    snprintf(number[1], sizeof number[1], "%d", go[0]);
    w.pid = fork();
    assert_true(w.pid >= 0);
    if (w.pid == 0) {
        close(go[1]);
        if (!program) work(say[1], go[0]);
        execl(self, self, number[0], number[1], (char *)NULL);
        _exit(1);
    }
    close(say[1]);
    close(go[0]);
    assert_int_equal(read(say[0], &w.core, sizeof w.core), sizeof w.core);
    close(say[0]);
    w.go = go[1];
    return w;
}

static void end(worker *w, int n)
{
    for (int i = 0; i < n; i++) close(w[i].go);
    for (int i = 0, how; i < n; i++) {
        assert_int_equal(waitpid(w[i].pid, &how, 0), w[i].pid);
        assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    }
}

/* One more than there are cores: all have cores of their own, and the last has none. */
static void crowd(bool program, int cores)
{
    worker w[MOST];
    for (int i = 0; i <= cores; i++) {
        w[i] = begin(program);
        assert_int_equal(w[i].core == NOT_PINNED, i == cores);
        for (int k = 0; k < i && i < cores; k++) assert_int_not_equal(w[k].core, w[i].core);
    }
    end(w, cores + 1);
}

static void workers(void **state)
{
    (void)state;
    if (cpus() >= MOST) skip();
    for (int round = 0; round < 2; round++) /* the cores are free again */
        for (int program = 0; program < 2; program++) crowd(program, cpus());
}

/* What a process has is the same for those that it forks, before and after it gives it back. */
static void parent_and_children(void **state)
{
    (void)state;
    if (cpus() >= MOST) skip();
    wisp_ctx *ctx = open_one();
    const int mine = core_of(ctx);
    worker w[2];
    assert_int_not_equal(mine, NOT_PINNED);
    for (int program = 0; program < 2; program++) {
        w[0] = begin(program);
        assert_int_not_equal(w[0].core, mine);
        end(w, 1);
    }
    wisp_ctx_free(ctx);
    crowd(true, cpus());
}

/* A folder that others may write to, or that is somebody's link, is not used. */
static void unsafe_folders(void **state)
{
    (void)state;
    char own[] = "/tmp/wisp-cores-XXXXXX", path[64], file[96];
    const char *before = getenv("XDG_RUNTIME_DIR");
    char kept[4096];
    snprintf(kept, sizeof kept, "%s", before ? before : "");
    assert_non_null(mkdtemp(own));
    snprintf(path, sizeof path, "%s/wisp", own);
    snprintf(file, sizeof file, "%s/cores", path);
    setenv("XDG_RUNTIME_DIR", own, 1);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(chmod(path, 0777), 0);
    worker w = begin(true);
    end(&w, 1);
    assert_int_not_equal(access(file, F_OK), 0);
    assert_int_equal(chmod(path, 0700), 0);
    w = begin(true);
    assert_int_not_equal(w.core, NOT_PINNED);
    end(&w, 1);
    assert_int_equal(access(file, F_OK), 0);
    unlink(file);
    rmdir(path);
    assert_int_equal(symlink("/tmp", path), 0);
    w = begin(true);
    end(&w, 1);
    assert_int_not_equal(access("/tmp/cores", F_OK), 0);
    unlink(path);
    rmdir(own);
    setenv("XDG_RUNTIME_DIR", kept, 1);
}

/* A program that OpenMP has bound to a core, as it is loaded: its context has all cores that the process began with. */
static int bound_by_openmp(const char *expected)
{
    if (!dlopen("libgomp.so.1", RTLD_NOW | RTLD_LOCAL)) return 77;
    assert_int_equal(cpus(), 1);
    wisp_ctx *ctx = ref_ctx(NULL);
    int core[MOST];
    assert_int_equal(wisp_ctx_threads(ctx), atoi(expected));
    REF_OK(ctx, wisp_ctx_placement(ctx, core));
    for (int i = 0; i < atoi(expected); i++)
        for (int k = 0; k <= i; k++) assert_true(core[i] >= 0 && (k == i || core[k] != core[i]));
    wisp_ctx_free(ctx);
    assert_int_equal(cpus(), 1); /* the calling thread is where it was */
    return 0;
}

/* How a program ends that has these units from the start, and loads OpenMP. */
static int with_openmp(const cpu_set_t *units)
{
    char expected[16];
    int how;
    snprintf(expected, sizeof expected, "%d", CPU_COUNT(units));
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        setenv("OMP_PROC_BIND", "true", 1);
        setenv("OMP_PLACES", "threads", 1);
        if (!sched_setaffinity(0, sizeof *units, units)) execl(self, self, expected, (char *)NULL);
        _exit(1);
    }
    assert_int_equal(waitpid(pid, &how, 0), pid);
    assert_true(WIFEXITED(how));
    return WEXITSTATUS(how);
}

static void openmp(void **state)
{
    (void)state;
    cpu_set_t all, one;
    if (cpus() >= MOST) skip();
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    const int how = with_openmp(&all);
    if (how == 77) skip();
    assert_int_equal(how, 0);
    /* taskset has the last word. */
    CPU_ZERO(&one);
    for (size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &all)) CPU_SET(i, &one);
    assert_int_equal(with_openmp(&one), 0);
}

int main(int argc, char **argv)
{
    if (argc == 2) return bound_by_openmp(argv[1]);
    unsetenv("OMP_PROC_BIND"); /* the tests' own */
    unsetenv("OMP_NUM_THREADS");
    if (argc == 3) work(atoi(argv[1]), atoi(argv[2]));
    self = argv[0];
    char own[] = "/tmp/wisp-cores-XXXXXX", path[64];
    if (!mkdtemp(own)) return 1;
    setenv("XDG_RUNTIME_DIR", own, 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(workers), cmocka_unit_test(parent_and_children),
                                       cmocka_unit_test(unsafe_folders), cmocka_unit_test(openmp)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    snprintf(path, sizeof path, "%s/wisp/cores", own);
    unlink(path);
    *strrchr(path, '/') = '\0';
    rmdir(path);
    rmdir(own);
    return failed;
}
