/* Steps of a three-term recurrence: v[k+1] = alpha_k (A - gamma_k I) v[k] + beta_k v[k-1], with dots, and sums
   z_i += eta_ik v[k+1]. Check; each step as a sweep of its own (its kernel's parameters); a schedule that runs the
   steps; reduction. */
#include "../data/shape.h"
#include "../sched/cascade.h"
#include "op.h"
#include <math.h>
#include <string.h>

typedef struct {
    const wisp_mat *A;
    wisp_blk *const *v;
    int stored;
    const wisp_mpk_opts *o;
    int most;                     /* steps that may be scheduled together */
    int depth;                    /* steps that are interleaved now: */
    const wisp__cascade *cascade; /* for `depth` steps; NULL: one sweep after the other */
    wisp__step *step;             /* [most] */
    wisp__sweep *sweep;
    wisp__chain *chain; /* [most][sums], and so are z and eta */
    wisp_blk **z;
    wisp_scalar *eta;
    char *factors; /* [most] */
    size_t factor_bytes;
    double *sum,
        *there;       /* [steps][dot_size]: the dots; and in the device's memory. sum is NULL where they stay there */
    void *own;        /* see wisp__op_memory, */
    double *own_dots; /* and wisp__op_dots */
} mpk;

/* v_i; i = -1 .. steps. */
static wisp_blk *block(const mpk *m, int i) { return m->v[(i + 1) % m->stored]; }

static wisp_scalar factor(const wisp_scalar *f, int k, double otherwise)
{
    return f ? f[k] : (wisp_scalar){otherwise, 0};
}
static bool is_zero(wisp_scalar s) { return s.re == 0 && s.im == 0; }

/* ---- check ----------------------------------------------------------------------------------- */

static wisp_status check_options(const mpk *m)
{
    const wisp_mpk_opts *o = m->o;
    wisp_ctx *ctx = m->A->ctx;
    const unsigned known = WISP_DOTS | WISP_NOREDUCE;
    if (o->steps < 0) return wisp_ctx_failf(ctx, WISP_ERR_ARG, "mpk: opts.steps is %d, it can't be negative", o->steps);
    if (o->depth < 0) return wisp_ctx_failf(ctx, WISP_ERR_ARG, "mpk: opts.depth is %d, it can't be negative", o->depth);
    if (o->cache_budget < 0)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "mpk: opts.cache_budget is %lld bytes", (long long)o->cache_budget);
    if (o->terms & ~known)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "mpk: opts.terms has unknown ones, 0x%x", o->terms & ~known);
    if (m->stored < 2)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "mpk: %d stored blocks; at least 2 are needed", m->stored);
    if (o->sums < 0 || (o->sums > 0 && (!o->z || !o->eta)))
        return wisp_ctx_failf(ctx, WISP_ERR_ARG,
                              "mpk: opts.sums is %d; as many blocks opts.z and factors opts.eta are needed", o->sums);
    if (o->add && !o->u) return wisp_ctx_failf(ctx, WISP_ERR_ARG, "mpk: opts.add has factors of opts.u, which is NULL");
    if ((o->terms & WISP_DOT_UY) && !o->u) return wisp_ctx_failf(ctx, WISP_ERR_ARG, "mpk: the dot with u needs opts.u");
    if (o->near < 0 || (o->near > 0 && (m->stored != 2 || o->add)))
        return wisp_ctx_failf(
            ctx, WISP_ERR_ARG,
            "mpk: opts.near is %lld, with %d stored blocks%s; it can't be negative, and takes 2 blocks "
            "and no opts.add",
            (long long)o->near, m->stored, o->add ? " and opts.add" : "");
    if ((o->terms & WISP_DOTS) && !o->dot && !o->dot_at.slot)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "mpk: opts.dot is NULL, nowhere to put the dots");
    if (m->A->map != m->A->col_map)
        return wisp_ctx_failf(ctx, WISP_ERR_MISMATCH, "mpk: powers of a matrix that is not square (%lld x %lld)",
                              (long long)m->A->map->rows, (long long)m->A->col_map->rows);
    return WISP_OK;
}

/* v_-1 is neither read nor written. */
static bool starts_anew(const mpk *m)
{
    return m->stored >= m->o->steps + 2 && (m->o->steps == 0 || is_zero(factor(m->o->beta, 0, 0)));
}

/* Blocks that take part: those of v that are used, then z. */
static wisp_status check_blocks(const mpk *m)
{
    wisp_ctx *ctx = m->A->ctx;
    wisp_status status = WISP_OK;
    const int used = WISP__MIN(m->stored, m->o->steps + 2), all = used + m->o->sums;
    const int first = starts_anew(m) ? 1 : 0;
    for (int i = first; i < all; i++) {
        if (!(i < used ? m->v[i] : m->o->z[i - used]))
            return wisp_ctx_failf(ctx, WISP_ERR_ARG, "mpk: there is no block %s[%d]", i < used ? "v" : "z",
                                  i < used ? i : i - used);
    }
    for (int i = first; i < all; i++) {
        const wisp_blk *b = i < used ? m->v[i] : m->o->z[i - used];
        WISP_TRY(wisp__sweep_check("mpk", m->A, b, block(m, 0), m->o->u));
        if (m->o->u && wisp__overlap(b, m->o->u))
            return wisp_ctx_failf(ctx, WISP_ERR_ARG, "mpk: u must not overlap the blocks of v and z");
        for (int j = first; j < i; j++)
            if (wisp__overlap(b, j < used ? m->v[j] : m->o->z[j - used]))
                return wisp_ctx_failf(ctx, WISP_ERR_ARG, "mpk: the blocks of v and z must not overlap");
    }
out:
    return status;
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Step k, as number i of those that are scheduled together. */
static wisp_status set_step(mpk *m, int k, int i)
{
    const wisp_mpk_opts *o = m->o;
    const wisp_blk *x = block(m, 0);
    const size_t at = (size_t)i * (size_t)o->sums;
    wisp_blk **z = m->z + at;
    wisp_scalar *to = m->eta + at;
    wisp_scalar *gamma = NULL;
    wisp_status status = WISP_OK;
    wisp_aug aug = {
        .terms = o->terms & WISP_DOTS, .alpha = factor(o->alpha, k, 1), .beta = factor(o->beta, k, 0), .delta = {1, 0}};
    int count = 0;
    for (int s = 0; s < o->sums; s++) {
        const wisp_scalar eta = o->eta[(size_t)s * (size_t)o->steps + (size_t)k];
        if (is_zero(eta)) continue;
        z[count] = o->z[s];
        to[count++] = eta;
    }
    if (o->alpha) aug.terms |= WISP_SCALE;
    if (!is_zero(aug.beta)) aug.terms |= WISP_AXPBY;
    if (o->gamma) {
        aug.terms |= WISP_SHIFT;
        WISP_TRY(wisp_alloc(m->A->ctx, &gamma, (size_t)x->width, sizeof *gamma));
        for (int j = 0; j < x->width; j++) gamma[j] = o->gamma[k];
        aug.shift = gamma;
    }
    aug.u = o->u;
    if (o->add) {
        aug.terms |= WISP_ADD;
        aug.add = o->add + (size_t)k * (size_t)x->width;
    }
    wisp_blk *y = block(m, k + 1);
    const wisp_blk *prev = aug.terms & WISP_AXPBY ? block(m, k - 1) : y;
    const wisp__sums sums = {z, to, m->chain + at, count};
    WISP_TRY(wisp__sweep_set(&m->sweep[i], "mpk", m->A, y, block(m, k), prev, &aug, &sums,
                             m->factors + (size_t)i * m->factor_bytes));
    if (o->near > 0 && o->near + k > 1 && o->near + k < m->A->levels) m->sweep[i].blocks = m->A->reached[o->near + k];
out:
    wisp_free(m->A->ctx, gamma);
    return status;
}

/* Where step k has its dots. */
static double *dots_of(const mpk *m, int k)
{
    return m->there ? m->there + (size_t)k * wisp__dot_size(block(m, 0), m->o->terms) : NULL;
}

/* ---- schedules: run steps 0 .. count - 1 of those that are set, which are steps k .. in all ---- */

/* One sweep after the other. */
static wisp_status schedule_plain(const mpk *m, int k, int count)
{
    wisp_status status = WISP_OK;
    for (int i = 0; i < count; i++) WISP_TRY(wisp__sweep_run(&m->sweep[i], dots_of(m, k + i)));
out:
    return status;
}

/* All of them interleaved. */
static wisp_status schedule_cascade(const mpk *m, int k, int count)
{
    const wisp_mat *A = m->A;
    for (int i = 0; i < count; i++) m->step[i] = wisp__sweep_as_step(&m->sweep[i], dots_of(m, k + i));
    return A->ctx->backend->launch_steps(A->ctx, m->step, count, &m->cascade->schedule, &A->grid,
                                         wisp__dot_size(block(m, 0), m->o->terms));
}

/* ---- depth ----------------------------------------------------------------------------------- */

/* How many of the next `steps` steps are interleaved at a time: the depth asked for, or what is found best. */
static wisp_status choose_depth(mpk *m, int steps)
{
    const wisp_mpk_opts *o = m->o;
    const wisp_blk *x = block(m, 0);
    wisp__cascade_release(m->A, m->cascade);
    m->cascade = NULL;
    m->depth = 1;
    if (o->near > 0 && m->A->reached) return WISP_OK; /* each step has other rows */
    if (m->A->halo) return WISP_OK; /* each step waits for rows of other ranks: they are not interleaved yet */
    const wisp_status status =
        o->depth == 0
            ? wisp__depth_find(m->A, x->type, x->width, steps, o->cache_budget, &m->cascade)
            : wisp__cascade_find(m->A, x->type, x->width, WISP__MIN(o->depth, steps), o->cache_budget, &m->cascade);
    m->depth = m->cascade ? m->cascade->steps : 1;
    return status;
}

/* ---- all together ---------------------------------------------------------------------------- */

/* Memory for m->most steps at a time, and for the dots of all: cut from one piece. */
static wisp_status reserve(mpk *m)
{
    enum { PIECES = 7 };
    const wisp_mpk_opts *o = m->o;
    const wisp_blk *x = block(m, 0);
    const bool dots = o->terms & WISP_DOTS, stays = dots && o->dot_at.slot;
    const size_t most = (size_t)m->most, sums = most * (size_t)o->sums;
    const size_t numbers = (size_t)o->steps * wisp__dot_size(x, o->terms);
    m->factor_bytes = o->gamma || o->add ? wisp__lines(wisp__factor_bytes(x)) : 0;
    const size_t bytes[PIECES] = {most * sizeof *m->sweep,
                                  most * sizeof *m->step,
                                  sums * sizeof *m->chain,
                                  sums * sizeof *m->z,
                                  sums * sizeof *m->eta,
                                  most * m->factor_bytes,
                                  dots && !stays ? numbers * sizeof *m->sum : 0};
    size_t at[PIECES], end = 0;
    char *memory;
    for (int i = 0; i < PIECES; i++) {
        at[i] = end;
        end += wisp__lines(bytes[i]);
    }
    wisp_status status = wisp__op_memory(m->A, &m->own, &memory, end);
    if (status == WISP_OK && dots && m->most > 1)
        status = m->A->ctx->backend->reserve_steps(m->A->ctx, m->most, &m->A->grid, wisp__dot_size(x, o->terms));
    if (status != WISP_OK) return status;
    m->sweep = (wisp__sweep *)(void *)(memory + at[0]);
    m->step = (wisp__step *)(void *)(memory + at[1]);
    m->chain = (wisp__chain *)(void *)(memory + at[2]);
    m->z = (wisp_blk **)(void *)(memory + at[3]);
    m->eta = (wisp_scalar *)(void *)(memory + at[4]);
    m->factors = memory + at[5];
    if (stays) return wisp__place_at(m->A->ctx, "mpk", o->dot_at, (int64_t)numbers / 2, &m->there);
    m->sum = dots ? (double *)(void *)(memory + at[6]) : NULL;
    return wisp__op_dots(m->A, &m->own_dots, m->sum, bytes[6] / sizeof *m->sum, &m->there);
}

static wisp_status reduce(const mpk *m)
{
    const wisp_mpk_opts *o = m->o;
    wisp_ctx *ctx = m->A->ctx;
    const int width = block(m, 0)->width;
    const size_t size = wisp__dot_size(block(m, 0), m->o->terms);
    wisp_status status;
    if (!m->sum) return o->terms & WISP_NOREDUCE ? WISP_OK : wisp__reduce_there(ctx, m->there, (size_t)o->steps * size);
    WISP_TRY(wisp__dots_bring(ctx, m->there, m->sum, (size_t)o->steps * size));
    if (!(o->terms & WISP_NOREDUCE)) WISP_TRY(wisp__reduce(ctx, m->sum, (size_t)o->steps * size));
    for (int k = 0; k < o->steps; k++)
        wisp__dots_out(o->terms, width, m->sum + (size_t)k * size, o->dot + (size_t)k * size / 2);
out:
    return status;
}

/* Steps first .. first + count - 1, m->depth at a time. */
static wisp_status run(mpk *m, int first, int count)
{
    wisp_status status = WISP_OK;
    for (int k = first, left = count; left > 0; k += m->depth, left -= m->depth) {
        const int n = WISP__MIN(m->depth, left);
        const bool whole = m->cascade && n == m->depth;
        for (int i = 0; i < n; i++) WISP_TRY(set_step(m, k + i, i));
        WISP_TRY(whole ? schedule_cascade(m, k, n) : schedule_plain(m, k, n));
    }
out:
    return status;
}

wisp_status wisp_mpk(wisp_blk *const *v, int stored, const wisp_mat *A, const wisp_mpk_opts *opts)
{
    WISP_NEED(wisp_mat_ctx(A), v);
    WISP_NEED(NULL, A);
    WISP_NEED(A->ctx, opts);
    mpk m = {.A = A, .v = v, .stored = stored, .o = opts, .depth = 1};
    const int steps = opts->steps;
    wisp_status status;
    WISP_TRY(wisp__together_begin(A->ctx));
    WISP_TRY(check_options(&m));
    WISP_TRY(check_blocks(&m));
    WISP_TRY(choose_depth(&m, steps));
    m.most = m.depth;
    status = reserve(&m);
    if (status == WISP_ERR_NOMEM && m.most > 1) { /* the partial dots of several steps */
        m.most = 1;
        WISP_TRY(choose_depth(&m, 1));
        status = reserve(&m);
    }
    WISP_TRY(status);
    const int depth = m.depth, first = opts->depth == 0 ? steps - steps % depth : steps;
    WISP_TRY(run(&m, 0, first));
    if (first < steps) { /* what is left over has a depth of its own */
        WISP_TRY(choose_depth(&m, steps - first));
        WISP_TRY(run(&m, first, steps - first));
    }
    wisp__count(&A->ctx->passes, steps);
    wisp__count(&A->ctx->products, steps);
    if (opts->depth_used) *opts->depth_used = depth;
    if (opts->terms & WISP_DOTS) status = reduce(&m);
out:
    wisp_free(A->ctx, m.own);
    A->ctx->backend->free(A->ctx, m.own_dots);
    wisp__cascade_release(A, m.cascade);
    return wisp__together_end(A->ctx, status);
}

/* ---- plan ------------------------------------------------------------------------------------ */

static wisp_status check_plan(wisp_ctx *ctx, const wisp_mat_info *A, wisp_type type, int width, const wisp_mpk_opts *o)
{
    if (width < 1 || !wisp__types_fit(A->type, type))
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "plan: no product of a %s matrix with %s blocks of width %d",
                              wisp_type_name(A->type), wisp_type_name(type), width);
    if (o->steps < 0 || o->depth < 0 || o->sums < 0)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "plan: %d steps, a depth of %d, %d sums; none may be negative",
                              o->steps, o->depth, o->sums);
    return WISP_OK;
}

/* At most, for `most` steps that are interleaved: what reserve() takes; dots of each block of rows, and all of them
   once more while ranks sum them; what is looked at for the depth; and where some are interleaved the graph of the
   blocks and what orders are made with (cascade.c, cascade_make.c, walk.c), for each block. Orders are kept for two
   widths, and for fewer steps: those that are left over at the end, or half, a quarter,
   .. of them where the depth is chosen. */
static double most_bytes(const wisp_ctx *ctx, const wisp_mat_info *A, wisp_type type, int width, const wisp_mpk_opts *o,
                         double most, double dots)
{
    enum { ORDERS = 4, MAKING = 256, LITTLE = 1024, STATE = 16, PART = 1024, DOTS_LEAST = 512 };
    const double blocks = (double)WISP__MAX(A->work_blocks, 1), threads = ctx->threads, sums = o->sums;
    const double factors = (2.0 * K_FACTOR_SETS + 2) * width * (double)wisp_type_size(type) + WISP__LINE;
    const double each = (double)(sizeof(wisp__sweep) + sizeof(wisp__step)) + factors + blocks * dots +
                        sums * (double)(sizeof(wisp__chain) + sizeof(wisp_blk *) + sizeof(wisp_scalar));
    /* All dots once more in the device's memory; and what each of two parts has where columns are exchanged in turn:
       factors, chains, and its dots, here and there. */
    const double there = ctx->backend->host_memory ? 0 : fmax((double)o->steps * dots, DOTS_LEAST);
    const bool in_turn = A->halo == WISP_HALO_COLUMNS && ctx->ranks > 1;
    const double parts = !in_turn ? 0
                                  : 2 * (PART + factors + sums * (double)sizeof(wisp__chain) +
                                         2.0 * 2 * K_DOT_SETS * width * (double)sizeof(double));
    const double bytes = LITTLE + most * each + (ctx->ranks > 1 ? 2 : 1) * (double)o->steps * dots +
                         width * (double)sizeof(wisp_scalar) +
                         STATE * (double)A->work_blocks + /* of half storage's blocks */
                         there + parts;
    const double look = ctx->ranks == 1 && o->depth != 1 ? wisp__look_bytes(A) : 0;
    if (most <= 1) return bytes + look;
    const double neighbours = 16 * fmin(wisp__tuned_of(ctx)->schedule.neighbours, blocks) + 4.0 * threads;
    const double tasks = most * ((ORDERS + 1) * (double)sizeof(wisp__task) + sizeof(atomic_int));
    return bytes + look + blocks * (neighbours + MAKING + tasks) +
           threads * (WISP__LINE + most * (double)sizeof(atomic_int)) +
           wisp__tuned_of(ctx)->schedule.kept * (double)sizeof(wisp__cascade);
}

wisp_status wisp_mpk_plan(wisp_plan *plan, wisp_ctx *ctx, const wisp_mat_info *A, wisp_type type, int width,
                          const wisp_mpk_opts *opts, const wisp_choice *step)
{
    enum { DOTS = 2 * K_DOT_SETS, GRAPH = 400 }; /* numbers of a column; bytes of a block in graph and orders */
    wisp_status status;
    WISP_NEED(ctx, plan);
    *plan = (wisp_plan){0};
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, A);
    WISP_NEED(ctx, opts);
    if (type == WISP_DEFAULT) type = A->type;
    WISP_TRY(check_plan(ctx, A, type, width, opts));
    const double size = (double)wisp_type_size(type), steps = opts->steps;
    const double depth = ctx->ranks > 1 ? 1 : opts->depth == 0 ? wisp__tuned_of(ctx)->schedule.deepest : opts->depth;
    const double most = fmax(fmin(depth, steps), 1), dots = opts->terms & WISP_DOTS ? DOTS * (double)width * 8 : 0;
    /* Rows that ranks send each other; the spill of half storage, or what an operator takes for its terms. */
    const double beside = (double)(A->send_rows + A->halo_rows) * width * size +
                          (double)A->spill_bytes * size / (double)wisp_type_size(A->type) * width;
    const double about = most * dots + (most > 1 ? GRAPH : 0);
    *plan = (wisp_plan){.bytes = wisp_whole_number(beside + about * (double)A->work_blocks),
                        .bytes_most = wisp_whole_number(beside + most_bytes(ctx, A, type, width, opts, most, dots)),
                        .products = steps * width,
                        .sweeps = steps,
                        .seconds = step && step->seconds > 0 ? steps * step->seconds : NAN,
                        .iteration_bytes = NAN,
                        .iteration_seconds = NAN};
    plan->bytes = WISP__MIN(plan->bytes, plan->bytes_most);
out:
    return status;
}
