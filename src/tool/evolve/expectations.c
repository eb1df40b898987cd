/* Expectation values along an evolution. With |psi - exact| at most e, and B Hermitian,

     |<psi|B|psi> - exact| = |2 Re <d|B psi> - <d|B|d>| <= 2 e |B psi| + e^2 |B|,   d = psi - exact.

   With |B| Gershgorin's bound, a sum over rows of up to m entries is off by at most about m epsilons |B|, and a dot by
   one for each row of the strips that are summed in the block's type, and each of the strips, in double. */
#include "expectations.h"
#include <float.h>
#include <math.h>

static int open_file(tool *t, expectations *x, int i, int64_t rows)
{
    wisp_src *src = x->src + i;
    uint64_t hash = 0;
    if (wisp_src_open(src, t->ctx, x->name[i])) return tool_fail_ctx(t);
    if (source_fits(t, src, "operator", x->name[i], rows)) return EXIT_FAILED;
    if ((t->opt.checkpoint || t->opt.resume) && wisp_src_hash(t->ctx, src, &hash)) return tool_fail_ctx(t);
    x->hash = x->hash * 31 + hash;
    return EXIT_FINE;
}

int expectations_open(tool *t, expectations *x, int64_t rows, int64_t times)
{
    const options *o = &t->opt;
    int rc = EXIT_FINE;
    x->energy = o->energy;
    x->times = times;
    x->count = o->operators + o->energy;
    const size_t n = (size_t)x->count, numbers = n * (size_t)times;
    if (n == 0) return EXIT_FINE;
    if (wisp_alloc(t->ctx, &x->name, n, sizeof *x->name) || wisp_alloc(t->ctx, &x->src, n, sizeof *x->src) ||
        wisp_alloc(t->ctx, &x->mat, n, sizeof(wisp_mat *)) || wisp_alloc(t->ctx, &x->largest, n, sizeof *x->largest) ||
        wisp_alloc(t->ctx, &x->hermitian, n, sizeof *x->hermitian) ||
        wisp_alloc(t->ctx, &x->rounding, n, sizeof *x->rounding) ||
        wisp_alloc(t->ctx, &x->re, 3 * numbers, sizeof *x->re))
        return tool_fail_ctx(t);
    x->im = x->re + numbers;
    x->off = x->im + numbers;
    for (int i = 0; i < x->count && !rc; i++) {
        const bool own = x->energy && i == 0;
        x->name[i] = own ? "energy" : o->operator_list[i - x->energy];
        if (!own) rc = open_file(t, x, i, rows);
    }
    return rc;
}

wisp_mat_opts expectations_options(const wisp_src *src, wisp_type type, wisp_map *map)
{
    wisp_type own = src->type;
    if (type_is_single(type)) own = type_in(type, own);
    return (wisp_mat_opts){.type = own, .width = 1, .map = map};
}

double sum_rounding(wisp_type type, int64_t rows)
{
    enum { STRIP = 128, OTHERS = 8 }; /* rows; the scaling of numbers, and the last sums */
    const double epsilon = type_is_single(type) ? (double)FLT_EPSILON : DBL_EPSILON, n = (double)rows;
    return epsilon * (fmin(n, STRIP) + OTHERS) + DBL_EPSILON * n / STRIP;
}

/* |B| of a Hermitian matrix at most, and what rounding adds to a value: sums of |b_ij| over rows count. */
static int find_largest(tool *t, const wisp_mat *B, wisp_type type, expectations *x, int i)
{
    wisp_mat_props p;
    wisp_mat_info info;
    if (wisp_mat_get_props(B, &p)) return tool_fail_ctx(t);
    if (p.nonfinite_row >= 0)
        return tool_fail(t, "%s%s: row %lld holds a NaN or an infinity", x->own == B ? "" : "--operator ",
                         x->own == B ? t->opt.arg[0] : x->name[i], (long long)p.nonfinite_row);
    wisp_mat_get_info(B, &info);
    const double epsilon = type_is_single(type) ? (double)FLT_EPSILON : DBL_EPSILON;
    const double rows = fmax(fabs(p.gershgorin_min), fabs(p.gershgorin_max)) + (p.hermitian ? 0 : p.largest);
    x->hermitian[i] = p.hermitian;
    x->largest[i] = p.hermitian ? rows : NAN;
    x->rounding[i] = rows * (epsilon * 2 * (double)p.max_row + sum_rounding(type, info.rows));
    return EXIT_FINE;
}

int expectations_make(tool *t, expectations *x, const wisp_mat *A, wisp_type type)
{
    int rc = EXIT_FINE;
    x->own = A;
    for (int i = 0; i < x->count && !rc; i++) {
        if (!(x->energy && i == 0)) {
            const wisp_mat_opts mo = expectations_options(x->src + i, type, wisp_mat_map(A));
            if (wisp_mat_create(x->mat + i, t->ctx, x->src + i, &mo)) return tool_fail_ctx(t);
            wisp_src_close(x->src + i);
        }
        rc = find_largest(t, x->mat[i] ? x->mat[i] : A, type, x, i);
    }
    if (!rc && x->count && wisp_blk_create(&x->y, t->ctx, wisp_mat_map(A), type, 1)) rc = tool_fail_ctx(t);
    return rc;
}

/* |B psi|, by its square; |B| |psi| where that has left the range of psi's type. */
static double length_of(double square, double largest, bool single)
{
    const double least = single ? (double)FLT_MIN / (double)FLT_EPSILON : DBL_MIN / DBL_EPSILON;
    return square >= least && isfinite(square) ? sqrt(square) : largest;
}

int expectations_take(tool *t, expectations *x, int64_t i, const wisp_blk *psi, double tolerance, double norm)
{
    const bool single = type_is_single(wisp_blk_type(psi));
    const double epsilon = single ? (double)FLT_EPSILON : DBL_EPSILON;
    x->epsilon = epsilon;
    for (int b = 0; b < x->count; b++) {
        wisp_scalar dot[3];
        const wisp_aug aug = {.terms = WISP_DOT_XY | WISP_DOT_YY, .dot = dot};
        if (wisp_spmmv(x->y, x->mat[b] ? x->mat[b] : x->own, psi, &aug)) return tool_fail_ctx(t);
        const int64_t at = b * x->times + i;
        const double e = tolerance + 8 * epsilon * norm, largest = x->largest[b];
        x->re[at] = dot[1].re;
        x->im[at] = dot[1].im;
        x->off[at] =
            2 * e * length_of(dot[2].re, largest * norm, single) + e * e * largest + x->rounding[b] * norm * norm;
    }
    return EXIT_FINE;
}

/* |<psi|A|psi> - exact| <= e (|A psi| + |A^H psi|) + e^2 |A|, and |A| <= |H| + |W|. */
void expectations_absorbed(expectations *x, const wisp_bounds *H, const wisp_bounds *W, int64_t done, const double *off,
                           const double *norm)
{
    if (!x->energy || x->hermitian[0]) return;
    const double largest = fabs(H->center) + H->halfwidth + fabs(W->center) + W->halfwidth;
    for (int64_t i = 0; i < done; i++) {
        const double e = off[i] + 8 * x->epsilon * norm[i];
        x->off[i] = (2 * norm[i] + e) * e * largest + x->rounding[0] * norm[i] * norm[i];
    }
}

wisp_status expectations_items(expectations *x, wisp_state *s)
{
    wisp_status status;
    WISP_TRY(wisp_state_samef(s, "operators", "%d, %016llx", x->count, (unsigned long long)x->hash));
    status = wisp_state_data(s, "expectations", x->re, 3 * (size_t)(x->count * x->times) * sizeof *x->re);
out:
    return status;
}

int expectations_add_bytes(tool *t, const wisp_src *src, wisp_type type, bool most, int64_t *bytes, int64_t *making)
{
    const wisp_mat_opts mo = expectations_options(src, type, NULL);
    wisp_mat_info info;
    if (most ? wisp_mat_bound(t->ctx, src, &mo, &info) : wisp_mat_plan(t->ctx, src, &mo, &info))
        return tool_fail_ctx(t);
    *bytes += info.bytes;
    if (info.assembly_bytes + info.props_bytes > *making) *making = info.assembly_bytes + info.props_bytes;
    return EXIT_FINE;
}

int expectations_bytes(tool *t, const expectations *x, wisp_type type, bool most, int64_t *bytes, int64_t *making)
{
    int rc = EXIT_FINE;
    *bytes = *making = 0;
    for (int i = x->energy; i < x->count && !rc; i++)
        rc = expectations_add_bytes(t, x->src + i, type, most, bytes, making);
    return rc;
}

void expectations_close(tool *t, expectations *x)
{
    for (int i = 0; x->re && i < x->count; i++) {
        wisp_src_close(x->src + i);
        wisp_mat_free(x->mat[i]);
    }
    wisp_blk_free(x->y);
    wisp_free(t->ctx, x->re);
    wisp_free(t->ctx, x->rounding);
    wisp_free(t->ctx, x->largest);
    wisp_free(t->ctx, x->hermitian);
    wisp_free(t->ctx, x->mat);
    wisp_free(t->ctx, x->src);
    wisp_free(t->ctx, x->name);
}
