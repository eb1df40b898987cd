/* The memory that wisp_solve_plan tells against what is held at the most: random methods, preconditioners, types,
   widths and sizes, of systems that have a solution, and of some that have none, which is proved. On several ranks each
   looks at its own: halos, sums, and what does not get less with its rows. */
#include "ref.h"
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

/* A ring of n rows: its Laplacian, plus a shift; or a general matrix of the same null vector. */
typedef struct {
    int64_t n;
    double shift;
    bool general;
} ring;

static int ring_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const ring *g = arg;
    const int64_t next = (row + 1) % g->n, before = (row + g->n - 1) % g->n;
    double *v = val;
    if (!col) return 3;
    col[0] = row, v[0] = 2 + g->shift;
    col[1] = next, v[1] = g->general ? -1.5 : -1;
    col[2] = before, v[2] = g->general ? -0.5 : -1;
    return 3;
}

typedef struct {
    ring ring;
    wisp_type type;
    int width;
    wisp_solve_opts o;
} question;

static question ask(ref_rng *r, int c)
{
    static const wisp_type types[] = {WISP_D, WISP_S, WISP_Z, WISP_C};
    static const wisp_method methods[] = {WISP_CG, WISP_MINRES, WISP_GMRES, WISP_BICGSTAB, WISP_IDR};
    static const wisp_precond preconds[] = {WISP_PRECOND_NONE, WISP_JACOBI, WISP_BLOCK_JACOBI, WISP_CHEBYSHEV};
    question q = {.type = types[ref_below(r, 4)], .width = 1 + (int)ref_below(r, 7)};
    q.ring = (ring){.n = 100 + (int64_t)ref_below(r, 8000), .shift = 0.1, .general = c % 3 == 2};
    q.o.method = methods[q.ring.general ? 2 + ref_below(r, 3) : ref_below(r, 5)];
    q.o.max_iterations = 300;
    if (ref_below(r, 3) == 0) {
        q.ring.shift = 0; /* no solution */
        q.ring.n = 50 + (int64_t)ref_below(r, 150);
        q.width = 1 + (int)ref_below(r, 2);
    }
    if (q.o.method == WISP_GMRES) q.o.restart = 1 + (int)ref_below(r, 60);
    if (q.o.method == WISP_IDR) q.o.shadow = 1 + (int)ref_below(r, 20);
    if (!q.ring.general) q.o.precond = preconds[ref_below(r, q.ring.shift > 0 ? 4 : 2)];
    if (q.o.precond && q.o.method != WISP_CG && q.o.method != WISP_MINRES) q.o.side = (wisp_side)ref_below(r, 3);
    if (q.o.method == WISP_CG && ref_below(r, 2)) q.o.variant = WISP_CLASSICAL;
    return q;
}

static void planned_memory(void **state)
{
    (void)state;
    int singular = 0, solved = 0;
    const int cases = ref_few() ? 30 : 60; /* each kind of question several times */
    for (int c = 0; c < cases; c++) {
        ref_rng r = {(uint64_t)c + 1};
        question q = ask(&r, c);
        const wisp_src src = {
            .rows = q.ring.n, .cols = q.ring.n, .max_row = 3, .type = WISP_D, .row = ring_row, .arg = &q.ring};
        wisp_ctx *ctx;
        wisp_mat *A;
        wisp_blk *x, *b;
        wisp_mat_info info;
        int64_t before, peak;
        REF_OK(NULL, wisp_ctx_create(&ctx, &(wisp_ctx_opts){.threads = 1 + c % 2, .no_pin = 1}));
        REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.type = q.type}));
        REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), q.type, q.width));
        REF_OK(ctx, wisp_blk_create(&b, ctx, wisp_mat_map(A), q.type, q.width));
        REF_OK(ctx, wisp_blk_fill_random(b, WISP_RANDOM_GAUSS, 1, 0, 0));
        wisp_mat_get_info(A, &info);
        wisp_plan plan;
        REF_OK(ctx, wisp_solve_plan(&plan, ctx, &info, q.type, q.width, &q.o, NULL));
        assert_true(0 < plan.bytes && plan.bytes <= plan.bytes_most);
        wisp_ctx_memory(ctx, &before, NULL);
        const wisp_status status = wisp_solve(NULL, x, A, b, &q.o);
        wisp_ctx_memory(ctx, NULL, &peak);
        singular += status == WISP_ERR_SINGULAR;
        solved += status == WISP_OK;
        if (peak - before > plan.bytes_most)
            fail_msg(
                "case %d, rank %d of %d, %lld rows, type %d, width %d, method %d, precond %d: %lld bytes are held, "
                "%lld were told",
                c, wisp_ctx_rank(ctx), wisp_ctx_processes(ctx), (long long)q.ring.n, q.type, q.width, q.o.method,
                q.o.precond, (long long)(peak - before), (long long)plan.bytes_most);
        wisp_blk_free(x), wisp_blk_free(b);
        wisp_mat_free(A);
        wisp_ctx_free(ctx);
    }
    assert_true(singular > cases / 12 && solved > cases / 3);
}

/* What an iteration moves, against what runs of a few count: all methods and their variants, with each preconditioner.
   Entries grow with the rows, so that iterations are not over soon; also by its diagonal the matrix is no near
   identity, so that GMRES makes no vector orthogonal twice. Where a method takes it the matrix is not symmetric: of one
   that is, most dots of GMRES are rounding alone, one may be 0, and then a vector is not read. */
typedef struct {
    int64_t n;
    double below; /* the entries there are so many times those above */
} steep;

static double diagonal(int64_t row) { return 1 + 0.04 * (double)(row % 977); }

static int steep_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const steep *g = arg;
    int count = 0;
    for (int64_t j = row - 1; j <= row + 1; j++) {
        if (j < 0 || j >= g->n) continue;
        if (col)
            col[count] = j,
            ((double *)val)[count] =
                j == row ? diagonal(row) : -sqrt(diagonal(row) * diagonal(j)) / 2.2 * (j < row ? g->below : 1);
        count++;
    }
    return count;
}

static void one_iteration(wisp_ctx *ctx, const wisp_mat *A, wisp_type type, int width, const wisp_solve_opts *o,
                          const char *what)
{
    wisp_blk *x, *b;
    wisp_mat_info info;
    wisp_solution s = {0};
    wisp_plan plan;
    REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), type, width));
    REF_OK(ctx, wisp_blk_create(&b, ctx, wisp_mat_map(A), type, width));
    REF_OK(ctx, wisp_blk_fill_random(b, WISP_RANDOM_GAUSS, 1, 0, 0));
    wisp_mat_get_info(A, &info);
    REF_OK(ctx, wisp_solve_plan(&plan, ctx, &info, type, width, o, NULL));
    const wisp_status status = wisp_solve(&s, x, A, b, o);
    if (status != WISP_ERR_ITERATIONS) fail_msg("%s: %s", what, message_of(ctx));
    assert_int_equal(s.method, o->method);
    assert_int_equal(s.precond, o->precond);
    /* MINRES has no direction before its first step, and but one before its second, hidden CG none before its first:
       these are not read where the host sees that their factors are 0. */
    const double block = (double)info.local_rows * width * (double)wisp_type_size(type);
    const int blocks = o->variant == WISP_HIDDEN ? (o->precond ? 4 : 3) : o->method == WISP_MINRES ? 3 : 0;
    const double unread =
        o->variant == WISP_CLASSICAL || wisp_ctx_look_every(ctx) > 1 ? 0 : blocks * block / o->restart;
    const double off = (plan.iteration_bytes - unread - s.bytes) / block;
    if (block > 0 && !(fabs(off) < 1e-3))
        fail_msg("%s: %.0f bytes are planned, %.0f were counted: %+.3f blocks", what, plan.iteration_bytes, s.bytes,
                 off);
    wisp_solution_free(&s);
    wisp_blk_free(x), wisp_blk_free(b);
}

static void planned_bytes(void **state)
{
    (void)state;
    static const wisp_method methods[] = {WISP_CG, WISP_MINRES, WISP_GMRES, WISP_BICGSTAB, WISP_IDR};
    static const wisp_variant variants[] = {WISP_PIPELINED, WISP_CLASSICAL, WISP_PREDICT, WISP_HIDDEN};
    static const wisp_precond preconds[] = {WISP_PRECOND_NONE, WISP_JACOBI, WISP_BLOCK_JACOBI, WISP_CHEBYSHEV,
                                            WISP_NEUMANN};
    const int64_t rows = ref_few() ? 10000 : 20000; /* what is counted goes by them, but for some numbers */
    steep g[] = {{rows, 1}, {rows, 0.7}};
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = 1, .no_pin = 1});
    wisp_mat *A[2];
    for (int i = 0; i < 2; i++) {
        const wisp_src src = {
            .rows = g[i].n, .cols = g[i].n, .max_row = 3, .type = WISP_D, .row = steep_row, .arg = &g[i]};
        REF_OK(ctx, wisp_mat_create(&A[i], ctx, &src, &(wisp_mat_opts){0}));
    }
    for (int i = 0; i < 5 * 4 * 5 * 2 * 2; i++) {
        const int left = i / (5 * 4 * 5 * 2);
        const int width = i % 2 ? 3 : 1;
        const wisp_type type = i % 3 ? WISP_D : WISP_Z;
        /* GMRES makes one vector and then two at once; how many later ones hangs on the numbers. */
        const int steps = methods[i / 2 % 5] == WISP_GMRES ? 3 : 8;
        wisp_solve_opts o = {.method = methods[i / 2 % 5],
                             .variant = variants[i / 10 % 4],
                             .precond = preconds[i / 40 % 5],
                             .side = left ? WISP_SIDE_LEFT : WISP_SIDE_DEFAULT,
                             .max_iterations = steps,
                             .restart = steps,
                             .shadow = 1 + i % 6,
                             .degree = 1 + i % 4,
                             .block_rows = 2,
                             .tolerance = 1e-14,
                             .bounds = {.method = WISP_BOUNDS_GIVEN, .given = {50, 49.9, 0}}};
        char what[128];
        if (left && (!o.precond || o.method == WISP_CG || o.method == WISP_MINRES)) continue;
        if (o.variant >= WISP_PREDICT && (o.method != WISP_CG || (o.variant == WISP_PREDICT && o.precond))) continue;
        if (o.precond == WISP_PRECOND_NONE || o.precond == WISP_JACOBI) o.bounds = (wisp_bounds_opts){0};
        snprintf(what, sizeof what, "method %d, variant %d, precond %d, side %d, degree %d, width %d, type %d",
                 o.method, o.variant, o.precond, o.side, o.degree, width, type);
        one_iteration(ctx, A[o.method != WISP_CG && o.method != WISP_MINRES], type, width, &o, what);
    }
    wisp_mat_free(A[0]), wisp_mat_free(A[1]);
    wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(planned_memory), cmocka_unit_test(planned_bytes)};
    return REF_RUN(tests);
}
