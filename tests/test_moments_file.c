/* Moments files: there and back bit for bit, and every kind of damage with its own clear line. */
#include "kpm_dense.h"
#include "config.h"
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef WISP_HAVE_HDF5

static void without(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_ctx(NULL);
    wisp_moments m = {0};
    REF_FAILS(ctx, wisp_moments_save(ctx, &m, "x.h5"), WISP_ERR_UNSUPPORTED, "without HDF5: install libhdf5-dev");
    REF_FAILS(ctx, wisp_moments_load(ctx, &m, "x.h5"), WISP_ERR_UNSUPPORTED, "without HDF5: install libhdf5-dev");
    wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(without)};
    const int failed = REF_RUN(tests);
    print_message("left out, for this build has no HDF5: all about files that are there\n");
    return failed ? failed : REF_SKIPPED;
}

#else

#include "h5_attribute.h"

typedef struct {
    wisp_ctx *ctx;
    char folder[64], file[96];
} fixture;

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    snprintf(f->folder, sizeof f->folder, "/tmp/wisp-moments-XXXXXX");
    f->ctx = ref_ctx(NULL);
    *state = f;
    if (!mkdtemp(f->folder)) return 1;
    snprintf(f->file, sizeof f->file, "%s/m.h5", f->folder);
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    unlink(f->file);
    wisp_ctx_free(f->ctx);
    int left = rmdir(f->folder); /* fails if a temporary file was left behind */
    free(f);
    return left;
}

static wisp_moments sample_of(wisp_trace trace, int64_t vectors, int64_t n, int two_sides)
{
    wisp_moments m = {.rows = 50,
                      .nnz = 99,
                      .n = n,
                      .vectors = vectors,
                      .trace = trace,
                      .type = WISP_C,
                      .width = 3,
                      .depth = 4,
                      .variant = WISP_KPM_NAIVE,
                      .threads = 2,
                      .seconds = 0.125,
                      .flops = 1e9,
                      .bounds_seconds = 3,
                      .seed = UINT64_MAX - 5,
                      .first_vector = trace == WISP_TRACE_RANDOM ? -1 : 7, /* -1: several runs taken together */
                      .bounds = {-1.5, 3.25, 1e-9},
                      .bounds_method = WISP_BOUNDS_GERSHGORIN,
                      .version = "0.0.7"};
    ref_rng r = {12};
    m.mu = calloc((size_t)(n * vectors), sizeof *m.mu);
    for (int64_t i = 0; i < n * vectors; i++)
        m.mu[i] = i % n ? ref_uniform(&r) : trace == WISP_TRACE_SITES ? 1 : (double)m.rows; /* mu_0 is exact */
    if (two_sides) {
        m.imag = calloc((size_t)(n * vectors), sizeof *m.imag);
        for (int64_t i = 0; i < n * vectors; i++) m.imag[i] = ref_uniform(&r), m.mu[i] = 3 * ref_uniform(&r);
    }
    if (trace != WISP_TRACE_SITES) return m;
    m.sites = calloc((size_t)vectors, sizeof *m.sites);
    for (int64_t v = 0; v < vectors; v++) m.sites[v] = 49 - v;
    return m;
}

static void of_a_sample(wisp_moments *m)
{
    m->volume = 12.25, m->dimensions = 2, m->direction = 4;
    for (int i = 0; i < 9; i++) m->mark[i / 3][i % 3] = 0.5 + i;
}

static void of_waves(wisp_ctx *ctx, wisp_moments *m)
{
    double points[4][WISP_POINT];
    for (int i = 0; i < 4; i++)
        memcpy(points[i], (double[]){0.1 * i, -i, 1e-300, 0.3 * i, i % 2, i / 2}, sizeof *points);
    m->columns = 2, m->moved = 0.125, m->orbitals = 2, m->realizations = 3;
    REF_OK(ctx, wisp_moments_points(ctx, m, 4, points[0]));
}

static wisp_moments sample(wisp_trace trace, int64_t vectors, int64_t n) { return sample_of(trace, vectors, n, 0); }

static void assert_text(const char *a, const char *b)
{
    assert_true((a == NULL) == (b == NULL));
    if (a) assert_string_equal(a, b);
}

static void assert_same(const wisp_moments *a, const wisp_moments *b)
{
    assert_int_equal(a->rows, b->rows);
    assert_int_equal(a->nnz, b->nnz);
    assert_int_equal(a->n, b->n);
    assert_int_equal(a->vectors, b->vectors);
    assert_memory_equal(a->mu, b->mu, (size_t)(a->n * a->vectors) * sizeof *a->mu);
    assert_true((a->imag == NULL) == (b->imag == NULL));
    if (a->imag) assert_memory_equal(a->imag, b->imag, (size_t)(a->n * a->vectors) * sizeof *a->imag);
    assert_true((a->sites == NULL) == (b->sites == NULL));
    if (a->sites) assert_memory_equal(a->sites, b->sites, (size_t)a->vectors * sizeof *a->sites);
    assert_int_equal(a->trace, b->trace);
    assert_true(a->volume == b->volume && a->dimensions == b->dimensions && a->direction == b->direction);
    assert_memory_equal(a->mark, b->mark, sizeof a->mark);
    assert_true(a->columns == b->columns && a->moved == b->moved && a->orbitals == b->orbitals);
    assert_true(a->realizations == b->realizations && a->point_count == b->point_count && !a->points == !b->points);
    if (a->points) assert_memory_equal(a->points, b->points, (size_t)a->point_count * WISP_POINT * sizeof *a->points);
    assert_memory_equal(&a->bounds, &b->bounds, 2 * sizeof(double));
    assert_true(a->bounds.failure_probability == b->bounds.failure_probability ||
                (isnan(a->bounds.failure_probability) && isnan(b->bounds.failure_probability)));
    assert_int_equal(a->bounds_method, b->bounds_method);
    assert_true(a->seed == b->seed && a->first_vector == b->first_vector);
    assert_int_equal(a->type, b->type);
    assert_int_equal(a->variant, b->variant);
    assert_true(a->width == b->width && a->depth == b->depth && a->threads == b->threads);
    assert_true(a->seconds == b->seconds && a->flops == b->flops && a->bounds_seconds == b->bounds_seconds);
    assert_text(a->matrix, b->matrix);
    assert_text(a->command, b->command);
    assert_string_equal(a->version, b->version);
}

static void there_and_back(void **state)
{
    fixture *f = *state;
    static const char *const label[] = {NULL, "", "topi:nx=3 \xc3\xa4 \"quoted\"\n"};
    for (int i = 0; i < 18; i++) {
        wisp_trace trace = (wisp_trace)(i < 9 ? i % 3 : i % 4);
        wisp_moments m = sample_of(trace, trace == WISP_TRACE_EXACT ? 1 : 5 + i, 2 + 31 * i, i >= 14), back;
        if (i == 4) m.bounds.failure_probability = NAN;
        if (i % 3 == 2) of_a_sample(&m);
        if (i % 3 == 0 && trace == WISP_TRACE_RANDOM) m.realizations = (int)m.vectors;
        if (i % 5 == 3) of_waves(f->ctx, &m);
        REF_OK(f->ctx, wisp_moments_label(f->ctx, &m, label[i % 9 / 3], label[(i + 1) % 3]));
        REF_OK(f->ctx, wisp_moments_save(f->ctx, &m, f->file)); /* over the one before */
        REF_OK(f->ctx, wisp_moments_load(f->ctx, &back, f->file));
        assert_same(&m, &back);
        wisp_moments_free(&m);
        wisp_moments_free(&back);
    }
}

/* A run, saved and read, is evaluated to the same bits. */
static void evaluated_anew(void **state)
{
    fixture *f = *state;
    wisp_mat *A = mat_of_spec(f->ctx, "topi:nx=3,ny=3,nz=2", NULL);
    wisp_moments m, back;
    wisp_kpm_opts o = {.moments = 50, .vectors = 3};
    double energy[40], dos[2][40], error[2][40];
    REF_OK(f->ctx, wisp_kpm(&m, A, &o));
    REF_OK(f->ctx, wisp_moments_save(f->ctx, &m, f->file));
    REF_OK(f->ctx, wisp_moments_load(f->ctx, &back, f->file));
    wisp_energies(&m.bounds, 40, energy);
    REF_OK(f->ctx, wisp_dos(f->ctx, &m, NULL, -1, 40, energy, dos[0], error[0]));
    REF_OK(f->ctx, wisp_dos(f->ctx, &back, NULL, -1, 40, energy, dos[1], error[1]));
    assert_memory_equal(dos[0], dos[1], sizeof dos[0]);
    assert_memory_equal(error[0], error[1], sizeof error[0]);
    assert_string_equal(back.version, wisp_version());
    wisp_moments_free(&m);
    wisp_moments_free(&back);
    wisp_mat_free(A);
}

/* Changes to a good file, one each. */
static void remove_link(hid_t file, const char *name) { assert_true(H5Ldelete(file, name, H5P_DEFAULT) >= 0); }
static void put_text(hid_t file, const char *name, const char *value)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE); /* the way of h5py */
    h5_put(file, name, type, &value);
    H5Tclose(type);
}
static void put_set(hid_t file, const char *name, hid_t type, int rank, hsize_t rows, hsize_t cols, const void *data)
{
    hsize_t dims[2] = {rows, cols};
    remove_link(file, name);
    hid_t space = H5Screate_simple(rank, dims, NULL);
    hid_t set = H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (data) assert_true(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
    H5Dclose(set);
    H5Sclose(space);
}

static const double numbers[12] = {1, 0.2, 0.3, 1, 0.4, 0.6, 1, NAN, 0.1, 1, 0.1, 0.2};
static const double below[8] = {1, 0, 1, 0, -1, 0, 1, 0}, zeros[12] = {0}, all_zero[24] = {0};
static const int64_t rows[4] = {0, 1, 2, 50};
static const double negative = -1, zero = 0, infinity = HUGE_VAL;
static const int64_t none = 0;
static const int two = 2, four = 4, six = 6, eight = 8, minus = -1;
static const int64_t five = 5;
static const double half[12] = {1, 2, 3, 0, 1, 0, 1, 2, 3, 0, 1, 0.5};

static void damage(hid_t h, int which)
{
    switch (which) {
    case 0: remove_link(h, "moments"); break;
    case 1: put_set(h, "moments", H5T_NATIVE_DOUBLE, 1, 12, 1, numbers); break;
    case 2: put_set(h, "moments", H5T_NATIVE_DOUBLE, 2, 4, 3, numbers); break;
    case 3: put_set(h, "moments", H5T_NATIVE_INT64, 2, 1, 4, rows); break;
    case 4: put_set(h, "moments", H5T_NATIVE_DOUBLE, 2, 4, 1, numbers); break;
    case 5: put_set(h, "moments", H5T_NATIVE_DOUBLE, 2, 1ULL << 40, 1ULL << 40, NULL); break;
    case 6: put_set(h, "moments", H5T_NATIVE_DOUBLE, 2, 0, 4, NULL); break;
    case 7: remove_link(h, "sites"); break;
    case 8: put_set(h, "sites", H5T_NATIVE_INT64, 1, 3, 1, rows); break;
    case 9: put_set(h, "sites", H5T_NATIVE_INT64, 1, 4, 1, rows); break;
    case 10: put_set(h, "sites", H5T_NATIVE_DOUBLE, 1, 4, 1, numbers); break;
    case 11: H5Adelete(h, "format"); break;
    case 12: put_text(h, "format", "something else"); break;
    case 13: h5_put(h, "format_version", H5T_NATIVE_INT, &eight); break;
    case 14: H5Adelete(h, "halfwidth"); break;
    case 15: h5_put(h, "halfwidth", H5T_NATIVE_DOUBLE, &zero); break;
    case 16: h5_put(h, "center", H5T_NATIVE_DOUBLE, &infinity); break;
    case 17: h5_put(h, "rows", H5T_NATIVE_INT64, &none); break;
    case 18: h5_put(h, "rows", H5T_NATIVE_DOUBLE, &negative); break;
    case 19: put_text(h, "trace", "all"); break;
    case 20: put_text(h, "trace", "exact"); break;
    case 21: H5Adelete(h, "variant"); break;
    case 22: put_text(h, "type", "default"); break;
    case 23: h5_put(h, "seconds", H5T_NATIVE_DOUBLE, &negative); break;
    case 24: h5_put(h, "matrix", H5T_NATIVE_DOUBLE, &zero); break;
    case 25: h5_put(h, "version", H5T_NATIVE_INT, &two); break;
    case 26: put_text(h, "trace", "given"), put_set(h, "moments", H5T_NATIVE_DOUBLE, 2, 4, 2, below); break;
    case 27: put_text(h, "trace", "given"); break;
    /* Those of two sides. */
    case 28: remove_link(h, "imaginary"); break;
    case 29: put_set(h, "imaginary", H5T_NATIVE_DOUBLE, 2, 4, 3, numbers); break;
    case 30: put_set(h, "imaginary", H5T_NATIVE_DOUBLE, 1, 4, 1, numbers); break;
    case 31: put_set(h, "imaginary", H5T_NATIVE_INT64, 2, 2, 2, rows); break;
    case 32:
        put_set(h, "moments", H5T_NATIVE_DOUBLE, 2, 4, 3, zeros);
        put_set(h, "imaginary", H5T_NATIVE_DOUBLE, 2, 4, 3, numbers);
        break;
    case 33: put_set(h, "imaginary", H5T_NATIVE_DOUBLE, 2, 4, 6, all_zero); break;
    case 34: h5_put(h, "format_version", H5T_NATIVE_INT, &two); break;
    /* Those of a sample. */
    case 35: remove_link(h, "marks"); break;
    case 36: put_set(h, "marks", H5T_NATIVE_DOUBLE, 2, 4, 3, zeros); break;
    case 37: put_set(h, "marks", H5T_NATIVE_DOUBLE, 2, 3, 3, numbers); break;
    case 38: h5_put(h, "volume", H5T_NATIVE_DOUBLE, &negative); break;
    case 39: h5_put(h, "dimensions", H5T_NATIVE_INT, &six); break;
    case 40: put_text(h, "direction", "ab"); break;
    case 41: put_text(h, "direction", "xx"); break;
    case 42: put_set(h, "marks", H5T_NATIVE_DOUBLE, 2, 3, 3, all_zero); break;
    /* Those of points of k. */
    case 43: remove_link(h, "points"); break;
    case 44: put_set(h, "points", H5T_NATIVE_DOUBLE, 2, 4, 3, zeros); break;
    case 45: put_set(h, "points", H5T_NATIVE_DOUBLE, 2, 2, 6, numbers); break;
    case 46: put_set(h, "points", H5T_NATIVE_DOUBLE, 2, 2, 6, half); break;
    case 47: h5_put(h, "orbitals", H5T_NATIVE_INT, &minus); break;
    case 48: h5_put(h, "columns", H5T_NATIVE_INT64, &five); break;
    case 49: h5_put(h, "moved", H5T_NATIVE_DOUBLE, &negative); break;
    case 50: H5Adelete(h, "realizations"); break;
    case 51: h5_put(h, "realizations", H5T_NATIVE_INT, &six); break;
    /* Realizations without these. */
    case 52: H5Adelete(h, "realizations"); break;
    case 53: h5_put(h, "realizations", H5T_NATIVE_INT, &six); break;
    case 54: h5_put(h, "realizations", H5T_NATIVE_INT, &four); break;
    default: fail();
    }
}

static const struct {
    wisp_status status;
    const char *words;
} expected[] = {
    {WISP_ERR_FORMAT, "moments (dataset) is missing"},
    {WISP_ERR_FORMAT, "moments has the wrong shape"},
    {WISP_ERR_NUMERIC, "moment 1 of vector 2 is not finite"},
    {WISP_ERR_FORMAT, "moments is not a dataset of the right type"},
    {WISP_ERR_FORMAT, "moments has the wrong shape"},
    {WISP_ERR_FORMAT, "moments has the wrong shape"},
    {WISP_ERR_FORMAT, "moments has the wrong shape"},
    {WISP_ERR_FORMAT, "sites (dataset) is missing"},
    {WISP_ERR_FORMAT, "sites and moments differ in their number of vectors"},
    {WISP_ERR_FORMAT, "sites names row 50; the matrix has rows 0 to 49"},
    {WISP_ERR_FORMAT, "sites is not a dataset of the right type"},
    {WISP_ERR_FORMAT, "not of moments"},
    {WISP_ERR_FORMAT, "not of moments"},
    {WISP_ERR_UNSUPPORTED, "format version 8; this wisp reads 1 to 7"},
    {WISP_ERR_FORMAT, "halfwidth is missing"},
    {WISP_ERR_FORMAT, "center or halfwidth is out of range"},
    {WISP_ERR_FORMAT, "center or halfwidth is out of range"},
    {WISP_ERR_FORMAT, "rows is out of range"},
    {WISP_ERR_FORMAT, "rows has the wrong type"},
    {WISP_ERR_FORMAT, "trace has an unknown value"},
    {WISP_ERR_FORMAT, "4 vectors, and an exact trace is one"},
    {WISP_ERR_FORMAT, "variant is missing"},
    {WISP_ERR_FORMAT, "type is out of range"},
    {WISP_ERR_FORMAT, "seconds or bounds_seconds is out of range"},
    {WISP_ERR_FORMAT, "matrix is not a text"},
    {WISP_ERR_FORMAT, "version is not a text"},
    {WISP_ERR_FORMAT, "moment 0 of vector 2 is -1 and can't be negative"},
    {WISP_ERR_FORMAT, "the checksum does not fit"},
    {WISP_ERR_FORMAT, "moment 0 of vector 0 is "},
    {WISP_ERR_FORMAT, "imaginary and moments differ in their shape"},
    {WISP_ERR_FORMAT, "imaginary has the wrong shape"},
    {WISP_ERR_FORMAT, "imaginary is not a dataset of the right type"},
    {WISP_ERR_NUMERIC, "moment 1 of vector 2 is not finite"},
    {WISP_ERR_FORMAT, "the checksum does not fit"},
    {WISP_ERR_FORMAT, "moment 0 of vector 0 is "},
    {WISP_ERR_FORMAT, "marks (dataset) is missing"},
    {WISP_ERR_FORMAT, "marks has the wrong shape"},
    {WISP_ERR_FORMAT, "marks is out of range"},
    {WISP_ERR_FORMAT, "volume is out of range"},
    {WISP_ERR_FORMAT, "dimensions is out of range"},
    {WISP_ERR_FORMAT, "direction has an unknown value"},
    {WISP_ERR_FORMAT, "the checksum does not fit"},
    {WISP_ERR_FORMAT, "the checksum does not fit"},
    {WISP_ERR_FORMAT, "points (dataset) is missing"},
    {WISP_ERR_FORMAT, "points has the wrong shape"},
    {WISP_ERR_FORMAT, "points is out of range"},
    {WISP_ERR_FORMAT, "points is out of range"},
    {WISP_ERR_FORMAT, "orbitals is out of range"},
    {WISP_ERR_FORMAT, "columns is out of range"},
    {WISP_ERR_FORMAT, "realizations or moved is out of range"},
    {WISP_ERR_FORMAT, "realizations is missing"},
    {WISP_ERR_FORMAT, "the checksum does not fit"},
    {WISP_ERR_FORMAT, "realizations is missing"},
    {WISP_ERR_FORMAT, "realizations is out of range"},
    {WISP_ERR_FORMAT, "the checksum does not fit"},
};

static void damaged(void **state)
{
    fixture *f = *state;
    enum { ONE_SIDE = 28, SAMPLE = 35, POINTS = 43, REALIZATIONS = 52 };
    wisp_moments m = sample(WISP_TRACE_SITES, 4, 6), back;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        if (i == ONE_SIDE) wisp_moments_free(&m), m = sample_of(WISP_TRACE_SITES, 4, 6, 1);
        if (i == SAMPLE) of_a_sample(&m);
        if (i == POINTS) of_waves(f->ctx, &m);
        if (i == REALIZATIONS) wisp_moments_free(&m), m = sample(WISP_TRACE_SITES, 4, 6), m.realizations = 2;
        REF_OK(f->ctx, wisp_moments_label(f->ctx, &m, "a matrix", "a command"));
        REF_OK(f->ctx, wisp_moments_save(f->ctx, &m, f->file));
        hid_t h = H5Fopen(f->file, H5F_ACC_RDWR, H5P_DEFAULT);
        assert_true(h >= 0);
        damage(h, (int)i);
        H5Fclose(h);
        REF_FAILS(f->ctx, wisp_moments_load(f->ctx, &back, f->file), expected[i].status, expected[i].words);
        assert_memory_equal(message_of(f->ctx), f->file, strlen(f->file));
        assert_true(!back.mu && !back.imag);
    }
    wisp_moments_free(&m);
}

/* Cut short anywhere, but in the line behind HDF5's end: refused. */
static void truncated(void **state)
{
    fixture *f = *state;
    wisp_moments m = sample(WISP_TRACE_RANDOM, 4, 60), back;
    struct stat st;
    REF_OK(f->ctx, wisp_moments_save(f->ctx, &m, f->file));
    assert_int_equal(stat(f->file, &st), 0);
    for (off_t size = st.st_size - 20 - 1; size >= 0; size -= size > 200 ? 97 : 1) {
        assert_int_equal(truncate(f->file, size), 0);
        REF_FAILS(f->ctx, wisp_moments_load(f->ctx, &back, f->file), WISP_ERR_FORMAT, "HDF5 file");
        REF_OK(f->ctx, wisp_moments_save(f->ctx, &m, f->file));
    }
    wisp_moments_free(&m);
}

static void other_files(void **state)
{
    fixture *f = *state;
    wisp_moments m = sample(WISP_TRACE_RANDOM, 2, 4), back, empty = {0};
    FILE *text = fopen(f->file, "w");
    fputs("energy,dos\n0,1\n", text);
    fclose(text);
    REF_FAILS(f->ctx, wisp_moments_load(f->ctx, &back, f->file), WISP_ERR_FORMAT, "not an HDF5 file");
    REF_FAILS(f->ctx, wisp_moments_load(f->ctx, &back, f->folder), WISP_ERR_FORMAT, "not an HDF5 file");
    REF_FAILS(f->ctx, wisp_moments_load(f->ctx, &back, "/nowhere/m.h5"), WISP_ERR_IO, "/nowhere/m.h5: No such file");
    REF_FAILS(f->ctx, wisp_moments_save(f->ctx, &m, "/nowhere/m.h5"), WISP_ERR_IO, "/nowhere/m.h5");
    REF_FAILS(f->ctx, wisp_moments_save(f->ctx, &empty, f->file), WISP_ERR_ARG, "no vector was completed");
    /* What was there before is still there after failures. */
    char line[32] = "";
    text = fopen(f->file, "r");
    assert_non_null(fgets(line, sizeof line, text));
    fclose(text);
    assert_string_equal(line, "energy,dos\n");
    wisp_moments_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(there_and_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(evaluated_anew, set_up, tear_down),
        cmocka_unit_test_setup_teardown(damaged, set_up, tear_down),
        cmocka_unit_test_setup_teardown(truncated, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_files, set_up, tear_down),
    };
    return REF_RUN(tests);
}
#endif
