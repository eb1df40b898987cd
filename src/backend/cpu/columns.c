/* Columns of a block that become columns of another one. Each row's lines are read and written once, whichever columns
   they are. */
#include "cpu.h"

typedef struct {
    const wisp__columns_params *p;
    int64_t rows;
} columns_run;

/* `bytes` is a constant where this is called, so that a copy is one load and one store. */
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

/* A thread has the rows that ops on blocks give it, too. */
static void columns_thread(void *arg, int thread, int threads)
{
    const columns_run *r = arg;
    const int64_t begin = wisp__split(r->rows, threads, thread), end = wisp__split(r->rows, threads, thread + 1);
    switch (r->p->bytes) {
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
