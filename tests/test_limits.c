/* Numbers that make no sense, and rows that are not what they were counted to be, are refused in words. */
#include "ref.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void keep_message(void *arg, wisp_log_level level, const char *message)
{
    (void)level;
    snprintf(arg, 256, "%s", message);
}

static void contexts(void **state)
{
    (void)state;
    static const struct {
        wisp_ctx_opts opts;
        const char *words;
    } bad[] = {
        {{.threads = -1}, "opts.threads is -1"},
        {{.threads = 1000000}, "1000000 threads are too many"},
        {{.index_limit = -1}, "opts.index_limit is -1"},
        {{.memory_limit = -5}, "opts.memory_limit -5"},
        {{.device_memory_limit = -6}, "opts.device_memory_limit is -6"},
        {{.level = (wisp_log_level)9}, "opts.level: unknown value 9"},
        {{.device = "cpu", .device_memory_limit = 1 << 30}, "opts.device_memory_limit: the device 'cpu' has no memory"},
        {{.device = "far", .device_memory_limit = 1 << 30}, "opts.device_memory_limit: the device 'far' has no memory"},
        {{.device = "toaster"}, "toaster"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char said[256] = "";
        wisp_ctx_opts o = bad[i].opts;
        wisp_ctx *ctx = (void *)said;
        o.log = keep_message;
        o.log_arg = said;
        const wisp_status status = wisp_ctx_create(&ctx, &o);
        assert_null(ctx);
        assert_true(status == WISP_ERR_ARG || status == WISP_ERR_UNSUPPORTED);
        if (!strstr(said, bad[i].words)) fail_msg("case %zu: '%s'", i, said);
    }
}

static void environment(void **state)
{
    (void)state;
    char said[256] = "", old[64] = "";
    wisp_ctx *ctx;
    const char *now = getenv("OMP_NUM_THREADS");
    if (now) snprintf(old, sizeof old, "%s", now);
    setenv("OMP_NUM_THREADS", "99999999999", 1);
    assert_int_equal(wisp_ctx_create(&ctx, &(wisp_ctx_opts){.log = keep_message, .log_arg = said}), WISP_ERR_ARG);
    assert_non_null(strstr(said, "OMP_NUM_THREADS: 99999999999 threads are too many"));
    setenv("OMP_NUM_THREADS", "2,4", 1); /* of nested regions the first counts */
    ctx = ref_ctx(NULL);
    assert_int_equal(wisp_ctx_threads(ctx), 2);
    wisp_ctx_free(ctx);
    if (now)
        setenv("OMP_NUM_THREADS", old, 1);
    else
        unsetenv("OMP_NUM_THREADS");
}

static void numbers(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_ctx(NULL);
    wisp_src src;
    wisp_mat *A, *B;
    wisp_blk *x, *psi;
    wisp_map *map;
    wisp_moments m, none;
    wisp_mat_info info;
    double energy[2] = {1, 2}, dos[2], time = 1;
    REF_OK(ctx, wisp_src_open(&src, ctx, "laplace:nx=4"));
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, NULL));
    REF_OK(ctx, wisp_blk_create(&psi, ctx, wisp_mat_map(A), WISP_Z, 1));
    REF_OK(ctx, wisp_kpm(&m, A, &(wisp_kpm_opts){.moments = 4, .vectors = 2}));
    REF_FAILS(ctx, wisp_map_create(&map, ctx, -1), WISP_ERR_ARG, "-1 rows");
    REF_FAILS(ctx, wisp_mat_create(&B, ctx, &src, &(wisp_mat_opts){.width = -3}), WISP_ERR_ARG, "opts.width is -3");
    REF_FAILS(ctx, wisp_mat_create(&B, ctx, &src, &(wisp_mat_opts){.C = -4}), WISP_ERR_ARG, "opts.C is -4");
    REF_FAILS(ctx, wisp_mat_create(&B, ctx, &src, &(wisp_mat_opts){.sigma = -16}), WISP_ERR_ARG, "opts.sigma is -16");
    REF_FAILS(ctx, wisp_mat_plan(ctx, &src, &(wisp_mat_opts){.width = -3}, &info), WISP_ERR_ARG, "opts.width is -3");
    REF_FAILS(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), WISP_D, -1), WISP_ERR_ARG, "width of at least 1");
    REF_FAILS(ctx, wisp_dos(ctx, &m, NULL, -1, -2, energy, dos, NULL), WISP_ERR_ARG, "-2 points");
    REF_OK(ctx, wisp_dos(ctx, &m, NULL, -1, 0, NULL, NULL, NULL));
    REF_FAILS(ctx, wisp_dos(ctx, &m, &(wisp_eval_opts){.n = -2}, -1, 2, energy, dos, NULL), WISP_ERR_ARG,
              "opts.n is -2");
    REF_FAILS(ctx, wisp_kpm(&none, A, &(wisp_kpm_opts){.moments = -8}), WISP_ERR_ARG, "opts.moments is -8");
    REF_FAILS(ctx, wisp_kpm(&none, A, &(wisp_kpm_opts){.vectors = -8}), WISP_ERR_ARG, "opts.vectors is -8");
    REF_FAILS(ctx, wisp_kpm(&none, A, &(wisp_kpm_opts){.width = -8}), WISP_ERR_ARG, "opts.width is -8");
    REF_FAILS(ctx, wisp_kpm(&none, A, &(wisp_kpm_opts){.cache_budget = -1}), WISP_ERR_ARG, "opts.cache_budget is -1");
    REF_FAILS(ctx, wisp_evolve(NULL, A, psi, -1, &time, NULL), WISP_ERR_ARG, "-1 times");
    REF_FAILS(ctx, wisp_evolve(NULL, A, psi, 1, &time, &(wisp_evolve_opts){.cache_budget = -1}), WISP_ERR_ARG,
              "evolve: opts.cache_budget is -1");
    wisp_plan plan;
    wisp_mat_get_info(A, &info);
    REF_FAILS(ctx, wisp_mpk_plan(&plan, ctx, &info, WISP_D, 0, &(wisp_mpk_opts){0}, NULL), WISP_ERR_ARG, "of width 0");
    REF_FAILS(ctx, wisp_mpk_plan(&plan, ctx, &info, WISP_S, 1, &(wisp_mpk_opts){0}, NULL), WISP_ERR_ARG,
              "single blocks");
    REF_FAILS(ctx, wisp_mpk_plan(&plan, ctx, &info, WISP_D, 4, &(wisp_mpk_opts){.steps = -5}, NULL), WISP_ERR_ARG,
              "-5 steps");
    REF_FAILS(ctx, wisp_mpk_plan(&plan, ctx, &info, WISP_D, 4, &(wisp_mpk_opts){.depth = -1}, NULL), WISP_ERR_ARG,
              "a depth of -1");
    REF_FAILS(ctx, wisp_fuse_plan(&plan, ctx, -5, WISP_D, 4, 1, 1), WISP_ERR_ARG, "-5 rows");
    REF_FAILS(ctx, wisp_kpm_plan(&plan, ctx, &info, &(wisp_kpm_opts){.vectors = -8}, NULL), WISP_ERR_ARG,
              "opts.vectors is -8");
    assert_int_equal(wisp_kpm_width(WISP_D, 10, &(wisp_kpm_opts){.vectors = -8}), 1);
    wisp_moments_free(&m);
    wisp_blk_free(psi);
    wisp_mat_free(A);
    wisp_src_close(&src);
    wisp_ctx_free(ctx);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Rows of ROWS + 1 entries with one column twice, but for one row, which counts one more or less than it gives. */
enum { ROWS = 3000, ENTRIES = 4 };
typedef struct {
    int64_t row;
    int counted;
    int distinct; /* values, so that no row is like another */
} changing;

static int changing_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const changing *c = arg;
    if (!col) return row == c->row ? c->counted : ENTRIES;
    for (int k = 0; k < ENTRIES; k++) {
        col[k] = (row + (k == ENTRIES - 1 ? 0 : k)) % ROWS; /* the last one is the diagonal once more */
        ((double *)val)[k] = c->distinct ? (double)(row * ENTRIES + k) : 1;
    }
    return ENTRIES;
}

/* In every way to store it, and from the row that differs after others with duplicates of the same piece. */
static void changing_rows(void **state)
{
    (void)state;
    static const wisp_mat_opts opts[] = {{.C = 1, .sigma = 1},
                                         {.C = 32, .sigma = 64},
                                         {0},
                                         {.format = WISP_FORMAT_COMPRESSED},
                                         {.order = WISP_ROWS_RCM}};
    for (size_t o = 0; o < sizeof opts / sizeof *opts; o++)
        for (int counted = 2; counted <= 5; counted++)
            for (int distinct = 0; distinct < 2; distinct++) {
                wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = 1 + counted % 2});
                changing c = {1700, counted, distinct};
                const wisp_src src = {ROWS, ROWS, 8, WISP_D, changing_row, &c, NULL, 0, NULL, 0, NULL};
                wisp_mat *A;
                char words[128];
                snprintf(words, sizeof words, "row 1700: the row callback gave 4 entries, and %d when it counted them",
                         counted);
                const wisp_status status = wisp_mat_create(&A, ctx, &src, &opts[o]);
                if (counted == ENTRIES) {
                    REF_OK(ctx, status);
                } else {
                    REF_FAILS(ctx, status, WISP_ERR_CALLBACK, words);
                    assert_null(A);
                }
                wisp_mat_free(A);
                wisp_ctx_free(ctx);
            }
}

/* The example: it counts two, and gives one. */
static int two_then_one(void *arg, int64_t row, int64_t *col, void *val)
{
    (void)arg;
    if (!col) return 2;
    col[0] = row;
    *(double *)val = 3;
    return 1;
}

static void counts_two_gives_one(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_ctx(NULL);
    const wisp_src src = {5, 5, 2, WISP_D, two_then_one, NULL, NULL, 0, NULL, 0, NULL};
    wisp_mat *A;
    REF_FAILS(ctx, wisp_mat_create(&A, ctx, &src, NULL), WISP_ERR_CALLBACK, "row 0: the row callback gave 1");
    wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contexts),      cmocka_unit_test(environment),          cmocka_unit_test(numbers),
        cmocka_unit_test(changing_rows), cmocka_unit_test(counts_two_gives_one),
    };
    return REF_RUN(tests);
}
