/* Gallery specs: what is refused and how, the listing and its defaults, sizes that nobody could store. */
#include "gallery_dense.h"
#include "base/rng.h"

static int make_ctx(void **state) { return wisp_ctx_create((wisp_ctx **)state, NULL) != WISP_OK; }
static int free_ctx(void **state)
{
    wisp_ctx_free(*state);
    return 0;
}

/* Each refused spec with the whole message. */
static const struct {
    const char *spec;
    wisp_status status;
    const char *message;
} refused[] = {
#define NAMES                                                                                                    \
    "(there are: topi, graphene, haldane, square, honeycomb, kagome, anderson, laplace, hpcg, band, spinchain, " \
    "delaunay, "                                                                                                 \
    "tetrahedra, elasticity, matpde, hubbard, wannier, spinz, hubbardq)"
    {"", WISP_ERR_ARG, "unknown gallery matrix '' " NAMES},
    {":nx=3", WISP_ERR_ARG, "unknown gallery matrix '' " NAMES},
    {"topo:nx=3", WISP_ERR_ARG, "unknown gallery matrix 'topo'; the nearest is 'topi' " NAMES},
    {"topi2", WISP_ERR_ARG, "unknown gallery matrix 'topi2'; the nearest is 'topi' " NAMES},
    {"grafen:nx=3", WISP_ERR_ARG, "unknown gallery matrix 'grafen'; the nearest is 'graphene' " NAMES},
    {"spin_chain", WISP_ERR_ARG, "unknown gallery matrix 'spin_chain'; the nearest is 'spinchain' " NAMES},
    {"a\nb", WISP_ERR_ARG, "unknown gallery matrix 'a?b' " NAMES},
    {"zzzzzz", WISP_ERR_ARG, "unknown gallery matrix 'zzzzzz' " NAMES},
#undef NAMES
    {"band:width=3", WISP_ERR_ARG,
     "band: unknown key 'width'; the nearest is 'bandwidth' (there are: n, bandwidth, seed)"},
    {"spinchain:site=4", WISP_ERR_ARG,
     "spinchain: unknown key 'site'; the nearest is 'sites' (there are: sites, up, delta, periodic)"},
    {"spinchain:Delta=4", WISP_ERR_ARG,
     "spinchain: unknown key 'Delta'; the nearest is 'delta' (there are: sites, up, delta, periodic)"},
    {"laplace: nx=4", WISP_ERR_ARG,
     "laplace: unknown key ' nx'; the nearest is 'nx' (there are: points, nx, ny, nz, periodic)"},
    {"laplace:=4", WISP_ERR_ARG, "laplace: unknown key '' (there are: points, nx, ny, nz, periodic)"},
    {"laplace:width=4", WISP_ERR_ARG, "laplace: unknown key 'width' (there are: points, nx, ny, nz, periodic)"},
    {"laplace:nx", WISP_ERR_ARG, "laplace: 'nx' has no '='; write key=value"},
    {"laplace:nx=3,,ny=2", WISP_ERR_ARG, "laplace: '' has no '='; write key=value"},
    {"laplace:,", WISP_ERR_ARG, "laplace: '' has no '='; write key=value"},
    {"laplace:nx=3,", WISP_ERR_ARG, "laplace: nothing follows the last comma"},
    {"laplace:nx=3,ny=4,nx=3", WISP_ERR_ARG, "laplace: nx is given twice"},
    {"laplace:nx=", WISP_ERR_ARG, "laplace: nx= is not an integer"},
    {"laplace:nx=ten", WISP_ERR_ARG, "laplace: nx=ten is not an integer"},
    {"laplace:nx=10x", WISP_ERR_ARG, "laplace: nx=10x is not an integer"},
    {"laplace:nx= 10", WISP_ERR_ARG, "laplace: nx= 10 is not an integer"},
    {"laplace:nx=1.5", WISP_ERR_ARG, "laplace: nx=1.5 is not an integer"},
    {"laplace:nx=1e3", WISP_ERR_ARG, "laplace: nx=1e3 is not an integer"},
    {"laplace:nx=3=4", WISP_ERR_ARG, "laplace: nx=3=4 is not an integer"},
    {"laplace:nx=0", WISP_ERR_ARG, "laplace: nx=0 is out of range; it must be at least 1"},
    {"laplace:nx=-7", WISP_ERR_ARG, "laplace: nx=-7 is out of range; it must be at least 1"},
    {"laplace:points=9", WISP_ERR_ARG, "laplace: points=9 is none of: 5 7 27"},
    {"laplace:points=", WISP_ERR_ARG, "laplace: points= is none of: 5 7 27"},
    {"laplace:points=5 7", WISP_ERR_ARG, "laplace: points=5 7 is none of: 5 7 27"},
    {"laplace:periodic=xyw", WISP_ERR_ARG, "laplace: periodic=xyw must be letters of 'xyz', each once, or none"},
    {"laplace:periodic=xx", WISP_ERR_ARG, "laplace: periodic=xx must be letters of 'xyz', each once, or none"},
    {"laplace:periodic=", WISP_ERR_ARG, "laplace: periodic= must be letters of 'xyz', each once, or none"},
    {"graphene:vacancies=1.5", WISP_ERR_ARG,
     "graphene: vacancies=1.5 is out of range; it must be at least 0 and at most 1"},
    {"graphene:vacancies=1", WISP_ERR_ARG, "graphene: vacancies=1 leave no site of 200"},
    {"graphene:periodic=xz", WISP_ERR_ARG, "graphene: periodic=xz must be letters of 'xy', each once, or none"},
    {"laplace:points=5,nz=3", WISP_ERR_ARG,
     "laplace: points=5 has two dimensions; leave out nz and z in periodic, or take points=7"},
    {"laplace:points=5,periodic=z", WISP_ERR_ARG,
     "laplace: points=5 has two dimensions; leave out nz and z in periodic, or take points=7"},
    {"laplace:nx=9223372036854775808", WISP_ERR_OVERFLOW, "laplace: nx=9223372036854775808 does not fit in 64 bits"},
    {"laplace:nx=4294967296,ny=4294967296", WISP_ERR_OVERFLOW,
     "laplace: the number of rows does not fit in 64 bits; take a smaller size"},
    {"laplace:nx=1000000,ny=1000000,nz=1000000,points=27", WISP_ERR_OVERFLOW,
     "laplace: the number of nonzeros does not fit in 64 bits; take a smaller size"},
    {"topi:nx=2305843009213693952,ny=1,nz=1", WISP_ERR_OVERFLOW,
     "topi: the number of rows does not fit in 64 bits; take a smaller size"},
    {"topi:nx=1000000000000,ny=1000000,nz=1", WISP_ERR_OVERFLOW,
     "topi: the number of nonzeros does not fit in 64 bits; take a smaller size"},
    {"graphene:nx=9223372036854775807,ny=1", WISP_ERR_OVERFLOW,
     "graphene: the number of rows does not fit in 64 bits; take a smaller size"},
    {"anderson:nx=9223372036854775807", WISP_ERR_OVERFLOW,
     "anderson: the number of nonzeros does not fit in 64 bits; take a smaller size"},
    {"band:n=9223372036854775807", WISP_ERR_OVERFLOW,
     "band: the number of nonzeros does not fit in 64 bits; take a smaller size"},
    {"anderson:disorder=-1", WISP_ERR_ARG, "anderson: disorder=-1 is out of range; it must be at least 0"},
    {"anderson:disorder=much", WISP_ERR_ARG, "anderson: disorder=much is not a number"},
    {"anderson:disorder=", WISP_ERR_ARG, "anderson: disorder= is not a number"},
    {"anderson:disorder=nan", WISP_ERR_ARG, "anderson: disorder=nan is not a number"},
    {"anderson:t=inf", WISP_ERR_ARG, "anderson: t=inf is not a number"},
    {"anderson:t=1e999", WISP_ERR_ARG, "anderson: t=1e999 is not a number"},
    {"anderson:t=1/0", WISP_ERR_ARG, "anderson: t=1/0 is not a number"},
    {"anderson:t=1/", WISP_ERR_ARG, "anderson: t=1/ is not a number"},
    {"anderson:t=1/2/3", WISP_ERR_ARG, "anderson: t=1/2/3 is not a number"},
    {"anderson:seed=-1", WISP_ERR_ARG, "anderson: seed=-1 is out of range; it must be at least 0"},
    {"band:bandwidth=4", WISP_ERR_ARG, "band: bandwidth=4 is even; it counts the diagonal and both sides, take 5"},
    {"band:bandwidth=2147483649", WISP_ERR_ARG,
     "band: bandwidth=2147483649 is out of range; it must be at least 1 and at most 2147483647"},
    {"graphene:flux=1/7", WISP_ERR_ARG,
     "graphene: flux=0.142857 does not fit periodic=xy: flux times the 100 cells must be an integer; the nearest that "
     "fits is flux=14/100, or open a boundary"},
    {"haldane:flux=-1/200", WISP_ERR_ARG,
     "haldane: flux=-0.005 does not fit periodic=xy: flux times the 100 cells must be an integer; the nearest that "
     "fits "
     "is flux=0/100, or open a boundary"},
    {"square:flux=nan", WISP_ERR_ARG, "square: flux=nan is not a number"},
    {"square:flux=inf,periodic=none", WISP_ERR_ARG, "square: flux=inf is not a number"},
    {"square:nx=0", WISP_ERR_ARG, "square: nx=0 is out of range; it must be at least 1"},
    {"square:ny=-3", WISP_ERR_ARG, "square: ny=-3 is out of range; it must be at least 1"},
    {"square:mass=1", WISP_ERR_ARG,
     "square: unknown key 'mass' (there are: nx, ny, t, flux, disorder, vacancies, seed, periodic, t2)"},
    {"kagome:nx=99999999999999999999", WISP_ERR_OVERFLOW, "kagome: nx=99999999999999999999 does not fit in 64 bits"},
    {"kagome:nx=9000000000,ny=9000000000", WISP_ERR_OVERFLOW,
     "kagome: the number of rows does not fit in 64 bits; take a smaller size"},
    {"haldane:nx=4000000000,ny=1000000000", WISP_ERR_OVERFLOW,
     "haldane: the number of nonzeros does not fit in 64 bits; take a smaller size"},
    {"kagome:vacancies=1", WISP_ERR_ARG, "kagome: vacancies=1 leave no site of 300"},
    {"haldane:phi=pi", WISP_ERR_ARG, "haldane: phi=pi is not a number"},
    {"wannier", WISP_ERR_ARG, "wannier: the name of a file must come first: wannier:NAME,key=value"},
    {"wannier:", WISP_ERR_ARG, "wannier: the name of a file must come first: wannier:NAME,key=value"},
    {"wannier:nx=3", WISP_ERR_ARG, "wannier: the name of a file must come first: wannier:NAME,key=value"},
    {"wannier:a_hr.dat,", WISP_ERR_ARG, "wannier: nothing follows the last comma"},
    {"wannier:a_hr.dat,nx=0", WISP_ERR_ARG, "wannier: nx=0 is out of range; it must be at least 1"},
    {"wannier:a_hr.dat,b_hr.dat", WISP_ERR_ARG, "wannier: 'b_hr.dat' has no '='; write key=value"},
    {"wannier:/no/such_hr.dat,nx=3", WISP_ERR_IO, "/no/such_hr.dat: cannot open: No such file or directory"},
    {"wannier:/dev/null", WISP_ERR_IO, "/dev/null: this is no file on a disk; a Wannier90 file must be one"},
    {"spinchain:sites=9", WISP_ERR_ARG, "spinchain: odd number of sites: give up=... (such as up=4)"},
    {"spinchain:sites=1", WISP_ERR_ARG, "spinchain: sites=1 is out of range; it must be at least 2"},
    {"spinchain:sites=8,up=9", WISP_ERR_ARG, "spinchain: up=9 is more than sites=8"},
    {"spinchain:sites=8,up=-1", WISP_ERR_ARG, "spinchain: up=-1 is out of range; it must be at least 0"},
    {"spinchain:sites=64", WISP_ERR_OVERFLOW, "spinchain: sites=64 is too large for 64 bits; at most 62"},
    {"spinchain:sites=62", WISP_ERR_OVERFLOW,
     "spinchain: the number of nonzeros does not fit in 64 bits; take a smaller size"},
    {"hubbard:sites=7,up=3", WISP_ERR_ARG, "hubbard: odd number of sites: give down=... (such as down=3)"},
    {"hubbard:sites=6,down=7", WISP_ERR_ARG, "hubbard: down=7 is more than sites=6"},
    {"hubbard:sites=63,up=1,down=1", WISP_ERR_OVERFLOW, "hubbard: sites=63 is too large for 64 bits; at most 62"},
    {"hubbard:sites=40", WISP_ERR_OVERFLOW, "hubbard: the number of rows does not fit in 64 bits; take a smaller size"},
    {"hubbard:sites=32,up=14", WISP_ERR_OVERFLOW,
     "hubbard: the number of nonzeros does not fit in 64 bits; take a smaller size"},
    {"hubbard:disorder=-1", WISP_ERR_ARG, "hubbard: disorder=-1 is out of range; it must be at least 0"},
    {"delaunay:jitter=1.01", WISP_ERR_ARG,
     "delaunay: jitter=1.01 is out of range; it must be at least 0 and at most 1"},
    {"tetrahedra:jitter=-0.1", WISP_ERR_ARG,
     "tetrahedra: jitter=-0.1 is out of range; it must be at least 0 and at most 1"},
    {"delaunay:shuffle=2", WISP_ERR_ARG, "delaunay: shuffle=2 is out of range; it must be at least 0 and at most 1"},
    {"delaunay:nz=2", WISP_ERR_ARG,
     "delaunay: unknown key 'nz'; the nearest is 'nx' (there are: nx, ny, jitter, sigma, shuffle, seed)"},
    {"delaunay:nx=2147483648", WISP_ERR_ARG,
     "delaunay: nx=2147483648 is out of range; it must be at least 1 and at most 2147483647"},
    {"delaunay:nx=2000000000,ny=2000000000", WISP_ERR_OVERFLOW,
     "delaunay: the number of nonzeros does not fit in 64 bits; take a smaller size"},
    {"elasticity:E=0", WISP_ERR_ARG, "elasticity: E=0 is out of range; it must be above 0"},
    {"elasticity:nu=1/2", WISP_ERR_ARG, "elasticity: nu=0.5 is out of range; it must be above -1 and below 1/2"},
    {"elasticity:nu=-1", WISP_ERR_ARG, "elasticity: nu=-1 is out of range; it must be above -1 and below 1/2"},
    {"elasticity:nx=1", WISP_ERR_ARG, "elasticity: nx=1 is out of range; it must be at least 2 and at most 2147483647"},
    {"tetrahedra:nx=2000000000,ny=2000000000,nz=2000000000", WISP_ERR_OVERFLOW,
     "tetrahedra: the number of rows does not fit in 64 bits; take a smaller size"},
    {"topi:potential=dot", WISP_ERR_ARG, "topi: potential=dot is none of: none random dots"},
    {"topi:potential=random", WISP_ERR_ARG, "topi: potential=random needs its strength, disorder=..."},
    {"topi:potential=none,disorder=1", WISP_ERR_ARG, "topi: disorder needs potential=random or potential=dots"},
    {"topi:potential=random,disorder=1,dot_radius=3", WISP_ERR_ARG, "topi: the dot_ keys need potential=dots"},
    {"topi:dot_distance=0.5", WISP_ERR_ARG, "topi: dot_distance=0.5 is out of range; it must be at least 1"},
};

static void test_refused(void **state)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        wisp_src src;
        memset(&src, 0xff, sizeof src);
        wisp_status status = wisp_src_open_gallery(&src, *state, refused[i].spec);
        if (status != refused[i].status || strcmp(message_of(*state), refused[i].message) != 0) {
            fail_msg("%s: status %d, \"%s\"", refused[i].spec, (int)status, message_of(*state));
        }
        assert_true(src.row == NULL && src.arg == NULL && src.free_arg == NULL && src.rows == 0);
    }
    wisp_src src;
    assert_int_equal(wisp_src_open_gallery(NULL, *state, "topi"), WISP_ERR_ARG);
    assert_int_equal(wisp_src_open_gallery(&src, *state, NULL), WISP_ERR_ARG);
    assert_int_equal(wisp_src_open_gallery(&src, NULL, "topi"), WISP_ERR_ARG);
}

/* A very long token is cut in the message, which stays one line. */
static void test_long(void **state)
{
    char *spec = malloc(100000);
    for (int kind = 0; kind < 3; kind++) {
        const char *start = kind == 0 ? "" : kind == 1 ? "topi:" : "topi:nx=";
        memset(spec, 'q', 99999);
        spec[99999] = 0;
        memcpy(spec, start, strlen(start));
        wisp_src src;
        assert_int_equal(wisp_src_open_gallery(&src, *state, spec), WISP_ERR_ARG);
        assert_in_range(strlen(message_of(*state)), 20, 400);
    }
    /* Every byte once, in every place: nothing crashes, and messages have no control characters. */
    for (int c = 1; c < 256; c++) {
        for (int i = 0; i < 14; i++) {
            strcpy(spec, "band:n=12,seed=3");
            spec[i] = (char)c;
            wisp_src src;
            if (wisp_src_open_gallery(&src, *state, spec) == WISP_OK) {
                close_src(&src);
            } else {
                for (const char *m = message_of(*state); *m; m++) assert_true((unsigned char)*m >= ' ');
            }
        }
    }
    free(spec);
}

/* Two specs that mean the same matrix. */
static void assert_equal_specs(wisp_ctx *ctx, const char *one, const char *two)
{
    wisp_src a = open_spec(ctx, one), b = open_spec(ctx, two);
    int64_t ca[ROOM], cb[ROOM];
    cplx va[ROOM], vb[ROOM];
    assert_int_equal(a.rows, b.rows);
    assert_int_equal(a.type, b.type);
    for (int64_t row = 0; row < a.rows; row += 1 + a.rows / 97) {
        int n = get_row(&a, row, ca, va);
        assert_int_equal(n, get_row(&b, row, cb, vb));
        assert_memory_equal(ca, cb, (size_t)n * sizeof *ca);
        for (int i = 0; i < n; i++) assert_true(va[i] == vb[i]);
    }
    close_src(&a);
    close_src(&b);
}

static void test_names(void **state)
{
    static const char *const name[][2] = {{"a.mtx", "a.mtx"},
                                          {"/there/is/a.mtx", "a.mtx"},
                                          {"../is/a:b.mtx", "a:b.mtx"},
                                          {"folder/", "folder/"},
                                          {"square:nx=5,ny=5,flux=1/25", "square:nx=5,ny=5,flux=1/25"},
                                          {"wannier:there/a_hr.dat", "wannier:there/a_hr.dat"}};
    (void)state;
    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        assert_string_equal(wisp_matrix_name(name[i][0]), name[i][1]);
}

static void test_listing(void **state)
{
    static const char *const names[] = {"topi",      "graphene", "haldane",    "square",     "honeycomb",
                                        "kagome",    "anderson", "laplace",    "hpcg",       "band",
                                        "spinchain", "delaunay", "tetrahedra", "elasticity", "matpde",
                                        "hubbard",   "wannier",  "spinz",      "hubbardq"};
    assert_null(wisp_gallery_list(-1));
    const int count = (int)(sizeof names / sizeof *names);
    assert_null(wisp_gallery_list(count));
    for (int i = 0; i < count; i++) {
        const wisp_gallery_entry *e = wisp_gallery_list(i);
        assert_string_equal(e->name, names[i]);
        assert_true(strlen(e->summary) > 10);
        /* "key=default  meaning": giving a default changes nothing. */
        for (const char *line = e->keys; *line; line = strchr(line, '\n') + 1) {
            const char *gap = strstr(line, "  "), *end = strchr(line, '\n');
            assert_true(gap && end && gap < end && end - gap > 4);
            if (strcmp(e->name, "wannier") == 0 || strncmp(line, "up=", 3) == 0 || strncmp(line, "down=", 5) == 0 ||
                strncmp(line, "dot_", 4) == 0)
                continue;
            char spec[128];
            snprintf(spec, sizeof spec, "%s:%.*s", e->name, (int)(gap - line), line);
            if (strncmp(line, "nz", 2) != 0 || strcmp(e->name, "laplace") != 0)
                assert_equal_specs(*state, e->name, spec);
        }
    }
    assert_equal_specs(*state, "spinchain", "spinchain:up=8");
    assert_equal_specs(*state, "hubbard", "hubbard:up=4,down=4");
}

static void test_equivalent(void **state)
{
    assert_equal_specs(*state, "topi", "topi:");
    assert_equal_specs(*state, "topi:periodic=yx", "topi:periodic=xy");
    assert_equal_specs(*state, "topi:disorder=2", "topi:potential=random,disorder=2.0,seed=1");
    assert_equal_specs(*state, "topi:dot_radius=3",
                       "topi:potential=dots,dot_radius=3,dot_distance=10,dot_potential=0.153");
    assert_equal_specs(*state, "graphene:flux=0.1", "graphene:flux=1/10");
    assert_equal_specs(*state, "graphene:flux=0.1", "graphene:flux=1e-1");
    assert_equal_specs(*state, "graphene:flux=1", "graphene:flux=-1e308");
    assert_equal_specs(*state, "spinchain:sites=9,up=4,delta=1/2", "spinchain:delta=0.5,up=4,sites=9");
}

/* Random rows of matrices that nobody can store: each entry has its conjugate in the row that it points to. */
static void test_large(void **state)
{
    static const struct {
        const char *spec;
        int64_t rows;
    } cases[] = {
        {"topi:nx=100000,ny=100000,nz=100,disorder=1", 4000000000000},
        {"topi:nx=100000,ny=100000,nz=100,periodic=xyz,dot_distance=100,dot_radius=25", 4000000000000},
        {"topi:nx=177000000000000000,ny=1,nz=1", 708000000000000000},
        {"graphene:nx=1000000000,ny=1000000000,disorder=2", 2000000000000000000},
        {"graphene:nx=1000000000,ny=1000000000,flux=1/1000,periodic=xy", 2000000000000000000},
        {"graphene:nx=1000000000,ny=1000000000,flux=0.0123,periodic=x,disorder=1", 2000000000000000000},
        {"haldane:nx=100000000,ny=1000000000,flux=1/1000,mass=0.3", 200000000000000000},
        {"haldane:nx=1000000000,ny=100000000,flux=0.0123,periodic=none,disorder=1", 200000000000000000},
        {"square:nx=1000000000,ny=999999937,flux=0.3/999999937,t2=0.2", 999999937000000000},
        {"kagome:nx=300000000,ny=1000000000,flux=1/7,periodic=x", 900000000000000000},
        {"anderson:nx=1000000,ny=1000000,nz=1000000", 1000000000000000000},
        {"anderson:nx=3000000000000000000", 3000000000000000000},
        {"laplace:points=27,nx=600000,ny=700000,nz=800000,periodic=y", 336000000000000000},
        {"laplace:points=5,nx=1000000000,ny=1000000001", 1000000001000000000},
        {"laplace:nx=1000000,ny=1000000,nz=1000000", 1000000000000000000},
        {"band:n=100000000000000000,bandwidth=63", 100000000000000000},
        {"delaunay:nx=400000000,ny=400000000,sigma=1", 160000000000000000},
        {"delaunay:nx=2147483647,ny=70000000,shuffle=0", 150323855290000000},
        {"tetrahedra:nx=600000,ny=700000,nz=800000,sigma=1", 336000000000000000},
        {"tetrahedra:nx=2147483647,ny=7,nz=20000000,shuffle=0", 300647710580000000},
        {"elasticity:nx=200000,ny=300000,nz=500000,sigma=1", 90000000000000000},
        {"elasticity:nx=2147483647,ny=7,nz=2000000,shuffle=0", 90194313174000000},
        {"spinchain:sites=60,periodic=x", 118264581564861424},
        {"spinchain:sites=62,up=20", 9206478467454345},
        {"spinchain:sites=62,up=61,periodic=x", 62},
        {"hubbard:sites=28,disorder=1,periodic=x", 1609341595560000},
        {"hubbard:sites=62,up=5,down=57,periodic=x", 41873866884004},
    };
    int64_t col[ROOM], back[ROOM];
    cplx val[ROOM], partner[ROOM];
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        wisp_src src = open_spec(*state, cases[c].spec);
        assert_int_equal(src.rows, cases[c].rows);
        for (int i = 0; i < 400; i++) {
            /* also the first and the last rows */
            int64_t row = (int64_t)(wisp__uniform(c, i, 9) * (double)src.rows);
            if (i < 20) row = i % src.rows;
            if (i >= 20 && i < 40) row = src.rows - 1 - (i - 20) % src.rows;
            int n = get_row(&src, row, col, val);
            assert_true(n > 0);
            for (int j = 0; j < n; j++) {
                cplx there = 0, here = 0;
                int m = get_row(&src, col[j], back, partner);
                for (int k = 0; k < m; k++) there += back[k] == row ? partner[k] : 0;
                for (int k = 0; k < n; k++) here += col[k] == col[j] ? val[k] : 0;
                if (here != conj(there)) fail_msg("%s: row %lld", cases[c].spec, (long long)row);
            }
        }
        close_src(&src);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_refused),    cmocka_unit_test(test_long),
                                       cmocka_unit_test(test_names),      cmocka_unit_test(test_listing),
                                       cmocka_unit_test(test_equivalent), cmocka_unit_test(test_large)};
    return cmocka_run_group_tests(tests, make_ctx, free_ctx);
}
