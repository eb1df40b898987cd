/* Singular triplets of A from eigenpairs of B = [[0, A], [A^H, 0]]: those of +-s are (u, +-v), and those of 0 lie in
   the null spaces of A^H and A. So the parts of the vectors that are found span left and right singular vectors. These
   two spaces are made orthonormal, and a small problem between them, U^H A V, gives the triplets (Rayleigh-Ritz for
   singular values; Golub and Van Loan, Matrix Computations, section 8.6). Each one is checked as it is delivered. */
#include "svd.h"
#include <stdlib.h>
#include <string.h>

static wisp_status refuse(const wisp__svd *s, const char *what)
{
    return wisp_ctx_failf(s->ctx, WISP_ERR_ARG, "svd: %s", what);
}

/* ---- the question ---------------------------------------------------------------------------------- */

double wisp__svd_stricter(const wisp__svd *s, double tolerance)
{
    return fmax(tolerance / 4, 16 * s->eps); /* what parts of unit length have is larger */
}

wisp_status wisp__svd_check(wisp__svd *s, int64_t rows)
{
    wisp_mat_info info;
    const wisp_eig_opts *o = &s->given;
    wisp_mat_get_info(s->B, &info);
    s->rows = rows, s->cols = info.rows - rows;
    if (info.rows != info.cols)
        return wisp_ctx_failf(s->ctx, WISP_ERR_MISMATCH,
                              "svd: the matrix is %lld x %lld; it must be that of wisp_src_augmented",
                              (long long)info.rows, (long long)info.cols);
    if (rows <= 0 || s->cols <= 0)
        return wisp_ctx_failf(s->ctx, WISP_ERR_ARG,
                              "svd: %lld rows of A; the augmented matrix has %lld, of A's rows and columns",
                              (long long)rows, (long long)info.rows);
    s->type = o->type == WISP_DEFAULT ? info.type : o->type;
    s->is_complex = wisp_type_is_complex(s->type);
    s->eps = wisp__is_single(s->type) ? FLT_EPSILON : DBL_EPSILON;
    const int64_t least = s->rows < s->cols ? s->rows : s->cols;
    if (o->which != WISP_EIG_LARGEST && o->which != WISP_EIG_SMALLEST && o->which != WISP_EIG_INTERVAL)
        return refuse(s, "opts.which must be WISP_EIG_LARGEST, WISP_EIG_SMALLEST or WISP_EIG_INTERVAL");
    if (o->which == WISP_EIG_INTERVAL && !(o->low > 0))
        return refuse(s, "opts.low must be above 0; WISP_EIG_SMALLEST gives what is near 0");
    if (o->method == WISP_KRYLOV_SCHUR) return refuse(s, "opts.method is for matrices that are not Hermitian");
    if (o->count < 0 || (o->which != WISP_EIG_INTERVAL && o->count > least))
        return wisp_ctx_failf(s->ctx, WISP_ERR_ARG, "svd: opts.count is %d, and A has %lld singular values", o->count,
                              (long long)least);
    if (o->tolerance < 0 || !(o->tolerance < 1) || (o->tolerance > 0 && o->tolerance < 16 * s->eps))
        return wisp_ctx_failf(s->ctx, WISP_ERR_ARG, "svd: opts.tolerance is %g, it must be at least %.1e, and below 1",
                              o->tolerance, 16 * s->eps);
    return WISP_OK;
}

/* Of the smallest values: what is asked about the matrix of this way, whose residuals are to be small beside the
   square of a small value, or what the lifted one makes of it. */
static wisp_status ask_smallest(wisp__svd *s)
{
    wisp_eig_opts *o = &s->o;
    const int64_t zeros = llabs(s->rows - s->cols);
    o->target_im = 0;
    if (s->way != WISP__BY_AUGMENTED) {
        const bool gram = s->way == WISP__BY_GRAM;
        if (gram) o->method = WISP_LANCZOS;
        o->which = gram ? WISP_EIG_SMALLEST : WISP_EIG_NEAREST;
        o->target =
            gram ? 0 : 1e-3 * s->lift; /* an inverse with an eigenvalue at its target has no digits for others */
        o->any = 1;
        if (!gram) o->count += s->more;
        const double asked = o->tolerance_abs > 0 ? fmin(o->tolerance_abs / s->norm, 1e-6) : o->tolerance;
        o->tolerance = 32 * s->eps;
        if (!gram) /* small beside what is asked for, but not where rounding hinders */
            o->tolerance = fmax(o->tolerance, fmax(1e-3 * asked, fmin(asked, 4096 * s->eps)));
        o->tolerance_abs = 0;
        o->bounds = (wisp_bounds_opts){.method = WISP_BOUNDS_GIVEN,
                                       .given = gram ? (wisp_bounds){.center = 0.5, .halfwidth = 0.501}
                                                     : wisp__svd_lift_bounds(s)};
        return WISP_OK;
    }
    if (zeros + 2 * (int64_t)o->count > INT32_MAX)
        return wisp_ctx_failf(
            s->ctx, WISP_ERR_UNSUPPORTED,
            "svd: the smallest singular values of %lld x %lld are hidden among %lld zeros; an interval "
            "above 0 can be asked for",
            (long long)s->rows, (long long)s->cols, (long long)zeros);
    o->which = WISP_EIG_NEAREST;
    o->target = 0;
    o->count = (int)zeros + 2 * o->count;
    return WISP_OK;
}

/* What is left open in the question is filled in. */
void wisp__svd_fill_in(wisp__svd *s)
{
    wisp_eig_opts *o = &s->asked;
    *o = s->given;
    if (o->count == 0) o->count = 1;
    if (o->tolerance == 0) o->tolerance = wisp__is_single(s->type) ? 1e-4 : 1e-8;
    if (o->tolerance_abs > 0) o->tolerance = 0;
    s->wanted = o->which == WISP_EIG_INTERVAL ? INT32_MAX : o->count;
}

/* The question about the matrix of this way. Null spaces of B are asked for as a whole: no part of them would do for
   pairs. */
wisp_status wisp__svd_ask(wisp__svd *s)
{
    wisp_eig_opts *o = &s->o;
    *o = s->asked;
    o->any = o->which == WISP_EIG_LARGEST;
    if (o->tolerance_abs > 0)
        o->tolerance_abs /= 4;
    else
        o->tolerance = wisp__svd_stricter(s, o->tolerance);
    return o->which == WISP_EIG_SMALLEST ? ask_smallest(s) : WISP_OK;
}

/* ---- triplets --------------------------------------------------------------------------------------- */

/* Those that are asked for, from `first` on, in descending order. */
static void choose(wisp__svd *s, int *first, int *count)
{
    int from = 0, to = s->n;
    if (s->asked.which == WISP_EIG_INTERVAL) {
        const double room = s->limit * s->unit; /* as eigenvalues that may lie inside */
        while (from < to && s->value[from] > ldexp(s->asked.high, s->exponent) + room) from++;
        while (to > from && s->value[to - 1] < ldexp(s->asked.low, s->exponent) - room) to--;
    }
    if (s->asked.which == WISP_EIG_LARGEST && to > s->wanted) to = s->wanted;
    if (s->asked.which == WISP_EIG_SMALLEST && to > s->wanted) from = to - s->wanted;
    *first = from, *count = to - from;
}

/* side becomes its part of `count` triplets, of rising values; *off: how far its columns are from orthonormal. */
static wisp_status turn(wisp__svd *s, int i, int first, int count, wisp_blk **part, double *off)
{
    wisp_status status = WISP_OK;
    const int m = s->columns[i];
    wisp_scalar *X = NULL, *G = NULL;
    wisp_blk *all = NULL;
    WISP_TRY(wisp_alloc(s->ctx, &X, (size_t)m * (size_t)count, sizeof *X));
    WISP_TRY(wisp_alloc(s->ctx, &G, (size_t)count * (size_t)count, sizeof *G));
    for (int row = 0; row < m; row++)
        for (int j = 0; j < count; j++)
            X[(size_t)row * (size_t)count + (size_t)j] =
                s->turn[i][(size_t)row * (size_t)s->n + (size_t)(first + count - 1 - j)];
    WISP_TRY(wisp_blk_cols(&all, s->side[i], 0, m));
    WISP_TRY(wisp_blk_cols(part, s->side[i], 0, count));
    WISP_TRY(wisp_tsm_update(*part, wisp__real(1), all, X, count, wisp__real(0)));
    WISP_TRY(wisp_tsm_gram(G, count, wisp__real(1), *part, *part, wisp__real(0), 0));
    for (int row = 0; row < count; row++)
        for (int j = 0; j < count; j++) {
            const wisp_scalar g = G[(size_t)row * (size_t)count + (size_t)j];
            const double d = hypot(g.re - (row == j), g.im);
            *off = isnan(d) ? INFINITY : fmax(*off, d);
        }
out:
    wisp_blk_free(all);
    wisp_free(s->ctx, X);
    wisp_free(s->ctx, G);
    return status;
}

/* The larger one of |A v - s u| and |A^H u - s v| of each column (u, v), scaled, over s->unit. */
static wisp_status residuals(const wisp__svd *s, wisp_blk *pairs, int n, const double *value, double *residual)
{
    wisp_status status = WISP_OK;
    const int width = wisp__svd_width(s, n);
    wisp_blk *x = NULL, *y = NULL, *from = NULL, *some[2] = {0};
    wisp_scalar *by = NULL;
    WISP_TRY(wisp_alloc(s->ctx, &by, 3 * (size_t)width, sizeof *by));
    WISP_TRY(wisp_blk_create(&x, s->ctx, wisp_mat_map(s->B), s->type, width));
    WISP_TRY(wisp_blk_create(&y, s->ctx, wisp_mat_map(s->B), s->type, width));
    for (int j = 0; j < n; j += width) {
        const int w = n - j < width ? n - j : width;
        WISP_TRY(wisp_blk_cols(&from, pairs, j, w));
        WISP_TRY(wisp_blk_cols(&some[0], x, 0, w));
        WISP_TRY(wisp_blk_cols(&some[1], y, 0, w));
        WISP_TRY(wisp_copy(some[0], from));
        WISP_TRY(wisp__svd_multiply(s, some[1], some[0]));
        s->e->products += w;
        for (int c = 0; c < w; c++) by[c] = wisp__real(-value[j + c]);
        WISP_TRY(wisp_vaxpy(some[1], by, from));
        const wisp_inner inner[2] = {{.x = some[1], .y = some[1], .rows = s->mask[WISP__LEFT], .dot = by + width},
                                     {.x = some[1], .y = some[1], .rows = s->mask[WISP__RIGHT], .dot = by + 2 * width}};
        WISP_TRY(wisp_fuse(NULL, 0, inner, 2, 0));
        for (int c = 0; c < w; c++) residual[j + c] = sqrt(fmax(by[width + c].re, by[2 * width + c].re)) / s->unit;
        wisp_blk_free(from), wisp_blk_free(some[0]), wisp_blk_free(some[1]);
        from = some[0] = some[1] = NULL;
    }
out:
    wisp_blk_free(x), wisp_blk_free(y), wisp_blk_free(from);
    wisp_blk_free(some[0]), wisp_blk_free(some[1]);
    wisp_free(s->ctx, by);
    return status;
}

/* ---- the result ------------------------------------------------------------------------------------ */

/* The columns good[found] of the pairs become the result's vectors. */
static wisp_status keep(wisp__svd *s, wisp_blk *pairs, const int *good, int found)
{
    wisp_status status = WISP_OK;
    wisp_blk *some = NULL;
    WISP_TRY(wisp_blk_create_raw(&s->e->vectors, s->ctx, wisp_mat_map(s->B), s->type, found));
    WISP_TRY(wisp_blk_pick(&some, pairs, found, good));
    status = wisp_copy(s->e->vectors, some);
out:
    wisp_blk_free(some);
    return status;
}

/* Triplets whose residuals are small enough, of `count` with these values and residuals. */
static wisp_status deliver(wisp__svd *s, wisp_blk *pairs, int count, const double *value, const double *residual)
{
    wisp_status status = WISP_OK;
    wisp_eigen *e = s->e;
    double worst = 0;
    int found = 0, *good = NULL;
    WISP_TRY(wisp_alloc(s->ctx, &good, (size_t)count, sizeof *good));
    e->value = calloc((size_t)count, sizeof *e->value);
    e->residual = calloc((size_t)count, sizeof *e->residual);
    if (!e->value || !e->residual) {
        status = wisp_ctx_failf(s->ctx, WISP_ERR_NOMEM, "out of memory for %d values", count);
        goto out;
    }
    const int unit = s->asked.tolerance_abs > 0 ? -s->exponent : 0; /* of residuals */
    const int shown = s->asked.tolerance_abs > 0 ? unit + s->back : 0;
    for (int j = 0; j < count; j++) {
        worst = residual[j] <= worst ? worst : residual[j];
        if (!(residual[j] <= s->limit)) continue;
        e->value[found] = wisp__real(ldexp(value[j], -s->exponent));
        e->residual[found] = ldexp(residual[j], unit);
        good[found++] = j;
    }
    if (found > 0) WISP_TRY(keep(s, pairs, good, found));
    e->found = e->at_least = found;
    if (found < count && e->complete)
        status = wisp_ctx_failf(
            s->ctx, WISP_ERR_STAGNATION, "svd: a singular triplet has a residual of %.1e%s; the tolerance is %.1e",
            ldexp(worst, shown), s->way == WISP__BY_GRAM ? ", by A^H A, which does not tell small values from 0" : "",
            ldexp(s->limit, shown));
out:
    wisp_free(s->ctx, good);
    return status;
}

static wisp_status make_result(wisp__svd *s)
{
    wisp_status status = WISP_OK;
    wisp_eigen *e = s->e;
    int first, count;
    double off = 0, *value = NULL;
    wisp_blk *part[2] = {0};
    WISP_TRY(wisp__svd_triplets(s));
    choose(s, &first, &count);
    if (count == 0) goto out;
    WISP_TRY(wisp_alloc(s->ctx, &value, 2 * (size_t)count, sizeof *value));
    for (int i = 0; i < 2; i++) WISP_TRY(turn(s, i, first, count, &part[i], &off));
    WISP_TRY(wisp_axpy(part[WISP__LEFT], wisp__real(1), part[WISP__RIGHT]));
    for (int j = 0; j < count; j++) value[j] = s->value[first + count - 1 - j];
    WISP_TRY(residuals(s, part[WISP__LEFT], count, value, value + count));
    e->orthogonality = off;
    if (!(off <= s->eps * fmax(1000, sqrt((double)(s->rows + s->cols))))) {
        status =
            wisp_ctx_failf(s->ctx, WISP_ERR_BREAKDOWN, "svd: %d vectors are orthonormal to %.1e alone", count, off);
        goto out;
    }
    WISP_TRY(deliver(s, part[WISP__LEFT], count, value, value + count));
out:
    wisp_free(s->ctx, value);
    wisp_blk_free(part[WISP__LEFT]), wisp_blk_free(part[WISP__RIGHT]);
    return status;
}

/* Scales, from eigenvalues that are there. The largest singular value is the halfwidth of B's spectrum; bounds may be
   far wider, so that residuals are over what it is at least. */
static wisp_status find_units(wisp__svd *s)
{
    wisp_status status = WISP_OK;
    wisp_eigen *e = s->e;
    const bool known = s->way != WISP__BY_AUGMENTED;
    if (known) e->bounds = (wisp_bounds){.halfwidth = s->norm, .failure_probability = NAN};
    double most = e->bounds.halfwidth, least = 0, size = 0;
    for (int i = 0; i < e->found && !known; i++) least = fmax(least, fabs(e->value[i].re));
    most = fmax(most, least);
    s->exponent = most > 0 && isfinite(most) ? -ilogb(most) : 0;
    if (s->asked.which != WISP_EIG_LARGEST || e->found == 0) WISP_TRY(wisp__svd_least_norm(s, &size));
    size = fmax(size, ldexp(least, s->exponent));
    if (!(size > 0)) size = most > 0 ? ldexp(most, s->exponent) : 1;
    const bool absolute = s->asked.tolerance_abs > 0;
    s->unit = absolute ? 1 : size;
    s->limit = absolute ? fmax(ldexp(s->asked.tolerance_abs, s->exponent), 64 * s->eps * size)
                        : fmax(s->asked.tolerance, 64 * s->eps);
out:
    return status;
}

/* The eigenpairs of B in *e become triplets of A. */
static wisp_status convert(wisp__svd *s)
{
    wisp_eigen *e = s->e;
    wisp_status status = find_units(s);
    if (status == WISP_OK && e->vectors) status = wisp__svd_spaces(s);
    free(e->value), free(e->residual);
    e->value = NULL, e->residual = NULL;
    e->found = e->at_least = 0;
    e->orthogonality = NAN;
    if (status == WISP_OK && s->held > 0) status = make_result(s);
    if (status == WISP_OK && e->complete && s->wanted < INT32_MAX && e->found < s->wanted)
        status = wisp_ctx_failf(
            s->ctx, WISP_ERR_INCOMPLETE, "svd: %d of %d singular triplets were found%s", e->found, s->wanted,
            s->way == WISP__BY_GRAM ? "; by A^H A small values are not told from 0, as they are by invert and dense"
                                    : "");
    if (status != WISP_OK) e->complete = 0;
    if (s->asked.which == WISP_EIG_SMALLEST) {
        e->expected = e->expected_error = NAN; /* of both signs, with zeros */
        e->low = 0;
    }
    return status;
}

/* Whether a status comes with pairs, which are right. */
static bool has_pairs(wisp_status status)
{
    return status == WISP_OK || status == WISP_ERR_INCOMPLETE || status == WISP_ERR_ITERATIONS ||
           status == WISP_ERR_STAGNATION || status == WISP_ERR_CANCELLED;
}

/* ---- one way --------------------------------------------------------------------------------------- */

/* What was made of eigenpairs is given back. */
void wisp__svd_drop(wisp__svd *s)
{
    for (int i = 0; i < 2; i++) {
        wisp_blk_free(s->side[i]);
        wisp_free(s->ctx, s->turn[i]);
        s->side[i] = NULL, s->turn[i] = NULL, s->columns[i] = 0;
    }
    wisp_free(s->ctx, s->value);
    s->value = NULL, s->held = s->n = 0;
}

/* A^H A may be far slower than factors, where singular values are close to each other. */
static int watch(void *arg, int round, int found, double wanted, double residual)
{
    wisp__svd *s = arg;
    const wisp_eig_opts *o = &s->asked;
    s->over = s->e->flops > s->budget;
    return s->over || (o->observe && o->observe(o->observe_arg, round, found, wanted, residual));
}

/* Not in wisp_eig's name, and without advice that is for that: exactly as many triplets are given as were asked for. */
static wisp_status in_own_name(const wisp__svd *s, wisp_status status)
{
    char message[512];
    wisp_ctx_message(s->ctx, message, sizeof message);
    const bool is_eig = strncmp(message, "eig:", 4) == 0;
    char *at = strstr(message, "opts.any");
    if (!at && !is_eig) return status;
    if (is_eig) memcpy(message, "svd", 3);
    while (at && at > message && *at != ',' && *at != ';') at--;
    if (at) *at = 0;
    return wisp_ctx_fail(s->ctx, status, message);
}

wisp_status wisp__svd_go(wisp__svd *s)
{
    wisp_status status;
    const bool gram = s->way == WISP__BY_GRAM;
    const wisp_mat *const of[] = {s->B, gram ? wisp__svd_gram(s) : NULL, s->lifted};
    s->over = false;
    WISP_TRY(wisp__svd_ask(s));
    if (gram && isfinite(s->budget)) s->o.observe = watch, s->o.observe_arg = s;
    const wisp_status found = status =
        wisp__eig_for_svd(s->e, of[s->way], &s->o, s->back - s->exponent, s->way != WISP__BY_AUGMENTED);
    if (gram) s->e->products *= 2;
    if (s->over || !has_pairs(found) || (found == WISP_ERR_CANCELLED && s->e->found == 0)) {
        wisp__eig_drop_pairs(s->e); /* eigenpairs are no triplets */
        goto out;
    }
    wisp_ctx_hold(s->ctx, 1); /* what has converged is given, though a cancel was made, or is now */
    wisp_ctx_step(s->ctx, "singular vectors", 0, 0);
    status = convert(s);
    if (status != WISP_OK) wisp__eig_drop_pairs(s->e);
    const wisp_status queued = wisp_ctx_finish(s->ctx);
    wisp_ctx_hold(s->ctx, 0);
    if (status == WISP_OK) status = queued;
    if (status == WISP_OK) status = found;
out:
    wisp__svd_drop(s);
    return status == WISP_OK ? status : in_own_name(s, status);
}
