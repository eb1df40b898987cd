/* Velocities of sources: i [H, x] of dense open systems; derivatives of Bloch's matrices of periodic lattices; all
   types, sources that give many rows, cells that are too small. */
#include "gallery_dense.h"
#include "ref.h"

static cplx load(wisp_type type, const void *val, int64_t i)
{
    const double *d = val;
    const float *f = val;
    switch (type) {
    case WISP_S: return (double)f[i];
    case WISP_D: return d[i];
    case WISP_C: return (double)f[2 * i] + (double)f[2 * i + 1] * I;
    default: return d[2 * i] + d[2 * i + 1] * I;
    }
}

/* The whole source, by row() or many(). */
static dense whole(const wisp_src *src)
{
    dense m = dense_zero((int)src->rows);
    const int64_t most = src->max_row * src->rows;
    int64_t *col = malloc((size_t)most * 8), *rowptr = malloc((size_t)(src->rows + 1) * 8);
    char *val = malloc((size_t)most * 16);
    if (src->many) {
        const int64_t n = src->many(src->arg, 0, src->rows, 0, rowptr, NULL, NULL);
        assert_true(n >= 0 && n <= most);
        assert_int_equal(src->many(src->arg, 0, src->rows, n, rowptr, col, val), n);
    }
    for (int r = 0; r < m.n; r++) {
        int64_t begin = 0, end;
        if (src->many) {
            begin = rowptr[r], end = rowptr[r + 1];
        } else {
            end = src->row(src->arg, r, col, val);
            assert_int_equal(src->row(src->arg, r, NULL, NULL), end);
        }
        assert_true(end - begin >= 0 && end - begin <= src->max_row);
        for (int64_t k = begin; k < end; k++) *at(m, r, (int)col[k]) += load(src->type, val, k);
    }
    free(col);
    free(rowptr);
    free(val);
    return m;
}

static double along(const wisp_positions *p, int64_t row, const double direction[3])
{
    double xyz[3];
    assert_int_equal(p->at(p->arg, row, xyz), 0);
    return direction[0] * xyz[0] + direction[1] * xyz[1] + direction[2] * xyz[2];
}

/* Against i (H x - x H), with x diagonal; of an open system. */
static void check_open(void *ctx, const char *what, const wisp_src *h, const wisp_positions *p, double tolerance)
{
    static const double directions[][3] = {{1, 0, 0}, {0, 1, 0}, {0.3, -0.7, 1.1}};
    const wisp_type complex_type = h->type == WISP_S || h->type == WISP_C ? WISP_C : WISP_Z;
    for (int d = 0; d < 3; d++) {
        wisp_src v, w = {0};
        dense x = whole(h), y = dense_zero(x.n);
        REF_OK(ctx, wisp_src_velocity(&v, ctx, h, p, directions[d], WISP_VELOCITY));
        assert_int_equal(v.type, complex_type);
        for (int r = 0; r < x.n; r++)
            for (int c = 0; c < x.n; c++)
                *at(y, r, c) = I * *at(x, r, c) * (along(p, c, directions[d]) - along(p, r, directions[d]));
        dense got = whole(&v);
        for (int r = 0; r < x.n; r++)
            for (int c = 0; c < x.n; c++) assert_true(cabs(*at(got, r, c) - conj(*at(got, c, r))) <= tolerance);
        if (!wisp_type_is_complex(h->type)) {
            REF_OK(ctx, wisp_src_velocity(&w, ctx, h, p, directions[d], WISP_VELOCITY_REAL));
            assert_int_equal(w.type, h->type);
            dense real = whole(&w), same = dense_zero(x.n);
            for (int i = 0; i < x.n * x.n; i++) same.a[i] = got.a[i] / I;
            assert_same(what, real, same, tolerance);
            wisp_src_close(&w);
        } else {
            assert_int_equal(wisp_src_velocity(&w, ctx, h, p, directions[d], WISP_VELOCITY_REAL), WISP_ERR_ARG);
        }
        assert_same(what, got, y, tolerance);
        free(x.a);
        wisp_src_close(&v);
    }
}

static void test_open(void **state)
{
    static const char *const specs[] = {"square:nx=4,ny=5,t2=0.3,flux=0.17,periodic=none",
                                        "square:nx=2,ny=1,periodic=none",
                                        "kagome:nx=3,ny=3,disorder=1,vacancies=0.2,seed=3,periodic=none",
                                        "haldane:nx=3,ny=4,mass=0.3,phi=0.2,flux=0.3,periodic=none",
                                        "topi:nx=2,ny=3,nz=2,disorder=1,periodic=none",
                                        "anderson:nx=3,ny=2,nz=2,periodic=none"};
    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) {
        wisp_src h = open_spec(*state, specs[s]);
        wisp_positions p = {0};
        REF_OK(*state, wisp_positions_open_gallery(&p, *state, specs[s]));
        check_open(*state, specs[s], &h, &p, 1e-13);
        wisp_positions_close(&p);
        wisp_src_close(&h);
    }
}

enum { N = 9 };
static int scattered(void *arg, int64_t row, double *xyz)
{
    (void)arg;
    for (int d = 0; d < 3; d++) xyz[d] = sin(1.7 * (double)row + d) * 3;
    return 0;
}

/* A source that gives many rows, from one that gives one at a time. */
static int64_t many_of(void *arg, int64_t first, int64_t count, int64_t room, int64_t *rowptr, int64_t *col, void *val)
{
    const wisp_src *s = arg;
    rowptr[0] = 0;
    for (int64_t i = 0; i < count; i++) rowptr[i + 1] = rowptr[i] + s->row(s->arg, first + i, NULL, NULL);
    for (int64_t i = 0; i < count && room > 0 && rowptr[count] <= room; i++)
        s->row(s->arg, first + i, col + rowptr[i], (char *)val + (size_t)rowptr[i] * wisp_type_size(s->type));
    return rowptr[count];
}

/* Hermitian, with empty rows, in each type; by rows, by many rows, and held in memory by the rank. */
static void test_types(void **state)
{
    static const wisp_type types[] = {WISP_S, WISP_D, WISP_C, WISP_Z};
    const wisp_positions p = {.rows = N, .dimensions = 3, .at = scattered};
    for (int t = 0; t < 4; t++) {
        int64_t rowptr[N + 1] = {0}, col[N * N];
        char val[N * N * 16];
        int64_t n = 0;
        for (int r = 0; r < N; r++) {
            for (int c = 0; c < N; c++) {
                if (r % 4 == 2 || c % 4 == 2 || (r + c) % 3 == 0) continue;
                const double re = cos(r * c + 1.3), im = wisp_type_is_complex(types[t]) ? sin((r - c) * 0.7) : 0;
                if (types[t] == WISP_S) ((float *)val)[n] = (float)re;
                if (types[t] == WISP_D) ((double *)val)[n] = re;
                if (types[t] == WISP_C) ((float *)val)[2 * n] = (float)re, ((float *)val)[2 * n + 1] = (float)im;
                if (types[t] == WISP_Z) ((double *)val)[2 * n] = re, ((double *)val)[2 * n + 1] = im;
                col[n++] = c;
            }
            rowptr[r + 1] = n;
        }
        const wisp_crs crs = {.rows = N, .cols = N, .type = types[t], .rowptr = rowptr, .col = col, .val = val};
        wisp_src h, part;
        REF_OK(*state, wisp_src_open_crs(&h, *state, &crs));
        const double tolerance = t % 2 ? 1e-13 : 1e-5;
        check_open(*state, "by rows", &h, &p, tolerance);
        wisp_src many = h;
        many.row = NULL, many.many = many_of, many.arg = &h, many.free_arg = NULL;
        check_open(*state, "by many rows", &many, &p, tolerance);
        REF_OK(*state, wisp_src_hermitian_part(&part, *state, &h, NULL));
        check_open(*state, "of own rows", &part, &p, tolerance);
        wisp_src_close(&part);
        wisp_src_close(&h);
    }
}

/* ---- periodic lattices ------------------------------------------------------------------------------- */

/* Bloch's matrix between the first site a of a cell and sites b: the sum of m_rc exp(i k (x_c - x_r)) over the nearest
   images, which are shorter than `most`. */
static cplx bloch(const dense m, const wisp_positions *p, int sites, int row, int b, const double k[2], double most)
{
    cplx sum = 0;
    double xr[3], xc[3];
    p->at(p->arg, row, xr);
    for (int c = b; c < m.n; c += sites) {
        p->at(p->arg, c, xc);
        for (int i = -1; i <= 1; i++)
            for (int j = -1; j <= 1; j++) {
                double d[2];
                for (int q = 0; q < 2; q++) d[q] = xc[q] - xr[q] + i * p->cell[0][q] + j * p->cell[1][q];
                if (hypot(d[0], d[1]) < most) sum += *at(m, row, c) * cexp(I * (k[0] * d[0] + k[1] * d[1]));
            }
    }
    return sum;
}

/* exp(i k delta) of three first neighbours of A, and of six second ones, as closed forms. */
static cplx model(const char *name, int a, int b, const double k[2])
{
    const double x = k[0], y = k[1], r = sqrt(3);
    if (name[0] == 's') return -2 * (cos(x) + cos(y)) - 4 * 0.3 * cos(x) * cos(y);
    const cplx f = -(cexp(I * (r / 2 * x + y / 2)) + cexp(I * (-r / 2 * x + y / 2)) + cexp(-I * y));
    if (a != b) return a < b ? f : conj(f);
    const double turn = 2 * 0.1 * (sin(r * x) - sin(r / 2 * x + 1.5 * y) + sin(-r / 2 * x + 1.5 * y));
    return a ? -turn : turn;
}

static void test_periodic(void **state)
{
    static const struct {
        const char *name, *spec;
        int sites;
        double most;
    } cases[] = {{"square", "square:nx=5,ny=4,t2=0.3", 1, 1.5}, {"haldane", "haldane:nx=4,ny=5", 2, 1.8}};
    const double step = 1e-5;
    for (int s = 0; s < 2; s++) {
        wisp_src h = open_spec(*state, cases[s].spec), v;
        wisp_positions p = {0};
        REF_OK(*state, wisp_positions_open_gallery(&p, *state, cases[s].spec));
        dense hd = whole(&h);
        for (int d = 0; d < 2; d++) {
            const double direction[3] = {d == 0, d == 1, 0};
            REF_OK(*state, wisp_src_velocity(&v, *state, &h, &p, direction, WISP_VELOCITY));
            dense vd = whole(&v);
            for (int ab = 0; ab < cases[s].sites * cases[s].sites; ab++)
                for (int q = 0; q < 5; q++) {
                    const int a = ab / cases[s].sites, b = ab % cases[s].sites;
                    double k[2] = {0.31 * q, 0.17 * q - 0.4};
                    const cplx value = bloch(hd, &p, cases[s].sites, a, b, k, cases[s].most);
                    if (cabs(value - model(cases[s].name, a, b, k)) > 1e-12) fail_msg("%s: H at %d", cases[s].spec, ab);
                    const cplx got = bloch(vd, &p, cases[s].sites, a, b, k, cases[s].most);
                    k[d] += step;
                    const cplx above = model(cases[s].name, a, b, k);
                    k[d] -= 2 * step;
                    const cplx slope = (above - model(cases[s].name, a, b, k)) / (2 * step);
                    if (cabs(got - slope) > 1e-8)
                        fail_msg("%s: direction %d, %d: %g%+gi, expected %g%+gi", cases[s].spec, d, ab, creal(got),
                                 cimag(got), creal(slope), cimag(slope));
                }
            free(vd.a);
            wisp_src_close(&v);
        }
        free(hd.a);
        wisp_positions_close(&p);
        wisp_src_close(&h);
    }
}

static int nowhere(void *arg, int64_t row, double *xyz)
{
    (void)arg;
    xyz[0] = row == 3 ? NAN : (double)row;
    xyz[1] = xyz[2] = 0;
    return 0;
}

/* Bonds around a cell that is too small are refused, unless the direction doesn't see it. */
static void test_small_cells(void **state)
{
    static const double x[3] = {1, 0, 0}, y[3] = {0, 1, 0};
    wisp_src h = open_spec(*state, "square:nx=2,ny=5"), v;
    wisp_positions p = {0};
    REF_OK(*state, wisp_positions_open_gallery(&p, *state, "square:nx=2,ny=5"));
    REF_FAILS(*state, wisp_src_velocity(&v, *state, &h, &p, x, WISP_VELOCITY), WISP_ERR_ARG, "more than 2 around");
    REF_OK(*state, wisp_src_velocity(&v, *state, &h, &p, y, WISP_VELOCITY));
    wisp_src_close(&v);
    p.reach = 0; /* not known: each bond is looked at */
    REF_FAILS(*state, wisp_src_velocity(&v, *state, &h, &p, x, WISP_VELOCITY), WISP_ERR_ARG, "equally near");
    REF_OK(*state, wisp_src_velocity(&v, *state, &h, &p, y, WISP_VELOCITY));
    wisp_src_close(&v);
    p.rows--;
    REF_FAILS(*state, wisp_src_velocity(&v, *state, &h, &p, y, WISP_VELOCITY), WISP_ERR_MISMATCH, "9 positions");
    const wisp_positions lost = {.rows = 10, .dimensions = 1, .at = nowhere};
    REF_FAILS(*state, wisp_src_velocity(&v, *state, &h, &lost, x, WISP_VELOCITY), WISP_ERR_CALLBACK, "not finite");
    wisp_positions_close(&p);
    wisp_src_close(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_open), cmocka_unit_test(test_types),
                                       cmocka_unit_test(test_periodic), cmocka_unit_test(test_small_cells)};
    return cmocka_run_group_tests(tests, ref_setup_all, ref_teardown);
}
