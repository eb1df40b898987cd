/* What kernels take of a core: that it is measured, and that the model of a sweep reckons with it, against closed
 * forms. */
#include "backend/backend.h"
#include "data/shape.h"
#include "model/model.h"
#include "ref.h"
#include <math.h>
#include <string.h>

enum { ROWS = 4096, ENTRIES = 5 };

/* Rows of ENTRIES columns around their own, the last of which tells how they follow each other. */
static int row_of_kind(void *arg, int64_t row, int64_t *col, void *val)
{
    const wisp_rows kind = *(const wisp_rows *)arg;
    static const int in_no_order[] = {3, 0, 4, 1, 1, 2, 0, 3, 2, 4, 0, 1, 3, 4, 2};
    const int odd = (int)(row % 2), count = (int)(sizeof in_no_order / sizeof *in_no_order);
    const int n = kind == WISP_ROWS_UNEVEN ? ENTRIES - 1 + 2 * odd : ENTRIES;
    const int last = kind == WISP_ROWS_IN_TURN  ? odd
                     : kind == WISP_ROWS_SHARED ? in_no_order[row * 7 / 3 % count] + 5 * (int)(row % 3)
                                                : 0;
    for (int i = 0; col && i < n; i++) {
        col[i] = (row + i + (i == n - 1 ? last : 0)) % ROWS;
        ((double *)val)[i] = kind > WISP_ROWS_UNEVEN ? 1 : (double)(row * 10 + i);
    }
    return n;
}

/* Seconds of an entry and of a row of these kernels: numbers that no two of them share. */
static void set_rates(wisp_ctx *ctx)
{
    ctx->rates = (wisp__rates){.memory = 1e18, .l3 = 1e18, .l2 = 1e18, .exchange = 1e18, .loads = 1e9, .l2_bytes = 1e6};
    for (int k = 0; k < WISP_ROW_KINDS; k++)
        for (int t = 0; t < WISP_KERNEL_TYPES; t++)
            for (int w = 0; w < WISP_KERNEL_WIDTHS; w++) {
                ctx->rates.kernel[k][t][w][0] = 1e-3 * (1 + k + 10 * t + 100 * w);
                ctx->rates.kernel[k][t][w][1] = 1e-4 * (1 + k + 10 * t + 100 * w);
            }
}

static double by_hand(wisp_rows kind, wisp_type type, int w, double entries)
{
    const double rate = 1 + (double)kind + 10.0 * (type - WISP_S) + 100.0 * w;
    return entries * 1e-3 * rate + ROWS * 1e-4 * rate;
}

/* Seconds of a sweep over such rows, by the model. */
static double model(wisp_ctx *ctx, wisp_rows kind, wisp_type type, int width)
{
    const bool shared = kind > WISP_ROWS_UNEVEN;
    const wisp_src src = {
        .rows = ROWS, .cols = ROWS, .max_row = ENTRIES + 1, .type = WISP_D, .row = row_of_kind, .arg = &kind};
    const wisp_mat_opts opts = {.format = shared ? WISP_FORMAT_COMPRESSED : WISP_FORMAT_SELL,
                                .order = WISP_ROWS_NATURAL,
                                .type = wisp_type_is_complex(type) ? WISP_Z : WISP_D,
                                .width = width};
    wisp_choice choice = {.width = width};
    wisp__sample sample = {0};
    wisp__shape m;
    wisp__step_cost cost;
    wisp_mat *A;
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &opts));
    wisp_ctx_enter(ctx);
    REF_OK(ctx, wisp_ctx_leave(ctx, wisp__shape_of(A, &sample, &m)));
    const wisp__facts f = wisp__facts_of(ctx);
    assert_int_equal(m.patterns, shared);
    REF_OK(ctx, wisp__sweep_find(ctx, &f, &m, type, choice.width, 1, &cost));
    wisp__sample_close(&sample, ctx);
    wisp_mat_free(A);
    return cost.seconds;
}

static void close_to(double a, double b)
{
    if (!(fabs(a - b) <= 0.02 * b)) fail_msg("%g, and not %g", a, b); /* ends of the rows are of no kind */
}

/* Rows of one kind alone, of widths that there are kernels for, and of some that go by parts. */
static void kinds(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = 1});
    set_rates(ctx);
    for (int k = 0; k < WISP_ROW_KINDS; k++)
        for (int w = 1; w < WISP_KERNEL_WIDTHS; w++) {
            const wisp_rows kind = (wisp_rows)k;
            const double entries = (double)ROWS * ENTRIES;
            /* Rows that are apart go side by side where a block row is a line at most. */
            const bool wide = (8 << w) > 64, turn = kind == WISP_ROWS_IN_TURN && wide;
            close_to(model(ctx, kind, WISP_D, 1 << w), by_hand(turn ? WISP_ROWS_SHARED : kind, WISP_D, w, entries));
            const bool turn_z = kind == WISP_ROWS_IN_TURN && (16 << w) > 64;
            close_to(model(ctx, kind, WISP_Z, 1 << w), by_hand(turn_z ? WISP_ROWS_SHARED : kind, WISP_Z, w, entries));
        }
    const double entries = (double)ROWS * ENTRIES;
    close_to(model(ctx, WISP_ROWS_STORED, WISP_D, 7), by_hand(WISP_ROWS_STORED, WISP_D, 2, entries) +
                                                          by_hand(WISP_ROWS_STORED, WISP_D, 1, entries) +
                                                          by_hand(WISP_ROWS_STORED, WISP_D, 0, entries));
    close_to(model(ctx, WISP_ROWS_STORED, WISP_D, 33),
             by_hand(WISP_ROWS_STORED, WISP_D, 5, entries) + by_hand(WISP_ROWS_STORED, WISP_D, 0, entries));
    close_to(model(ctx, WISP_ROWS_STORED, WISP_Z, 1), by_hand(WISP_ROWS_STORED, WISP_Z, 0, entries));
    wisp_ctx_free(ctx);
}

/* What is measured is taken where it is there, and only there; figures that can't be true are refused. */
static void taken(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = 1});
    wisp_machine m = {0};
    const double before = model(ctx, WISP_ROWS_STORED, WISP_D, 4);
    m.kernel_ns[WISP_ROWS_STORED][0][2][0] = 1e5; /* of single precision */
    REF_OK(ctx, wisp_ctx_set_machine(ctx, &m));
    assert_true(model(ctx, WISP_ROWS_STORED, WISP_D, 4) == before);
    m.kernel_ns[WISP_ROWS_STORED][1][2][0] = 1e5;
    REF_OK(ctx, wisp_ctx_set_machine(ctx, &m));
    close_to(model(ctx, WISP_ROWS_STORED, WISP_D, 4), 1e-4 * ROWS * ENTRIES);
    wisp_src src;
    wisp_choice c;
    REF_OK(ctx, wisp_src_open(&src, ctx, "delaunay:nx=50,ny=60"));
    REF_OK(ctx, wisp_src_choose(ctx, &src, NULL, WISP_D, 32, 1, &c));
    assert_int_not_equal(c.width, 4);
    wisp_src_close(&src);
    static const double bad[] = {-1, NAN, INFINITY, 1e7};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        m.kernel_ns[WISP_ROWS_ALIKE][3][5][1] = bad[i];
        REF_FAILS(ctx, wisp_ctx_set_machine(ctx, &m), WISP_ERR_ARG, "ns for an entry or a row");
    }
    wisp_ctx_free(ctx);
}

static void count_assumed(void *arg, wisp_log_level level, const char *message)
{
    (void)level;
    *(int *)arg += strstr(message, "are assumed") != NULL;
}

/* What was not measured is assumed, as is said once. */
static void assumed(void **state)
{
    (void)state;
    for (int is_measured = 0; is_measured < 2; is_measured++) {
        int said = 0;
        wisp_ctx *ctx =
            ref_ctx(&(wisp_ctx_opts){.log = count_assumed, .log_arg = &said, .level = WISP_LOG_INFO, .device = "cpu"});
        const wisp__rates r = wisp__facts_of(ctx).rates;
        const bool was_simulated = ctx->rates.memory > 0;
        wisp_machine m = {0};
        assert_true(r.memory > 0 && r.l3 > 0 && r.l2 > 0 && r.loads > 0 && r.exchange > 0);
        assert_true(!r.assumed == was_simulated);
        m.gbs[WISP_LOAD][WISP_MEMORY][1] = 17;
        if (is_measured) REF_OK(ctx, wisp_ctx_set_machine(ctx, &m));
        for (int i = 0; i < 2; i++) {
            wisp_src src;
            wisp_choice c;
            REF_OK(ctx, wisp_src_open(&src, ctx, "delaunay:nx=50,ny=60"));
            REF_OK(ctx, wisp_src_choose(ctx, &src, NULL, WISP_D, 32, 1, &c));
            wisp_src_close(&src);
        }
        assert_int_equal(said, !is_measured && !was_simulated);
        wisp_ctx_free(ctx);
    }
}

static int end_at_half(void *arg, const wisp_progress *p)
{
    if (!strcmp(p->task, "measuring kernels")) *(double *)arg = p->done;
    return p->done >= 0.5;
}

/* How fast they are can't be asserted: that they are there is, and that what is known and less stays. */
static void measured(void **state)
{
    (void)state;
    double done = 0;
    wisp_machine m, again, none = {0};
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.progress = end_at_half, .progress_arg = &done});
    REF_FAILS(ctx, wisp_machine_kernels(ctx, &none), WISP_ERR_CANCELLED, "");
    assert_true(done >= 0.5 && none.kernel_ns[0][0][0][0] == 0);
    wisp_ctx_free(ctx);
    ctx = ref_ctx(NULL);
    REF_OK(ctx, wisp_machine_measure(ctx, &m, 0));
    again = m;
    REF_OK(ctx, wisp_machine_kernels(ctx, &m));
    for (int k = 0; k < WISP_ROW_KINDS; k++)
        for (int t = 0; t < WISP_KERNEL_TYPES; t++)
            for (int w = 0; w < WISP_KERNEL_WIDTHS; w++) {
                const double *ns = m.kernel_ns[k][t][w];
                assert_true(ns[0] > 0 && ns[0] < 1e6 && ns[1] >= 0 && ns[1] < 1e6);
                again.kernel_ns[k][t][w][0] = 1e-6;
            }
    m = again;
    REF_OK(ctx, wisp_machine_kernels(ctx, &again));
    assert_memory_equal(&m, &again, sizeof m);
    wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(kinds), cmocka_unit_test(taken), cmocka_unit_test(assumed),
                                       cmocka_unit_test(measured)};
    return REF_RUN(tests);
}
