/* Spins and electrons of the gallery against dense constructions: spin operators, Fock spaces. */
#include "gallery_dense.h"
#include "gallery/gallery.h"

static int make_ctx(void **state) { return wisp_ctx_create((wisp_ctx **)state, NULL) != WISP_OK; }
static int free_ctx(void **state)
{
    wisp_ctx_free(*state);
    return 0;
}

/* S_i^k S_j^k on `sites` spins; site 0 is the last factor, "up" is the second state of each. */
static dense spin_pair(int sites, int i, int j, int k)
{
    dense m = dense_eye(1);
    for (int s = sites - 1; s >= 0; s--) m = kron(m, pauli(s == i || s == j ? k : 0));
    return m;
}

static void test_spinchain(void **state)
{
    static const double deltas[] = {1, 0, -0.5, 2.25};
    for (int sites = 2; sites <= 7; sites++) {
        int ring = sites & 1, rings = sites < 6 ? 2 : 1;
        for (int r = 0; r < rings; r++, ring = !ring) {
            dense part[2] = {dense_zero(1 << sites), dense_zero(1 << sites)};
            for (int i = 0; i < sites - !ring; i++) {
                for (int k = 1; k <= 3; k++) add(part[k == 3], 0.25, spin_pair(sites, i, (i + 1) % sites, k), 0);
            }
            for (int up = 0; up <= sites; up++) {
                double delta = deltas[(up + sites) % 4];
                int state_of[128], n = 0;
                for (int s = 0; s < 1 << sites; s++) {
                    if (__builtin_popcount((unsigned)s) == up) state_of[n++] = s;
                }
                dense h = dense_zero(n);
                for (int i = 0; i < n * n; i++) {
                    int a = state_of[i / n], b = state_of[i % n];
                    h.a[i] = *at(part[0], a, b) + delta * *at(part[1], a, b);
                }
                char spec[128];
                snprintf(spec, sizeof spec, "spinchain:sites=%d,up=%d,delta=%g,periodic=%s", sites, up, delta,
                         ring ? "x" : "none");
                assert_same(spec, expand(*state, spec), h, 1e-15);
            }
            free(part[0].a);
            free(part[1].a);
        }
    }
    wisp_src src = open_spec(*state, "spinchain"), half = open_spec(*state, "spinchain:sites=16,up=8,delta=1");
    assert_int_equal(src.rows, 12870);
    assert_int_equal(half.rows, 12870);
    close_src(&src);
    close_src(&half);
}

/* sum of exp(i q j) S_j^z / sqrt(sites), with the product of sigma_z and 1 on the other sites. */
static dense spin_wave(int sites, int k)
{
    dense all = dense_zero(1 << sites);
    for (int j = 0; j < sites; j++) {
        const double turn = 2 * M_PI * k * j / sites;
        add(all, -0.5 * (cos(turn) + I * sin(turn)) / sqrt(sites), spin_pair(sites, j, j, 3), 0);
    }
    return all;
}

static void test_spinz(void **state)
{
    for (int sites = 2; sites <= 6; sites++)
        for (int k = 0; k <= sites + 1; k++) {
            dense all = spin_wave(sites, k);
            for (int up = 0; up <= sites; up++) {
                int state_of[64], n = 0;
                char spec[128];
                for (int s = 0; s < 1 << sites; s++)
                    if (__builtin_popcount((unsigned)s) == up) state_of[n++] = s;
                snprintf(spec, sizeof spec, "spinz:sites=%d,up=%d,k=%d", sites, up, k);
                wisp_src src = open_spec(*state, spec);
                assert_int_equal(src.type, 2 * k % sites ? WISP_Z : WISP_D);
                assert_int_equal(src.rows, n);
                for (int i = 0; i < n; i++) {
                    double v[2] = {0};
                    int64_t col = -1;
                    assert_int_equal(src.row(src.arg, i, NULL, NULL), 1);
                    assert_int_equal(src.row(src.arg, i, &col, v), 1);
                    assert_int_equal(col, i);
                    assert_true(cabs(v[0] + I * v[1] - *at(all, state_of[i], state_of[i])) < 2e-15);
                }
                close_src(&src);
            }
            free(all.a);
        }
}

/* c^+_i c_j of a Fock state, in which the modes are filled in their order; 0: nothing is left. */
static int hop(unsigned s, int i, int j, unsigned *out)
{
    int sign = 1;
    if (!(s >> j & 1)) return 0;
    if (__builtin_parity(s & ((1u << j) - 1))) sign = -sign;
    s ^= 1u << j;
    if (s >> i & 1) return 0;
    if (__builtin_parity(s & ((1u << i) - 1))) sign = -sign;
    *out = s ^ 1u << i;
    return sign;
}
/* H on all of Fock space; mode m < sites: site m with spin up; sites + m: with spin down. */
static dense hubbard_fock(int sites, int ring, double t, double U, const double *energy)
{
    const unsigned states = 1u << 2 * sites;
    dense h = dense_zero((int)states);
    for (unsigned s = 0; s < states; s++) {
        for (int i = 0; i < sites; i++) {
            const int up = s >> i & 1, down = s >> (sites + i) & 1;
            *at(h, (int)s, (int)s) += U * up * down + energy[i] * (up + down);
        }
        for (int b = 0; b < 2 * (sites - !ring); b++) {
            const int spin = b & 1 ? sites : 0, i = spin + b / 2, j = spin + (b / 2 + 1) % sites;
            unsigned to;
            int sign = hop(s, i, j, &to);
            if (sign) *at(h, (int)to, (int)s) += -t * sign;
            sign = hop(s, j, i, &to);
            if (sign) *at(h, (int)to, (int)s) += -t * sign;
        }
    }
    return h;
}
static void check_hubbard(wisp_ctx *ctx, dense fock, int sites, int up, int down, const char *rest)
{
    unsigned state_of[256];
    int n = 0;
    for (int u = 0; u < 1 << sites; u++) {
        for (int d = 0; d < 1 << sites; d++) {
            if (__builtin_popcount((unsigned)u) == up && __builtin_popcount((unsigned)d) == down)
                state_of[n++] = (unsigned)(u | d << sites);
        }
    }
    dense h = dense_zero(n);
    for (int i = 0; i < n * n; i++) h.a[i] = *at(fock, (int)state_of[i / n], (int)state_of[i % n]);
    char spec[256];
    snprintf(spec, sizeof spec, "hubbard:sites=%d,up=%d,down=%d,%s", sites, up, down, rest);
    assert_same(spec, expand(ctx, spec), h, 1e-14);
}

static void test_hubbard(void **state)
{
    for (int sites = 2; sites <= 4; sites++) {
        for (int ring = 0; ring < 2; ring++) {
            double energy[4];
            char spec[128], rest[128];
            snprintf(spec, sizeof spec, "anderson:nx=%d,t=0,disorder=3,seed=%d", sites, sites);
            snprintf(rest, sizeof rest, "t=0.75,U=-2.5,disorder=3,seed=%d,periodic=%s", sites, ring ? "x" : "none");
            dense diagonal = expand(*state, spec);
            for (int i = 0; i < sites; i++) energy[i] = creal(*at(diagonal, i, i));
            dense fock = hubbard_fock(sites, ring, 0.75, -2.5, energy);
            for (int up = 0; up <= sites; up++) {
                for (int down = 0; down <= sites; down++) check_hubbard(*state, fock, sites, up, down, rest);
            }
            free(diagonal.a);
            free(fock.a);
        }
    }
    wisp_src src = open_spec(*state, "hubbard"), twelve = open_spec(*state, "hubbard:sites=12,up=5,periodic=x");
    assert_int_equal(src.rows, 70 * 70);
    assert_int_equal(twelve.rows, 792 * 924);
    close_src(&src);
    close_src(&twelve);
}

static void check_hubbardq(wisp_ctx *ctx, int sites, int up, int down, int k, bool charge)
{
    char spec[128];
    int64_t row = 0, col = -1;
    snprintf(spec, sizeof spec, "hubbardq:sites=%d,up=%d,down=%d,k=%d,of=%s", sites, up, down, k,
             charge ? "charge" : "spin");
    wisp_src src = open_spec(ctx, spec);
    assert_int_equal(src.type, 2 * k % sites ? WISP_Z : WISP_D);
    for (int u = 0; u < 1 << sites; u++)
        for (int d = 0; d < 1 << sites; d++) {
            double v[2] = {0};
            cplx want = 0;
            if (__builtin_popcount((unsigned)u) != up || __builtin_popcount((unsigned)d) != down) continue;
            for (int j = 0; j < sites; j++) {
                const int a = u >> j & 1, b = d >> j & 1;
                want += cexp(2 * I * M_PI * k * j / sites) * (charge ? a + b : 0.5 * (a - b)) / sqrt(sites);
            }
            assert_int_equal(src.row(src.arg, row, NULL, NULL), 1);
            assert_int_equal(src.row(src.arg, row, &col, v), 1);
            assert_true(col == row && cabs(v[0] + I * v[1] - want) < 4e-15);
            row++;
        }
    assert_int_equal(src.rows, row);
    close_src(&src);
}

static void test_hubbardq(void **state)
{
    for (int sites = 2; sites <= 4; sites++)
        for (int k = 0; k <= sites + 1; k++)
            for (int i = 0; i < 2 * (sites + 1) * (sites + 1); i++)
                check_hubbardq(*state, sites, i / 2 / (sites + 1), i / 2 % (sites + 1), k, i % 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_spinchain), cmocka_unit_test(test_spinz),
                                       cmocka_unit_test(test_hubbard), cmocka_unit_test(test_hubbardq)};
    return cmocka_run_group_tests(tests, make_ctx, free_ctx);
}
