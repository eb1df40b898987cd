/* Columns of a block that become columns of another one. Each row's lines are read and written once, whichever columns
   they are. */
#include "cpu.h"

typedef struct {
    const wisp__columns_params *p;
    int64_t rows;
} columns_run;

/* `bytes` is a constant where this is called, so that a copy is one load and one store. One of the lists is there. */
static inline void copy_rows(const wisp__columns_params *p, int64_t begin, int64_t end, size_t bytes)
{
    const int width = p->width, *f = p->from_column, *t = p->to_column;
    for (int64_t i = begin; i < end; i++) {
        const char *from = (const char *)p->from + (size_t)(i * p->ld_from) * bytes;
        char *to = (char *)p->to + (size_t)(i * p->ld_to) * bytes;
        if (!t)
            for (int j = 0; j < width; j++) memcpy(to + (size_t)j * bytes, from + (size_t)f[j] * bytes, bytes);
        else if (!f)
            for (int j = 0; j < width; j++) memcpy(to + (size_t)t[j] * bytes, from + (size_t)j * bytes, bytes);
        else
            for (int j = 0; j < width; j++) memcpy(to + (size_t)t[j] * bytes, from + (size_t)f[j] * bytes, bytes);
    }
}

static inline void widen(double *to, const float *from, int parts)
{
    for (int i = 0; i < parts; i++) to[i] = (double)from[i];
}

static inline void round_to_single(float *to, const double *from, int parts)
{
    for (int i = 0; i < parts; i++) to[i] = (float)from[i];
}

static void convert_rows(const wisp__columns_params *p, int64_t begin, int64_t end)
{
    const int width = p->width, *f = p->from_column, *t = p->to_column, parts = p->parts;
    const bool widens = p->to_bytes > p->from_bytes;
    for (int64_t i = begin; i < end; i++) {
        const char *from = (const char *)p->from + i * p->ld_from * p->from_bytes;
        char *to = (char *)p->to + i * p->ld_to * p->to_bytes;
        if (!f && !t) {
            if (widens)
                widen((double *)(void *)to, (const float *)(const void *)from, width * parts);
            else
                round_to_single((float *)(void *)to, (const double *)(const void *)from, width * parts);
            continue;
        }
        for (int j = 0; j < width; j++) {
            const void *one = from + (f ? f[j] : j) * p->from_bytes;
            void *other = to + (t ? t[j] : j) * p->to_bytes;
            if (widens)
                widen(other, one, parts);
            else
                round_to_single(other, one, parts);
        }
    }
}

/* A thread has the rows that ops on blocks give it, too. */
static void columns_thread(void *arg, int thread, int threads)
{
    const columns_run *r = arg;
    const int64_t begin = wisp__split(r->rows, threads, thread), end = wisp__split(r->rows, threads, thread + 1);
    if (r->p->from_bytes != r->p->to_bytes) {
        convert_rows(r->p, begin, end);
        return;
    }
    switch (r->p->from_bytes) {
    case 4: copy_rows(r->p, begin, end, 4); break;
    case 8: copy_rows(r->p, begin, end, 8); break;
    default: copy_rows(r->p, begin, end, 16); break;
    }
}

wisp_status wisp__cpu_copy_columns(wisp_ctx *ctx, const wisp__columns_params *p, int64_t rows)
{
    wisp__run_some(ctx->team, rows * p->width < WISP__SMALL, columns_thread, &(columns_run){p, rows});
    return WISP_OK;
}
