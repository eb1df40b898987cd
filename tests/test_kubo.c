/* Moments of two operators against dense recurrences, and conductivities against sums over eigenstates. */
#include <unistd.h>
#include "config.h"
#include "kpm_sides.h"

/* T_k(H~) V x for all k < n, or T_k x where V has no rows: dense, T[k][rows]. */
static void sequence_of(ref_mat H, const wisp_bounds *b, int n, const cplx *x, cplx *T)
{
    const int64_t rows = H.rows;
    memcpy(T, x, (size_t)rows * sizeof *T);
    for (int k = 1; k < n; k++)
        for (int64_t i = 0; i < rows; i++) {
            const cplx *v = T + (k - 1) * rows;
            cplx sum = -b->center * v[i];
            for (int64_t j = 0; j < rows; j++) sum += REF_AT(H, i, j) * v[j];
            T[k * rows + i] = k == 1 ? sum / b->halfwidth : 2 * sum / b->halfwidth - T[(k - 2) * rows + i];
        }
}

static void times(ref_mat V, const cplx *x, cplx *y)
{
    for (int64_t i = 0; i < V.rows; i++) {
        y[i] = 0;
        for (int64_t j = 0; j < V.cols; j++) y[i] += REF_AT(V, i, j) * x[j];
    }
}

/* Gamma += <r|V_a T_j V_b T_k|r>. Of i V_a and i V_b it is the same, for <V_a r| has -i then, and V_b has i. */
static void add_moments(ref_mat H, ref_mat Va, ref_mat Vb, const wisp_bounds *b, int M, const cplx *r, cplx *gamma)
{
    const int64_t rows = H.rows;
    cplx *right = calloc((size_t)(M * rows), sizeof *right), *left = calloc((size_t)(M * rows), sizeof *left);
    cplx *y = calloc((size_t)rows, sizeof *y);
    times(Va, r, y);
    sequence_of(H, b, M, y, left);
    sequence_of(H, b, M, r, right);
    for (int k = 0; k < M; k++) {
        times(Vb, right + k * rows, y);
        for (int j = 0; j < M; j++)
            for (int64_t i = 0; i < rows; i++) gamma[j * M + k] += conj(left[j * rows + i]) * y[i];
    }
    free(right), free(left), free(y);
}

static ref_mat random_antisymmetric(ref_rng *r, wisp_type type, int64_t n)
{
    ref_mat m = ref_new(n, n);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++)
            if (ref_uniform(r) < -0.5) {
                REF_AT(m, i, j) = creal(ref_value(r, type));
                REF_AT(m, j, i) = -REF_AT(m, i, j);
            }
    return m;
}

typedef struct {
    ref_mat H, Va, Vb;
    wisp_mat *A, *V_a, *V_b;
    bool anti;
} system_of;

static system_of open_system(wisp_ctx *ctx, ref_rng *r, wisp_type type, int64_t n, bool anti)
{
    system_of s = {.H = random_hermitian(r, type, n, 0.5), .anti = anti};
    s.Va = anti ? random_antisymmetric(r, type, n) : random_hermitian(r, type, n, 0.5);
    s.Vb = anti ? random_antisymmetric(r, type, n) : random_hermitian(r, type, n, 0.5);
    s.A = ref_mat_of(ctx, s.H, type);
    s.V_a = on_map(ctx, s.Va, type, wisp_mat_map(s.A));
    s.V_b = on_map(ctx, s.Vb, type, wisp_mat_map(s.A));
    return s;
}

static void close_system(system_of *s)
{
    wisp_mat_free(s->V_b), wisp_mat_free(s->V_a), wisp_mat_free(s->A);
    ref_free(s->H), ref_free(s->Va), ref_free(s->Vb);
}

/* The vector that wisp has of this number. */
static void random_vector(wisp_ctx *ctx, const wisp_mat *A, wisp_type type, uint64_t seed, int64_t number, cplx *r)
{
    wisp_blk *x;
    REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), type, 1));
    REF_OK(ctx, wisp_blk_fill_random(x, WISP_RANDOM_TRACE, seed, 0, (uint32_t)number));
    const ref_mat m = ref_get(x);
    for (int64_t i = 0; i < m.rows; i++) r[i] = REF_AT(m, i, 0);
    ref_free(m);
    wisp_blk_free(x);
}

static double size_of(const cplx *gamma, int64_t n)
{
    double most = 0;
    for (int64_t i = 0; i < n; i++) most = fmax(most, cabs(gamma[i]));
    return most;
}

/* All types, odd numbers of moments, of left vectors that are held and of columns. */
static void random_vectors(void **state)
{
    wisp_ctx *ctx = *state;
    static const wisp_type types[] = {WISP_S, WISP_D, WISP_C, WISP_Z};
    ref_rng r = {71};
    for (int c = 0; c < (ref_few() ? 8 : 32); c++) {
        const wisp_type type = types[c % 4];
        const int64_t n = 1 + ref_below(&r, 40);
        const bool anti = !wisp_type_is_complex(type) && c / 4 % 2;
        system_of s = open_system(ctx, &r, type, n, anti);
        wisp_kubo_opts o = {
            .moments = 2 + ref_below(&r, 40), .vectors = 1 + ref_below(&r, 3), .seed = ref_next(&r) >> 1};
        o.first_vector = ref_below(&r, 5);
        o.left = ref_below(&r, o.moments + 1);
        o.width = (int[]){0, 1, 3, 5, 33}[ref_below(&r, 5)];
        wisp_moments m;
        REF_OK(ctx, wisp_kubo(&m, s.A, s.V_a, s.V_b, &o));
        assert_int_equal(m.square, o.moments);
        assert_int_equal(m.vectors, o.vectors);
        cplx *x = calloc((size_t)n, sizeof *x);
        for (int64_t v = 0; v < m.vectors; v++) {
            cplx *gamma = calloc((size_t)m.n, sizeof *gamma);
            random_vector(ctx, s.A, m.type, o.seed, o.first_vector + v, x);
            add_moments(s.H, s.Va, s.Vb, &m.bounds, (int)m.square, x, gamma);
            const double size = size_of(gamma, m.n) + (double)n,
                         allowed = type == WISP_S || type == WISP_C ? 2e-4 : 1e-11;
            for (int64_t i = 0; i < m.n; i++)
                if (!(cabs(m.mu[v * m.n + i] + I * m.imag[v * m.n + i] - gamma[i]) <= allowed * size))
                    fail_msg("type %s, %lld rows, M %lld, left %lld, width %d: moment %lld is %g + %g i, not %g + %g i",
                             wisp_type_name(type), (long long)n, (long long)o.moments, (long long)o.left, o.width,
                             (long long)i, m.mu[v * m.n + i], m.imag[v * m.n + i], creal(gamma[i]), cimag(gamma[i]));
            free(gamma);
        }
        free(x);
        wisp_moments_free(&m);
        close_system(&s);
    }
}

/* The same bits for any number of threads. */
static void threads(void **state)
{
    wisp_moments m[2];
    (void)state;
    for (int i = 0; i < 2; i++) {
        wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = i ? 3 : 1});
        ref_rng r = {5};
        system_of s = open_system(ctx, &r, WISP_Z, 60, false);
        REF_OK(ctx, wisp_kubo(&m[i], s.A, s.V_a, s.V_b, &(wisp_kubo_opts){.moments = 21, .vectors = 2, .left = 9}));
        close_system(&s);
        wisp_ctx_free(ctx);
    }
    assert_memory_equal(m[0].mu, m[1].mu, (size_t)(2 * m[0].n) * sizeof(double));
    assert_memory_equal(m[0].imag, m[1].imag, (size_t)(2 * m[0].n) * sizeof(double));
    wisp_moments_free(&m[0]), wisp_moments_free(&m[1]);
}

/* Haldane's model on a torus of n by n cells, t2 = 0.1, phi = pi/2, bonds of length 1. */
typedef struct {
    int n, direction; /* -1: H; 0, 1: velocities along x and y */
} haldane;
static int haldane_row(void *arg, int64_t row, int64_t *col, cplx *val)
{
    static const double d[3][2] = {{1, 0}, {-0.5, 0.86602540378443865}, {-0.5, -0.86602540378443865}};
    static const int cell[3][2] = {{0, 0}, {0, -1}, {-1, 0}}; /* of the neighbour B of A along d, minus A's */
    const haldane *h = arg;
    const int n = h->n, a = (int)(row % 2), x = (int)(row / 2) / n, y = (int)(row / 2) % n;
    int count = 0;
    for (int i = 0; i < 3; i++) { /* c - r */
        const int sign = a ? -1 : 1, cx = (x + sign * cell[i][0] + n) % n, cy = (y + sign * cell[i][1] + n) % n;
        const double step = h->direction < 0 ? 0 : sign * d[i][h->direction];
        col[count] = 2 * ((int64_t)cx * n + cy) + 1 - a;
        val[count++] = h->direction < 0 ? -1 : -I * step;
    }
    for (int i = 0; i < 3; i++)
        for (int sign = -1; sign <= 1; sign += 2) { /* b_i = d_i+1 - d_i+2 */
            const int p = (i + 1) % 3, q = (i + 2) % 3;
            const int cx = (x + sign * (cell[p][0] - cell[q][0]) + 2 * n) % n;
            const int cy = (y + sign * (cell[p][1] - cell[q][1]) + 2 * n) % n;
            const double step = h->direction < 0 ? 0 : sign * (d[p][h->direction] - d[q][h->direction]);
            const cplx t = 0.1 * I * sign * (a ? -1 : 1);
            col[count] = 2 * ((int64_t)cx * n + cy) + a;
            val[count++] = h->direction < 0 ? t : I * t * step;
        }
    return count;
}

static wisp_mat *haldane_mat(wisp_ctx *ctx, haldane h, wisp_map *map)
{
    wisp_mat *A;
    wisp_src src = ref_rows_src(WISP_Z, 2 * (int64_t)h.n * h.n, 2 * (int64_t)h.n * h.n, 9, haldane_row, &h);
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.map = map}));
    wisp_src_close(&src);
    return A;
}

/* The Hall conductivity in the gap, with Jackson's kernel: an infinite lattice gives 1.0555 for 64 moments, of this
   sign; and not in the gap, where the exact one is smaller. The longitudinal one is not negative, and nothing in the
   gap. */
static void hall(void **state)
{
    wisp_ctx *ctx = *state;
    const int n = 24;
    const double cell = 1.5 * 1.7320508075688772, mu[] = {0, 1.5, -20, 20};
    wisp_mat *A = haldane_mat(ctx, (haldane){n, -1}, NULL);
    wisp_mat *Vx = haldane_mat(ctx, (haldane){n, 0}, wisp_mat_map(A));
    wisp_mat *Vy = haldane_mat(ctx, (haldane){n, 1}, wisp_mat_map(A));
    wisp_kubo_opts o = {.moments = 64, .vectors = 6, .bounds = {.method = WISP_BOUNDS_GIVEN, .given = {0, 3.1, NAN}}};
    wisp_moments m;
    wisp_estimate s[4];
    wisp_sigma_opts e = {.volume = cell * n * n};
    REF_OK(ctx, wisp_kubo(&m, A, Vx, Vy, &o));
    REF_OK(ctx, wisp_sigma(ctx, &m, &e, 0, 4, mu, s));
    if (!(fabs(s[0].value - 1.0555) < 0.03 + 4 * s[0].error) || !(s[0].error < 0.2))
        fail_msg("sigma_xy in the gap: %.5f, %.5f to %.5f", s[0].value, s[0].low, s[0].high);
    assert_true(fabs(s[1].value) < 0.5 * fabs(s[0].value));
    assert_true(s[2].value == 0 && fabs(s[3].value) < 0.2);
    wisp_moments_free(&m);
    REF_OK(ctx, wisp_kubo(&m, A, Vx, Vx, &o));
    e.formula = WISP_GREENWOOD;
    REF_OK(ctx, wisp_sigma(ctx, &m, &e, 0, 4, mu, s));
    if (!(s[1].value > 0 && fabs(s[0].value) < 0.3 * s[1].value)) fail_msg("sigma_xx: %g, %g", s[0].value, s[1].value);
    wisp_moments_free(&m);
    wisp_mat_free(Vy), wisp_mat_free(Vx), wisp_mat_free(A);
}

/* Both formulas of an exact trace, against sums of kernels over the moments at each point, as the formulas are written.
 */
static cplx bastin_at(const wisp_moments *m, double t)
{
    const int64_t M = m->square;
    cplx sum = 0;
    for (int64_t j = 0; j < M; j++)
        for (int64_t k = 0; k < M; k++) {
            const double N = (double)M + 1, p = acos(-1);
            const double gj = ((N - (double)j) * cos(p * (double)j / N) + sin(p * (double)j / N) / tan(p / N)) / N;
            const double gk = ((N - (double)k) * cos(p * (double)k / N) + sin(p * (double)k / N) / tan(p / N)) / N;
            const cplx g = (m->mu[j * M + k] + I * m->imag[j * M + k]) * gj * gk / ((j ? 1 : 2) * (k ? 1 : 2));
            const cplx one = (cos(t) - I * (double)k * sin(t)) * cexp(I * (double)k * t) * cos((double)j * t);
            const cplx two = (cos(t) + I * (double)j * sin(t)) * cexp(-I * (double)j * t) * cos((double)k * t);
            sum += g * (one + two);
        }
    return sum / pow(sin(t), 4);
}

/* Fermi's function over each cell of the integral, less that of the end of the band, by a sum of many small steps. */
static void warm(wisp_ctx *ctx, const wisp_moments *m, double mu)
{
    enum { P = 64, STEPS = 1000 };
    const wisp_bounds b = m->bounds;
    const double T = 0.2 * b.halfwidth, step = acos(-1) / P;
    double want = 0, size = 0;
    wisp_estimate got;
    for (int p = 0; p < P; p++) {
        const double top = cos(p * step), width = (top - cos((p + 1) * step)) / STEPS;
        double filled = -b.halfwidth * width * STEPS / (1 + exp((b.center + b.halfwidth - mu) / T));
        for (int i = 0; i < STEPS; i++)
            filled += b.halfwidth * width / (1 + exp((b.center + b.halfwidth * (top - (i + 0.5) * width) - mu) / T));
        const double d = 8 / (3 * pow(b.halfwidth, 3)) * filled * creal(bastin_at(m, (p + 0.5) * step));
        want += d, size += fabs(d);
    }
    REF_OK(ctx, wisp_sigma(ctx, m, &(wisp_sigma_opts){.points = P, .volume = 3}, T, 1, &mu, &got));
    if (!(fabs(got.value - want) <= 1e-7 * size))
        fail_msg("at temperature %g: sigma %.12g, not %.12g", T, got.value, want);
}

/* 2 pi^2/volume times the trace of V_a delta V_b delta, each delta 1/(pi h s) times the sum of g_k (2 - [k = 0]) T_k
 * T_k(A). */
static void greenwood(wisp_ctx *ctx, const wisp_moments *m, double mu)
{
    const int64_t M = m->square;
    const double h = m->bounds.halfwidth, t = acos((mu - m->bounds.center) / h), p = acos(-1), N = (double)M + 1;
    double sum = 0;
    wisp_estimate got;
    for (int64_t j = 0; j < M; j++)
        for (int64_t k = 0; k < M; k++) {
            const double gj = ((N - (double)j) * cos(p * (double)j / N) + sin(p * (double)j / N) / tan(p / N)) / N;
            const double gk = ((N - (double)k) * cos(p * (double)k / N) + sin(p * (double)k / N) / tan(p / N)) / N;
            sum += gj * gk * (j ? 2 : 1) * (k ? 2 : 1) * m->mu[j * M + k] * cos((double)j * t) * cos((double)k * t);
        }
    const double want = 2 * p * p / 3 * sum / pow(p * h * sin(t), 2);
    REF_OK(ctx, wisp_sigma(ctx, m, &(wisp_sigma_opts){.formula = WISP_GREENWOOD, .volume = 3}, 0, 1, &mu, &got));
    if (!(fabs(got.value - want) <= 1e-10 * (1 + fabs(want)))) fail_msg("Greenwood: %.12g, not %.12g", got.value, want);
}

static void formula(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {9};
    system_of s = open_system(ctx, &r, WISP_Z, 20, false);
    wisp_moments m;
    enum { P = 200 };
    REF_OK(ctx, wisp_kubo(&m, s.A, s.V_a, s.V_b, &(wisp_kubo_opts){.moments = 12, .trace = WISP_TRACE_EXACT}));
    assert_int_equal(m.vectors, 1);
    const wisp_bounds b = m.bounds;
    /* Whole cells of the integral lie below these. */
    const double step = acos(-1) / P, edge = acos(-1) / (16 * 12),
                 mu[] = {b.center + b.halfwidth * cos(60 * step), b.center};
    wisp_estimate got[2];
    REF_OK(ctx, wisp_sigma(ctx, &m, &(wisp_sigma_opts){.points = P, .volume = 3}, 0, 2, mu, got));
    for (int i = 0; i < 2; i++) {
        double want = 0, size = 0;
        for (int p = i ? 100 : 60; p < P; p++) {
            const double width = b.halfwidth * (cos(p * step) - cos((p + 1) * step));
            const double d = 8 / (3 * pow(b.halfwidth, 3)) * width * creal(bastin_at(&m, (p + 0.5) * step));
            if (edge < (p + 0.5) * step && (p + 0.5) * step < acos(-1) - edge) want += d, size += fabs(d);
        }
        if (!(fabs(got[i].value - want) <= 1e-9 * size)) fail_msg("sigma %.12g, not %.12g", got[i].value, want);
        assert_true(got[i].low == got[i].value && got[i].high == got[i].value && got[i].error == 0);
    }
    /* As the temperature goes to 0, the step. */
    wisp_estimate cold[2];
    REF_OK(ctx, wisp_sigma(ctx, &m, &(wisp_sigma_opts){.points = P, .volume = 3}, 1e-9, 2, mu, cold));
    for (int i = 0; i < 2; i++) assert_true(fabs(cold[i].value - got[i].value) <= 1e-5 * (1 + fabs(got[i].value)));
    warm(ctx, &m, mu[0]);
    greenwood(ctx, &m, mu[0]);
    wisp_moments_free(&m);
    close_system(&s);
}

/* Runs with the same matrices are taken together, with any blocks; with others they are not. */
static void other_matrices(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {17};
    for (int c = 0; c < 6; c++) {
        const wisp_type type = (wisp_type[]){WISP_S, WISP_D, WISP_C, WISP_Z, WISP_S, WISP_D}[c];
        const int64_t n = 20 + ref_below(&r, 40);
        system_of s = open_system(ctx, &r, type, n, c >= 4);
        ref_mat other = ref_new(n, n);
        for (int64_t i = 0; i < n * n; i++) other.a[i] = s.H.a[i] * (i / n == i % n ? 1.5 : 1);
        wisp_mat *A = ref_mat_of(ctx, other, type), *V_a = on_map(ctx, s.Va, type, wisp_mat_map(A)),
                 *V_b = on_map(ctx, s.Vb, type, wisp_mat_map(A));
        wisp_moments run[5], all;
        wisp_kubo_opts o = {.moments = 5, .vectors = 2, .width = 3};
        o.bounds = (wisp_bounds_opts){.method = WISP_BOUNDS_GIVEN, .given = {0, (double)n, NAN}};
        REF_OK(ctx, wisp_kubo(&run[0], s.A, s.V_a, s.V_b, &o));
        o.first_vector = 2, o.width = 5;
        REF_OK(ctx, wisp_kubo(&run[1], s.A, s.V_a, s.V_b, &o));
        REF_OK(ctx, wisp_kubo(&run[2], s.A, s.V_b, s.V_b, &o));
        REF_OK(ctx, wisp_kubo(&run[3], s.A, s.V_a, s.V_a, &o));
        REF_OK(ctx, wisp_kubo(&run[4], A, V_a, V_b, &o));
        run[1].volume = 3, run[1].dimensions = 2, run[1].direction = 2;
        REF_OK(ctx, wisp_moments_merge(ctx, &all, run, 2));
        assert_true(all.volume == 3 && all.dimensions == 2 && all.direction == 2 &&
                    all.mark[2][0] == run[0].mark[2][0]);
        REF_FAILS(ctx, wisp_moments_fit(ctx, &run[0], &run[2]), WISP_ERR_MISMATCH, "V_a differ");
        REF_FAILS(ctx, wisp_moments_fit(ctx, &run[0], &run[3]), WISP_ERR_MISMATCH, "V_b differ");
        REF_FAILS(ctx, wisp_moments_fit(ctx, &run[0], &run[4]), WISP_ERR_MISMATCH, "matrices have other entries");
        memset(run[4].mark, 0, sizeof run[4].mark); /* as of an earlier version: nothing tells */
        REF_OK(ctx, wisp_moments_fit(ctx, &run[0], &run[4]));
        run[0].volume = 4;
        REF_FAILS(ctx, wisp_moments_fit(ctx, &run[0], &run[1]), WISP_ERR_MISMATCH, "volumes differ: 4 and 3");
        run[0].volume = 3, run[0].dimensions = 3;
        REF_FAILS(ctx, wisp_moments_fit(ctx, &run[0], &run[1]), WISP_ERR_MISMATCH, "3 and 2 dimensions");
        run[0].direction = 1;
        REF_FAILS(ctx, wisp_moments_fit(ctx, &run[0], &run[1]), WISP_ERR_MISMATCH, "other components");
        /* The volume of the moments is the one of a conductivity without its own. */
        wisp_estimate e[2];
        REF_OK(ctx, wisp_sigma(ctx, &all, NULL, 1, 1, (double[]){0.2}, &e[0]));
        REF_OK(ctx, wisp_sigma(ctx, &all, &(wisp_sigma_opts){.volume = 1}, 1, 1, (double[]){0.2}, &e[1]));
        assert_true(fabs(3 * e[0].value - e[1].value) <= 1e-12 * fabs(e[1].value));
        for (int i = 0; i < 5; i++) wisp_moments_free(&run[i]);
        wisp_moments_free(&all);
        wisp_mat_free(V_b), wisp_mat_free(V_a), wisp_mat_free(A);
        ref_free(other);
        close_system(&s);
    }
}

#ifdef WISP_HAVE_HDF5
/* Kept in a file, and runs with other vectors taken together: the same conductivities. */
static void files(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {13};
    char folder[] = "/tmp/wisp-kubo-XXXXXX", path[64];
    system_of s = open_system(ctx, &r, WISP_Z, 30, false);
    wisp_moments run[2], all;
    wisp_estimate e[3];
    if (ref_ranks() > 1) { /* each would have a folder of its own */
        close_system(&s);
        return;
    }
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/m.h5", folder);
    for (int i = 0; i < 2; i++) {
        wisp_moments m;
        REF_OK(ctx,
               wisp_kubo(&m, s.A, s.V_a, s.V_b, &(wisp_kubo_opts){.moments = 9, .vectors = 2, .first_vector = 2 * i}));
        REF_OK(ctx, wisp_moments_save(ctx, &m, path));
        REF_OK(ctx, wisp_moments_load(ctx, &run[i], path));
        assert_int_equal(run[i].square, 9);
        assert_memory_equal(run[i].imag, m.imag, (size_t)(2 * m.n) * sizeof(double));
        REF_OK(ctx, wisp_sigma(ctx, &run[i], NULL, 0.1, 1, (double[]){0.2}, &e[i]));
        wisp_moments_free(&m);
    }
    REF_OK(ctx, wisp_moments_merge(ctx, &all, run, 2));
    REF_OK(ctx, wisp_sigma(ctx, &all, NULL, 0.1, 1, (double[]){0.2}, &e[2]));
    assert_true(fabs(e[2].value - (e[0].value + e[1].value) / 2) <= 1e-12 * (fabs(e[0].value) + fabs(e[1].value)));
    for (int i = 0; i < 2; i++) wisp_moments_free(&run[i]);
    wisp_moments_free(&all);
    unlink(path), rmdir(folder);
    close_system(&s);
}
#endif

/* What a run holds against its plan, in contexts of their own, so that the peak is that of the call: left vectors in
   one group and in several, blocks of several widths. Moments are plain memory, which contexts do not count. */
static void memory(void **state)
{
    static const struct {
        int64_t moments, vectors, left;
        int width;
    } ask[] = {{40, 2, 0, 0}, {33, 1, 7, 5}, {20, 3, 20, 1}, {9, 1, 1, 33}};
    (void)state;
    for (size_t i = 0; i < sizeof ask / sizeof *ask; i++) {
        wisp_ctx *own = ref_ctx(NULL);
        wisp_mat *A = haldane_mat(own, (haldane){90, -1}, NULL);
        wisp_mat *Vx = haldane_mat(own, (haldane){90, 0}, wisp_mat_map(A));
        wisp_mat *Vy = haldane_mat(own, (haldane){90, 1}, wisp_mat_map(A));
        const wisp_kubo_opts o = {.moments = ask[i].moments,
                                  .vectors = ask[i].vectors,
                                  .left = ask[i].left,
                                  .width = ask[i].width,
                                  .bounds = {.method = WISP_BOUNDS_GIVEN, .given = {0, 3.1, NAN}}};
        wisp_mat_info info[3];
        wisp_mat_get_info(A, info), wisp_mat_get_info(Vx, info + 1), wisp_mat_get_info(Vy, info + 2);
        wisp_plan plan;
        wisp_moments m;
        int64_t before, made, peak;
        REF_OK(own, wisp_kubo_plan(&plan, own, info, info + 1, info + 2, &o));
        wisp_ctx_memory(own, &before, &made);
        REF_OK(own, wisp_kubo(&m, A, Vx, Vy, &o));
        wisp_ctx_memory(own, NULL, &peak);
        const int64_t held = peak - before + m.n * m.vectors * 2 * (int64_t)sizeof(double);
        if ((peak > made && held > plan.bytes_most) ||
            (ref_ranks() == 1 && fabs((double)(held - plan.bytes)) > 0.1 * (double)plan.bytes))
            fail_msg("case %zu: %lld bytes are held, planned %lld, at most %lld", i, (long long)held,
                     (long long)plan.bytes, (long long)plan.bytes_most);
        const int64_t M = ask[i].moments, left = ask[i].left ? ask[i].left : M;
        assert_true(plan.products == (double)(ask[i].vectors * (M - 1) * (1 + (M + left - 1) / left)));
        wisp_moments_free(&m);
        wisp_mat_free(Vy), wisp_mat_free(Vx), wisp_mat_free(A);
        wisp_ctx_free(own);
    }
}

static void failures(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {3};
    wisp_moments m;
    wisp_estimate e;
    system_of s = open_system(ctx, &r, WISP_D, 12, true), t = open_system(ctx, &r, WISP_D, 12, false);
    wisp_mat *same = on_map(ctx, t.Va, WISP_D, wisp_mat_map(s.A));
    assert_int_equal(wisp_kubo(&m, s.A, s.V_a, same, NULL), WISP_ERR_MISMATCH);
    assert_int_equal(wisp_kubo(&m, s.A, t.V_a, s.V_b, NULL), WISP_ERR_MISMATCH);
    assert_int_equal(wisp_kubo(&m, s.V_a, s.V_a, s.V_b, NULL), WISP_ERR_HERMITIAN);
    assert_int_equal(wisp_kubo(&m, s.A, s.V_a, s.V_b, &(wisp_kubo_opts){.moments = 1}), WISP_ERR_ARG);
    assert_int_equal(wisp_kubo(&m, s.A, s.V_a, s.V_b, &(wisp_kubo_opts){.type = WISP_S}), WISP_ERR_UNSUPPORTED);
    const wisp_kubo_opts narrow = {.moments = 60, .bounds = {.method = WISP_BOUNDS_GIVEN, .given = {0, 0.1, NAN}}};
    assert_int_equal(wisp_kubo(&m, s.A, s.V_a, s.V_b, &narrow), WISP_ERR_BOUNDS);
    assert_null(m.mu);
    REF_OK(ctx, wisp_kpm(&m, s.A, &(wisp_kpm_opts){.moments = 4, .vectors = 2}));
    assert_int_equal(wisp_sigma(ctx, &m, NULL, 0, 1, (double[]){0}, &e), WISP_ERR_ARG);
    wisp_moments_free(&m);
    REF_OK(ctx, wisp_kubo(&m, s.A, s.V_a, s.V_b, &(wisp_kubo_opts){.moments = 4, .vectors = 1}));
    assert_int_equal(wisp_dos(ctx, &m, NULL, -1, 1, (double[]){0}, &(double){0}, NULL), WISP_ERR_ARG);
    assert_int_equal(wisp_sigma(ctx, &m, NULL, -1, 1, (double[]){0}, &e), WISP_ERR_ARG);
    assert_int_equal(wisp_sigma(ctx, &m, NULL, 0, 1, (double[]){NAN}, &e), WISP_ERR_ARG);
    REF_OK(ctx, wisp_sigma(ctx, &m, NULL, 0, 1, (double[]){0}, &e));
    assert_true(isnan(e.low));
    wisp_moments_free(&m);
    wisp_mat_free(same);
    close_system(&s), close_system(&t);
}

/* ---- how much is done between two looks at whether the run goes on ---------------------------------- */

typedef struct {
    double flops, most;
    int looks;
} pace;

static int keep_pace(void *arg, const wisp_progress *p)
{
    pace *at = arg;
    if (strcmp(p->task, "moments")) return 0;
    at->most = fmax(at->most, p->flops - at->flops);
    at->flops = p->flops;
    at->looks++;
    return 0;
}

static void looks(void **state)
{
    (void)state;
    enum { MOMENTS = 150, WIDTH = 16, ROWS = 60 };
    pace at = {0};
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.progress = keep_pace, .progress_arg = &at});
    system_of s = open_system(ctx, &(ref_rng){7}, WISP_Z, ROWS, false);
    wisp_moments m;
    const wisp_kubo_opts o = {.moments = MOMENTS, .vectors = 2, .width = WIDTH, .left = MOMENTS};
    REF_OK(ctx, wisp_kubo(&m, s.A, s.V_a, s.V_b, &o));
    /* A product of two blocks, or a group of steps: however many left vectors are held. */
    const double dots = 2.0 * WIDTH * WIDTH * 8 * ROWS;
    wisp_cost sweep;
    REF_OK(ctx, wisp_spmmv_cost(s.A, WISP_Z, 1, WISP_SCALE | WISP_SHIFT | WISP_AXPBY, &sweep));
    REF_OK(ctx, wisp_ctx_sum(ctx, &sweep.flops, 1));
    assert_true(at.most <= fmax(dots, WIDTH * sweep.flops) * (1 + 1e-12) && at.looks > 2 * MOMENTS / WIDTH * 5);
    wisp_moments_free(&m);
    close_system(&s);
    wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_vectors), cmocka_unit_test(threads),        cmocka_unit_test(hall),
        cmocka_unit_test(formula),        cmocka_unit_test(failures),       cmocka_unit_test(memory),
        cmocka_unit_test(looks),          cmocka_unit_test(other_matrices),
#ifdef WISP_HAVE_HDF5
        cmocka_unit_test(files),
#endif
    };
    return REF_RUN_ALL(tests);
}
