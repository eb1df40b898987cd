/* The smallest singular values, without the zeros that B has between them: M = B + a P, P = 1 in the rows of the longer
   side. Its eigenvalues are (a +- sqrt(a^2 + 4 s^2)) / 2 for each singular value s, and a for what is orthogonal to all
   their vectors there (Bjorck 1967, BIT 7, 257). So the zeros of B are lifted to a, and those up to 0 are one for each
   s, in the same order; the nearest to 0 are those of the smallest values, as long as these are below sqrt(2) a. With a
   near the values that are asked for nothing is squared; any of a multiplet will do. */
#include <stdlib.h>
#include <string.h>
#include "svd.h"

/* ---- the matrix ------------------------------------------------------------------------------------- */

typedef struct {
    wisp_src of;
    int64_t from, to; /* rows that are lifted */
    double by;
} lifted_rows;

static int row_of(void *arg, int64_t row, int64_t *col, void *val)
{
    const lifted_rows *l = arg;
    const int n = l->of.row(l->of.arg, row, col, val);
    if (n < 0 || row < l->from || row >= l->to) return n;
    if (col) col[n] = row;
    if (val) wisp__put(l->of.type, val, n, wisp__real(l->by));
    return n + 1;
}

static wisp_status make(wisp__svd *s)
{
    wisp_status status;
    wisp_mat_info info;
    const bool left = wisp__svd_inner(s) == WISP__RIGHT; /* it has more rows */
    lifted_rows l = {.from = left ? 0 : s->rows, .to = left ? s->rows : s->rows + s->cols, .by = s->lift};
    wisp_mat_get_info(s->B, &info);
    const wisp_mat_opts o = {.type = info.type, .width = info.width, .map = wisp_mat_map(s->B), .halo = info.halo};
    WISP_TRY(wisp_src_open_mat(&l.of, s->B));
    wisp_src src = l.of;
    src.row = row_of, src.arg = &l, src.free_arg = NULL, src.max_row++;
    status = wisp_mat_create(&s->lifted, s->ctx, &src, &o);
out:
    wisp_src_close(&l.of);
    return status;
}

void wisp__svd_lift_close(wisp__svd *s)
{
    wisp_mat_free(s->lifted);
    s->lifted = NULL;
}

wisp_bounds wisp__svd_lift_bounds(const wisp__svd *s)
{
    return (wisp_bounds){.center = s->lift / 2, .halfwidth = 1.01 * hypot(s->lift / 2, s->norm)};
}

/* ---- how far it is lifted --------------------------------------------------------------------------- */

/* Values of A^H A by residuals that are large: those of any vectors are above the smallest ones. */
static wisp_status bound_values(wisp__svd *s, double *most)
{
    wisp_eigen e;
    const wisp_eig_opts o = {.method = WISP_LANCZOS,
                             .count = s->asked.count + s->more,
                             .any = 1,
                             .tolerance = wisp__is_single(s->type) ? 1e-3 : 1e-5,
                             .max_rounds = 300,
                             .seed = s->given.seed,
                             .type = s->type,
                             .bounds = {.method = WISP_BOUNDS_GIVEN, .given = {.center = 0.5, .halfwidth = 0.501}}};
    const wisp_status status = wisp__eig_roughly(&e, wisp__svd_gram(s), &o);
    *most = s->norm;
    if (status == WISP_OK && e.found >= o.count) *most *= fmin(1, sqrt(fmax(0, e.value[e.found - 1].re) + 32 * s->eps));
    s->e->products += 2 * e.products;
    wisp_eigen_free(&e);
    return status == WISP_ERR_ITERATIONS || status == WISP_ERR_STAGNATION || status == WISP_ERR_INCOMPLETE ? WISP_OK
                                                                                                           : status;
}

/* Of |B|. Lifted less at first, factors need more room; lifted less in the end, values next to 0 are no better. */
static const double at_first = 1e-3, least = 1e-5;

static wisp_status lift_by(wisp__svd *s, double lift)
{
    wisp__svd_lift_close(s);
    s->lift = fmin(s->norm, lift);
    if (!(s->lift > 0)) s->lift = 1;
    return make(s);
}

wisp_status wisp__svd_lift_open(wisp__svd *s)
{
    wisp_status status;
    double most;
    WISP_TRY(bound_values(s, &most));
    status = lift_by(s, fmax(2 * most, at_first * s->norm));
out:
    return status;
}

static int64_t least_values(const wisp__svd *s) { return s->rows < s->cols ? s->rows : s->cols; }

/* Values s are -s^2 / lift there. Those that differ by less than the tolerance of such eigenvalues are levels of one,
   of which any are taken: the largest of them that was found may stand for a smaller one, unless a larger one was found
   beside them. */
bool wisp__svd_lift_hides(const wisp__svd *s)
{
    const double safe = 4, value = ldexp(s->last, -s->exponent), next = ldexp(s->longest, -s->exponent),
                 limit = ldexp(s->limit * s->unit, -s->exponent),
                 level = safe * s->o.tolerance * (s->norm + s->lift) * s->lift;
    return value > limit && 2 * value * limit < level && (next - value) * (next + value) < level &&
           s->asked.count + s->more < least_values(s);
}

bool wisp__svd_lift_more(wisp__svd *s)
{
    enum { MOST = 14 };
    const int64_t left = least_values(s) - s->asked.count;
    if (s->more >= MOST || s->more >= left) return false;
    s->more = 2 * s->more + 2 < left ? 2 * s->more + 2 : (int)left;
    return true;
}

wisp_status wisp__svd_lift_anew(wisp__svd *s, wisp_status ended, bool *anew)
{
    const double value = ldexp(s->longest, -s->exponent);
    const bool more = ended == WISP_ERR_NOMEM && s->lift < s->norm;
    const bool less = ended != WISP_ERR_NOMEM && s->longest > 0 && 8 * value < s->lift && s->lift > least * s->norm;
    *anew = more || less;
    return more ? lift_by(s, 32 * s->lift) : less ? lift_by(s, fmax(2 * value, least * s->norm)) : WISP_OK;
}

/* Whether there may be factors of it. */
bool wisp__svd_has_factors(const wisp__svd *s)
{
    return wisp_ctx_processes(s->ctx) == 1 && strcmp(wisp_ctx_device(s->ctx), "cpu") == 0 &&
           strstr(wisp_features(), "mumps") != NULL;
}

/* Three factorizations, each flop of which takes twice as long as one of dense kernels, and what their numbers take for
   some tens of solutions. */
wisp_status wisp__svd_lift_cost(wisp__svd *s, double *work, int64_t *bytes)
{
    static const double little = 8.4e8; /* a tenth of a second, about */
    wisp_status status = WISP_OK;
    wisp_plan plan;
    wisp_eig_choice choice;
    *work = INFINITY, *bytes = 0;
    if (!wisp__svd_has_factors(s)) return WISP_OK;
    s->lift = s->norm > 0 ? s->norm : 1;
    WISP_TRY(make(s));
    const wisp_eig_opts o = {.which = WISP_EIG_NEAREST,
                             .method = WISP_EIG_INVERT,
                             .count = s->asked.count,
                             .any = 1,
                             .type = s->type,
                             .bounds = {.method = WISP_BOUNDS_GIVEN, .given = wisp__svd_lift_bounds(s)}};
    status = wisp_eig_plan(&plan, &choice, s->lifted, &o);
    if (status == WISP_OK) {
        *work = fmax(little, 6 * choice.factor_flops + 70 * (double)choice.factor_bytes);
        wisp_mat_info info;
        wisp_mat_get_info(s->lifted, &info);
        *bytes = plan.bytes_most + info.bytes;
    }
out:
    wisp__svd_lift_close(s);
    return status == WISP_ERR_CANCELLED ? status : WISP_OK;
}

/* ---- partners --------------------------------------------------------------------------------------- */

/* r = what A or A^H makes of x, columns of one side, without its part in the span of the other side's `across`; *most:
   the longest one. G: for numbers. */
static wisp_status look_across(const wisp__svd *s, const wisp_blk *across, wisp_blk *x, wisp_blk *r, wisp_scalar *G,
                               double *most)
{
    wisp_status status = WISP_OK;
    const int n = wisp_blk_width(x);
    WISP_TRY(wisp__svd_multiply(s, r, x));
    s->e->products += n;
    WISP_TRY(wisp_tsm_gram(G, n, wisp__real(1), across, r, wisp__real(0), 0));
    WISP_TRY(wisp_tsm_update(r, wisp__real(-1), across, G, n, wisp__real(1)));
    WISP_TRY(wisp_dot(r, r, G));
    for (int j = 0; j < n; j++) *most = fmax(*most, sqrt(G[j].re));
out:
    return status;
}

/* X, columns of one side, lose the shortest vectors of which A or A^H makes what look_across() sees, as far as MINRES
   finds them. *most: the longest one that it saw. Where none is longer than `enough` the columns stay as they are. */
static wisp_status correct(const wisp__svd *s, int side, wisp_blk *X, const wisp_blk *across, double enough,
                           double *most)
{
    wisp_status status = WISP_OK;
    const int n = wisp_blk_width(X), width = wisp__svd_width(s, n);
    wisp_blk *x = NULL, *r = NULL, *off = NULL;
    wisp_scalar *G = NULL;
    const wisp_solve_opts o = {
        .method = WISP_MINRES, .tolerance = fmax(s->limit / 100, 64 * s->eps), .tolerance_abs = enough / 4};
    WISP_TRY(wisp_alloc(s->ctx, &G, (size_t)width * (size_t)wisp_blk_width(across), sizeof *G));
    *most = 0;
    for (int j = 0; j < n; j += width) {
        const int w = n - j < width ? n - j : width;
        double longest = 0;
        WISP_TRY(wisp_blk_cols(&x, X, j, w));
        WISP_TRY(wisp_blk_create(&r, s->ctx, wisp_mat_map(s->B), s->type, w));
        WISP_TRY(wisp_blk_create(&off, s->ctx, wisp_mat_map(s->B), s->type, w));
        WISP_TRY(look_across(s, across, x, r, G, &longest));
        *most = fmax(*most, longest);
        if (longest > enough) {
            status = wisp_solve(NULL, off, s->B, r, &o);
            if (status == WISP_ERR_CANCELLED || status == WISP_ERR_NOMEM || status == WISP_ERR_MISMATCH) goto out;
            WISP_TRY(wisp__svd_part(s, side, off, off));
            WISP_TRY(wisp_axpy(x, wisp__real(-ldexp(1, -s->exponent)), off));
        }
        wisp_blk_free(x), wisp_blk_free(r), wisp_blk_free(off);
        x = r = off = NULL;
    }
out:
    wisp_blk_free(x), wisp_blk_free(r), wisp_blk_free(off);
    wisp_free(s->ctx, G);
    return status;
}

static double small_enough(const wisp__svd *s) { return s->limit * s->unit / 4; }

/* U, columns of the longer side, become orthonormal, orthogonal to Q's (NULL: there are none), and such that A^H takes
   them into the span of V. u = A v / |A v| has an error of the rounding unit over a small singular value, which A^H
   makes large again; a random vector becomes a null vector. A column becomes shorter by what it loses, so that its
   error is larger beside it: therefore it is done again. Residuals of triplets show whether it was enough. *rank:
   columns that are left. */
static wisp_status make_partners(const wisp__svd *s, const wisp_blk *V, wisp_blk *U, const wisp_blk *Q, int *rank)
{
    enum { TIMES = 4 };
    wisp_status status = WISP_OK;
    wisp__ortho how;
    double most = INFINITY;
    for (int i = 0; i < TIMES; i++) {
        if (i > 0) WISP_TRY(correct(s, !wisp__svd_inner(s), U, V, small_enough(s), &most));
        if (most <= small_enough(s)) break;
        WISP_TRY(wisp__orthonormal(U, Q, 0, &how));
        *rank = how.rank;
        if (how.rank < wisp_blk_width(U)) break;
    }
out:
    return status;
}

/* V becomes such that A takes it into the span of U, and then U is made anew. As by inverse iteration, a part of V that
   belongs to another singular value becomes smaller by the square of V's value over that of the other one. */
static wisp_status refine(wisp__svd *s, wisp_blk *V, wisp_blk *U)
{
    enum { TIMES = 2 };
    wisp_status status = WISP_OK;
    const int inner = wisp__svd_inner(s);
    wisp__ortho how;
    double most;
    for (int i = 0; i < TIMES; i++) {
        WISP_TRY(correct(s, inner, V, U, small_enough(s), &most));
        if (most <= small_enough(s)) break;
        WISP_TRY(wisp__orthonormal(V, NULL, 0, &how));
        s->columns[inner] = how.rank;
        if (how.rank < wisp_blk_width(V)) break;
        WISP_TRY(make_partners(s, V, U, NULL, &s->columns[!inner]));
        if (s->columns[!inner] < wisp_blk_width(U)) break;
    }
out:
    return status;
}

/* V's columns become such that those of Y = A V are orthogonal, the shortest first. */
static wisp_status turn_to_values(const wisp__svd *s, wisp_blk *V, wisp_blk *Y, wisp_scalar *G, double *length)
{
    wisp_status status = WISP_OK;
    const int n = wisp_blk_width(V);
    WISP_TRY(wisp__svd_multiply(s, Y, V));
    WISP_TRY(wisp_tsm_gram(G, n, wisp__real(1), Y, Y, wisp__real(0), 0));
    WISP_TRY(wisp__dense_eigh(s->ctx, s->is_complex, n, G, length));
    WISP_TRY(wisp_tsm_update(V, wisp__real(1), V, G, n, wisp__real(0)));
    WISP_TRY(wisp__svd_multiply(s, Y, V));
    WISP_TRY(wisp_tsm_gram(G, n, wisp__real(1), Y, Y, wisp__real(0), 0));
    for (int j = 0; j < n; j++) length[j] = sqrt(fmax(0, G[(size_t)j * (size_t)n + (size_t)j].re));
out:
    return status;
}

wisp_status wisp__svd_partners(wisp__svd *s)
{
    wisp_status status = WISP_OK;
    const int inner = wisp__svd_inner(s), outer = !inner, n = s->columns[inner];
    wisp_blk *V = NULL, *Y = NULL, *zero = NULL, *rest = NULL, *some = NULL;
    wisp_scalar *G = NULL;
    double *length = NULL;
    int zeros = 0, others = 0;
    WISP_TRY(wisp_alloc(s->ctx, &G, (size_t)n * (size_t)n, sizeof *G));
    WISP_TRY(wisp_alloc(s->ctx, &length, (size_t)n, sizeof *length));
    WISP_TRY(wisp_blk_create_raw(&s->side[outer], s->ctx, wisp_mat_map(s->B), s->type, n));
    WISP_TRY(wisp_blk_cols(&V, s->side[inner], 0, n));
    WISP_TRY(wisp_blk_cols(&Y, s->side[outer], 0, n));
    WISP_TRY(turn_to_values(s, V, Y, G, length));
    const int looked_for = s->wanted + s->more;
    if (n >= s->wanted) s->last = length[s->wanted - 1], s->longest = length[(n < looked_for ? n : looked_for) - 1];
    while (zeros < n && length[zeros] <= small_enough(s)) zeros++; /* within the tolerance they are 0 */
    if (zeros < n) {
        WISP_TRY(wisp_blk_cols(&rest, s->side[outer], zeros, n - zeros));
        WISP_TRY(make_partners(s, V, rest, NULL, &others));
    }
    if (zeros > 0) {
        int rank;
        WISP_TRY(wisp_blk_cols(&zero, s->side[outer], 0, zeros));
        WISP_TRY(wisp_blk_fill_random(zero, WISP_RANDOM_GAUSS, s->given.seed, WISP__STREAM_SVD, 1));
        WISP_TRY(wisp__svd_part(s, outer, zero, zero));
        if (others > 0) WISP_TRY(wisp_blk_cols(&some, s->side[outer], zeros, others));
        WISP_TRY(make_partners(s, V, zero, some, &rank));
        if (rank < zeros) others = 0, zeros = rank;
    }
    s->columns[outer] = zeros + others;
    if (zeros + others == n) status = refine(s, V, Y);
out:
    wisp_blk_free(V), wisp_blk_free(Y), wisp_blk_free(zero), wisp_blk_free(rest), wisp_blk_free(some);
    wisp_free(s->ctx, G);
    wisp_free(s->ctx, length);
    return status;
}
