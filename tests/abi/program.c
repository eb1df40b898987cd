/* A program of an earlier version, which runs with the library of now. It is compiled with the headers of that version
   that are kept beside it, and linked to the shared library. It sets options and reads results by the fields of many
   structs, and checks each result by a closed form or by plain arithmetic: a field that the library looks for elsewhere
   gives a wrong one. $1: a file that it may write. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wisp/wisp.h>

static int failures;
static wisp_ctx *ctx;

static void check(int good, int line, const char *what)
{
    if (good) return;
    failures++;
    char text[WISP_MESSAGE];
    fprintf(stderr, "program.c:%d: %s (last message: %s)\n", line, what, wisp_ctx_message(ctx, text, sizeof text));
}
#define CHECK(condition) check(!!(condition), __LINE__, #condition)
#define WORKS(call) check((call) == WISP_OK, __LINE__, #call)

static int near(double a, double b, double tolerance) { return fabs(a - b) <= tolerance * (1 + fabs(b)); }
static wisp_scalar scalar(double re) { return (wisp_scalar){re, 0}; }

/* ---- the matrix: "laplace:points=5" of SIDE x SIDE cells ---------------------------------------- */

enum { SIDE = 11, ROWS = SIDE * SIDE, ENTRIES = ROWS + 4 * SIDE * (SIDE - 1), WIDTH = 2, SIZE = ROWS * WIDTH };
static const char name[] = "laplace:points=5,nx=11,ny=11";
static const double pi = 3.14159265358979323846;

static double eigenvalue(int p, int q) { return 4 - 2 * cos(p * pi / (SIDE + 1)) - 2 * cos(q * pi / (SIDE + 1)); }
static double eigenvector(int p, int q, int row)
{
    return 2.0 / (SIDE + 1) * sin(p * pi * (row / SIDE + 1) / (SIDE + 1)) * sin(q * pi * (row % SIDE + 1) / (SIDE + 1));
}

/* Of <row|T_n((A - c)/h)|row>, or with row < 0 of the trace. */
static double chebyshev_moment(int n, double c, double h, int row)
{
    double sum = 0;
    for (int p = 1; p <= SIDE; p++)
        for (int q = 1; q <= SIDE; q++) {
            const double weight = row < 0 ? 1 : eigenvector(p, q, row) * eigenvector(p, q, row);
            sum += weight * cos(n * acos((eigenvalue(p, q) - c) / h));
        }
    return sum;
}

/* y = A x, plainly. */
static void multiply(const double *x, double *y)
{
    for (int i = 0; i < SIZE; i++) {
        const int row = i / WIDTH, a = row / SIDE, b = row % SIDE;
        y[i] = 4 * x[i];
        if (a > 0) y[i] -= x[i - SIDE * WIDTH];
        if (a < SIDE - 1) y[i] -= x[i + SIDE * WIDTH];
        if (b > 0) y[i] -= x[i - WIDTH];
        if (b < SIDE - 1) y[i] -= x[i + WIDTH];
    }
}

/* ---- blocks of WIDTH columns, and their elements in the natural order ---------------------------- */

typedef struct {
    wisp_blk *block;
    double v[SIZE];
} vectors;

static void make(vectors *x, wisp_map *map, unsigned seed)
{
    for (int i = 0; i < SIZE; i++) {
        seed = seed * 1664525 + 1013904223;
        x->v[i] = seed / 4294967296.0 - 0.5;
    }
    WORKS(wisp_blk_create(&x->block, ctx, map, WISP_D, WIDTH));
    WORKS(wisp_blk_put(x->block, WISP_ROW_MAJOR, x->v, WIDTH));
}

static void unmake(vectors *x) { wisp_blk_free(x->block); }

static int is(const wisp_blk *block, const double *want)
{
    double got[SIZE];
    int good = wisp_blk_get(block, WISP_ROW_MAJOR, got, WIDTH) == WISP_OK;
    for (int i = 0; i < SIZE; i++) good = good && near(got[i], want[i], 1e-12);
    return good;
}

static int is_dot(const wisp_scalar *dot, const double *x, const double *y)
{
    double sum[WIDTH] = {0};
    for (int i = 0; i < SIZE; i++) sum[i % WIDTH] += x[i] * y[i];
    int good = 1;
    for (int j = 0; j < WIDTH; j++) good = good && near(dot[j].re, sum[j], 1e-12) && dot[j].im == 0;
    return good;
}

/* ---- contexts ----------------------------------------------------------------------------------- */

static int logged, told; /* by a call with these arguments */
static void on_log(void *arg, wisp_log_level level, const char *message)
{
    logged += arg == &logged && level == WISP_LOG_DEBUG && !strcmp(message, "words");
}
static int on_progress(void *arg, const wisp_progress *p)
{
    told += arg == &told && !strcmp(p->task, "task") && p->done == 0.5 && p->flops == 7;
    return 0;
}

static void contexts(void)
{
    enum { ROOM = 1 << 26 };
    wisp_map *map;
    void *memory;
    const wisp_ctx_opts o = {.threads = 2,
                             .no_pin = 1,
                             .device = "cpu",
                             .isa = "generic",
                             .log = on_log,
                             .log_arg = &logged,
                             .level = WISP_LOG_DEBUG,
                             .progress = on_progress,
                             .progress_arg = &told,
                             .index_limit = 1000,
                             .memory_limit = ROOM};
    WORKS(wisp_ctx_create(&ctx, &o));
    CHECK(wisp_ctx_threads(ctx) == 2 && !strcmp(wisp_ctx_isa(ctx), "generic") && !strcmp(wisp_ctx_device(ctx), "cpu"));
    wisp_ctx_logf(ctx, WISP_LOG_DEBUG, "words");
    CHECK(logged == 1);
    WORKS(wisp_ctx_step(ctx, "task", 0.5, 7));
    CHECK(told == 1);
    WORKS(wisp_map_create(&map, ctx, 1000));
    wisp_map_free(map);
    CHECK(wisp_map_create(&map, ctx, 1001) == WISP_ERR_OVERFLOW);
    WORKS(wisp_alloc(ctx, &memory, ROOM / 2, 1));
    wisp_free(ctx, memory);
    CHECK(wisp_alloc(ctx, &memory, ROOM + 1, 1) == WISP_ERR_NOMEM);
}

static void machines(void)
{
    wisp_machine m;
    int set;
    WORKS(wisp_machine_measure(ctx, &m, 0));
    CHECK(m.threads == 2 && !strcmp(m.isa, "generic") && m.cpu[0] && m.cores >= 1 && m.cpus >= m.cores);
    CHECK(m.gbs[WISP_LOAD][WISP_MEMORY][1] == 0 && m.kept_bytes == 0 && m.exchange_gbs == 0);
    m = (wisp_machine){.kept_bytes = 123456789};
    wisp_ctx_set_machine(ctx, &m);
    CHECK(wisp_ctx_cache(ctx, &set) == 123456789 && set == 1);
}

/* ---- sources ------------------------------------------------------------------------------------ */

static int closed;
static void on_close(void *arg) { closed += arg == &closed; }

/* 2 x 3: (1 0 2; 0 3 0). */
static int small_row(void *arg, int64_t row, int64_t *col, void *val)
{
    double *v = val;
    if (arg != &closed) return -1;
    if (col && row == 0) col[0] = 0, v[0] = 1, col[1] = 2, v[1] = 2;
    if (col && row == 1) col[0] = 1, v[0] = 3;
    return row == 0 ? 2 : 1;
}

static void written(const wisp_src *src, const char *path)
{
    char text[256] = "";
    wisp_mat *A;
    wisp_mat_info info;
    const wisp_write_opts o = {.symmetry = WISP_SYM_SYMMETRIC, .pattern = 1, .comment = "of a test"};
    WORKS(wisp_src_write(src, ctx, path, &o));
    FILE *f = fopen(path, "r");
    CHECK(f && fread(text, 1, sizeof text - 1, f) > 0);
    if (f) fclose(f);
    CHECK(strstr(text, "coordinate pattern symmetric") && strstr(text, "of a test"));
    WORKS(wisp_mat_open(&A, ctx, path, NULL));
    wisp_mat_get_info(A, &info);
    CHECK(info.nnz == ENTRIES);
    wisp_mat_free(A);
    remove(path);
}

static void sources(const char *path)
{
    static const int32_t rowptr[] = {0, 2, 3};
    static const int64_t col[] = {0, 2, 1};
    static const double val[] = {1, 2, 3};
    const wisp_crs crs = {.rows = 2,
                          .cols = 3,
                          .type = WISP_D,
                          .rowptr_int = WISP_INT32,
                          .col_int = WISP_INT64,
                          .rowptr = rowptr,
                          .col = col,
                          .val = val};
    wisp_src own = {2, 3, 2, WISP_D, small_row, &closed, on_close, 0, NULL, 0, NULL}, src;
    wisp_mat *A[3];
    WORKS(wisp_src_open_crs(&src, ctx, &crs));
    CHECK(src.rows == 2 && src.cols == 3 && src.max_row == 2 && src.type == WISP_D);
    WORKS(wisp_mat_create(&A[0], ctx, &own, NULL));
    WORKS(wisp_mat_create(&A[1], ctx, &src, NULL));
    WORKS(wisp_mat_borrow_crs(&A[2], ctx, &crs));
    for (int k = 0; k < 3; k++) {
        const double x[3] = {10, 20, 40};
        double y[2];
        wisp_blk *in, *out;
        WORKS(wisp_blk_create(&in, ctx, wisp_mat_col_map(A[k]), WISP_D, 1));
        WORKS(wisp_blk_create(&out, ctx, wisp_mat_map(A[k]), WISP_D, 1));
        WORKS(wisp_blk_put(in, WISP_ROW_MAJOR, x, 1));
        WORKS(wisp_spmmv(out, A[k], in, NULL));
        WORKS(wisp_blk_get(out, WISP_COL_MAJOR, y, 2));
        CHECK(y[0] == 90 && y[1] == 60);
        wisp_blk_free(in), wisp_blk_free(out);
        wisp_mat_free(A[k]);
    }
    wisp_src_close(&src), wisp_src_close(&own);
    CHECK(closed == 1 && !own.row && !own.free_arg);
    WORKS(wisp_src_open(&src, ctx, name));
    CHECK(src.rows == ROWS && src.cols == ROWS && src.max_row >= 5 && src.type == WISP_D && src.row);
    written(&src, path);
    wisp_src_close(&src);
}

/* ---- the matrix, and what is said of it ---------------------------------------------------------- */

static void foreseen(const wisp_src *src, const wisp_mat_opts *o, const wisp_mat_info *info)
{
    wisp_mat_info plan, bound;
    wisp_choice c;
    WORKS(wisp_mat_plan(ctx, src, o, &plan));
    WORKS(wisp_mat_bound(ctx, src, o, &bound));
    CHECK(plan.rows == ROWS && plan.nnz == ENTRIES && plan.local_rows == ROWS && plan.halo_rows == 0);
    CHECK(plan.format == info->format && plan.type == info->type && plan.assembly_bytes > 0 && plan.work_blocks > 0);
    CHECK(bound.bytes >= info->bytes && bound.assembly_bytes >= bound.bytes && bound.local_rows == ROWS);
    WORKS(wisp_src_choose(ctx, src, &(wisp_mat_opts){.width = 4}, WISP_D, 32, 100, &c));
    CHECK(c.width == 4 && c.seconds >= 0 && c.seconds < 1);
    CHECK(c.limit && (!strcmp(c.limit, "memory") || !strcmp(c.limit, "cache") || !strcmp(c.limit, "core")));
}

static void properties(const wisp_mat *A)
{
    wisp_mat_props p;
    wisp_gather g;
    const double mean = (double)ENTRIES / ROWS, corners = 4, sides = 4 * (SIDE - 2), others = ROWS - sides - corners;
    const double squares = 9 * corners + 16 * sides + 25 * others;
    WORKS(wisp_mat_get_props(A, &p));
    CHECK(p.square && p.pattern_symmetric && p.symmetric && p.hermitian && p.nearly_hermitian && !p.skew);
    CHECK(p.bad_row == -1 && p.bad_col == -1 && p.asymmetry == 0 && p.bandwidth == SIDE && p.empty_rows == 0);
    CHECK(p.diagonal == ROWS && p.min_row == 3 && p.max_row == 5 && near(p.row_mean, mean, 1e-12));
    CHECK(near(p.row_sdev, sqrt(squares / ROWS - mean * mean), 1e-9));
    CHECK(near(p.gershgorin_min, 0, 1e-12) && near(p.gershgorin_max, 8, 1e-12));
    CHECK(p.nonfinite_row == -1 && p.largest == 4);
    WORKS(wisp_mat_gather(A, WISP_D, WIDTH, &g));
    CHECK(isfinite(g.excess) && isfinite(g.from_l3) && g.from_l3 >= 0);
}

static void costs(const wisp_mat *A)
{
    const double entry = sizeof(double) + sizeof(int32_t), x = SIZE * sizeof(double);
    wisp_cost c, more;
    WORKS(wisp_spmmv_cost(A, WISP_D, WIDTH, 0, &c));
    WORKS(wisp_spmmv_cost(A, WISP_D, WIDTH, WISP_AXPBY, &more));
    CHECK(c.flops == 2 * WIDTH * ENTRIES && more.flops == c.flops + 2 * SIZE);
    CHECK(c.bytes >= entry * ENTRIES + 2 * x && c.bytes < 1.5 * entry * ENTRIES + 2 * x && more.bytes == c.bytes + x);
}

static wisp_mat *matrices(void)
{
    wisp_src src;
    wisp_mat *A, *half;
    wisp_map *map;
    wisp_mat_info info;
    const wisp_mat_opts o = {
        .type = WISP_D, .width = WIDTH, .C = 4, .sigma = 8, .order = WISP_ROWS_RCM, .format = WISP_FORMAT_SELL};
    WORKS(wisp_src_open(&src, ctx, name));
    WORKS(wisp_map_create_ordered(&map, ctx, &src, &o));
    CHECK(wisp_map_rows(map) == ROWS && !wisp_map_is_natural(map));
    wisp_map_free(map);
    WORKS(wisp_mat_create(&A, ctx, &src, &o));
    wisp_mat_get_info(A, &info);
    CHECK(info.rows == ROWS && info.cols == ROWS && info.nnz == ENTRIES && info.type == WISP_D && info.C == 4);
    CHECK(info.sigma == 8 && info.order == WISP_ROWS_RCM && info.format == WISP_FORMAT_SELL && info.spill_bytes == 0);
    CHECK(info.bytes >= 12 * ENTRIES && info.assembly_bytes == 0 && info.work_blocks >= 1);
    CHECK(info.local_rows == ROWS && info.halo_rows == 0);
    foreseen(&src, &o, &info);
    properties(A);
    WORKS(wisp_map_create(&map, ctx, ROWS));
    WORKS(wisp_mat_create(&half, ctx, &src, &(wisp_mat_opts){.map = map, .format = WISP_FORMAT_HERMITIAN}));
    wisp_mat_get_info(half, &info);
    CHECK(wisp_mat_map(half) == map && info.format == WISP_FORMAT_HERMITIAN && info.nnz == ENTRIES);
    wisp_mat_free(half);
    wisp_map_free(map);
    WORKS(wisp_mat_update(A, &src));
    wisp_src_close(&src);
    return A;
}

/* ---- products ------------------------------------------------------------------------------------ */

static void product(const wisp_mat *A)
{
    const wisp_scalar shift[WIDTH] = {{0.5, 0}, {-1, 0}}, add[WIDTH] = {{3, 0}, {0.25, 0}};
    wisp_scalar dot[4 * WIDTH];
    static vectors x, y, z, u;
    double Ax[SIZE];
    vectors *all[] = {&x, &y, &z, &u};
    for (unsigned i = 0; i < 4; i++) make(all[i], wisp_mat_map(A), i + 1);
    const wisp_aug aug = {.terms = WISP_SCALE | WISP_SHIFT | WISP_AXPBY | WISP_CHAIN | WISP_ADD | WISP_DOTS,
                          .alpha = scalar(2),
                          .beta = scalar(-0.5),
                          .delta = scalar(0.75),
                          .eta = scalar(-3),
                          .shift = shift,
                          .z = z.block,
                          .dot = dot,
                          .u = u.block,
                          .add = add};
    WORKS(wisp_spmmv(y.block, A, x.block, &aug));
    multiply(x.v, Ax);
    for (int i = 0; i < SIZE; i++) {
        y.v[i] = 2 * (Ax[i] - shift[i % WIDTH].re * x.v[i]) - 0.5 * y.v[i] + add[i % WIDTH].re * u.v[i];
        z.v[i] = 0.75 * z.v[i] - 3 * y.v[i];
    }
    CHECK(is(y.block, y.v) && is(z.block, z.v));
    CHECK(is_dot(dot, x.v, x.v) && is_dot(dot + WIDTH, x.v, y.v));
    CHECK(is_dot(dot + 2 * WIDTH, y.v, y.v) && is_dot(dot + 3 * WIDTH, u.v, y.v));
    for (int i = 0; i < 4; i++) unmake(all[i]);
}

enum { STEPS = 3 };

static void powers(const wisp_mat *A)
{
    const wisp_scalar alpha[STEPS] = {{1, 0}, {0.5, 0}, {2, 0}}, beta[STEPS] = {{0.5, 0}, {-1, 0}, {0.25, 0}};
    const wisp_scalar gamma[STEPS] = {{4, 0}, {3, 0}, {1, 0}}, eta[STEPS] = {{1, 0}, {-2, 0}, {0.5, 0}};
    const wisp_scalar add[STEPS * WIDTH] = {{1, 0}, {2, 0}, {3, 0}, {4, 0}, {5, 0}, {6, 0}};
    wisp_scalar dot[STEPS * 4 * WIDTH];
    static vectors v[2], z, u;
    vectors *all[] = {&v[0], &v[1], &z, &u};
    double Ax[SIZE];
    int depth_used = -1;
    for (unsigned i = 0; i < 4; i++) make(all[i], wisp_mat_map(A), i + 11);
    const wisp_mpk_opts o = {.steps = STEPS,
                             .alpha = alpha,
                             .beta = beta,
                             .gamma = gamma,
                             .terms = WISP_DOT_YY | WISP_DOT_UY,
                             .dot = dot,
                             .sums = 1,
                             .z = &z.block,
                             .eta = eta,
                             .depth = 1,
                             .cache_budget = 1 << 20,
                             .depth_used = &depth_used,
                             .u = u.block,
                             .add = add};
    WORKS(wisp_mpk((wisp_blk *[]){v[0].block, v[1].block}, 2, A, &o));
    for (int k = 0; k < STEPS; k++) {
        const double *x = v[(k + 1) % 2].v;
        double *y = v[k % 2].v;
        multiply(x, Ax);
        for (int i = 0; i < SIZE; i++) {
            y[i] =
                alpha[k].re * (Ax[i] - gamma[k].re * x[i]) + beta[k].re * y[i] + add[k * WIDTH + i % WIDTH].re * u.v[i];
            z.v[i] += eta[k].re * y[i];
        }
        CHECK(is_dot(dot + (4 * k + 2) * WIDTH, y, y) && is_dot(dot + (4 * k + 3) * WIDTH, u.v, y));
    }
    CHECK(is(v[0].block, v[0].v) && is(v[1].block, v[1].v) && is(z.block, z.v) && depth_used == 1);
    CHECK(wisp_mpk((wisp_blk *[]){v[0].block, v[1].block}, 2, A, &(wisp_mpk_opts){.cache_budget = -1}) == WISP_ERR_ARG);
    for (int i = 0; i < 4; i++) unmake(all[i]);
}

static wisp_status apply(void *arg, wisp_blk *y, const wisp_blk *x) { return wisp_spmmv(y, arg, x, NULL); }
static void *let_go;
static void on_free(void *arg) { let_go = arg; }

static void operators(wisp_mat *A)
{
    const wisp_operator op = {.map = wisp_mat_map(A), .type = WISP_D, .apply = apply, .arg = A, .free_arg = on_free};
    wisp_mat *B;
    wisp_mat_info info;
    WORKS(wisp_mat_from_apply(&B, ctx, &op));
    wisp_mat_get_info(B, &info);
    CHECK(info.format == WISP_FORMAT_OPERATOR && info.rows == ROWS && info.nnz == 0 && info.type == WISP_D);
    product(B);
    wisp_mat_free(B);
    CHECK(let_go == A);
}

/* ---- solvers ------------------------------------------------------------------------------------- */

static const wisp_bounds given = {4, 4.25, 0};

static void bounds(const wisp_mat *A)
{
    const wisp_bounds_opts o = {.method = WISP_BOUNDS_LANCZOS, .seed = 5, .sweeps = 1000, .width = 2};
    const double low = eigenvalue(1, 1), high = eigenvalue(SIDE, SIDE);
    wisp_bounds b;
    wisp_mat_info info;
    wisp_plan plan;
    WORKS(wisp_bounds_find(&b, A, &o));
    CHECK(b.center - b.halfwidth <= low && b.center + b.halfwidth >= high && b.halfwidth < 0.6 * (high - low));
    CHECK(b.failure_probability >= 0 && b.failure_probability <= 1e-7);
    WORKS(wisp_bounds_find(&b, A, &(wisp_bounds_opts){.method = WISP_BOUNDS_GERSHGORIN}));
    CHECK(near(b.center, 4, 0.02) && near(b.halfwidth, 4, 0.02) && b.failure_probability == 0);
    wisp_mat_get_info(A, &info);
    WORKS(wisp_bounds_plan(&plan, ctx, &info, &o, NULL));
    CHECK(plan.sweeps >= 1 && plan.products >= plan.sweeps && plan.products <= 2 * plan.sweeps);
}

/* Densities and counts of the trace. */
static void densities(const wisp_moments *m)
{
    enum { POINTS = 500 };
    double energy[POINTS], dos[POINTS], error[POINTS], low[POINTS], high[POINTS], sum = 0, count;
    const double h = m->bounds.halfwidth, x = 2.5 - m->bounds.center;
    wisp_energies(&m->bounds, POINTS, energy);
    WORKS(wisp_dos(ctx, m, NULL, -1, POINTS, energy, dos, error));
    for (int i = 1; i < POINTS; i++) sum += (dos[i] + dos[i - 1]) / 2 * (energy[i] - energy[i - 1]);
    CHECK(near(sum, ROWS, 1e-3) && error[7] == 0);
    wisp_bars95(m, NULL, POINTS, dos, error, low, high);
    CHECK(low[7] == dos[7] && high[7] == dos[7]);
    WORKS(wisp_count(ctx, m, NULL, -1, -INFINITY, INFINITY, &count, error));
    CHECK(near(count, ROWS, 1e-9));
    /* The first moment alone, undamped; two kernels of Lorentz. */
    energy[0] = m->bounds.center + x;
    WORKS(wisp_dos(ctx, m, &(wisp_eval_opts){.kernel = WISP_DIRICHLET, .n = 1}, -1, 1, energy, dos, NULL));
    CHECK(near(dos[0], ROWS / (pi * sqrt(h * h - x * x)), 1e-9));
    const wisp_eval_opts lorentz = {.kernel = WISP_LORENTZ, .lambda = 3, .n = 2};
    const double damping = sinh(3 * (1 - 1.0 / 2)) / sinh(3), mu = chebyshev_moment(1, m->bounds.center, h, -1);
    WORKS(wisp_dos(ctx, m, &lorentz, -1, 1, energy, dos, NULL));
    CHECK(near(dos[0], (ROWS + 2 * damping * mu * x / h) / (pi * sqrt(h * h - x * x)), 1e-9));
}

static void exact_moments(const wisp_mat *A)
{
    enum { N = 64 };
    const int64_t site[] = {60, 3};
    wisp_kpm_opts o = {
        .moments = N, .trace = WISP_TRACE_EXACT, .width = 4, .bounds.method = WISP_BOUNDS_GIVEN, .bounds.given = given};
    wisp_moments m;
    WORKS(wisp_kpm(&m, A, &o));
    CHECK(m.rows == ROWS && m.nnz == ENTRIES && m.n == N && m.vectors == 1 && m.trace == WISP_TRACE_EXACT && !m.sites);
    CHECK(m.bounds.center == given.center && m.bounds.halfwidth == given.halfwidth &&
          m.bounds_method == o.bounds.method);
    CHECK(m.type == WISP_D && m.width == 4 && m.depth >= 1 && m.threads == 2 && m.flops > 0 && m.bounds_seconds >= 0);
    CHECK(m.rounding == 0 && m.partial == 0 && !m.matrix && !m.command && !strcmp(m.version, wisp_version()));
    for (int n = 0; n < N; n++) CHECK(near(m.mu[n], chebyshev_moment(n, given.center, given.halfwidth, -1), 1e-9));
    densities(&m);
    WORKS(wisp_moments_label(ctx, &m, name, "a command"));
    CHECK(m.matrix && !strcmp(m.matrix, name) && m.command && !strcmp(m.command, "a command"));
    wisp_moments_free(&m);
    CHECK(!m.mu && !m.command && m.n == 0);
    o.trace = WISP_TRACE_SITES;
    o.vectors = 2;
    o.sites = site;
    WORKS(wisp_kpm(&m, A, &o));
    CHECK(m.vectors == 2 && m.sites && m.sites[0] == 60 && m.sites[1] == 3);
    for (int n = 0; n < N; n++) CHECK(near(m.mu[N + n], chebyshev_moment(n, given.center, given.halfwidth, 3), 1e-9));
    wisp_moments_free(&m);
    o.rounding_limit = -1;
    CHECK(wisp_kpm(&m, A, &o) == WISP_ERR_ARG);
}

/* Two runs are taken together to one of all vectors. */
static void random_moments(const wisp_mat *A)
{
    wisp_kpm_opts o = {.moments = 16,
                       .vectors = 6,
                       .seed = 77,
                       .variant = WISP_KPM_FUSED,
                       .depth = 1,
                       .bounds.method = WISP_BOUNDS_GIVEN,
                       .bounds.given = given};
    wisp_moments whole, part[2], both;
    double mean[16], error[16];
    WORKS(wisp_kpm(&whole, A, &o));
    CHECK(whole.seed == 77 && whole.first_vector == 0 && whole.variant == WISP_KPM_FUSED && whole.vectors == 6);
    wisp_mat_info info;
    wisp_plan plan;
    wisp_mat_get_info(A, &info);
    WORKS(wisp_kpm_plan(&plan, ctx, &info, &o, NULL));
    CHECK(0 < plan.bytes && plan.bytes <= plan.bytes_most && plan.products == 48 &&
          wisp_kpm_type(WISP_D, ROWS, &o) != WISP_DEFAULT);
    o.vectors = 3;
    WORKS(wisp_kpm(&part[0], A, &o));
    o.first_vector = 3;
    WORKS(wisp_kpm(&part[1], A, &o));
    CHECK(part[1].first_vector == 3);
    WORKS(wisp_moments_fit(ctx, &part[0], &part[1]));
    WORKS(wisp_moments_merge(ctx, &both, part, 2));
    CHECK(both.vectors == 6 && both.n == 16 && both.seed == 77);
    for (int i = 0; i < 6 * 16; i++) CHECK(near(both.mu[i], whole.mu[i], 1e-12));
    WORKS(wisp_moments_mean(ctx, &both, WISP_REAL_PART, mean, error));
    CHECK(near(mean[0], ROWS, 1e-9) && fabs(mean[2] - chebyshev_moment(2, 4, 4.25, -1)) < 10 * error[2] &&
          error[2] > 0);
    wisp_moments_free(&whole), wisp_moments_free(&both);
    wisp_moments_free(&part[0]), wisp_moments_free(&part[1]);
}

/* An eigenvector turns by its eigenvalue. */
static const double times[] = {0.3, 0.75};
static int observed;
static int on_time(void *arg, int64_t i, const wisp_blk *psi, const double *norm)
{
    wisp_scalar v[ROWS];
    const double angle = -eigenvalue(2, 3) * times[i];
    int good = arg == &observed && near(norm[0], 1, 1e-7) && wisp_blk_get(psi, WISP_ROW_MAJOR, v, 1) == WISP_OK;
    for (int row = 0; row < ROWS; row++)
        good = good && fabs(v[row].re - cos(angle) * eigenvector(2, 3, row)) < 1e-7 &&
               fabs(v[row].im - sin(angle) * eigenvector(2, 3, row)) < 1e-7;
    observed += good;
    return 0;
}

static void evolution(const wisp_mat *A)
{
    wisp_scalar v[ROWS];
    wisp_blk *psi;
    wisp_evolution e;
    wisp_evolve_opts o = {.tolerance = 1e-8,
                          .depth = 1,
                          .at_once = 2,
                          .bounds.method = WISP_BOUNDS_GIVEN,
                          .bounds.given = given,
                          .observe = on_time,
                          .observe_arg = &observed};
    for (int row = 0; row < ROWS; row++) v[row] = scalar(eigenvector(2, 3, row));
    WORKS(wisp_blk_create(&psi, ctx, wisp_mat_map(A), WISP_Z, 1));
    WORKS(wisp_blk_put(psi, WISP_ROW_MAJOR, v, 1));
    WORKS(wisp_evolve(&e, A, psi, 2, times, &o));
    CHECK(observed == 2 && e.done == 2 && e.bounds.center == given.center && e.bounds.halfwidth == given.halfwidth);
    CHECK(e.sequences == 1 && e.sweeps >= 3 && e.depth == 1 && e.flops > 0 && e.seconds > 0 && e.bounds_seconds >= 0);
    o.at_once = 9;
    CHECK(wisp_evolve(&e, A, psi, 2, times, &o) == WISP_ERR_ARG);
    wisp_blk_free(psi);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    contexts();
    if (!ctx) return 1;
    machines();
    sources(argv[1]);
    wisp_mat *A = matrices();
    costs(A);
    product(A);
    powers(A);
    operators(A);
    bounds(A);
    exact_moments(A);
    random_moments(A);
    evolution(A);
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
    printf("library %s: %d failures\n", wisp_version(), failures);
    return failures > 0;
}
