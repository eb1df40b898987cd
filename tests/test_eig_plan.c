/* The memory that wisp_eig_plan tells against what is held at the most: random questions, methods, types, sizes, of
   matrices whose eigenvalues are single. On several ranks each looks at its own: halos, sums, and what does not get
   less with its rows. */
#include "ref.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    char spec[96];
    wisp_eig_opts o;
    wisp_type stored;
} question;

static question ask(ref_rng *r, int c)
{
    static const wisp_type types[] = {WISP_D, WISP_S, WISP_Z, WISP_C};
    question q = {.stored = types[ref_below(r, 2)]};
    const int nx = 20 + (int)ref_below(r, 4), ny = 28 + (int)ref_below(r, 9), kind = c % 4;
    q.o.seed = (uint64_t)c;
    q.o.count = 1 + (int)ref_below(r, ref_below(r, 2) ? 4 : 20);
    q.o.any = ref_below(r, 3) == 0;
    q.o.tolerance = q.stored == WISP_S ? 1e-3 : 1e-6;
    if (ref_below(r, 3) == 0) q.o.search = 1 + (int)ref_below(r, 60);
    if (kind == 3) { /* its inner values are a question for CHEBFD alone */
        snprintf(q.spec, sizeof q.spec, "anderson:nx=%d,ny=%d,nz=1,disorder=4,seed=%d", nx + 8, ny, c);
        q.o.which = WISP_EIG_NEAREST;
        q.o.method = WISP_CHEBFD;
        q.o.target = -1 + 0.3 * ref_uniform(r);
        q.o.search = q.o.any = 0;
        q.o.filter_type = types[ref_below(r, 2)];
        q.stored = WISP_D;
        q.o.tolerance = 1e-6;
        return q;
    }
    if (ref_below(r, 2)) q.o.block = 1 + (int)ref_below(r, 6);
    if (ref_below(r, 4) == 0) q.o.type = q.stored == WISP_S ? WISP_D : WISP_Z;
    if (kind == 2) {
        snprintf(q.spec, sizeof q.spec, "matpde:nx=%d,ny=%d", nx, ny);
        q.o.which = WISP_EIG_LARGEST_REAL;
        q.o.method = WISP_KRYLOV_SCHUR;
    } else {
        snprintf(q.spec, sizeof q.spec, "anderson:nx=%d,ny=%d,nz=1,disorder=%d,seed=%d", nx, ny, 1 + 3 * kind, c);
        q.o.which = ref_below(r, 2) ? WISP_EIG_SMALLEST : WISP_EIG_LARGEST;
        q.o.method = WISP_LANCZOS;
    }
    return q;
}

static void planned_memory(void **state)
{
    (void)state;
    int told = 0, cases = 0;
    for (int c = 0; c < 24; c += ref_few() ? 3 : 1) { /* each kind meets several ranks, too */
        cases++;
        ref_rng r = {(uint64_t)c + 1};
        const question q = ask(&r, c);
        const wisp_mat_opts mo = {.type = q.stored};
        wisp_ctx *ctx;
        wisp_mat *A;
        wisp_eig_choice choice;
        wisp_plan plan;
        wisp_eigen e;
        int64_t before, peak;
        REF_OK(NULL, wisp_ctx_create(&ctx, &(wisp_ctx_opts){.threads = 1, .no_pin = 1}));
        REF_OK(ctx, wisp_mat_open(&A, ctx, q.spec, &mo));
        REF_OK(ctx, wisp_eig_plan(&plan, &choice, A, &q.o));
        wisp_mat_free(A); /* the plan's own products are not counted */
        wisp_ctx_free(ctx);
        REF_OK(NULL, wisp_ctx_create(&ctx, &(wisp_ctx_opts){.threads = 1, .no_pin = 1}));
        REF_OK(ctx, wisp_mat_open(&A, ctx, q.spec, &mo));
        wisp_ctx_memory(ctx, &before, NULL);
        const wisp_status status = wisp_eig(&e, A, &q.o);
        wisp_ctx_memory(ctx, NULL, &peak);
        const int64_t held = peak - before;
        if (e.method == choice.method && status == WISP_OK && e.found <= q.o.count + 1) {
            told++;
            if (held > plan.bytes_most)
                fail_msg("case %d, rank %d, %s, method %d, count %d, search %d, block %d: %lld bytes are held, %lld "
                         "were told",
                         c, wisp_ctx_rank(ctx), q.spec, choice.method, q.o.count, q.o.search, q.o.block,
                         (long long)held, (long long)plan.bytes_most);
        }
        wisp_eigen_free(&e);
        wisp_mat_free(A);
        wisp_ctx_free(ctx);
    }
    assert_true(told > 2 * cases / 3);
}

/* A chain of n sites, times a factor, with single eigenvalues. */
typedef struct {
    int64_t n;
    double factor;
    int general, single;
} chain;

static int chain_row(void *arg, int64_t i, int64_t *col, void *val)
{
    const chain *c = arg;
    int entries = 0;
    for (int64_t j = i - 1; j <= i + 1; j++) {
        if (j < 0 || j >= c->n) continue;
        const double site = 2 + (double)(i * 7919 % 20011) / 2001.1, hop = c->general && j < i ? -0.5 : -1;
        const double entry = c->factor * (i == j ? site : hop);
        if (col) col[entries] = j;
        if (col && c->single) ((float *)val)[entries] = (float)entry;
        if (col && !c->single) ((double *)val)[entries] = entry;
        entries++;
    }
    return entries;
}

/* Those of the dense method, and matrices that are solved in units of their own: a factor of 2^400,
   or 2^100 in single precision. */
static void planned_dense_and_scaled(void **state)
{
    (void)state;
    static const struct {
        int64_t n;
        wisp_eig_method method;
        wisp_eig_which which;
        int general, single;
    } q[] = {{10, WISP_EIG_DENSE, WISP_EIG_SMALLEST, 0, 0},         {150, WISP_EIG_DENSE, WISP_EIG_SMALLEST, 0, 0},
             {20, WISP_EIG_DENSE, WISP_EIG_LARGEST_REAL, 1, 0},     {150, WISP_EIG_DENSE, WISP_EIG_LARGEST_REAL, 1, 0},
             {900, WISP_LANCZOS, WISP_EIG_LARGEST, 0, 0},           {1200, WISP_CHEBFD, WISP_EIG_NEAREST, 0, 0},
             {900, WISP_KRYLOV_SCHUR, WISP_EIG_LARGEST_REAL, 1, 0}, {40, WISP_EIG_DENSE, WISP_EIG_LARGEST_REAL, 1, 1},
             {184, WISP_EIG_DENSE, WISP_EIG_LARGEST_REAL, 1, 1},    {300, WISP_EIG_DENSE, WISP_EIG_SMALLEST, 0, 1}};
    for (size_t i = 0; i < 2 * sizeof q / sizeof q[0]; i += ref_few() ? 3 : 1) {
        const int single = q[i / 2].single;
        chain c = {q[i / 2].n, i % 2 ? ldexp(1, single ? 100 : 400) : 1, q[i / 2].general, single};
        const wisp_src src = {
            .rows = c.n, .cols = c.n, .max_row = 3, .type = single ? WISP_S : WISP_D, .row = chain_row, .arg = &c};
        const wisp_eig_opts o = {.which = q[i / 2].which,
                                 .method = q[i / 2].method,
                                 .count = 4,
                                 .any = 1,
                                 .tolerance = single ? 1e-3 : 1e-6,
                                 .target = 7 * c.factor};
        wisp_ctx *ctx;
        wisp_mat *A;
        wisp_eig_choice choice;
        wisp_plan plan;
        wisp_eigen e;
        int64_t before, peak;
        for (int run = 0; run < 2; run++) { /* the plan's own products are not counted */
            REF_OK(NULL, wisp_ctx_create(&ctx, &(wisp_ctx_opts){.threads = 1, .no_pin = 1}));
            REF_OK(ctx, wisp_mat_create(&A, ctx, &src, NULL));
            if (run == 0) {
                REF_OK(ctx, wisp_eig_plan(&plan, &choice, A, &o));
            } else {
                wisp_ctx_memory(ctx, &before, NULL);
                REF_OK(ctx, wisp_eig(&e, A, &o));
                wisp_ctx_memory(ctx, NULL, &peak);
                if (peak - before > plan.bytes_most)
                    fail_msg("case %zu, rank %d: %lld bytes are held, %lld were told", i, wisp_ctx_rank(ctx),
                             (long long)(peak - before), (long long)plan.bytes_most);
                wisp_eigen_free(&e);
            }
            wisp_mat_free(A);
            wisp_ctx_free(ctx);
        }
    }
}

/* Small matrices, whose sums of products are as large as their vectors, and whose density is more than all else; on a
   device that takes many steps of it at a time, too. */
static void planned_small(void **state)
{
    (void)state;
    static const char *const spec[] = {"topi:nx=2,ny=2,nz=2,disorder=1", "topi:nx=3,ny=5,nz=4,disorder=1",
                                       "topi:nx=5,ny=3,nz=5,disorder=1", "anderson:nx=5,ny=3,nz=3,disorder=4"};
    static const char *const device[] = {"cpu", "far"};
    static const wisp_type types[] = {WISP_DEFAULT, WISP_C, WISP_DEFAULT, WISP_DEFAULT};
    for (size_t i = 0; i < 2 * sizeof spec / sizeof *spec; i++) {
        const wisp_eig_opts o = {.which = WISP_EIG_INTERVAL, .low = -0.9, .high = 0.2, .method = WISP_CHEBFD};
        wisp_plan plan;
        wisp_eig_choice choice;
        for (int run = 0; run < 2; run++) {
            wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.device = device[i % 2], .threads = 1, .no_pin = 1});
            wisp_mat *A;
            wisp_eigen e;
            int64_t before, peak;
            REF_OK(ctx, wisp_mat_open(&A, ctx, spec[i / 2], &(wisp_mat_opts){.type = types[i / 2], .width = 4}));
            wisp_ctx_memory(ctx, &before, NULL);
            if (run == 0) {
                REF_OK(ctx, wisp_eig_plan(&plan, &choice, A, &o));
            } else {
                const wisp_status status = wisp_eig(&e, A, &o);
                wisp_ctx_memory(ctx, NULL, &peak);
                if (peak - before > plan.bytes_most)
                    fail_msg("%s, %s, %s: %lld bytes are held, %lld were told", spec[i / 2], device[i % 2],
                             wisp_status_string(status), (long long)(peak - before), (long long)plan.bytes_most);
                wisp_eigen_free(&e);
            }
            wisp_mat_free(A);
            wisp_ctx_free(ctx);
        }
    }
}

/* Intervals with more pairs than blocks have columns: these are delivered beside the space. Every third has a space
   that is too small at first. */
static void planned_intervals(void **state)
{
    (void)state;
    int found = 0;
    for (int i = ref_few() ? 2 : 0; i < 6; i += ref_few() ? 3 : 1) {
        ref_rng r = {(uint64_t)i + 100};
        chain c = {.n = 600 + (int64_t)ref_below(&r, 600), .factor = 1, .single = i % 4 == 3};
        if (c.single) c.n /= 2; /* whose filters reach less far */
        const wisp_src src = {
            .rows = c.n, .cols = c.n, .max_row = 3, .type = c.single ? WISP_S : WISP_D, .row = chain_row, .arg = &c};
        const double low = 4 + 4 * ref_uniform(&r), width = (10 + (double)ref_below(&r, 50)) / (double)c.n * 10;
        const wisp_eig_opts o = {.which = WISP_EIG_INTERVAL,
                                 .low = low,
                                 .high = low + width,
                                 .method = i % 2 ? WISP_CHEBFD : WISP_EIG_DEFAULT,
                                 .type = i % 5 == 4 ? WISP_Z : WISP_DEFAULT,
                                 .search = i % 3 == 2 ? (int)(1.1 * width / 10 * (double)c.n) + 6 : 0,
                                 .row_bytes = 32,
                                 .tolerance = c.single ? 1e-3 : 1e-4,
                                 .seed = (uint64_t)i};
        wisp_plan plan;
        wisp_eig_choice choice;
        for (int run = 0; run < 2; run++) { /* the plan's own products are not counted */
            wisp_ctx *ctx;
            wisp_mat *A;
            wisp_eigen e;
            int64_t before, peak;
            REF_OK(NULL, wisp_ctx_create(&ctx, &(wisp_ctx_opts){.threads = 1, .no_pin = 1}));
            REF_OK(ctx, wisp_mat_create(&A, ctx, &src, NULL));
            wisp_ctx_memory(ctx, &before, NULL);
            if (run == 0) {
                REF_OK(ctx, wisp_eig_plan(&plan, &choice, A, &o));
            } else {
                assert_int_not_equal(wisp_eig(&e, A, &o), WISP_ERR_NOMEM);
                wisp_ctx_memory(ctx, NULL, &peak);
                if (peak - before > plan.bytes_most)
                    fail_msg("case %d, rank %d, %d pairs of %d columns (%d planned), %d at once: %lld bytes are held, "
                             "%lld were told",
                             i, wisp_ctx_rank(ctx), e.found, e.search, choice.search, e.block,
                             (long long)(peak - before), (long long)plan.bytes_most);
                found += e.found;
                wisp_eigen_free(&e);
            }
            wisp_mat_free(A);
            wisp_ctx_free(ctx);
        }
    }
    assert_true(found > (ref_few() ? 5 : 40));
}

static int diagonal_row(void *arg, int64_t i, int64_t *col, void *val)
{
    ref_rng r = {*(const uint64_t *)arg + (uint64_t)i};
    ref_uniform(&r);
    if (col) *col = i, *(float *)val = (float)(2 * ref_uniform(&r) - 1);
    return 1;
}

/* Values so near to each other that the search for what is missing is another one, which makes room for itself; dots of
   many columns have a sum for each block of rows. */
static void planned_room(void **state)
{
    (void)state;
    for (uint64_t seed = 4; seed <= (ref_few() ? 4 : 6); seed++) {
        const wisp_eig_opts o = {.which = WISP_EIG_SMALLEST, .method = WISP_LANCZOS, .count = 40};
        const uint64_t first = seed << 32;
        const wisp_src src = {
            .rows = 1500, .cols = 1500, .max_row = 1, .type = WISP_S, .row = diagonal_row, .arg = (void *)&first};
        wisp_ctx *ctx;
        wisp_mat *A;
        wisp_plan plan;
        wisp_eigen e;
        int64_t before, peak;
        REF_OK(NULL, wisp_ctx_create(&ctx, &(wisp_ctx_opts){.threads = 2, .no_pin = 1}));
        REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.type = WISP_S}));
        REF_OK(ctx, wisp_eig_plan(&plan, NULL, A, &o));
        wisp_ctx_memory(ctx, &before, NULL);
        const wisp_status status = wisp_eig(&e, A, &o);
        wisp_ctx_memory(ctx, NULL, &peak);
        if (status == WISP_OK && e.found <= o.count + 1 && peak - before > plan.bytes_most)
            fail_msg("seed %llu: %lld bytes are held, %lld were told", (unsigned long long)seed,
                     (long long)(peak - before), (long long)plan.bytes_most);
        wisp_eigen_free(&e);
        wisp_mat_free(A);
        wisp_ctx_free(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(planned_memory), cmocka_unit_test(planned_room),
                                       cmocka_unit_test(planned_dense_and_scaled), cmocka_unit_test(planned_small),
                                       cmocka_unit_test(planned_intervals)};
    return REF_RUN(tests);
}
