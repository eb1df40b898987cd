/* Magnetic fields on sources with positions: spectra against the gallery's own flux, and against Harper's matrices; the
   flux through triangles; fields that don't fit. */
#include "gallery_spectra.h"

typedef struct {
    wisp_src h, b;
    wisp_positions p;
} scene;

static scene open_field(void *ctx, const char *spec, double field)
{
    scene s = {.h = open_spec(ctx, spec)};
    REF_OK(ctx, wisp_positions_open_gallery(&s.p, ctx, spec));
    REF_OK(ctx, wisp_src_peierls(&s.b, ctx, &s.h, &s.p, field));
    return s;
}
static void close_field(scene *s)
{
    wisp_src_close(&s->b);
    wisp_src_close(&s->h);
    wisp_positions_close(&s->p);
}

/* Exactly Hermitian. */
static dense whole(const wisp_src *src)
{
    dense m = dense_zero((int)src->rows);
    int64_t col[ROOM];
    cplx val[ROOM];
    for (int r = 0; r < m.n; r++) {
        const int n = get_row(src, r, col, val);
        for (int k = 0; k < n; k++) *at(m, r, (int)col[k]) += val[k];
    }
    for (int r = 0; r < m.n; r++)
        for (int c = 0; c <= r; c++) assert_true(*at(m, r, c) == conj(*at(m, c, r)));
    return m;
}

static void test_spectra(void **state)
{
    static const struct {
        const char *spec;
        double flux, cell;
    } cases[] = {{"square:nx=4,ny=5,t2=0.3", 3. / 20, 1},
                 {"square:nx=4,ny=5,t2=0.3", -2. / 5, 1},
                 {"square:nx=4,ny=5,t2=0.3,periodic=x", 0.31, 1},
                 {"square:nx=4,ny=5,t2=0.3,periodic=y", 0.31, 1},
                 {"square:nx=4,ny=5,t2=0.3,periodic=none", 0.31, 1},
                 {"kagome:nx=3,ny=4", 1. / 12, 3.4641016151377544},
                 {"kagome:nx=3,ny=4,periodic=x", 0.27, 3.4641016151377544},
                 {"kagome:nx=3,ny=4,periodic=y,vacancies=0.1,seed=2", 0.27, 3.4641016151377544},
                 {"haldane:nx=4,ny=4,phi=0.3,mass=0.2", 3. / 16, 2.598076211353316},
                 {"haldane:nx=4,ny=5,phi=0.3,mass=0.2,periodic=x", 0.43, 2.598076211353316},
                 {"haldane:nx=5,ny=4,phi=0.3,mass=0.2,periodic=y", 0.43, 2.598076211353316},
                 {"honeycomb:nx=5,ny=4,periodic=none", 0.43, 2.598076211353316}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char spec[200];
        scene s = open_field(*state, cases[c].spec, cases[c].flux / cases[c].cell);
        const int n = (int)s.b.rows;
        double *want = spectrum_of(whole(&s.b));
        snprintf(spec, sizeof spec, "%s,flux=%.17g", cases[c].spec, cases[c].flux);
        assert_spectrum(*state, spec, want, n, 1e-12);
        free(want);
        close_field(&s);
    }
}

/* The flux p/q through each square: at all k of q magnetic cells, Harper's q x q matrices. */
static void test_harper(void **state)
{
    enum { P = 2, Q = 5, NX = 2 * Q, NY = 6 };
    scene s = open_field(*state, "square:nx=10,ny=6", (double)P / Q);
    double want[NX * NY], *got;
    int count = 0;
    for (int i = 0; i < NX / Q; i++)
        for (int j = 0; j < NY; j++) {
            const double a = 2 * M_PI * i * Q / NX, b = 2 * M_PI * j / NY;
            dense m = dense_zero(Q);
            for (int x = 0; x < Q; x++) {
                *at(m, x, x) -= 2 * cos(b + 2 * M_PI * P * x / Q);
                *at(m, x, (x + 1) % Q) -= x == Q - 1 ? cexp(I * a) : 1;
                *at(m, (x + 1) % Q, x) -= x == Q - 1 ? cexp(-I * a) : 1;
            }
            double *w = spectrum_of(m);
            for (int x = 0; x < Q; x++) want[count++] = w[x];
            free(w);
        }
    got = spectrum_of(whole(&s.b));
    qsort(want, NX * NY, sizeof *want, ascending);
    for (int i = 0; i < NX * NY; i++) assert_true(fabs(got[i] - want[i]) < 1e-12);
    free(got);
    close_field(&s);
}

/* In any gauge: around each triangle of an open kagome lattice with scattered rows left out, 2 pi times its flux. */
static void test_triangles(void **state)
{
    const double field = 0.37;
    scene s = open_field(*state, "kagome:nx=4,ny=3,periodic=none,vacancies=0.1,seed=3", field);
    dense m = whole(&s.b);
    int seen = 0;
    for (int i = 0; i < m.n; i++)
        for (int j = 0; j < m.n; j++)
            for (int k = 0; k < m.n; k++) {
                const cplx product = *at(m, i, j) * *at(m, j, k) * *at(m, k, i);
                double a[3], b[3], c[3];
                if (i == j || j == k || k == i || product == 0) continue;
                s.p.at(s.p.arg, i, a), s.p.at(s.p.arg, j, b), s.p.at(s.p.arg, k, c);
                /* h_ij leads from j to i: the way is i, k, j */
                const double area = ((c[0] - a[0]) * (b[1] - a[1]) - (c[1] - a[1]) * (b[0] - a[0])) / 2;
                assert_true(cabs(product + cexp(2 * M_PI * I * field * area)) < 1e-12);
                seen++;
            }
    assert_true(seen > 60);
    free(m.a);
    close_field(&s);
}

static void test_refused(void **state)
{
    wisp_src h = open_spec(*state, "square:nx=4,ny=5"), b;
    wisp_positions p = {0};
    REF_OK(*state, wisp_positions_open_gallery(&p, *state, "square:nx=4,ny=5"));
    REF_FAILS(*state, wisp_src_peierls(&b, *state, &h, &p, 0.16), WISP_ERR_ARG,
              "the nearest field that fits is 0.1499");
    REF_FAILS(*state, wisp_src_peierls(&b, *state, &h, &p, INFINITY), WISP_ERR_ARG, "not finite");
    p.cell[0][2] = 1;
    REF_FAILS(*state, wisp_src_peierls(&b, *state, &h, &p, 0.15), WISP_ERR_UNSUPPORTED, "along z");
    wisp_positions_close(&p);
    wisp_src_close(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_spectra), cmocka_unit_test(test_harper),
                                       cmocka_unit_test(test_triangles), cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, ref_setup_all, ref_teardown);
}
