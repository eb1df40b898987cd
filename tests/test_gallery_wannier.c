/* Files of Wannier90 as lattices: against a dense construction and graphene's; what is wrong with damaged ones. */
#include "gallery_dense.h"
#include <unistd.h>
#include "base/rng.h"
#include "gallery/gallery.h"
#include "ref.h"

static int make_ctx(void **state) { return wisp_ctx_create((wisp_ctx **)state, NULL) != WISP_OK; }
static int free_ctx(void **state)
{
    wisp_ctx_free(*state);
    return 0;
}

static const char *const letters[8] = {"none", "x", "y", "xy", "z", "xz", "yz", "xyz"};
static const char *const path = "wannier_test_hr.dat";

static void put(const char *text, size_t bytes)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, bytes, f), bytes);
    fclose(f);
}

/* Graphene's A and B: B of the cells (0, 0), (-1, 0) and (0, -1) beside A; degeneracies that are not 1. */
static const char graphene[] = " written by hand\n"
                               "           2\n"
                               "           7\n"
                               "    1    2    2    4    4    1    1\n"
                               "    0    0    0    1    1    0.000000    0.000000\n"
                               "    0    0    0    2    1   -2.700000    0.000000\n"
                               "    0    0    0    1    2   -2.700000   -0.000000\n"
                               "    0    0    0    2    2    0.000000    0.000000\n"
                               "   -1    0    0    1    1    0.000000    0.000000\n"
                               "   -1    0    0    2    1    0.000000    0.000000\n"
                               "   -1    0    0    1    2   -5.400000    0.000000\n"
                               "   -1    0    0    2    2    0.000000    0.000000\n"
                               "    1    0    0    1    1    0.000000    0.000000\n"
                               "    1    0    0    2    1   -5.400000    0.000000\n"
                               "    1    0    0    1    2    0.000000    0.000000\n"
                               "    1    0    0    2    2    0.000000    0.000000\n"
                               "    0    1    0    1    1    0.000000    0.000000\n"
                               "    0    1    0    2    1  -10.800000    0.000000\n"
                               "    0    1    0    1    2    0.000000    0.000000\n"
                               "    0    1    0    2    2    0.000000    0.000000\n"
                               "    0   -1    0    1    1    0.000000    0.000000\n"
                               "    0   -1    0    2    1    0.000000    0.000000\n"
                               "    0   -1    0    1    2  -10.800000    0.000000\n"
                               "    0   -1    0    2    2    0.000000    0.000000\n"
                               "    2    0    0    1    1 0 0\n    2    0    0    1    2 0 0\n"
                               "    2    0    0    2    1 0 0\n    2    0    0    2    2 0 0\n"
                               "   -2    0    0    1    1 0 0\n   -2    0    0    1    2 0 0\n"
                               "   -2    0    0    2    1 0 0\n   -2    0    0    2    2 0 0\n";

static void test_graphene(void **state)
{
    static const int sizes[][2] = {{1, 1}, {2, 1}, {1, 4}, {2, 2}, {3, 4}, {5, 3}};
    put(graphene, sizeof graphene - 1);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int p = 0; p < 4; p++)
            for (int w = 0; w < 3; w += 2) {
                char one[200], other[200];
                snprintf(one, sizeof one, "wannier:%s,nx=%d,ny=%d,periodic=%s,disorder=%d,seed=4", path, sizes[s][0],
                         sizes[s][1], letters[p], w);
                snprintf(other, sizeof other, "graphene:t=2.7,nx=%d,ny=%d,periodic=%s,disorder=%d,seed=4", sizes[s][0],
                         sizes[s][1], letters[p], w);
                assert_same(one, expand(*state, one), expand(*state, other), 0);
                wisp_src src = open_spec(*state, one);
                assert_int_equal(src.type, WISP_D);
                assert_true(src.max_row <= (w ? 4 : 3));
                if (sizes[s][0] > 2 && sizes[s][1] > 2) assert_int_equal(src.max_row, w ? 4 : 3);
                close_src(&src);
            }
}

/* ---- a dense construction --------------------------------------------------------------------------- */

enum { ORBITALS = 3, CELLS = 9 };
static const int cell[CELLS][3] = {{0, 0, 0},  {1, 0, 0},   {-1, 0, 0}, {0, 2, -1}, {0, -2, 1},
                                   {1, -1, 3}, {-1, 1, -3}, {0, 0, 1},  {0, 0, -1}};
static const int degeneracy[CELLS] = {1, 2, 2, 3, 3, 1, 1, 6, 6};

/* h[c][m][n], Hermitian; cells with odd numbers are followed by their opposites. */
static void make_numbers(cplx h[CELLS][ORBITALS][ORBITALS], uint64_t seed)
{
    for (int c = 0; c < CELLS; c++)
        for (int m = 0; m < ORBITALS; m++)
            for (int n = 0; n < ORBITALS; n++) {
                const int64_t at = (c * ORBITALS + m) * ORBITALS + n;
                h[c][m][n] = wisp__uniform(seed, at, 1) - 0.5 + I * (wisp__uniform(seed, at, 2) - 0.5);
                if (wisp__uniform(seed, at, 3) < 0.2) h[c][m][n] = 0;
            }
    for (int c = 0; c < CELLS; c += c ? 2 : 1)
        for (int m = 0; m < ORBITALS; m++)
            for (int n = 0; n < ORBITALS; n++) {
                if (c == 0 && n == m) h[0][m][m] = creal(h[0][m][m]);
                if (c > 0 || n > m) h[c ? c + 1 : 0][n][m] = conj(h[c][m][n]);
            }
}

static void put_numbers(cplx h[CELLS][ORBITALS][ORBITALS], double rounding)
{
    FILE *f = fopen(path, "w");
    fprintf(f, "\r\n %d\r\n%d \r\n", ORBITALS, CELLS);
    for (int c = 0; c < CELLS; c++) fprintf(f, "%5d%s", degeneracy[c], c == 4 || c == CELLS - 1 ? "\r\n" : "");
    for (int c = 0; c < CELLS; c++)
        for (int n = 0; n < ORBITALS; n++)
            for (int m = 0; m < ORBITALS; m++) {
                const double off = rounding * (wisp__uniform(9, (c * ORBITALS + m) * ORBITALS + n, 4) - 0.5);
                fprintf(f, "%5d%5d%5d%5d%5d %.17g  %+.17E\r\n", cell[c][0], cell[c][1], cell[c][2], m + 1, n + 1,
                        degeneracy[c] * (creal(h[c][m][n]) + off), degeneracy[c] * cimag(h[c][m][n]));
            }
    fprintf(f, "\n \n");
    fclose(f);
}

static dense whole(cplx h[CELLS][ORBITALS][ORBITALS], const int n[3], int periodic)
{
    dense d = dense_zero(ORBITALS * n[0] * n[1] * n[2]);
    for (int i = 0; i < d.n; i++)
        for (int c = 0; c < CELLS; c++) {
            const int number = i / ORBITALS, here[3] = {number / n[2] / n[1], number / n[2] % n[1], number % n[2]};
            int to[3], there = 1;
            for (int k = 0; k < 3; k++) {
                to[k] = here[k] + cell[c][k];
                if (periodic >> k & 1) to[k] = (to[k] + 12 * n[k]) % n[k];
                there &= to[k] >= 0 && to[k] < n[k];
            }
            for (int k = 0; there && k < ORBITALS; k++)
                *at(d, i, ((to[0] * n[1] + to[1]) * n[2] + to[2]) * ORBITALS + k) += h[c][i % ORBITALS][k];
        }
    return d;
}

static void test_numbers(void **state)
{
    static const int sizes[][3] = {{1, 1, 1}, {2, 1, 1}, {1, 3, 2}, {2, 2, 2}, {3, 2, 4}, {4, 5, 1}};
    cplx h[CELLS][ORBITALS][ORBITALS];
    for (uint64_t seed = 1; seed < 4; seed++) {
        make_numbers(h, seed);
        for (int rounded = 0; rounded < 2; rounded++) {
            put_numbers(h, rounded ? 1e-6 : 0);
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
                for (int p = 0; p < 8; p++) {
                    const int *n = sizes[s];
                    char spec[200];
                    snprintf(spec, sizeof spec, "wannier:%s,nx=%d,ny=%d,nz=%d,periodic=%s", path, n[0], n[1], n[2],
                             letters[p]);
                    assert_same(spec, expand(*state, spec), whole(h, n, p), rounded ? 1e-5 : 1e-14);
                }
        }
    }
}

/* ---- damaged files ---------------------------------------------------------------------------------- */

#define HEAD "text\n1\n1\n1\n"
static const struct {
    const char *text, *message;
} bad[] = {
    {"", ":1: the file is empty"},
    {"text", ":1: the file ends before the number of Wannier functions"},
    {"text\n\n1\n", ":2: '' is not the number of Wannier functions, a whole number from 1"},
    {"text\nnone\n1\n", ":2: 'none' is not the number of Wannier functions, a whole number from 1"},
    {"text\n0\n1\n", ":2: '0' is not the number of Wannier functions, a whole number from 1"},
    {"text\n-2\n1\n", ":2: '-2' is not the number of Wannier functions, a whole number from 1"},
    {"text\n1 1\n1\n", ":2: '1' after the number of Wannier functions"},
    {"text\n1\n", ":2: the file ends before the number of cells R"},
    {"text\n1\n1.0\n", ":3: '1.0' is not the number of cells R, a whole number from 1"},
    {"text\n1\n99999999999999999999\n", ":3: '99999999999999999999' is not the number of cells R"},
    {"text\n4\n2\n1 1\n", ":3: 4 Wannier functions and 2 cells have more entries than a file of 13 bytes holds"},
    {"text\n999999999999\n999999999999\n", ":3: 999999999999 Wannier functions and 999999999999 cells have more"},
    {"text\n1\n2\n1\n                       ", ":5: the file ends after 1 of 2 degeneracies"},
    {"text\n1\n1\n0\n0 0 0 1 1 1 0\n", ":4: the degeneracy '0' is not a whole number from 1"},
    {"text\n1\n1\n1 1\n0 0 0 1 1 1 0\n", ":4: '1' after the last of 1 degeneracies"},
    {HEAD "                \n", ":5: the file ends after 0 of 1 entries"},
    {HEAD "0 0 0 1 1 1        \n", ":5: the imaginary part is missing (a line is 'R1 R2 R3 m n real imaginary')"},
    {HEAD "0 0              \n", ":5: R3 is missing"},
    {HEAD "0 x 0 1 1 1 0\n", ":5: R2 'x' is not a whole number"},
    {HEAD "0 0 1e9 1 1 1 0\n", ":5: R3 '1e9' is not a whole number"},
    {HEAD "0 0 9999999999 1 1 1 0\n", ":5: R3 is 9999999999, beyond 1073741824 cells"},
    {HEAD "0 0 0 0 1 1 0\n", ":5: m is 0, and there are Wannier functions 1 to 1"},
    {HEAD "0 0 0 1 2 1 0\n", ":5: n is 2, and there are Wannier functions 1 to 1"},
    {HEAD "0 0 0 1 1 one 0\n", ":5: the real part 'one' is not a finite number"},
    {HEAD "0 0 0 1 1 1 nan\n", ":5: the imaginary part 'nan' is not a finite number"},
    {HEAD "0 0 0 1 1 ****** 0\n", ":5: the real part '******' is not a finite number"},
    {HEAD "0 0 0 1 1 1e999 0\n", ":5: the real part '1e999' is not a finite number"},
    {HEAD "0 0 0 1 1 1 0 0\n", ":5: '0' after the entry"},
    {HEAD "0 0 0 1 1 1 0\n\n0 0 0 1 1 1 0\n", ":7: '0' after the last of 1 entries"},
    {HEAD "0 0 0 1 1 1 1\n", ":5: the matrix is not Hermitian: m=1, n=1 of R=(0,0,0) and the conjugate of m=1, n=1 of "
                             "-R differ by 2"},
    {HEAD "0 0 0 1 1 0 0\n", ": all entries are 0"},
    {HEAD "0 3 0 1 1 1 0\n", ":5: R=(0,3,0) is there, but -R is not: the matrix is not Hermitian"},
    {"text\n1\n3\n1 1 1\n0 0 0 1 1 1 0\n0 1 0 1 1 1 0\n0 1 0 1 1 1 0\n", ":7: R=(0,1,0) is there a second time"},
    {"text\n1\n3\n1 1 1\n0 0 0 1 1 1 0\n0 1 0 1 1 1 0\n0 -2 0 1 1 1 0\n", ":7: R=(0,-2,0) is there, but -R is not"},
    {"text\n1\n3\n1 1 2\n0 0 0 1 1 1 0\n0 1 0 1 1 1 0\n0 -1 0 1 1 1 0\n",
     ":7: the matrix is not Hermitian: m=1, n=1 of R=(0,-1,0) and the conjugate of m=1, n=1 of -R differ by 0.5"},
    {"text\n2\n1\n1\n0 0 0 1 1 1 0\n0 0 0 2 1 1 0\n0 0 0 2 1 1 0\n0 0 0 2 2 1 0\n",
     ":7: m=2, n=1 of R=(0,0,0) is there twice"},
    {"text\n2\n1\n1\n0 0 0 1 1 1 0\n0 0 0 2 1 1 0\n0 0 1 1 2 1 0\n0 0 0 2 2 1 0\n",
     ":7: R is (0,0,1) after 2 of the 4 entries of (0,0,0)"},
    {"text\n2\n1\n1\n0 0 0 1 1 1 0\n0 0 0 2 1 0.25 1\n0 0 0 1 2 0.25 1\n0 0 0 2 2 1 0\n",
     ":5: the matrix is not Hermitian: m=1, n=2 of R=(0,0,0) and the conjugate of m=2, n=1 of -R differ by 2"},
};

/* Opens the file; if that fails, with one line that names it, and nothing is held. */
static wisp_status open_file(wisp_ctx *ctx)
{
    wisp_src src;
    char spec[100];
    int64_t before, after;
    snprintf(spec, sizeof spec, "wannier:%s,nx=2,ny=3,nz=2", path);
    wisp_ctx_memory(ctx, &before, NULL);
    const wisp_status status = wisp_src_open(&src, ctx, spec);
    if (status == WISP_OK) {
        int64_t col[ROOM];
        cplx val[ROOM];
        for (int64_t row = 0; src.max_row < ROOM && row < src.rows; row++) get_row(&src, row, col, val);
        wisp_src_close(&src);
    } else {
        const char *message = message_of(ctx);
        assert_true(strncmp(message, path, strlen(path)) == 0 && !strchr(message, '\n'));
        for (const char *m = message; *m; m++) assert_true((unsigned char)*m >= ' ');
        assert_true(status == WISP_ERR_FORMAT);
        assert_true(src.row == NULL && src.arg == NULL && src.free_arg == NULL);
    }
    wisp_ctx_memory(ctx, &after, NULL);
    assert_int_equal(before, after);
    return status;
}

static void test_bad(void **state)
{
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char want[300];
        snprintf(want, sizeof want, "%s%s", path, bad[i].message);
        put(bad[i].text, strlen(bad[i].text));
        if (open_file(*state) == WISP_OK) fail_msg("case %d was read, expected '%s'", (int)i, want);
        if (strncmp(message_of(*state), want, strlen(want)) != 0)
            fail_msg("'%s', expected '%s'", message_of(*state), want);
    }
}

/* Bytes that are changed, taken out or put in, lines that are lost, and files that end early: each is read, or refused
   with one line. */
static void test_damaged(void **state)
{
    enum { TRIES = 900, ALL = sizeof graphene - 1 };
    static const char bytes[] = "0123456789-+.eE \n\t\r\0x*";
    int refused = 0, line_lost = 0;
    for (int i = 0; i < TRIES; i++) {
        char text[ALL + 8];
        size_t size = ALL, at = (size_t)(wisp__uniform(11, i, 0) * ALL);
        const char c = bytes[(size_t)(wisp__uniform(11, i, 1) * (sizeof bytes - 1))];
        memcpy(text, graphene, ALL);
        switch (i % 5) {
        case 0: text[at] = c; break;
        case 1: memmove(text + at, text + at + 1, --size - at); break;
        case 2:
            memmove(text + at + 1, text + at, size++ - at);
            text[at] = c;
            break;
        case 3: size = at; break;
        default: {
            const char *end = memchr(text + at, '\n', ALL - at);
            const size_t next = (size_t)(end - text) + 1;
            while (at > 0 && text[at - 1] != '\n') at--;
            memmove(text + at, text + next, ALL - next);
            size = ALL - (next - at);
            line_lost += at > 0; /* but for the first one, which may be any text */
        }
        }
        put(text, size);
        const bool is_refused = open_file(*state) != WISP_OK;
        if (i % 5 == 4 && at > 0) assert_true(is_refused);
        refused += is_refused;
    }
    assert_true(line_lost > TRIES / 10);
    assert_in_range(refused, TRIES / 3, TRIES - 1);
    unlink(path);
}

/* Any allocation may fail: nothing is left then. */
static wisp_status open_small(wisp_ctx *ctx, void *arg)
{
    wisp_src src;
    const wisp_status status = wisp_src_open_gallery(&src, ctx, arg);
    wisp_src_close(&src);
    return status;
}
static void test_memory(void **state)
{
    char whole[100], folded[100];
    (void)state;
    put(graphene, sizeof graphene - 1);
    snprintf(whole, sizeof whole, "wannier:%s,nx=9", path);
    snprintf(folded, sizeof folded, "wannier:%s,nx=1,ny=1", path);
    assert_in_range(ref_failing_memory(open_small, whole, 100, 1), 10, 30);
    assert_in_range(ref_failing_memory(open_small, folded, 100, 1), 12, 30);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_graphene), cmocka_unit_test(test_numbers),
                                       cmocka_unit_test(test_bad), cmocka_unit_test(test_damaged),
                                       cmocka_unit_test(test_memory)};
    return cmocka_run_group_tests(tests, make_ctx, free_ctx);
}
