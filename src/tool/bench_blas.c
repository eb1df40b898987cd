/* The linked BLAS on the bench's tall and skinny shapes, in a child process with the kernels that are best for this
   processor: it runs while this process waits, and this process while it waits. */
#include "bench.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef void gemm_fn(const char *ta, const char *tb, const int *m, const int *n, const int *k, const void *alpha,
                     const void *a, const int *lda, const void *b, const int *ldb, const void *beta, void *c,
                     const int *ldc);
gemm_fn sgemm_, dgemm_, cgemm_, zgemm_; /* Fortran's names are there in every BLAS */

/* ---- the child ----------------------------------------------------------------------------------- */

typedef struct {
    bool gram, is_complex;
    gemm_fn *gemm;
    int rows, width;
    char *v, *w, *x;
    double one[2], beta[2]; /* in the type */
} shape;

/* Blocks are row-major: to the BLAS they are transposed. */
static void multiply(const shape *s)
{
    const double zero[2] = {0, 0};
    const int b = s->width, n = s->rows;
    if (s->gram)
        s->gemm("N", s->is_complex ? "C" : "T", &b, &b, &n, s->one, s->w, &b, s->v, &b, zero, s->x, &b);
    else
        s->gemm("N", "N", &b, &n, &b, s->one, s->x, &b, s->v, &b, s->beta, s->w, &b);
}

static char *block(size_t bytes)
{
    enum { PAGE = 2 << 20 };
    char *p = aligned_alloc(PAGE, (bytes + PAGE - 1) / PAGE * PAGE);
    if (!p) return NULL;
    madvise(p, bytes, MADV_HUGEPAGE);
    memset(p, 0, bytes);
    return p;
}

static void fill(char *p, bool is_double, size_t count, double value)
{
    for (size_t i = 0; i < count; i++)
        if (is_double)
            ((double *)(void *)p)[i] = value;
        else
            ((float *)(void *)p)[i] = (float)value;
}

static bool read_shape(shape *s)
{
    static gemm_fn *const gemm[] = {[WISP_S] = sgemm_, [WISP_D] = dgemm_, [WISP_C] = cgemm_, [WISP_Z] = zgemm_};
    int variant, type;
    if (scanf("%d %d %d %d", &variant, &type, &s->rows, &s->width) != 4 || type < WISP_S || type > WISP_Z) return false;
    s->gram = variant == VARIANT_GRAM_BLAS;
    s->is_complex = wisp_type_is_complex((wisp_type)type);
    s->gemm = gemm[type];
    const bool is_double = type == WISP_D || type == WISP_Z;
    const size_t size = wisp_type_size((wisp_type)type), width = (size_t)s->width,
                 bytes = size * width * (size_t)s->rows;
    s->v = block(bytes);
    s->w = block(bytes);
    s->x = block(size * width * width);
    if (!s->v || !s->w || !s->x) return false;
    fill((char *)s->one, is_double, 1, 1);
    fill((char *)s->beta, is_double, 1, variant == VARIANT_UPDATE_BETA_BLAS ? 0.5 : 0);
    const size_t reals = bytes / (is_double ? sizeof(double) : sizeof(float));
    fill(s->v, is_double, reals, 1);
    fill(s->w, is_double, reals, 1);
    fill(s->x, is_double, width * width, 1.0 / s->width);
    return true;
}

/* Answers each number of steps with the seconds that a step took. The other process's threads get time to fall asleep.
 */
int blas_child(tool *t)
{
    shape s = {0};
    long long steps;
    if (!read_shape(&s)) return tool_fail(t, "no shape, or out of memory");
    while (scanf("%lld", &steps) == 1) {
        nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
        if (steps > 1) multiply(&s);
        const double start = tool_now();
        for (long long i = 0; i < steps; i++) multiply(&s);
        printf("%.9g\n", (tool_now() - start) / (double)steps);
        fflush(stdout);
    }
    return EXIT_FINE;
}

/* ---- the parent ---------------------------------------------------------------------------------- */

static bool say(int fd, const char *text)
{
    return send(fd, text, strlen(text), MSG_NOSIGNAL) == (ssize_t)strlen(text);
}

bool bench_is_blas(bench_variant v)
{
    return v == VARIANT_GRAM_BLAS || v == VARIANT_UPDATE_BLAS || v == VARIANT_UPDATE_BETA_BLAS;
}

wisp_status bench_blas_open(const tool *t, bench_runner *r, const char *coretype)
{
    const bench_case *c = &r->what;
    char text[128];
    if (!blas_start(t, "--blas-child", coretype, &r->blas)) {
        r->blas.pid = 0;
        return wisp_ctx_fail(r->ctx, WISP_ERR_IO, "the BLAS could not be started in a process of its own");
    }
    snprintf(text, sizeof text, "%d %d %lld %d\n", (int)c->variant, (int)c->type, (long long)c->rows, c->width);
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
    return wisp_ctx_fail(r->ctx, WISP_ERR_IO,
                         "the process with the BLAS ended: out of memory? it has two blocks of its own");
}

void bench_blas_close(bench_runner *r)
{
    if (!r->blas.pid) return;
    close(r->blas.fd); /* it ends at the end of its input */
    while (waitpid(r->blas.pid, NULL, 0) < 0 && errno == EINTR) {}
    r->blas.pid = 0;
}
