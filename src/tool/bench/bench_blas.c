/* The BLAS on the bench's tall and skinny shapes, in a process of wisp-blas, with the kernels that are best for this
   processor. Never do both processes work at once: each waits while the other is timed. */
#include "bench.h"
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static bool say(int fd, const char *text)
{
    return send(fd, text, strlen(text), MSG_NOSIGNAL) == (ssize_t)strlen(text);
}

wisp_status bench_blas_open(const tool *t, bench_runner *r, const char *coretype)
{
    const bench_case *c = &r->what;
    static const char letter[] = {[WISP_S] = 's', [WISP_D] = 'd', [WISP_C] = 'c', [WISP_Z] = 'z'};
    char text[128];
    if (!blas_start(t, "shape", coretype, &r->blas)) {
        r->blas.pid = 0;
        return wisp_ctx_failf(r->ctx, WISP_ERR_IO,
                              "wisp-blas could not be started: is it beside wisp, or where it was installed?");
    }
    snprintf(text, sizeof text, "%s %c %lld %d\n", r->kind->blas, letter[c->type], (long long)c->rows, c->width);
    double seconds;
    return say(r->blas.fd, text) ? bench_blas_time(r, 1, &seconds) : WISP_OK;
}

wisp_status bench_blas_time(bench_runner *r, int64_t steps, double *seconds)
{
    char text[64];
    size_t got = 0;
    snprintf(text, sizeof text, "%lld\n", (long long)steps);
    bool well = say(r->blas.fd, text);
    while (well && got < sizeof text - 1 && (got == 0 || text[got - 1] != '\n')) {
        const ssize_t n = read(r->blas.fd, text + got, sizeof text - 1 - got);
        if (n < 0 && errno == EINTR) continue;
        well = n > 0;
        if (well) got += (size_t)n;
    }
    text[got] = '\0';
    if (well && sscanf(text, "%lf", seconds) == 1) return WISP_OK;
    return wisp_ctx_failf(r->ctx, WISP_ERR_IO,
                          "the process with the BLAS ended: out of memory, or no LAPACK? it has blocks of its own");
}

void bench_blas_close(bench_runner *r)
{
    if (!r->blas.pid) return;
    close(r->blas.fd); /* it ends at the end of its input */
    while (waitpid(r->blas.pid, NULL, 0) < 0 && errno == EINTR) {}
    r->blas.pid = 0;
}
