/* What the plan of a matrix tells of each rank's part and its exchange, against the matrix when it is made, and against
   what a product sends. With two arguments, MATRIX and WIDTH, the numbers of all ranks are measured and printed, for
   test_mpi.sh, which compares them with those of wisp info. */
#include "ref.h"
#include <stdio.h>
#include <stdlib.h>

enum { MOST_RANKS = 16, SMALL = 16 << 10 }; /* bytes: what a rank without rows holds */
static const char *asked;
static int asked_width;

/* A matrix and its exchange, as they are on this rank. */
typedef struct {
    wisp_mat_info info;
    int64_t held; /* bytes, without blocks */
    int64_t messages, sent_bytes;
} measured;

static int64_t memory_now(const wisp_ctx *ctx)
{
    int64_t now;
    wisp_ctx_memory(ctx, &now, NULL);
    return now;
}

static measured measure(wisp_ctx *ctx, const char *name, const wisp_mat_opts *o)
{
    wisp_mat *A;
    wisp_blk *x, *y;
    wisp_counts before, after;
    measured m;
    const int64_t began = memory_now(ctx);
    REF_OK(ctx, wisp_mat_open(&A, ctx, name, o));
    wisp_mat_get_info(A, &m.info);
    REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_col_map(A), m.info.type, o->width));
    REF_OK(ctx, wisp_blk_create(&y, ctx, wisp_mat_map(A), m.info.type, o->width));
    wisp_ctx_counts(ctx, &before);
    REF_OK(ctx, wisp_spmmv(y, A, x, NULL));
    wisp_ctx_counts(ctx, &after);
    wisp_blk_free(x), wisp_blk_free(y);
    m.held = memory_now(ctx) - began;
    m.messages = after.messages - before.messages;
    m.sent_bytes = after.sent_bytes - before.sent_bytes;
    wisp_mat_free(A);
    return m;
}

static void check(wisp_ctx *ctx, const char *name, const wisp_mat_opts *o)
{
    wisp_src src;
    wisp_mat_info plan;
    REF_OK(ctx, wisp_src_open(&src, ctx, name));
    REF_OK(ctx, wisp_mat_plan(ctx, &src, o, &plan));
    wisp_src_close(&src);
    const measured m = measure(ctx, name, o);
    assert_int_equal(plan.local_rows, m.info.local_rows);
    assert_int_equal(plan.local_nnz, m.info.local_nnz);
    assert_int_equal(plan.halo_rows, m.info.halo_rows);
    assert_int_equal(plan.send_rows, m.info.send_rows);
    assert_int_equal(plan.receive_ranks, m.info.receive_ranks);
    assert_int_equal(plan.send_ranks, m.info.send_ranks);
    assert_int_equal(plan.exchange_bytes, m.info.exchange_bytes);
    const int64_t row = o->width * (int64_t)wisp_type_size(plan.type);
    assert_int_equal(m.messages, plan.send_ranks);
    assert_int_equal(m.sent_bytes, plan.send_rows * row);
    /* What is received somewhere was sent somewhere. */
    double sums[] = {(double)plan.halo_rows, (double)plan.send_rows, (double)plan.receive_ranks,
                     (double)plan.send_ranks, (double)plan.local_nnz};
    REF_OK(ctx, wisp_ctx_sum(ctx, sums, sizeof sums / sizeof *sums));
    assert_true(sums[0] == sums[1] && sums[2] == sums[3] && sums[4] == (double)m.info.nnz);
    assert_true((sums[0] > 0) == (wisp_ctx_processes(ctx) > 1));
    const int64_t held = plan.bytes + plan.exchange_bytes + plan.packed_rows * row;
    if (llabs(held - m.held) > m.held / 10 + SMALL)
        fail_msg("%s, width %d: planned %lld, held %lld bytes", name, o->width, (long long)held, (long long)m.held);
}

static void plans(void **state)
{
    static const char *const names[] = {"topi:nx=40,ny=40,nz=20", "graphene:nx=200,ny=200,vacancies=0.05,disorder=1",
                                        "anderson:nx=30,ny=30,nz=30,disorder=2"};
    static const wisp_format formats[] = {WISP_FORMAT_DEFAULT, WISP_FORMAT_SELL};
    wisp_ctx *ctx = ref_ctx(NULL);
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (size_t f = 0; f < sizeof formats / sizeof *formats; f++)
            for (int width = 1; width <= 8; width += 7)
                check(ctx, names[i], &(wisp_mat_opts){.width = width, .format = formats[f]});
    wisp_ctx_free(ctx);
}

static void print(void **state)
{
    wisp_ctx *ctx = ref_ctx(NULL);
    const int ranks = wisp_ctx_processes(ctx), rank = wisp_ctx_rank(ctx);
    const measured m = measure(ctx, asked, &(wisp_mat_opts){.width = asked_width});
    enum { NUMBERS = 8 };
    double all[MOST_RANKS][NUMBERS] = {{0}};
    const double own[NUMBERS] = {
        (double)m.info.local_rows, (double)m.info.local_nnz,
        (double)m.info.halo_rows,  (double)m.info.receive_ranks,
        (double)m.messages,        (double)(m.info.halo_rows * asked_width * (int64_t)wisp_type_size(m.info.type)),
        (double)m.sent_bytes,      (double)m.held};
    (void)state;
    assert_true(ranks <= MOST_RANKS);
    for (int i = 0; i < NUMBERS; i++) all[rank][i] = own[i];
    REF_OK(ctx, wisp_ctx_sum(ctx, &all[0][0], sizeof all / sizeof all[0][0]));
    for (int r = 0; r < ranks && rank == 0; r++)
        for (int i = 0; i < NUMBERS; i++)
            printf("%s%.0f%s", i ? " " : "rank: ", all[r][i], i + 1 < NUMBERS ? "" : "\n");
    wisp_ctx_free(ctx);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(plans)}, measures[] = {cmocka_unit_test(print)};
    if (argc != 3) return REF_RUN(tests);
    asked = argv[1];
    asked_width = atoi(argv[2]);
    return REF_RUN(measures);
}
