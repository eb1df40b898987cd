/* What matrices and runs take, against what they were told to take: never more than the bound, and about the plan. */
#include "ref.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    const char *name; /* gallery spec, or a file that is written from `spec` */
    wisp_mat_opts o;
    wisp_kpm_opts k;
    int rough; /* the plan is that of other matrices: about is not asked for */
} run_case;

typedef struct {
    int64_t total, bound; /* of a run, as it was planned */
    int64_t peak;         /* that was held */
    wisp_format planned, format;
} found;

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* Bytes of the whole run; its width is that of the vectors. */
static void plan(const run_case *c, int threads, wisp_mat_opts *o, found *f)
{
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = threads, .no_pin = 1});
    wisp_src src;
    wisp_mat_info about, most;
    int64_t source, reading;
    REF_OK(ctx, wisp_src_open(&src, ctx, c->name));
    wisp_ctx_memory(ctx, &source, &reading);
    const wisp_type type = o->type ? o->type : src.type;
    o->width = wisp_kpm_width(type, src.rows, &c->k);
    REF_OK(ctx, wisp_mat_bound(ctx, &src, o, &most));
    REF_OK(ctx, wisp_mat_plan(ctx, &src, o, &about));
    wisp_plan run, run_most;
    REF_OK(ctx, wisp_kpm_plan(&run, ctx, &about, &c->k, NULL));
    REF_OK(ctx, wisp_kpm_plan(&run_most, ctx, &most, &c->k, NULL));
    assert_true(0 < run.bytes && run.bytes <= run.bytes_most);
    f->planned = about.format;
    f->total = larger(source + about.assembly_bytes, about.bytes + run.bytes);
    f->bound = larger(source + most.assembly_bytes, most.bytes + run_most.bytes_most);
    f->total = larger(f->total, reading);
    f->bound = larger(f->bound, reading);
    wisp_src_close(&src);
    wisp_ctx_free(ctx);
}

/* With no more memory than the bound. */
static void run(const run_case *c, int threads, const wisp_mat_opts *o, found *f)
{
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = threads, .no_pin = 1, .memory_limit = f->bound});
    wisp_src src;
    wisp_mat *A;
    wisp_mat_info info;
    wisp_moments m;
    REF_OK(ctx, wisp_src_open(&src, ctx, c->name));
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, o));
    wisp_src_close(&src);
    wisp_mat_get_info(A, &info);
    f->format = info.format;
    REF_OK(ctx, wisp_kpm(&m, A, &c->k));
    wisp_ctx_memory(ctx, NULL, &f->peak);
    wisp_moments_free(&m);
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
}

static void check(const run_case *c, int threads)
{
    enum { SMALL = 4000000 };
    const double about = 0.2;
    wisp_mat_opts o = c->o;
    found f;
    plan(c, threads, &o, &f);
    run(c, threads, &o, &f);
    const double ratio = (double)f.total / (double)f.peak;
    printf("%-44s %d thread%s, width %2d, order %d, format %d: %8.2f MB, planned %5.2f of it, bound %5.2f\n", c->name,
           threads, threads > 1 ? "s" : "", o.width, (int)o.order, (int)o.format, 1e-6 * (double)f.peak, ratio,
           (double)f.bound / (double)f.peak);
    if (f.peak > f.bound) fail_msg("%s: %lld bytes, bound %lld", c->name, (long long)f.peak, (long long)f.bound);
    if (c->rough) return;
    if (f.planned != f.format) fail_msg("%s: planned as format %d, is %d", c->name, (int)f.planned, (int)f.format);
    if (f.peak > SMALL && !(fabs(ratio - 1) <= about))
        fail_msg("%s: %lld bytes, planned %lld", c->name, (long long)f.peak, (long long)f.total);
}

/* One thread, and two, in turn. */
static void check_all(const run_case *c, size_t n)
{
    for (size_t i = 0; i < n; i++) check(&c[i], 1 + (int)(i % 2));
}

#define RCM WISP_ROWS_RCM
#define TILES WISP_ROWS_TILES
#define SELL WISP_FORMAT_SELL
#define COMPRESSED WISP_FORMAT_COMPRESSED
#define HALF WISP_FORMAT_HERMITIAN
#define BOUNDS .bounds.method = WISP_BOUNDS_GERSHGORIN
#define RUN(m, v) .k = {.moments = m, .vectors = v, BOUNDS}

static void gallery(void **state)
{
    (void)state;
    static const run_case cases[] = {
        {"topi:nx=20,ny=20,nz=20", RUN(4, 32)},
        {"topi:nx=20,ny=20,nz=20,disorder=1", RUN(4, 1)},
        {"topi:nx=20,ny=20,nz=20", .o = {.type = WISP_C}, RUN(4, 5)},
        {"topi:nx=20,ny=20,nz=20", .o = {.format = HALF}, RUN(4, 8)},
        {"topi:nx=20,ny=20,nz=20", .o = {.format = SELL}, .k = {.moments = 4, .vectors = 2}},
        {"graphene:nx=300,ny=300", RUN(4, 1)},
        {"graphene:nx=300,ny=300", RUN(4, 8)},
        {"graphene:nx=300,ny=300,disorder=1", RUN(4, 1)},
        {"graphene:nx=300,ny=300,disorder=1", .o = {.type = WISP_S}, RUN(4, 1)},
        {"graphene:nx=300,ny=300,flux=0.01", RUN(4, 4)},
        {"anderson:nx=50,ny=50,nz=50,disorder=3", RUN(4, 1)},
        {"anderson:nx=50,ny=50,nz=50,disorder=3", RUN(4, 32)},
        {"anderson:nx=50,ny=50,nz=50,disorder=3", .o = {.format = SELL}, RUN(4, 2)},
        {"anderson:nx=50,ny=50,nz=50,disorder=3", .o = {.order = TILES}, RUN(4, 4)},
        {"laplace:nx=40,ny=40,nz=40,points=27", .k = {.moments = 4}},
        {"laplace:nx=40,ny=40,nz=40,points=27", .o = {.format = SELL}, RUN(4, 1)},
        {"laplace:nx=40,ny=40,nz=40,points=27", .o = {.format = SELL, .order = RCM}, RUN(4, 4)},
        {"laplace:nx=40,ny=40,nz=40,points=27", .o = {.format = HALF}, RUN(4, 8)},
        {"laplace:nx=400,ny=400,nz=1", .o = {.order = RCM}, RUN(4, 4)},
        {"laplace:nx=400,ny=400,nz=1", .o = {.order = TILES, .type = WISP_S}, RUN(4, 7)},
        {"laplace:nx=400,ny=400,nz=1", .k = {.moments = 4, .vectors = 3, .variant = WISP_KPM_NAIVE}},
        {"band:n=100000,bandwidth=21", RUN(4, 1)},
        {"band:n=100000,bandwidth=21", RUN(4, 16)},
        {"band:n=100000,bandwidth=21", .o = {.format = HALF}, RUN(4, 4)},
        {"spinchain:sites=18,up=9", RUN(4, 1)},
        {"spinchain:sites=18,up=9", RUN(4, 16)},
        {"spinchain:sites=18,up=9", .o = {.order = RCM}, RUN(4, 2)},
        {"delaunay:nx=120,ny=120", RUN(4, 1)},
        {"delaunay:nx=120,ny=120", RUN(4, 16)},
        {"delaunay:nx=150,ny=150,shuffle=1", RUN(4, 32)},
        {"delaunay:nx=150,ny=150,shuffle=1", .o = {.order = RCM}, RUN(4, 2)},
        {"delaunay:nx=150,ny=150,shuffle=1", .o = {.format = HALF}, RUN(4, 2), .rough = 1},
        {"tetrahedra:nx=25,ny=25,nz=25", RUN(4, 16)},
        {"tetrahedra:nx=25,ny=25,nz=25", .o = {.format = HALF}, RUN(4, 4)},
        {"tetrahedra:nx=25,ny=25,nz=25", .o = {.type = WISP_S}, RUN(4, 1)},
        {"band:n=100000,bandwidth=21", .o = {.format = COMPRESSED}, RUN(4, 1)},
        {"anderson:nx=50,ny=50,nz=50,disorder=3", .o = {.format = COMPRESSED, .order = RCM}, RUN(4, 1)},
        {"graphene:nx=200,ny=200,flux=0.01,disorder=1", .o = {.format = COMPRESSED}, RUN(4, 1)},
    };
    check_all(cases, sizeof cases / sizeof cases[0]);
}

/* Rows that are many enough for the plan to look at some of them alone. */
static void large(void **state)
{
    (void)state;
    static const run_case cases[] = {
        {"graphene:nx=1100,ny=1000,disorder=1", .o = {.type = WISP_S}, RUN(2, 1)},
        {"graphene:nx=1100,ny=1000", RUN(2, 2)},
        {"anderson:nx=110,ny=110,nz=110,disorder=2", RUN(2, 1)},
        {"anderson:nx=110,ny=110,nz=110,disorder=2", .o = {.format = SELL}, RUN(2, 1)},
        {"band:n=1500000,bandwidth=5", RUN(2, 1)},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) check(&cases[i], 2);
}

/* Interleaved steps, exact traces, single rows. */
static void long_runs(void **state)
{
    (void)state;
    static const int64_t sites[] = {0, 5, 77};
    static const run_case cases[] = {
        {"laplace:nx=300,ny=300,nz=1", RUN(200, 2)},
        {"laplace:nx=300,ny=300,nz=1", .k = {.moments = 32, .vectors = 3, .depth = 16, .width = 2, BOUNDS}},
        {"anderson:nx=40,ny=40,nz=40,disorder=1", .k = {.moments = 40, .vectors = 8, .depth = 4}},
        {"anderson:nx=40,ny=40,nz=40,disorder=1", .o = {.type = WISP_S},
         .k = {.moments = 40, .vectors = 3, .width = 1, .rounding_limit = 1}},
        {"laplace:nx=400,ny=400,nz=1", .o = {.type = WISP_S},
         .k = {.moments = 40, .vectors = 3, .variant = WISP_KPM_NAIVE, .rounding_limit = 1}},
        {"anderson:nx=10,ny=10,nz=10,disorder=1", .k = {.moments = 8, .trace = WISP_TRACE_EXACT}},
        {"anderson:nx=30,ny=30,nz=30", .k = {.moments = 8, .vectors = 3, .trace = WISP_TRACE_SITES, .sites = sites}},
        {"laplace:nx=200,ny=200,nz=1", .k = {.moments = 8, .vectors = 4, .type = WISP_Z}},
        {"topi:nx=3,ny=3,nz=3", RUN(300, 3), .rough = 1},
        {"laplace:nx=1,ny=1,nz=1", RUN(4, 1), .rough = 1},
        {"laplace:nx=7,ny=1,nz=1", RUN(4, 40), .rough = 1},
    };
    check_all(cases, sizeof cases / sizeof cases[0]);
}

/* ---- files: they are held as they are read, and as a source ------------------------------------- */

static void write_file(const char *spec, const char *path, const wisp_write_opts *w)
{
    wisp_ctx *ctx = ref_ctx(NULL);
    wisp_src src;
    REF_OK(ctx, wisp_src_open_gallery(&src, ctx, spec));
    REF_OK(ctx, wisp_src_write(&src, ctx, path, w));
    wisp_src_close(&src);
    wisp_ctx_free(ctx);
}

static void files(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *path;
        wisp_write_opts w;
    } file[] = {
        {"anderson:nx=40,ny=40,nz=40,disorder=2", "plan_general.mtx", {0}},
        {"anderson:nx=40,ny=40,nz=40,disorder=2", "plan_symmetric.mtx", {.symmetry = WISP_SYM_SYMMETRIC}},
        {"topi:nx=14,ny=14,nz=14", "plan_hermitian.mtx.gz", {.symmetry = WISP_SYM_HERMITIAN}},
        {"laplace:nx=200,ny=200,nz=1", "plan_pattern.mtx", {.pattern = 1}},
        {"delaunay:nx=120,ny=120,shuffle=1", "plan_gzip.mtx.gz", {0}},
        {"tetrahedra:nx=20,ny=20,nz=20", "plan_ghost.crs", {0}},
        {"anderson:nx=4,ny=4,nz=4", "plan_dense.mtx", {.array = 1}},
    };
    for (size_t i = 0; i < sizeof file / sizeof file[0]; i++) {
        write_file(file[i].spec, file[i].path, &file[i].w);
        const run_case cases[] = {
            {file[i].path, RUN(4, 1)},
            {file[i].path, RUN(4, 32)},
            {file[i].path, .o = {.format = SELL}, .k = {.moments = 6, .vectors = 2}},
            {file[i].path, .o = {.format = HALF}, RUN(4, 6), .rough = 1},
            {file[i].path, .o = {.order = RCM}, RUN(4, 3)},
        };
        check_all(cases, sizeof cases / sizeof cases[0]);
        unlink(file[i].path);
    }
}

/* ---- matrices of any shape ---------------------------------------------------------------------- */

/* Rows without order, sorted by length or not, few and many to a chunk; and some that repeat. */
static void any_matrix(void **state)
{
    (void)state;
    ref_rng r = {5};
    for (int trial = 0; trial < 150; trial++) {
        const wisp_type type = (wisp_type)(WISP_S + trial % 4);
        const int64_t n = 1 + ref_below(&r, trial % 3 ? 400 : 4000), m = trial % 4 ? n : 1 + ref_below(&r, 3000);
        wisp_mat_opts o = {.width = 1 + (int)ref_below(&r, 20) * (trial & 1),
                           .order = (wisp_order)ref_below(&r, 4),
                           .format = ref_below(&r, 2) ? SELL : WISP_FORMAT_DEFAULT};
        if (trial % 5 == 0) o.C = 1 << ref_below(&r, 8), o.sigma = ref_below(&r, 2) ? 1 : o.C * 4;
        wisp_src src = ref_random_src(&r, type, n, m, 1 + (int)ref_below(&r, trial % 7 ? 12 : 120));
        wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = 1 + trial % 2, .no_pin = 1}), *own;
        wisp_mat_info most, info;
        wisp_mat *A;
        int64_t now, peak;
        REF_OK(ctx, wisp_mat_bound(ctx, &src, &o, &most));
        own = ref_ctx(&(wisp_ctx_opts){.threads = 1 + trial % 2, .no_pin = 1, .memory_limit = most.assembly_bytes});
        REF_OK(own, wisp_mat_create(&A, own, &src, &o));
        wisp_ctx_memory(own, &now, &peak);
        wisp_mat_get_info(A, &info);
        assert_true(info.bytes <= most.bytes && peak <= most.assembly_bytes);
        assert_true(now <= most.bytes + 16384 && info.work_blocks <= most.work_blocks);
        wisp_mat_free(A);
        wisp_ctx_free(own);
        wisp_ctx_free(ctx);
        wisp_src_close(&src);
    }
}

/* A plan with far less memory than the matrix needs tells the storage that it would have with enough. */
static void little_memory(void **state)
{
    (void)state;
    static const char *const specs[] = {"laplace:nx=700,ny=400,nz=1", "topi:nx=40,ny=40,nz=40",
                                        "anderson:nx=60,ny=60,nz=60,disorder=1"};
    for (int c = 0; c < 6; c++) {
        const wisp_mat_opts o = {.width = c % 2 ? 4 : 1};
        const char *spec = specs[c / 2];
        wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = 1, .no_pin = 1});
        wisp_mat_info enough, little;
        wisp_src src;
        int64_t before, peak;
        REF_OK(ctx, wisp_src_open(&src, ctx, spec));
        wisp_ctx_memory(ctx, &before, NULL);
        REF_OK(ctx, wisp_mat_plan(ctx, &src, &o, &enough));
        wisp_ctx_memory(ctx, NULL, &peak);
        wisp_src_close(&src);
        for (int64_t limit = 600000; limit <= 1200000; limit += 200000) {
            wisp_ctx *poor = ref_ctx(&(wisp_ctx_opts){.threads = 1, .no_pin = 1, .memory_limit = limit});
            REF_OK(poor, wisp_src_open(&src, poor, spec));
            REF_OK(poor, wisp_mat_plan(poor, &src, &o, &little));
            wisp_src_close(&src);
            if (little.format != enough.format || fabs((double)little.bytes / (double)enough.bytes - 1) > 0.5)
                fail_msg("%s, width %d: format %d, %lld bytes; with enough memory, %lld, format %d, %lld bytes", spec,
                         o.width, (int)little.format, (long long)little.bytes, (long long)(peak - before),
                         (int)enough.format, (long long)enough.bytes);
            wisp_ctx_free(poor);
        }
        wisp_ctx_free(ctx);
    }
}

/* What is refused is told in units that show it. */
static void limits_in_words(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.memory_limit = 3000});
    void *held, *more;
    REF_OK(ctx, wisp_alloc(ctx, &held, 1234, 1));
    REF_FAILS(ctx, wisp_alloc(ctx, &more, 17654, 100), WISP_ERR_NOMEM,
              "memory limit: 1.765 MB more, with 1.234 kB held, would pass the limit of 3 kB");
    REF_FAILS(ctx, wisp_alloc(ctx, &more, 1800, 1), WISP_ERR_NOMEM, "1.8 kB more, with 1.234 kB held");
    wisp_free(ctx, held);
    wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gallery),       cmocka_unit_test(large),      cmocka_unit_test(long_runs),
        cmocka_unit_test(files),         cmocka_unit_test(any_matrix), cmocka_unit_test(limits_in_words),
        cmocka_unit_test(little_memory),
    };
    return REF_RUN(tests);
}
