/* What the peers' programs share: the matrix file, the block vectors, the clock, the load bandwidth, the dialogue.
 *
 * A program is started as PROGRAM FILE WIDTH [VARIANT], says in one JSON line what it is, then makes one measurement
 * per line of its standard input and answers with a JSON line; it ends with its input. C11 and C++11; with OpenMP
 * threads, or as several processes with their own barrier. */
#ifndef PEER_H
#define PEER_H
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#ifdef _OPENMP
#include <omp.h>
#endif

static inline void peer_fail(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

static inline double peer_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline int peer_threads(void)
{
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

/* Page-aligned, on 2 MiB pages as far as the system has them; for free(). */
static inline void *peer_alloc(size_t bytes)
{
    const size_t page = (size_t)2 << 20;
    void *p = aligned_alloc(page, (bytes / page + 1) * page);
    if (!p) peer_fail("memory", strerror(ENOMEM));
    madvise(p, (bytes / page + 1) * page, MADV_HUGEPAGE);
    return p;
}

/* ---- the matrix: some rows of a general, 0-based, little-endian .crs file of double or complex double ---------- */

typedef struct {
    int64_t rows, cols, nnz; /* of all */
    int64_t first, count;    /* rows here */
    int reals;               /* per value: 1, or 2 if complex */
    int32_t *rowptr, *col;   /* of the rows here, from 0 */
    double *val;
} peer_matrix;

static inline void peer_read_at(int fd, void *to, size_t bytes, int64_t at)
{
    for (char *p = (char *)to; bytes > 0;) {
        const ssize_t n = pread(fd, p, bytes, at);
        if (n <= 0) peer_fail("matrix", n ? strerror(errno) : "the file is too short");
        p += n;
        at += n;
        bytes -= (size_t)n;
    }
}

/* int64 in the file to int32 less `base`, and the values. */
static inline void peer_narrow(int fd, int32_t *to, int64_t count, int64_t at, int64_t base)
{
    enum { SOME = 1 << 15 };
#ifdef _OPENMP
#pragma omp parallel for schedule(static)
#endif
    for (int64_t k = 0; k < count; k += SOME) {
        int64_t some[SOME];
        const int64_t n = count - k < SOME ? count - k : (int64_t)SOME;
        peer_read_at(fd, some, (size_t)n * 8, at + 8 * k);
        for (int64_t i = 0; i < n; i++) to[k + i] = (int32_t)(some[i] - base);
    }
}

static inline peer_matrix peer_read(const char *path, int rank, int ranks)
{
    enum { HEADER = 44, SOME = 1 << 15 };
    peer_matrix m;
    unsigned char head[HEADER];
    int32_t kind[5];
    int64_t size[3], ends[2];
    const int fd = open(path, O_RDONLY);
    if (fd < 0) peer_fail(path, strerror(errno));
    peer_read_at(fd, head, HEADER, 0);
    memcpy(kind, head, sizeof kind);
    memcpy(size, head + sizeof kind, sizeof size);
    if (kind[0] || kind[1] != 1 || kind[2] || kind[3] != 1 || (kind[4] != 6 && kind[4] != 10) || size[2] > INT32_MAX)
        peer_fail(path, "not a .crs file of double or complex double as wisp writes it");
    m.rows = size[0], m.cols = size[1], m.nnz = size[2];
    m.reals = kind[4] == 10 ? 2 : 1;
    m.first = m.rows * rank / ranks;
    m.count = m.rows * (rank + 1) / ranks - m.first;
    peer_read_at(fd, ends, 8, HEADER + 8 * m.first);
    peer_read_at(fd, ends + 1, 8, HEADER + 8 * (m.first + m.count));
    const int64_t n = ends[1] - ends[0], cols = HEADER + 8 * (m.rows + 1), vals = cols + 8 * m.nnz;
    m.rowptr = (int32_t *)peer_alloc((size_t)(m.count + 1) * 4);
    m.col = (int32_t *)peer_alloc((size_t)n * 4);
    m.val = (double *)peer_alloc((size_t)(n * m.reals) * 8);
    peer_narrow(fd, m.rowptr, m.count + 1, HEADER + 8 * m.first, ends[0]);
    peer_narrow(fd, m.col, n, cols + 8 * ends[0], 0);
#ifdef _OPENMP
#pragma omp parallel for schedule(static)
#endif
    for (int64_t k = 0; k < n * m.reals; k += SOME) {
        const int64_t some = n * m.reals - k < SOME ? n * m.reals - k : (int64_t)SOME;
        peer_read_at(fd, m.val + k, (size_t)some * 8, vals + 8 * (ends[0] * m.reals + k));
    }
    close(fd);
    return m;
}

/* The vectors that all multiply with: part 0 (real) or 1 (imaginary) of element (row, column). */
static inline double peer_x(int64_t row, int64_t column, int part)
{
    return part ? (double)((row * 37 + column * 13) % 97) / 97 - 0.5
                : (double)((row * 31 + column * 17) % 101) / 101 - 0.5;
}

/* ---- the measurement ------------------------------------------------------------------------------------------ */

typedef struct {
    const char *version;         /* of the library, with how it was built */
    void (*step)(void *arg);     /* y = A x, or x = 0 and A x = b solved */
    double (*square)(void *arg); /* ||y||^2, or ||x||^2, over all columns and processes, for comparison */
    void *arg;
    int rank, ranks;
    void (*barrier)(void);            /* for several processes, else NULL */
    int (*told)(int more);            /* what the first process says, for all */
    int64_t (*iterations)(void *arg); /* solvers: of the last step; else NULL */
    double (*residual)(void *arg);    /* solvers: |b - A x| / |b| of the last step, computed from x; else NULL */
    double (*setup)(void *arg);       /* makes the preconditioner anew: seconds of that; NULL: there is none */
} peer;

enum { PEER_LOAD_BYTES = 256 << 20 };
typedef double peer_vec __attribute__((vector_size(64), may_alias));

static inline double peer_sum(const char *b, int64_t bytes, int ahead)
{
    peer_vec sum[8] = {{0}};
    for (int64_t at = 0; at < bytes; at += (int64_t)sizeof sum) {
        const peer_vec *v = (const peer_vec *)(b + at);
        for (int i = 0; i < 8; i++) {
            if (ahead) __builtin_prefetch((const char *)(v + i) + ahead);
            sum[i] += v[i];
        }
    }
    for (int i = 1; i < 8; i++) sum[0] += sum[i];
    return sum[0][0];
}

static inline void peer_barrier(const peer *p)
{
    if (p->barrier) p->barrier();
}

/* GB/s of a sum over an array in memory by all threads or processes; the better of plain and prefetched, as in
   wisp_load_bandwidth. */
static inline double peer_load(const peer *p, const char *buffer)
{
    const int64_t bytes = PEER_LOAD_BYTES / p->ranks;
    double best = 0, sink = 0;
    for (int ahead = 0; ahead <= 4096; ahead += 4096) {
        peer_barrier(p);
        const double began = peer_clock();
#ifdef _OPENMP
#pragma omp parallel reduction(+ : sink)
        {
            const int64_t t = omp_get_thread_num(), n = omp_get_num_threads(), blocks = bytes / 512;
            sink += peer_sum(buffer + blocks * t / n * 512, (blocks * (t + 1) / n - blocks * t / n) * 512, ahead);
        }
#else
        sink += peer_sum(buffer, bytes / 512 * 512, ahead);
#endif
        peer_barrier(p);
        const double gbs = 1e-9 * (double)bytes * p->ranks / (peer_clock() - began);
        if (gbs > best) best = gbs;
    }
    volatile double keep = sink;
    (void)keep;
    return best;
}

static inline double peer_time(const peer *p, int steps)
{
    peer_barrier(p);
    const double began = peer_clock();
    for (int i = 0; i < steps; i++) p->step(p->arg);
    peer_barrier(p);
    return (peer_clock() - began) / steps;
}

/* The dialogue. At least 40 ms of products (or of calls of a solver) in a measurement. */
static inline void peer_serve(const peer *p)
{
    char *buffer = (char *)peer_alloc(PEER_LOAD_BYTES / (size_t)p->ranks), line[64];
    memset(buffer, 0, PEER_LOAD_BYTES / (size_t)p->ranks);
    int steps = peer_time(p, 1) > 1 ? 1 : (int)ceil(0.04 / peer_time(p, 2));
    if (p->told) steps = p->told(steps);
    const double square = p->square(p->arg);
    if (p->rank == 0) {
        printf("{\"version\": \"%s\", \"workers\": %d, \"steps\": %d, \"square\": %.15g}\n", p->version,
               p->barrier ? p->ranks : peer_threads(), steps, square);
        fflush(stdout);
    }
    for (;;) {
        int more = p->rank == 0 ? fgets(line, sizeof line, stdin) != NULL : 0;
        if (p->told) more = p->told(more);
        if (!more) break;
        const double before = peer_load(p, buffer), seconds = peer_time(p, steps), after = peer_load(p, buffer);
        const int64_t n = p->iterations ? p->iterations(p->arg) : 1;
        const double residual = p->residual ? p->residual(p->arg) : 0, setup = p->setup ? p->setup(p->arg) : 0;
        if (p->rank > 0) continue;
        printf("{\"ms\": %.6g, \"load_before\": %.5g, \"load_after\": %.5g, \"iterations\": %lld, "
               "\"residual\": %.4g, \"setup\": %.5g}\n",
               1e3 * seconds, before, after, (long long)n, residual, setup);
        fflush(stdout);
    }
}
#endif
