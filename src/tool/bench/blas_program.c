/* wisp-blas: the BLAS in a process of its own, timed for `wisp machine` and `wisp bench`, which start it. wisp itself
   and its library link no BLAS: OpenBLAS starts its threads as soon as it is loaded, wanted or not, and hangs or ends
   the process where there is no memory for them. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "measure_limit.h"
#include "../system.h"
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef void gemm_fn(const char *ta, const char *tb, const int *m, const int *n, const int *k, const void *alpha,
                     const void *a, const int *lda, const void *b, const int *ldb, const void *beta, void *c,
                     const int *ldc);
typedef void geqrf_fn(const int *m, const int *n, void *a, const int *lda, void *tau, void *work, const int *lwork,
                      int *info);
typedef void orgqr_fn(const int *m, const int *n, const int *k, void *a, const int *lda, const void *tau, void *work,
                      const int *lwork, int *info);
gemm_fn sgemm_, dgemm_, cgemm_, zgemm_; /* Fortran's names are there in every BLAS */

static double now(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

/* With room behind it for a column of complex numbers: some BLAS read a column beyond a matrix. */
static void *memory(size_t bytes, size_t rows)
{
    enum { PAGE = 2 << 20 };
    bytes += rows * 2 * sizeof(double);
    char *p = aligned_alloc(PAGE, (bytes + PAGE - 1) / PAGE * PAGE);
    if (!p) return NULL;
    system_huge_pages(p, bytes, true);
    memset(p, 0, bytes);
    return p;
}

/* ---- wisp-blas gemm: the rates of large square products ------------------------------------------ */

enum { SIZE = 960, SMALL = 96, REPEATS = 7, LEAST = 2, LONGEST = 60 };

/* The rate of one square product, in Gflop/s; a real one has n rows. */
static double gemm_rate(bool complex, int n, double *a, double *b, double *c)
{
    const double one[2] = {1, 0}, zero[2] = {0, 0};
    if (complex) n = n * 2 / 3;
    const double start = now();
    (complex ? zgemm_ : dgemm_)("N", "N", &n, &n, &n, one, a, &n, b, &n, zero, c, &n);
    return 1e-9 * (complex ? 8 : 2) * n * n * n / (now() - start);
}

static int gemm(void)
{
    /* Tests that have no time for it get the rates of small products. */
    const double long_enough = 0.2;
    const int size = measure_limit(long_enough) < long_enough ? SMALL : SIZE;
    const size_t n = (size_t)size * (size_t)size;
    double *a = memory(3 * n * sizeof *a, (size_t)size);
    if (!a) return 1;
    alarm(LONGEST);
    for (size_t i = 0; i < 3 * n; i++) a[i] = 1.0 / (double)(1 + i % 7);
    /* The best of many short ones, in turn: other work on the machine takes its part of most. Fewer where they are
     * long. */
    const double start = now();
    double best[2] = {0, 0};
    for (int i = 0; i < 2 * LEAST || (i < 2 * REPEATS && now() - start < long_enough); i++) {
        const double rate = gemm_rate(i % 2, size, a, a + n, a + 2 * n);
        if (rate > best[i % 2]) best[i % 2] = rate;
    }
    printf("%.6g %.6g\n", best[0], best[1]);
    free(a);
    return fflush(stdout) ? 1 : 0;
}

/* ---- wisp-blas shape: tall and skinny products ---------------------------------------------------- */

typedef struct {
    bool gram, is_complex;
    gemm_fn *gemm;
    geqrf_fn *factor; /* NULL: products */
    orgqr_fn *form;
    int rows, width;
    char *v, *w, *x;
    double one[2], beta[2]; /* in the type */
} shape;

/* LAPACK may be a library of its own, which some have not. */
static bool find_qr(shape *s, int type)
{
    static const char *const names[][2] = {
        {"sgeqrf_", "sorgqr_"}, {"dgeqrf_", "dorgqr_"}, {"cgeqrf_", "cungqr_"}, {"zgeqrf_", "zungqr_"}};
    void *library = dlopen("liblapack.so.3", RTLD_NOW | RTLD_GLOBAL);
    if (!library) library = dlopen(NULL, RTLD_NOW);
    if (!library) return false;
    *(void **)&s->factor = dlsym(library, names[type][0]);
    *(void **)&s->form = dlsym(library, names[type][1]);
    return s->factor && s->form;
}

enum { WORK = 128 }; /* columns' blocks in LAPACK are not larger */

/* Orthonormal columns, column-major. */
static void qr(const shape *s)
{
    const int n = s->rows, b = s->width, work = WORK * b;
    int info;
    s->factor(&n, &b, s->v, &n, s->x, s->w, &work, &info);
    s->form(&n, &b, &b, s->v, &n, s->x, s->w, &work, &info);
}

/* Blocks are row-major: to the BLAS they are transposed. */
static void multiply(const shape *s)
{
    const double zero[2] = {0, 0};
    const int b = s->width, n = s->rows;
    if (s->factor)
        qr(s);
    else if (s->gram)
        s->gemm("N", s->is_complex ? "C" : "T", &b, &b, &n, s->one, s->w, &b, s->v, &b, zero, s->x, &b);
    else
        s->gemm("N", "N", &b, &n, &b, s->one, s->x, &b, s->v, &b, s->beta, s->w, &b);
}

static void fill(char *p, bool is_double, size_t count, double value)
{
    for (size_t i = 0; i < count; i++)
        if (is_double)
            ((double *)(void *)p)[i] = value;
        else
            ((float *)(void *)p)[i] = (float)value;
}

/* Numbers of no pattern, so that columns are not multiples of each other. */
static void fill_qr(char *p, bool is_double, size_t count)
{
    unsigned seed = 1;
    const size_t size = is_double ? sizeof(double) : sizeof(float);
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        fill(p + i * size, is_double, 1, (seed >> 8) * 0x1p-24 - 0.5);
    }
}

/* From the input: gram, update, update_beta or qr; the BLAS's letter of the type; rows; width. */
static bool read_shape(shape *s)
{
    static const char letters[] = "sdcz";
    static gemm_fn *const gemm_of[] = {sgemm_, dgemm_, cgemm_, zgemm_};
    char what[16], type;
    if (scanf("%15s %c %d %d", what, &type, &s->rows, &s->width) != 4 || !type || !strchr(letters, type)) return false;
    const int number = (int)(strchr(letters, type) - letters);
    const bool is_double = number % 2;
    s->gram = !strcmp(what, "gram");
    s->is_complex = number >= 2;
    s->gemm = gemm_of[number];
    const bool is_qr = !strcmp(what, "qr");
    const size_t real = is_double ? sizeof(double) : sizeof(float), size = s->is_complex ? 2 * real : real,
                 width = (size_t)s->width, bytes = size * width * (size_t)s->rows;
    const size_t column = is_qr ? (size_t)s->rows : width;
    s->v = memory(bytes, column);
    if (is_qr && !find_qr(s, number)) return false;
    s->w = memory(is_qr ? size * width * WORK : bytes, column);
    s->x = memory(size * width * width, column);
    if (!s->v || !s->w || !s->x) return false;
    fill((char *)s->one, is_double, 1, 1);
    fill((char *)s->beta, is_double, 1, strcmp(what, "update_beta") ? 0 : 0.5);
    fill(s->v, is_double, bytes / real, 1);
    if (is_qr)
        fill_qr(s->v, is_double, bytes / real);
    else
        fill(s->w, is_double, bytes / real, 1);
    fill(s->x, is_double, width * width, 1.0 / s->width);
    return true;
}

/* Answers each number of steps with the seconds that a step took. The other process's threads get time to fall asleep.
 */
static int time_shape(void)
{
    shape s = {0};
    long long steps;
    const bool there = read_shape(&s);
    while (there && scanf("%lld", &steps) == 1) {
        nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
        if (steps > 1) multiply(&s);
        const double start = now();
        for (long long i = 0; i < steps; i++) multiply(&s);
        printf("%.9g\n", (now() - start) / (double)steps);
        fflush(stdout);
    }
    free(s.v), free(s.w), free(s.x);
    return there ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "gemm")) return gemm();
    if (argc == 2 && !strcmp(argv[1], "shape")) return time_shape();
    fputs("wisp-blas: a part of wisp machine and wisp bench, which start it\n", stderr);
    return 2;
}
