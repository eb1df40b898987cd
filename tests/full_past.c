/* Products whose result is written past the caches, which only large ones are: rows of one column that begin anywhere
   within a line, and blocks; bit by bit those with a dot, whose result is not. */
#include "ref.h"
#include "data/data.h"
#include <stdlib.h>

/* A chain of n rows, but that one row in 61 has no neighbours: patterns change anywhere within a register. */
static int chain_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const int64_t n = *(const int64_t *)arg;
    int k = 0;
    for (int64_t j = row - 1; j <= row + 1; j++) {
        if (j < 0 || j >= n || (j != row && row % 61 == 0)) continue;
        if (col) col[k] = j, ((double *)val)[k] = j == row ? 2.5 : -1.25;
        k++;
    }
    return k;
}

/* The library's random numbers would be a third of the time. */
static void fill(wisp_ctx *ctx, wisp_blk *x, int64_t elements)
{
    const wisp_type type = wisp_blk_type(x);
    const int64_t reals = elements * (1 + wisp_type_is_complex(type));
    const bool single = type == WISP_S || type == WISP_C;
    ref_rng r = {7};
    void *data;
    REF_OK(ctx, wisp_blk_lend(x, WISP_WRITE, &data, NULL));
    for (int64_t i = 0; i < reals; i++) {
        const double v = ref_uniform(&r);
        if (single)
            ((float *)data)[i] = (float)v;
        else
            ((double *)data)[i] = v;
    }
    REF_OK(ctx, wisp_blk_return(x));
}

static void same_bits(wisp_ctx *ctx, const wisp_mat *A, wisp_type type, int width)
{
    wisp_blk *x, *y[2];
    wisp_scalar dot[3 * 8];
    void *data[2];
    const size_t bytes = (size_t)A->local_rows * (size_t)width * wisp_type_size(type);
    REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), type, width));
    fill(ctx, x, A->local_rows * width);
    for (int i = 0; i < 2; i++) {
        REF_OK(ctx, wisp_blk_create(&y[i], ctx, wisp_mat_map(A), type, width));
        REF_OK(ctx, wisp_spmmv(y[i], A, x, &(wisp_aug){.terms = i ? WISP_DOT_YY : 0, .dot = dot}));
        REF_OK(ctx, wisp_blk_lend(y[i], WISP_WRITE, &data[i], NULL));
    }
    if (memcmp(data[0], data[1], bytes))
        fail_msg("%s, %s, width %d: other bits past the caches", wisp_ctx_isa(ctx), wisp_type_name(type), width);
    for (int i = 0; i < 2; i++) {
        REF_OK(ctx, wisp_blk_return(y[i]));
        wisp_blk_free(y[i]);
    }
    wisp_blk_free(x);
}

static void past_the_caches(void **state)
{
    (void)state;
    static const struct {
        wisp_type mat, blk;
        int C, width;
        wisp_format format;
        int row; /* bytes that the matrix has of a row, at least */
    } cases[] = {
        {WISP_S, WISP_D, 0, 1, WISP_FORMAT_DEFAULT, 2},     {WISP_D, WISP_D, 0, 1, WISP_FORMAT_DEFAULT, 2},
        {WISP_S, WISP_S, 16, 1, WISP_FORMAT_COMPRESSED, 2}, {WISP_D, WISP_D, 16, 1, WISP_FORMAT_COMPRESSED, 2},
        {WISP_D, WISP_D, 32, 1, WISP_FORMAT_SELL, 24},      {WISP_D, WISP_D, 0, 8, WISP_FORMAT_DEFAULT, 2},
        {WISP_D, WISP_Z, 0, 1, WISP_FORMAT_DEFAULT, 2},
    };
    for (int isa = 0; isa < REF_ISAS; isa++) {
        wisp_ctx *ctx = ref_isa_ctx(ref_isa[isa], 2);
        for (size_t k = 0; ctx && k < sizeof cases / sizeof cases[0]; k++) {
            /* The matrix and y are more than 64 MB together. */
            const int64_t row = cases[k].row + (int64_t)wisp_type_size(cases[k].blk) * cases[k].width;
            int64_t n = (65 << 20) / row + 3;
            const wisp_src src = {.rows = n, .cols = n, .max_row = 3, .type = WISP_D, .row = chain_row, .arg = &n};
            wisp_mat *A;
            /* Made for wide blocks: rows in bundles would hide those that go along chunks. */
            const wisp_mat_opts o = {.type = cases[k].mat,
                                     .C = cases[k].C,
                                     .width = 8,
                                     .format = cases[k].format,
                                     .order = WISP_ROWS_NATURAL};
            REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &o));
            const int64_t bytes = wisp__mat_bytes(A, false) + (row - cases[k].row) * n;
            assert_true(bytes >= 64 << 20 || ref_ranks() > 1);
            same_bits(ctx, A, cases[k].blk, cases[k].width);
            wisp_mat_free(A);
        }
        wisp_ctx_free(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(past_the_caches)};
    return REF_RUN(tests);
}
