/* Moments of two operators, <r|V_a T_j V_b T_k|r>, of which conductivities are made: Garcia, Covaci, Rappoport, Phys.
   Rev. Lett. 114, 116602 (2015), eq. 5. They are products <L_j|R_k> of left vectors L_j = T_j V_a|r>, some of which are
   held, and right ones R_k = V_b T_k|r>, which are made block by block. With V_a = i W_a and V_b = i W_b, W real and
   antisymmetric, the factors of L_j and R_k make 1. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../marks.h"
#include "kubo.h"

/* Whether the run goes on: asked before some steps, and before each product of blocks, for these are most of the work.
   The state is that of the last block that is through, at whatever step it is offered. */
static wisp_status look(const wisp__kubo_run *k)
{
    wisp_status status;
    const double done = k->all_sweeps > 0 ? (double)k->sweeps / (double)k->all_sweeps : 1;
    WISP_TRY(wisp_ctx_step(k->ctx, "moments", done, k->flops));
    if (k->live) status = wisp_state_offer(k->live, k->o->offer, k->o->offer_arg);
out:
    return status;
}

/* Whether moments of the vector at hand, from L_j and R_l on, are in the state that the run goes on from. */
static bool is_there(const wisp__kubo_run *k, int64_t j, int64_t l)
{
    return j < k->from.j || (j == k->from.j && l < k->from.l);
}

/* The next `count` vectors of the sequence, which are next[0 .. count-1] until more are made. */
static wisp_status steps(wisp__kubo_run *k, wisp__kubo_sequence *s, int count, wisp_blk **next)
{
    enum { LAST_TWO = 2 };
    wisp_status status;
    wisp_blk *v[LAST_TWO + WISP__GROUP] = {s->before, s->v};
    wisp_scalar alpha[WISP__GROUP], beta[WISP__GROUP], gamma[WISP__GROUP];
    for (int i = 0; i < count; i++) {
        v[LAST_TWO + i] = k->next[i];
        wisp__chebyshev_step(&k->m->bounds, s->k + i, alpha + i, beta + i, gamma + i);
    }
    WISP_TRY(look(k));
    const wisp_mpk_opts all = {.steps = count, .alpha = alpha, .beta = beta, .gamma = gamma, .depth = 1};
    WISP_TRY(wisp_mpk(v, LAST_TWO + count, k->A, &all));
    memcpy(next, v + LAST_TWO, (size_t)count * sizeof(wisp_blk *));
    /* The two that were go where the last two were. */
    s->before = v[count], s->v = v[count + 1];
    memcpy(k->next, v, (size_t)count * sizeof(wisp_blk *));
    s->k += count;
    if (k->again) return status;
    k->sweeps += count;
    k->flops += k->sweep_flops * count;
out:
    return status;
}

/* Columns of x from number `first` on become these vectors, all in one pass: each row of x comes and goes once. */
static wisp_status set_columns(wisp_blk *x, int first, int count, wisp_blk *const *vector)
{
    wisp_status status = WISP_OK;
    wisp_blk *column[WISP__GROUP] = {0};
    wisp_term term[WISP__GROUP];
    wisp_update update[WISP__GROUP] = {{0}};
    for (int i = 0; i < count; i++) {
        WISP_TRY(wisp_blk_cols(column + i, x, first + i, 1));
        term[i] = (wisp_term){.x = vector[i]};
        update[i] = (wisp_update){.y = column[i], .terms = 1, .term = term + i};
    }
    status = wisp_fuse(update, count, NULL, 0, 0);
out:
    for (int i = 0; i < count; i++) wisp_blk_free(column[i]);
    return status;
}

/* Block b of left vectors in the type in which it is made and multiplied: itself, or a view of k->wide. */
static wisp_status lend(wisp_blk **x, const wisp__kubo_run *k, int b)
{
    *x = k->block[b];
    return k->wide ? wisp_blk_cols(x, k->wide, 0, wisp_blk_width(k->block[b])) : WISP_OK;
}

static void give_back(wisp_blk *x, const wisp__kubo_run *k)
{
    if (k->wide) wisp_blk_free(x);
}

/* The columns of x become the next vectors of the sequence, from number `first` on. */
static wisp_status fill(wisp__kubo_run *k, wisp__kubo_sequence *s, wisp_blk *x, int64_t first, int count)
{
    wisp_status status = WISP_OK;
    wisp_blk *next[WISP__GROUP];
    const int group = wisp__kubo_group(k->o);
    int j = 0;
    if (first == 0) {
        WISP_TRY(set_columns(x, 0, 1, &s->v));
        j = 1;
    }
    while (j < count) {
        const int some = count - j < group ? count - j : group;
        WISP_TRY(steps(k, s, some, next));
        WISP_TRY(set_columns(x, j, some, next));
        j += some;
    }
out:
    return status;
}

static wisp_status fill_left(wisp__kubo_run *k, int b, int64_t first, int count)
{
    wisp_blk *x;
    wisp_status status = lend(&x, k, b);
    if (status != WISP_OK) return status;
    WISP_TRY(fill(k, &k->left, x, first, count));
    if (k->wide) status = wisp_copy(k->block[b], x);
out:
    give_back(x, k);
    return status;
}

/* k->dot becomes the products of block b of left vectors with k->y. */
static wisp_status product(wisp__kubo_run *k, int b)
{
    wisp_blk *x;
    wisp_status status = lend(&x, k, b);
    if (status != WISP_OK) return status;
    if (k->wide) WISP_TRY(wisp_copy(x, k->block[b]));
    status = wisp_tsm_gram(k->dot, k->o->width, wisp__real(1), x, k->y, wisp__real(0), 0);
out:
    give_back(x, k);
    return status;
}

/* |r> begins the right sequence. */
static wisp_status start(wisp__kubo_run *k, int64_t vector)
{
    k->right.k = 0;
    if (k->o->trace == WISP_TRACE_EXACT) return wisp_blk_fill_units(k->right.v, &vector);
    return wisp_blk_fill_random(k->right.v, WISP_RANDOM_TRACE, k->o->seed, WISP__STREAM_TRACE,
                                (uint32_t)(k->o->first_vector + vector));
}

/* T_k|r> is not longer than |r>, but for rounding, as long as the spectrum lies within the bounds. */
static wisp_status guard(const wisp__kubo_run *k)
{
    double norm;
    const wisp_status status = wisp_norm(k->right.v, &norm);
    const double rounded = cosh(k->edge * (double)k->right.k);
    const double allowed = fmin(rounded, 2) + (wisp__is_single(k->o->type) ? 2e-4 : 2e-8);
    if (status != WISP_OK || norm <= k->norm * allowed) return status;
    const wisp_bounds *b = &k->m->bounds;
    return wisp_ctx_failf(k->ctx, WISP_ERR_BOUNDS,
                          "the matrix has eigenvalues beyond the bounds, %.10g to %.10g: Chebyshev vector %lld is %.9g "
                          "times as long as the first one; take wider opts.bounds%s%s",
                          b->center - b->halfwidth, b->center + b->halfwidth, (long long)k->right.k, norm / k->norm,
                          wisp__or_none(b), wisp__or_rounding(norm <= k->norm * 2 * rounded));
}

/* Products of the held left vectors, from number j on, `left` of them, with `right` right ones, from number l on. */
static wisp_status multiply(wisp__kubo_run *k, int64_t j, int64_t left, int64_t l, int right)
{
    wisp_status status;
    const int64_t M = k->o->moments;
    WISP_TRY(wisp_spmmv(k->y, k->V_b, k->x, NULL));
    for (int b = 0; b < k->blocks; b++) {
        const int64_t before = (int64_t)b * k->columns, rows = left - before < k->columns ? left - before : k->columns;
        if (rows <= 0) break;
        WISP_TRY(look(k));
        WISP_TRY(product(k, b));
        for (int64_t r = 0; r < rows; r++)
            for (int c = 0; c < right; c++) {
                const wisp_scalar dot = k->dot[r * k->o->width + c];
                k->re[(j + before + r) * M + l + c] = dot.re;
                k->im[(j + before + r) * M + l + c] = dot.im;
                if (!isfinite(dot.re) || !isfinite(dot.im))
                    return wisp_ctx_failf(
                        k->ctx, WISP_ERR_NUMERIC,
                        "moment %lld, %lld is not finite; V_a or V_b holds a NaN, an infinity, or too "
                        "large numbers",
                        (long long)(j + before + r), (long long)l + c);
            }
        k->flops += k->dot_flops * (double)rows * right;
    }
out:
    return status;
}

static wisp_status observe(const wisp__kubo_run *k, int64_t vectors)
{
    const wisp_kubo_opts *o = k->o;
    if (!o->observe || !o->observe(o->observe_arg, k->sweeps, k->all_sweeps, vectors)) return WISP_OK;
    return wisp_ctx_failf(k->ctx, WISP_ERR_CANCELLED, "kubo: ended by opts.observe after %lld vectors",
                          (long long)vectors);
}

/* All right vectors with the left ones that are held, from number j on. Those whose products are there are made anew
   for the ones behind them. */
static wisp_status all_right(wisp__kubo_run *k, int64_t vector, int64_t j, int64_t left)
{
    wisp_status status = WISP_OK;
    const int64_t M = k->o->moments;
    for (int64_t l = 0; l < M; l += k->o->width) {
        const int right = M - l < k->o->width ? (int)(M - l) : k->o->width;
        k->again = is_there(k, j, l);
        WISP_TRY(fill(k, &k->right, k->x, l, right));
        if (k->again) continue;
        WISP_TRY(guard(k));
        WISP_TRY(multiply(k, j, left, l, right));
        k->at = (wisp__kubo_place){vector, j, l + right, k->sweeps, k->flops};
        if (l + right == M) k->at.j = j + left, k->at.l = 0;
        WISP_TRY(observe(k, vector));
    }
out:
    return status;
}

static wisp_status one_vector(wisp__kubo_run *k, int64_t vector)
{
    wisp_status status;
    const int64_t M = k->o->moments;
    WISP_TRY(start(k, vector));
    WISP_TRY(wisp_norm(k->right.v, &k->norm));
    WISP_TRY(wisp_spmmv(k->left.v, k->V_a, k->right.v, NULL));
    k->left.k = 0;
    for (int64_t j = 0; j < M; j += k->o->left) {
        const int64_t left = M - j < k->o->left ? M - j : k->o->left;
        k->again = is_there(k, j, 0);
        for (int b = 0; b < k->blocks; b++) {
            const int64_t before = (int64_t)b * k->columns, rest = left - before;
            if (rest > 0) WISP_TRY(fill_left(k, b, j + before, rest < k->columns ? (int)rest : k->columns));
        }
        if (j < k->from.j) continue;
        if (j > 0) WISP_TRY(start(k, vector));
        WISP_TRY(all_right(k, vector, j, left));
    }
out:
    return status;
}

static wisp_status make_blocks(wisp__kubo_run *k)
{
    wisp_status status;
    const wisp_kubo_opts *o = k->o;
    wisp_map *map = wisp_mat_map(k->A);
    wisp_blk **const single[] = {&k->left.before, &k->left.v, &k->right.before, &k->right.v};
    for (int i = 0; i < 4; i++) WISP_TRY(wisp_blk_create(single[i], k->ctx, map, o->type, 1));
    for (int i = 0; i < wisp__kubo_group(o); i++) WISP_TRY(wisp_blk_create(&k->next[i], k->ctx, map, o->type, 1));
    WISP_TRY(wisp_blk_create(&k->x, k->ctx, map, o->type, o->width));
    WISP_TRY(wisp_blk_create(&k->y, k->ctx, map, o->type, o->width));
    k->columns = WISP__LEFT_OVER_RIGHT * o->width < o->left ? WISP__LEFT_OVER_RIGHT * o->width : (int)o->left;
    const int blocks = (int)((o->left + k->columns - 1) / k->columns);
    WISP_TRY(wisp_alloc(k->ctx, &k->dot, (size_t)k->columns * (size_t)o->width, sizeof *k->dot));
    WISP_TRY(wisp_alloc(k->ctx, &k->block, (size_t)blocks, sizeof(wisp_blk *)));
    for (k->blocks = 0; k->blocks < blocks; k->blocks++) {
        const int64_t rest = o->left - (int64_t)k->blocks * k->columns;
        const int width = rest < k->columns ? (int)rest : k->columns;
        WISP_TRY(wisp_blk_create(&k->block[k->blocks], k->ctx, map, o->left_type, width));
    }
    if (o->left_type != o->type) status = wisp_blk_create(&k->wide, k->ctx, map, o->type, k->columns);
out:
    return status;
}

static void free_blocks(wisp__kubo_run *k)
{
    wisp_blk *const some[] = {k->left.before, k->left.v, k->right.before, k->right.v, k->x, k->y, k->wide};
    for (int i = 0; i < 7; i++) wisp_blk_free(some[i]);
    for (int i = 0; i < WISP__GROUP; i++) wisp_blk_free(k->next[i]);
    for (int b = 0; b < k->blocks; b++) wisp_blk_free(k->block[b]);
    wisp_free(k->ctx, k->block);
    wisp_free(k->ctx, k->dot);
}

/* V_b is made for blocks as wide as x. */
static wisp_status mark(wisp__kubo_run *k)
{
    wisp_status status;
    double(*to)[3] = k->m->mark;
    WISP_TRY(wisp__mark(to[0], k->A, k->left.v, k->right.v, k->dot));
    WISP_TRY(wisp__mark(to[1], k->V_a, k->left.v, k->right.v, k->dot));
    if (k->V_b == k->V_a)
        memcpy(to[2], to[1], sizeof to[2]);
    else
        status = wisp__mark(to[2], k->V_b, k->x, k->y, k->dot);
out:
    return status;
}

/* m->vectors counts those that are complete; of an exact trace all are in one line. */
static wisp_status run(wisp__kubo_run *k)
{
    wisp_status status;
    wisp_moments *m = k->m;
    const bool exact = m->trace == WISP_TRACE_EXACT;
    const int64_t vectors = wisp__kubo_vectors(k->o, m->rows);
    const size_t n = (size_t)m->n;
    if (exact) WISP_TRY(wisp_alloc(k->ctx, &k->one, 2 * n, sizeof *k->one));
    WISP_TRY(make_blocks(k));
    WISP_TRY(mark(k));
    if (k->o->resume) WISP_TRY(wisp__kubo_items(k, k->o->resume));
    if (k->o->offer) WISP_TRY(wisp_state_create(&k->live, k->ctx, wisp__kubo_items, k));
    k->edge = wisp__rounded_edge(&m->bounds, k->A, k->o->type);
    k->all_sweeps = wisp__kubo_sweeps(k->o) * vectors;
    for (int64_t v = k->at.vector; v < vectors; v++) {
        k->re = exact ? k->one : m->mu + v * m->n;
        k->im = exact ? k->one + n : m->imag + v * m->n;
        WISP_TRY(one_vector(k, v));
        for (size_t i = 0; exact && i < n; i++) m->mu[i] += k->one[i], m->imag[i] += k->one[n + i];
        if (!exact) m->vectors = v + 1;
        k->at = (wisp__kubo_place){.vector = v + 1, .sweeps = k->sweeps, .flops = k->flops};
        k->from = (wisp__kubo_place){0};
    }
    if (exact) m->vectors = 1;
    if (k->live) WISP_TRY(wisp_state_offer_whole(k->live, k->o->offer, k->o->offer_arg));
    WISP_TRY(wisp_ctx_step(k->ctx, "moments", 1, k->flops));
out:
    wisp_state_free(k->live);
    free_blocks(k);
    wisp_free(k->ctx, k->one);
    return status;
}

/* ---- what it begins with ------------------------------------------------------------------------ */

enum { HERMITIAN = 1, ANTISYMMETRIC = 2 };

/* What a velocity is, as bits; nothing is known of an operator. */
static wisp_status kind_of(const wisp_mat *A, const wisp_mat *V, const char *name, int *kind)
{
    wisp_ctx *ctx = wisp_mat_ctx(A);
    wisp_mat_info info;
    wisp_mat_props p;
    wisp_mat_get_info(V, &info);
    *kind = HERMITIAN | ANTISYMMETRIC;
    if (wisp_mat_map(V) != wisp_mat_map(A) || wisp_mat_col_map(V) != wisp_mat_map(A))
        return wisp_ctx_failf(ctx, WISP_ERR_MISMATCH, "%s is on another map than the matrix; make it with opts.map",
                              name);
    if (info.format == WISP_FORMAT_OPERATOR) return WISP_OK;
    const wisp_status status = wisp_mat_get_props(V, &p);
    if (status != WISP_OK) return status;
    if (p.nonfinite_row >= 0)
        return wisp_ctx_failf(ctx, WISP_ERR_NUMERIC, "%s: row %lld holds a NaN or an infinity", name,
                              (long long)p.nonfinite_row);
    *kind = (p.hermitian ? HERMITIAN : 0) | (p.skew && !wisp_type_is_complex(info.type) ? ANTISYMMETRIC : 0);
    if (*kind) return WISP_OK;
    return wisp_ctx_failf(ctx, WISP_ERR_HERMITIAN,
                          "%s must be Hermitian, or real and antisymmetric, and is neither: look at the entry in row "
                          "%lld, column %lld",
                          name, (long long)p.bad_row, (long long)p.bad_col);
}

static wisp_status check_velocities(const wisp_mat *A, const wisp_mat *V_a, const wisp_mat *V_b)
{
    int a, b;
    wisp_status status;
    wisp_mat_info info;
    wisp_mat_props p;
    wisp_mat_get_info(A, &info);
    /* Velocities that were made of a matrix that is not Hermitian are not, either: that is said first. */
    if (info.format != WISP_FORMAT_OPERATOR) WISP_TRY(wisp__require_hermitian(A, &p));
    WISP_TRY(kind_of(A, V_a, "V_a", &a));
    WISP_TRY(kind_of(A, V_b, "V_b", &b));
    if (!(a & b))
        status = wisp_ctx_failf(wisp_mat_ctx(A), WISP_ERR_MISMATCH,
                                "one of V_a and V_b is Hermitian, the other one antisymmetric; both must be the same");
out:
    return status;
}

/* All but the moments themselves, which may outlive the context: plain memory. */
static wisp_status describe(wisp_moments *m, wisp_ctx *ctx, const wisp_mat_info *A, const wisp_kubo_opts *o)
{
    const size_t lines = o->trace == WISP_TRACE_EXACT ? 1 : (size_t)o->vectors;
    *m = (wisp_moments){.rows = A->rows,
                        .nnz = A->nnz,
                        .n = o->moments * o->moments,
                        .square = o->moments,
                        .trace = o->trace,
                        .seed = o->seed,
                        .first_vector = o->trace == WISP_TRACE_RANDOM ? o->first_vector : 0,
                        .type = o->type,
                        .bounds_method = o->bounds.method,
                        .width = o->width,
                        .depth = 1,
                        .threads = wisp_ctx_threads(ctx)};
    snprintf(m->version, sizeof m->version, "%s", wisp_version());
    m->mu = calloc(lines, (size_t)m->n * sizeof *m->mu);
    m->imag = calloc(lines, (size_t)m->n * sizeof *m->imag);
    if (m->mu && m->imag) return WISP_OK;
    return wisp_ctx_failf(ctx, WISP_ERR_NOMEM, "out of memory for %lld by %lld moments of %zu vectors",
                          (long long)o->moments, (long long)o->moments, lines);
}

wisp_status wisp_kubo(wisp_moments *m, const wisp_mat *A, const wisp_mat *V_a, const wisp_mat *V_b,
                      const wisp_kubo_opts *opts)
{
    wisp_status status = WISP_OK;
    wisp_ctx *ctx = wisp_mat_ctx(A);
    WISP_NEED(ctx, m);
    memset(m, 0, sizeof *m);
    WISP_NEED(NULL, A);
    WISP_NEED(ctx, V_a);
    WISP_NEED(ctx, V_b);
    wisp_kubo_opts o;
    wisp_mat_info info, a, b;
    wisp_mat_get_info(A, &info);
    wisp_mat_get_info(V_a, &a);
    wisp_mat_get_info(V_b, &b);
    wisp_ctx_enter(ctx);
    WISP_TRY(wisp__kubo_options(&o, ctx, &info, &a, &b, opts));
    WISP_TRY(describe(m, ctx, &info, &o));
    WISP_TRY(check_velocities(A, V_a, V_b));
    wisp_cost sweep;
    WISP_TRY(wisp_spmmv_cost(A, o.type, 1, WISP_SCALE | WISP_SHIFT | WISP_AXPBY, &sweep));
    WISP_TRY(wisp_ctx_sum(ctx, &sweep.flops, 1));
    double before = wisp_now();
    const wisp_bounds_opts how = wisp__kubo_bounds_opts(&o, info.rows);
    if (!o.resume) {
        WISP_TRY(wisp__hermitian_bounds(&m->bounds, A, &how));
        WISP_TRY(wisp__check_scale(ctx, o.type, m->bounds.halfwidth));
    }
    m->bounds_seconds = wisp_now() - before;
    wisp__kubo_run k = {.ctx = ctx,
                        .A = A,
                        .V_a = V_a,
                        .V_b = V_b,
                        .o = &o,
                        .m = m,
                        .sweep_flops = sweep.flops,
                        .dot_flops = (wisp_type_is_complex(o.type) ? 8 : 2) * (double)info.rows,
                        .began = wisp_now()};
    status = run(&k);
    m->seconds = k.before + wisp_now() - k.began;
    m->flops = k.flops;
out:
    status = wisp_ctx_leave(ctx, status);
    m->partial = status == WISP_ERR_CANCELLED;
    if (status != WISP_OK && status != WISP_ERR_CANCELLED) wisp_moments_free(m);
    return status;
}
