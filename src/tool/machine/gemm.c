/* Rates of the BLAS, measured by wisp-blas, a process of its own, as often as there are kernels to try: OpenBLAS
   chooses its kernels once, when it is loaded, and takes newer processors for older ones. */
#include "machine.h"
#include "../bench/measure_limit.h"
#include "../system.h"
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* The environment with some variables set anew; the strings are borrowed. */
static char **environment(char *const *set, int count)
{
    int n = 0, k = 0;
    while (environ[n]) n++;
    char **e = malloc((size_t)(n + count + 1) * sizeof *e);
    for (int i = 0; e && i < n; i++) {
        bool replaced = !strncmp(environ[i], "OMP_PROC_BIND=", 14) || !strncmp(environ[i], "OMP_PLACES=", 11) ||
                        !strncmp(environ[i], "OPENBLAS_CORETYPE=", 18);
        for (int j = 0; j < count; j++)
            replaced |= !strncmp(environ[i], set[j], (size_t)(strchr(set[j], '=') - set[j]) + 1);
        if (!replaced) e[k++] = environ[i];
    }
    for (int j = 0; e && j < count; j++) e[k++] = set[j];
    if (e) e[k] = NULL;
    return e;
}

/* wisp-blas beside this program, or where it is installed. */
static bool find_program(char path[PATH_MAX])
{
    static const char *const places[] = {"wisp-blas", WISP_BLAS_FROM_BIN};
    char self[PATH_MAX];
    if (!system_own_path(self, sizeof self)) return false;
    *(strrchr(self, '/') + 1) = '\0';
    for (int i = 0; i < 2; i++)
        if (snprintf(path, PATH_MAX, "%s%s", self, places[i]) < PATH_MAX && !access(path, X_OK)) return true;
    return false;
}

/* Starts it with a socket as its input and output; 0 or an errno. */
static int start_child(const char *what, blas_process *child, char *const *set, int count)
{
    int ends[2], error = 0;
    char path[PATH_MAX], *argv[] = {"wisp-blas", (char *)(uintptr_t)what, NULL};
    posix_spawn_file_actions_t actions;
    if (!find_program(path)) return ENOENT;
    char **env = environment(set, count);
    if (!env) return ENOMEM;
    if (!system_socket_pair(ends)) error = errno;
    if (!error && !(error = posix_spawn_file_actions_init(&actions))) {
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
        error = posix_spawn(&child->pid, path, &actions, NULL, argv, env);
        posix_spawn_file_actions_destroy(&actions);
        close(ends[1]);
        child->fd = ends[0];
        if (error) close(ends[0]);
    }
    free(env);
    return error;
}

bool blas_start(const tool *t, const char *what, const char *core, blas_process *child)
{
    const int threads = wisp_ctx_threads(t->ctx);
    char a[64], b[64], c[64];
    snprintf(a, sizeof a, "OPENBLAS_NUM_THREADS=%d", threads);
    snprintf(b, sizeof b, "OMP_NUM_THREADS=%d", threads);
    snprintf(c, sizeof c, "OPENBLAS_CORETYPE=%s", core);
    char *set[] = {a, b, "OPENBLAS_THREAD_TIMEOUT=16", c}; /* threads that wait go to sleep soon */
    return start_child(what, child, set, *core ? 4 : 3) == 0;
}

/* Both rates with this core type ("" is the library's own choice); false if the child failed. */
static bool measure(const tool *t, const char *core, double rate[2])
{
    char text[128];
    blas_process child;
    int status = 0;
    size_t got = 0;
    if (!blas_start(t, "gemm", core, &child)) return false;
    for (ssize_t n; got < sizeof text - 1;) {
        n = read(child.fd, text + got, sizeof text - 1 - got);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        got += (size_t)n;
    }
    close(child.fd);
    text[got] = '\0';
    while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {}
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 && sscanf(text, "%lf %lf", &rate[0], &rate[1]) == 2;
}

static const char *best_core(void)
{
#ifdef __x86_64__
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq"))
        return "SkylakeX";
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "Haswell";
#endif
    return "";
}

/* Both kinds of kernels, or those that the user names; what is better than before counts. */
static void measure_cores(const tool *t, gemm_rates *g)
{
    const char *named = getenv("OPENBLAS_CORETYPE");
    if (named && !*named) named = NULL;
    const char *core[] = {"", named ? named : best_core()};
    for (int i = named ? 1 : 0; i < 2; i++) {
        double rate[2];
        if ((i && !*core[i]) || !measure(t, core[i], rate)) continue;
        if (i && rate[1] > g->zgemm) g->coretype = core[i];
        g->dgemm = rate[0] > g->dgemm ? rate[0] : g->dgemm;
        g->zgemm = rate[1] > g->zgemm ? rate[1] : g->zgemm;
    }
}

/* Again if a core was away meanwhile, which shows in a rate far from the peak; not if that takes long. */
void gemm_measure(const tool *t, gemm_rates *g, double peak_gflops)
{
    enum { TRIES = 3 };
    const double start = wisp_now(), enough = 0.6 * peak_gflops, longest = measure_limit(1);
    *g = (gemm_rates){.coretype = "default"};
    for (int i = 0; i < TRIES && (i == 0 || g->zgemm < enough || g->dgemm < enough); i++) {
        measure_cores(t, g);
        if (wisp_now() - start > longest) break;
    }
    if (!(g->zgemm > 0))
        wisp_ctx_logf(t->ctx, WISP_LOG_WARN,
                      "no rates of DGEMM and ZGEMM: wisp-blas, which measures them, did not run");
}
