/* Ranks as threads, or as processes under mpirun: what fails on one fails on all. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kpm_dense.h"

enum { MOST = 3 };

static wisp_ctx *own_ctx(void) { return ref_isa_ctx(NULL, 1); }

static int bad_row(void *arg, int64_t row, int64_t *col, void *val)
{
    if (row == 7) return -1;
    if (col) col[0] = (row + *(const int64_t *)arg) % 20, *(double *)val = 1;
    return 1;
}

static int fails_at(void *arg, int64_t row, int column, void *val)
{
    *(double *)val = column;
    return row == *(const int64_t *)arg;
}

static int refusals_of_rank(void *arg, int rank)
{
    wisp_ctx *ctx = own_ctx();
    const int64_t shift = 5, rows = 20, at = 13;
    wisp_src src = {rows, rows, 1, WISP_D, bad_row, (void *)(uintptr_t)&shift, NULL, 0, NULL, 0, NULL};
    wisp_mat *A;
    wisp_blk *x, *y;
    double memory[20];
    (void)arg, (void)rank;
    REF_FAILS(ctx, wisp_mat_create(&A, ctx, &src, NULL), WISP_ERR_CALLBACK, "row 7");
    REF_FAILS(ctx, wisp_mat_open(&A, ctx, "laplace:nx=20", &(wisp_mat_opts){.format = WISP_FORMAT_HERMITIAN}),
              WISP_ERR_UNSUPPORTED, "half of a Hermitian matrix");
    REF_OK(ctx, wisp_mat_open(&A, ctx, "laplace:nx=20,ny=1,nz=1", &(wisp_mat_opts){.order = WISP_ROWS_NATURAL}));
    REF_OK(ctx, wisp_blk_create(&y, ctx, wisp_mat_map(A), WISP_D, 1));
    REF_FAILS(ctx, wisp_blk_fill_fn(y, fails_at, (void *)(uintptr_t)&at), WISP_ERR_CALLBACK, "row 13");
    REF_FAILS(ctx, wisp_blk_borrow(&x, ctx, wisp_mat_map(A), WISP_D, 1, memory, 1), WISP_ERR_MISMATCH, "copy");
    REF_FAILS(ctx, wisp_kpm(&(wisp_moments){0}, A, &(wisp_kpm_opts){.moments = 1}), WISP_ERR_ARG, "moments");
    wisp_blk_free(y), wisp_mat_free(A);
    wisp_ctx_free(ctx);
    return 0;
}

static void refusals(void **state)
{
    (void)state;
    ref_ranks_each(2, refusals_of_rank, NULL);
    ref_ranks_each(3, refusals_of_rank, NULL);
    int result;
    REF_FAILS(NULL, wisp_ranks_run(0, refusals_of_rank, NULL, &result), WISP_ERR_ARG, "0 ranks");
    setenv("WISP_WEIGHTS", "1,x", 1);
    wisp_ctx *ctx;
    assert_int_equal(wisp_ctx_create(&ctx, NULL), WISP_OK); /* one rank needs none */
    wisp_ctx_free(ctx);
    unsetenv("WISP_WEIGHTS");
}

/* The statuses of all ranks. */
typedef struct {
    int who, steps;
    wisp_status status[MOST];
    char message[MOST][200];
    int64_t vectors[MOST];
    atomic_int calls;
} outcome;

static int stop_at(void *arg, const wisp_progress *p)
{
    outcome *o = arg;
    return !strcmp(p->task, "moments") && atomic_fetch_add(&o->calls, 1) == o->steps;
}

/* One rank wants to stop. */
static int cancelled_rank(void *arg, int rank)
{
    outcome *o = arg;
    wisp_ctx *ctx;
    wisp_ctx_opts c = {.threads = 1, .no_pin = 1};
    if (rank == o->who) c.progress = stop_at, c.progress_arg = o;
    assert_int_equal(wisp_ctx_create(&ctx, &c), WISP_OK);
    wisp_mat *A = mat_of_spec(ctx, "topi:nx=6,ny=6,nz=4", NULL);
    wisp_moments m;
    o->status[rank] = wisp_kpm(&m, A, &(wisp_kpm_opts){.moments = 20, .vectors = 9, .width = 3});
    o->vectors[rank] = m.vectors;
    snprintf(o->message[rank], sizeof o->message[rank], "%s", message_of(ctx));
    wisp_moments_free(&m);
    wisp_ctx_resume(ctx); /* and goes on */
    REF_OK(ctx, wisp_kpm(&m, A, &(wisp_kpm_opts){.moments = 20, .vectors = 2}));
    wisp_moments_free(&m);
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
    return 0;
}

static void one_is_cancelled(void **state)
{
    (void)state;
    for (int steps = 0; steps < 25; steps += 3) {
        outcome o = {.who = steps % 3, .steps = steps};
        ref_ranks_each(3, cancelled_rank, &o);
        for (int r = 0; r < 3; r++) {
            assert_int_equal(o.status[r], WISP_ERR_CANCELLED);
            assert_non_null(strstr(o.message[r], "cancelled"));
            assert_int_equal(o.vectors[r], o.vectors[0]);
        }
    }
}

/* One rank leaves without a word; the others do not wait for it. */
static int lost_rank(void *arg, int rank)
{
    outcome *o = arg;
    wisp_ctx *ctx = own_ctx();
    wisp_mat *A = NULL;
    if (rank != o->who) {
        o->status[rank] = wisp_mat_open(&A, ctx, "laplace:nx=20,ny=20", NULL);
        snprintf(o->message[rank], sizeof o->message[rank], "%s", message_of(ctx));
    }
    wisp_ctx_free(ctx);
    return 0;
}

/* It does not even make a context. */
static int absent_rank(void *arg, int rank)
{
    outcome *o = arg;
    wisp_ctx *ctx = NULL;
    if (rank == o->who) return 0;
    o->status[rank] = wisp_ctx_create(&ctx, NULL);
    snprintf(o->message[rank], sizeof o->message[rank], "%s", message_of(NULL));
    assert_null(ctx);
    return 0;
}

/* They do not do the same. */
static int odd_rank(void *arg, int rank)
{
    outcome *o = arg;
    wisp_ctx *ctx = own_ctx();
    double x = 1;
    wisp_ctx_enter(ctx);
    o->status[rank] = wisp_ctx_leave(ctx, rank == o->who ? wisp_ctx_sum(ctx, &x, 1) : WISP_OK);
    double two[2] = {1, 1};
    REF_FAILS(ctx, wisp_ctx_sum(ctx, two, rank == o->who ? 1 : 2), WISP_ERR_MISMATCH, "calls something else");
    snprintf(o->message[rank], sizeof o->message[rank], "%s", message_of(ctx));
    wisp_ctx_free(ctx);
    return 0;
}

static void one_is_lost(void **state)
{
    (void)state;
    outcome o = {.who = 1};
    static const wisp_rank_fn lost[] = {lost_rank, absent_rank};
    for (int i = 0; i < 2; i++) {
        ref_ranks_each(3, lost[i], &o);
        for (int r = 0; r < 3; r += 2) {
            assert_int_equal(o.status[r], WISP_ERR_CANCELLED);
            assert_non_null(strstr(o.message[r], "1 has ended"));
        }
    }
    ref_ranks_each(3, odd_rank, &o);
    for (int r = 0; r < 3; r++) {
        assert_int_equal(o.status[r], WISP_ERR_MISMATCH);
        assert_non_null(strstr(o.message[r], "calls something else"));
    }
}

/* Each allocation of one rank fails in turn: all get the same status, and nobody waits for ever. */
static int starved_rank(void *arg, int rank)
{
    outcome *o = arg;
    wisp_ctx *ctx;
    wisp_mat *A = NULL;
    wisp_moments m = {0};
    o->status[rank] = wisp_ctx_create(&ctx, &(wisp_ctx_opts){.threads = 1, .no_pin = 1});
    if (o->status[rank] != WISP_OK) return 0;
    o->status[rank] = wisp_mat_open(&A, ctx, "graphene:nx=12,ny=10,vacancies=0.1", &(wisp_mat_opts){.width = 2});
    if (o->status[rank] == WISP_OK) {
        o->status[rank] = wisp_kpm(&m, A, &(wisp_kpm_opts){.moments = 8, .vectors = 2});
        wisp_moments_free(&m);
        wisp_mat_free(A);
    }
    wisp_ctx_free(ctx);
    return 0;
}

static void one_has_no_memory(void **state)
{
    (void)state;
    int failures = 0;
    for (int at = 1; at < 400; at++) {
        outcome o = {.who = at % 2, .steps = at};
        char where[40];
        snprintf(where, sizeof where, "%d@%d", at, o.who);
        setenv("WISP_ALLOC_FAIL_AT", where, 1);
        ref_ranks_each(2, starved_rank, &o);
        if (o.status[0] == WISP_OK && o.status[1] == WISP_OK) continue;
        failures++;
        assert_int_equal(o.status[o.who], WISP_ERR_NOMEM);
        assert_true(o.status[!o.who] == WISP_ERR_NOMEM || o.status[!o.who] == WISP_ERR_CANCELLED);
    }
    unsetenv("WISP_ALLOC_FAIL_AT");
    assert_true(failures > 40);
}

/* Rank 0 ends after a sum, rank 1 begins others, and rank 2 is late to read the first one. */
static int slow_reader(void *arg, int rank)
{
    wisp_ctx *ctx = own_ctx();
    outcome *o = arg;
    for (int i = 0; i < (rank == 1 ? 4 : 1); i++) {
        double x = i == 0 ? 1 : 1000;
        wisp_ctx_enter(ctx);
        const wisp_status status = wisp_ctx_leave(ctx, wisp_ctx_sum(ctx, &x, 1));
        if (i == 0) o->status[rank] = x == 3 ? status : WISP_ERR_NUMERIC;
    }
    wisp_ctx_free(ctx);
    return 0;
}

static void one_reads_late(void **state)
{
    (void)state;
    setenv("WISP_RANKS_JITTER", "500", 1);
    for (int run = 0; run < 20; run++) {
        outcome o = {.who = 0};
        ref_ranks_each(3, slow_reader, &o);
        for (int r = 0; r < 3; r++) assert_int_equal(o.status[r], WISP_OK);
    }
    unsetenv("WISP_RANKS_JITTER");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals),         cmocka_unit_test(one_reads_late),    cmocka_unit_test(one_is_lost),
        cmocka_unit_test(one_is_cancelled), cmocka_unit_test(one_has_no_memory),
    };
    enum { ALL = sizeof tests / sizeof tests[0], IN_ONE_MEMORY = 4 }; /* ranks_mpi.c has the like for processes */
    return ref_run_rank_tests(tests, ref_by_mpi() ? ALL - IN_ONE_MEMORY : ALL);
}
