/* Positions of rows: of lattices of the gallery against places of their own, with vacancies; files of positions. */
#include "gallery_dense.h"
#include "ref.h"
#include <unistd.h>
#include "base/rng.h"
#include "gallery/gallery.h"

static wisp_positions open_positions(void *ctx, const char *spec)
{
    wisp_positions p = {0};
    if (wisp_positions_open_gallery(&p, ctx, spec)) fail_msg("%s: %s", spec, message_of(ctx));
    return p;
}

/* By the number of sites that are closer than 1.01: neighbours are 1 apart, in the cell that goes on. */
static void check_bonds(void *ctx, const char *spec, double volume)
{
    wisp_positions p = open_positions(ctx, spec);
    dense h = expand(ctx, spec);
    assert_int_equal(p.rows, h.n);
    assert_int_equal(p.dimensions, 2);
    assert_true(fabs(p.volume - volume) < 1e-9 * volume);
    for (int r = 0; r < h.n; r++)
        for (int c = 0; c < h.n; c++) {
            double a[3], b[3], near = INFINITY;
            assert_int_equal(p.at(p.arg, r, a) | p.at(p.arg, c, b), 0);
            assert_true(a[2] == 0 && b[2] == 0);
            for (int i = -1; i <= 1; i++)
                for (int j = -1; j <= 1; j++) {
                    if ((i && !(p.periodic & 1)) || (j && !(p.periodic & 2))) continue;
                    double d[2];
                    for (int k = 0; k < 2; k++) d[k] = a[k] - b[k] + i * p.cell[0][k] + j * p.cell[1][k];
                    near = fmin(near, hypot(d[0], d[1]));
                }
            if ((r != c && near < 1.01) != (r != c && *at(h, r, c) != 0))
                fail_msg("%s: rows %d and %d are %g apart", spec, r, c, near);
            assert_true(r == c || near > 0.99);
        }
    free(h.a);
    wisp_positions_close(&p);
    assert_null(p.at);
}

static void test_plane(void **state)
{
    static const struct {
        const char *name;
        double cell;
    } lattices[] = {{"square", 1},
                    {"graphene", 2.598076211353316},
                    {"honeycomb", 2.598076211353316},
                    {"kagome", 3.4641016151377544},
                    {"haldane", 2.598076211353316}};
    static const char *const periodic[] = {"xy", "x", "y", "none"};
    for (int l = 0; l < 5; l++)
        for (int p = 0; p < 4; p++) {
            char spec[128];
            snprintf(spec, sizeof spec, "%s:nx=5,ny=4,periodic=%s%s", lattices[l].name, periodic[p],
                     l == 4 ? ",t2=0" : "");
            check_bonds(*state, spec, 20 * lattices[l].cell);
        }
    check_bonds(*state, "kagome:nx=6,ny=5,vacancies=0.2,seed=4", 30 * lattices[3].cell);
    check_bonds(*state, "graphene:nx=6,ny=5,vacancies=0.3,flux=1/30,seed=9", 30 * lattices[1].cell);
}

/* A row of a lattice with vacancies is where its site is in the whole one. */
static void test_vacancies(void **state)
{
    wisp_positions some = open_positions(*state, "haldane:nx=9,ny=7,vacancies=0.25,seed=5");
    wisp_positions all = open_positions(*state, "haldane:nx=9,ny=7");
    int64_t row = 0;
    for (int64_t site = 0; site < all.rows; site++) {
        double a[3], b[3];
        if (wisp__uniform(5, site, WISP__GAL_STREAM_VACANCIES) < 0.25) continue;
        all.at(all.arg, site, a);
        some.at(some.arg, row++, b);
        assert_memory_equal(a, b, sizeof a);
    }
    assert_int_equal(row, some.rows);
    assert_true(all.reach > 1.7320 && all.reach < 1.7321);
    wisp_positions_close(&some);
    wisp_positions_close(&all);
}

static void test_boxes(void **state)
{
    wisp_positions p = open_positions(*state, "topi:nx=3,ny=4,nz=5");
    double at[3];
    assert_true(p.rows == 240 && p.dimensions == 3 && p.periodic == 3 && p.volume == 60 && p.reach == 1);
    p.at(p.arg, 4 * ((2 * 4 + 1) * 5 + 3) + 2, at);
    assert_true(at[0] == 2 && at[1] == 1 && at[2] == 3);
    wisp_positions_close(&p);
    p = open_positions(*state, "anderson:nx=7");
    assert_true(p.dimensions == 1 && p.periodic == 1 && p.volume == 7 && p.cell[0][0] == 7);
    wisp_positions_close(&p);
    p = open_positions(*state, "anderson:nx=1,ny=6,nz=4,periodic=z");
    assert_true(p.dimensions == 2 && p.periodic == 2 && p.cell[0][1] == 6 && p.cell[1][2] == 4 && p.volume == 24);
    wisp_positions_close(&p);
    p = open_positions(*state, "laplace:points=5,nx=3,ny=4");
    assert_true(p.dimensions == 2 && p.periodic == 0 && p.volume == 12);
    wisp_positions_close(&p);
    assert_int_equal(wisp_positions_open_gallery(&p, *state, "band:n=10"), WISP_ERR_UNSUPPORTED);
    assert_non_null(strstr(message_of(*state), "file of positions"));
    assert_int_equal(wisp_positions_open_gallery(&p, *state, "square:nx=0"), WISP_ERR_ARG);
}

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void test_files(void **state)
{
    static const struct {
        const char *text;
        wisp_status status;
        const char *words;
    } bad[] = {{"1 2\n3\n4 5\n", WISP_ERR_FORMAT, "line 2: expected 2 numbers"},
               {"1 2\n3 x\n4 5\n", WISP_ERR_FORMAT, "line 2"},
               {"1 2 3 4\n", WISP_ERR_FORMAT, "line 1: expected 1 to 3 numbers"},
               {"1 2\n\n# nothing\n3 inf\n", WISP_ERR_FORMAT, "line 4"},
               {"1 2\n3 4\n", WISP_ERR_MISMATCH, "2 positions, and the matrix has 3 rows"},
               {"1\n2\n3\n4\n", WISP_ERR_MISMATCH, "4 positions"}};
    char folder[] = "/tmp/wisp-positions-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/p.txt", folder);
    wisp_positions p;
    const double cell[6] = {3, 0, 0, 1, 2, 0}, flat[6] = {1, 0, 0, 2, 0, 0}, huge[6] = {1e100, 0, 0, 0, 1e100, 0};
    double at[3];
    write_text(path, "# x y\n0 0\n  1.5,-2e0\n\n3 4");
    REF_OK(*state, wisp_positions_open_file(&p, *state, path, 3, cell, 2));
    p.at(p.arg, 1, at);
    assert_true(at[0] == 1.5 && at[1] == -2 && at[2] == 0);
    assert_true(p.rows == 3 && p.dimensions == 2 && p.periodic == 3 && fabs(p.volume - 6) < 1e-12 && p.reach == 0);
    wisp_positions_close(&p);
    REF_OK(*state, wisp_positions_open_file(&p, *state, path, 3, NULL, 0));
    assert_true(p.dimensions == 2 && p.periodic == 0 && p.volume == 0);
    wisp_positions_close(&p);
    REF_OK(*state, wisp_positions_open_file(&p, *state, path, 3, cell, 1));
    assert_true(p.dimensions == 2 && p.periodic == 1 && p.volume == 0);
    wisp_positions_close(&p);
    write_text(path, "0 0 0\n1 0 0\n3 4 0\n"); /* a plane, with z */
    REF_OK(*state, wisp_positions_open_file(&p, *state, path, 3, cell, 2));
    assert_true(p.dimensions == 2 && fabs(p.volume - 6) < 1e-12);
    wisp_positions_close(&p);
    assert_int_equal(wisp_positions_open_file(&p, *state, path, 3, flat, 2), WISP_ERR_ARG);
    assert_int_equal(wisp_positions_open_file(&p, *state, path, 3, cell, 4), WISP_ERR_ARG);
    assert_int_equal(wisp_positions_open_file(&p, *state, path, 3, huge, 2), WISP_ERR_ARG);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_text(path, bad[i].text);
        assert_int_equal(wisp_positions_open_file(&p, *state, path, 3, NULL, 0), bad[i].status);
        if (!strstr(message_of(*state), bad[i].words)) fail_msg("%s", message_of(*state));
        assert_null(p.at);
    }
    unlink(path);
    assert_int_equal(wisp_positions_open_file(&p, *state, path, 3, NULL, 0), WISP_ERR_IO);
    rmdir(folder);
}

static void test_arrays(void **state)
{
    wisp_positions p;
    double xy[3][2] = {{0, 0}, {1.5, -2}, {3, 4}}, at[3];
    const double cell[6] = {3, 0, 0, 1, 2, 0}, flat[6] = {1, 0, 0, 2, 0, 0};
    REF_OK(*state, wisp_positions_open_array(&p, *state, 3, 2, *xy, cell, 2));
    xy[1][0] = 7; /* it was copied */
    p.at(p.arg, 1, at);
    assert_true(at[0] == 1.5 && at[1] == -2 && at[2] == 0);
    assert_true(p.rows == 3 && p.dimensions == 2 && p.periodic == 3 && fabs(p.volume - 6) < 1e-12 && p.reach == 0);
    wisp_positions_close(&p);
    REF_OK(*state, wisp_positions_open_array(&p, *state, 2, 3, *xy, NULL, 0));
    assert_true(p.dimensions == 3 && p.periodic == 0 && p.volume == 0);
    wisp_positions_close(&p);
    REF_OK(*state, wisp_positions_open_array(&p, *state, 0, 1, NULL, NULL, 0));
    wisp_positions_close(&p);
    assert_int_equal(wisp_positions_open_array(&p, *state, 3, 2, *xy, flat, 2), WISP_ERR_ARG);
    assert_int_equal(wisp_positions_open_array(&p, *state, 3, 4, *xy, NULL, 0), WISP_ERR_ARG);
    assert_int_equal(wisp_positions_open_array(&p, *state, -1, 2, *xy, NULL, 0), WISP_ERR_ARG);
    xy[2][0] = NAN;
    assert_int_equal(wisp_positions_open_array(&p, *state, 3, 2, *xy, NULL, 0), WISP_ERR_ARG);
    if (!strstr(message_of(*state), "row 2")) fail_msg("%s", message_of(*state));
    assert_null(p.at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_plane), cmocka_unit_test(test_vacancies),
                                       cmocka_unit_test(test_boxes), cmocka_unit_test(test_files),
                                       cmocka_unit_test(test_arrays)};
    return cmocka_run_group_tests(tests, ref_setup_all, ref_teardown);
}
