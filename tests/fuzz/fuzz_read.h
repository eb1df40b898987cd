/* What the targets share: one input, read with one thread and with two, and looked through. */
#ifndef FUZZ_READ_H
#define FUZZ_READ_H
#include "io/io.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../message.h"

typedef wisp_status (*fuzz_reader)(wisp_src *src, wisp_ctx *ctx, const wisp__input *in);

static void fuzz_fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    abort();
}

/* A sum over the entries, which must lie within the matrix. */
static uint64_t fuzz_walk(const wisp_src *src)
{
    enum { MOST_ROWS = 3000 };
    size_t size = wisp_type_size(src->type), room = (size_t)src->max_row + 1;
    int64_t *col = malloc(room * sizeof *col);
    unsigned char *val = malloc(room * size);
    uint64_t sum = (uint64_t)src->rows;
    int64_t step = 1 + src->rows / MOST_ROWS;
    for (int64_t i = 0; i < src->rows; i += step) {
        int n = src->row(src->arg, i, NULL, NULL);
        if (n < 0 || n > src->max_row || src->row(src->arg, i, col, val) != n) fuzz_fail("wrong length of a row");
        for (int k = 0; k < n; k++) {
            if (col[k] < 0 || col[k] >= src->cols) fuzz_fail("a column outside the matrix");
            sum = sum * 31 + (uint64_t)col[k];
        }
        for (size_t k = 0; k < (size_t)n * size; k++) sum = sum * 31 + val[k];
    }
    free(col);
    free(val);
    return sum;
}

static int fuzz_one(fuzz_reader reader, const uint8_t *data, size_t size)
{
    char message[2][WISP_MESSAGE];
    uint64_t sum[2] = {0, 0};
    wisp_status status[2];
    for (int t = 0; t < 2; t++) {
        wisp_ctx_opts opts = {.threads = 1 + t, .no_pin = 1, .memory_limit = (int64_t)1 << 30};
        wisp_ctx *ctx;
        if (wisp_ctx_create(&ctx, &opts) != WISP_OK) fuzz_fail("no context");
        wisp__input in = {.path = "f", .fd = -1, .data = data, .size = (int64_t)size};
        wisp_src src;
        status[t] = reader(&src, ctx, &in);
        wisp_ctx_message(ctx, message[t], sizeof message[t]);
        if (status[t] == WISP_OK)
            sum[t] = fuzz_walk(&src);
        else if (strncmp(message[t], "f:", 2) != 0 || strchr(message[t], '\n'))
            fuzz_fail(message[t]);
        wisp_src_close(&src);
        int64_t held, peak;
        wisp_ctx_memory(ctx, &held, &peak);
        if (held != 0) fuzz_fail("memory is still held");
        wisp_ctx_free(ctx);
    }
    if (status[0] != status[1] || strcmp(message[0], message[1]) != 0 || sum[0] != sum[1])
        fuzz_fail("two threads see another file than one");
    return 0;
}
#endif
