/* A sweep of a matrix that has a halo: when its row blocks are multiplied, and when the rows of other ranks come
   (wisp_halo). Dots are kept by row block and added up at the end, so that the order of the blocks changes no bit. */
#include "../data/halo.h"
#include "../topo/place.h"
#include "../topo/task.h"
#include "op.h"
#include <math.h>
#include <string.h>

typedef struct {
    const wisp__sweep *s;
    const wisp__spmmv_params *p;
    wisp__kernel kernel;
    double *dot; /* [dot_size] in the device's memory, or NULL */
    size_t dot_size;
} halo_run;

static wisp_status launch(const halo_run *r, int64_t first, int64_t end)
{
    const wisp_mat *A = r->s->A;
    if (first == end) return WISP_OK;
    return A->ctx->backend->launch_spmmv(A->ctx, r->kernel, r->p, &A->grid, first, end, r->dot ? r->dot_size : 0);
}

static wisp_status finish_dots(const halo_run *r)
{
    const wisp_mat *A = r->s->A;
    return r->dot ? A->ctx->backend->finish_dots(A->ctx, &A->grid, r->dot, r->dot_size) : WISP_OK;
}

static wisp_status run_nocomm(const halo_run *r) { return launch(r, 0, r->s->A->grid.blocks); }

static wisp_status run_none(const halo_run *r)
{
    wisp__halo *h = r->s->A->halo;
    wisp_status status;
    WISP_TRY(wisp__halo_start(h, r->s->x));
    WISP_TRY(wisp__halo_wait(h, r->s->x));
    status = run_nocomm(r);
out:
    return status;
}

/* What was started is always awaited. */
static wisp_status run_overlap(const halo_run *r)
{
    const wisp__grid *g = &r->s->A->grid;
    wisp__halo *h = r->s->A->halo;
    wisp_status status;
    WISP_TRY(wisp__halo_start(h, r->s->x));
    status = launch(r, 0, g->early);
    const wisp_status came = wisp__halo_wait(h, r->s->x);
    WISP_TRY(status != WISP_OK ? status : came);
    status = launch(r, g->early, g->blocks);
out:
    return status;
}

typedef struct {
    wisp__halo *halo;
    bool done;
    wisp_status status;
} halo_wait;

static wisp_status await_halo(wisp_task *task, void *arg)
{
    halo_wait *w = arg;
    (void)task;
    wisp__sleep_lightly(); /* between two looks */
    w->status = wisp__halo_come(w->halo);
    w->done = true;
    return WISP_OK;
}

/* As overlap, but messages also come where that takes somebody who looks after them. */
static wisp_status run_task(const halo_run *r)
{
    const wisp__grid *g = &r->s->A->grid;
    halo_wait w = {.halo = r->s->A->halo};
    const wisp_task_opts o = {.fn = await_halo, .arg = &w, .flags = WISP_TASK_UNPINNED | WISP_TASK_FIRST};
    wisp_ctx *ctx = w.halo->ctx;
    wisp_task *task = NULL;
    wisp_status status;
    if (!ctx->may_wait_beside) return run_overlap(r);
    WISP_TRY(wisp__halo_start(w.halo, r->s->x));
    ctx->waits_beside = true;
    const wisp_status started = wisp_task_start(&task, ctx, &o);
    status = started == WISP_OK ? launch(r, 0, g->early) : started;
    wisp_task_free(task);
    ctx->waits_beside = false;
    if (!w.done) w.status = wisp__halo_come(w.halo); /* it was cancelled before it began */
    WISP_TRY(status != WISP_OK ? status : w.status);
    WISP_TRY(wisp__halo_unpack(w.halo, r->s->x, 0, w.halo->rows));
    status = launch(r, g->early, g->blocks);
out:
    return status;
}

/* The row blocks of all neighbours whose messages have come, and whose blocks have not been launched. */
static wisp_status launch_groups(const halo_run *r, bool *launched, int *left)
{
    const wisp__halo *h = r->s->A->halo;
    wisp_status status = WISP_OK;
    for (int i = 0; i < h->from_count; i++) {
        if (!h->here[i] || launched[i]) continue;
        launched[i] = true;
        --*left;
        WISP_TRY(launch(r, h->group[i], h->group[i + 1]));
    }
out:
    return status;
}

static wisp_status run_neighbours(const halo_run *r)
{
    const wisp_blk *x = r->s->x;
    wisp_ctx *ctx = x->ctx;
    wisp__halo *h = r->s->A->halo;
    bool *launched = NULL;
    int left = h->from_count;
    wisp_status status;
    WISP_TRY(wisp_alloc(ctx, &launched, (size_t)left, sizeof *launched));
    WISP_TRY(wisp__halo_start(h, x));
    status = launch(r, 0, h->group[0]);
    while (status == WISP_OK && left > 0) {
        status = wisp__halo_some(h, x);
        if (status == WISP_OK) status = launch_groups(r, launched, &left);
    }
    const wisp_status came = wisp__halo_come(h);
    WISP_TRY(status != WISP_OK ? status : came);
    status = launch(r, h->group[h->from_count], h->group[h->from_count + 1]);
out:
    wisp_free(ctx, launched);
    return status;
}

/* ---- columns ----------------------------------------------------------------------------------- */

enum { COLUMN_PARTS = 2 };

/* A sweep of some of the columns. */
typedef struct {
    halo_run run;
    wisp__sweep s;
    wisp__spmmv_params p;
    wisp_blk x;
    int first, width;
    char *factors;
    wisp__chain *chain;
    double *dot, *host; /* its dots, in the device's memory; the same on the host */
} column_part;

static const void *shifted(const void *at, size_t bytes) { return at ? (const char *)at + bytes : NULL; }

static void set_part(column_part *c, const halo_run *r, int first, int width)
{
    const wisp__spmmv_params *p = r->p;
    const size_t real = (size_t)p->real_bytes, reals = (size_t)p->reals / (size_t)p->width;
    const size_t skip = (size_t)first * reals * real, row = (size_t)width * reals * real;
    const size_t all = (size_t)p->reals * real;
    c->first = first, c->width = width;
    c->s = *r->s;
    c->p = *p;
    c->x = *r->s->x;
    c->x.offset += skip;
    c->x.width = c->p.width = width;
    c->s.x = &c->x;
    c->p.reals = (int64_t)((size_t)width * reals);
    c->p.gather = shifted(p->gather, skip), c->p.x = shifted(p->x, skip), c->p.prev = shifted(p->prev, skip);
    c->p.u = shifted(p->u, skip), c->p.y = (char *)p->y + skip;
    for (int i = 0; i < p->chains; i++) {
        c->chain[i] = p->chain[i];
        c->chain[i].z = (char *)p->chain[i].z + skip;
    }
    c->p.chain = c->chain;
    for (int k = 0; k < K_FACTOR_SETS; k++) {
        char *to = c->factors + 2 * (size_t)k * row;
        if (!p->factors[k]) continue;
        for (size_t half = 0; half < 2; half++)
            memcpy(to + half * row, (const char *)p->factors[k] + half * all + skip, row);
        c->p.factors[k] = to;
        if (p->factors_at[k]) c->p.factors_at[k] = p->factors_at[k] + 2 * first;
    }
    const wisp__key key = wisp__sweep_key(&c->s, &c->p);
    c->run = (halo_run){.s = &c->s,
                        .p = &c->p,
                        .kernel = c->x.ctx->backend->find_spmmv(c->x.ctx, &key, &c->p.a),
                        .dot = r->dot ? c->dot : NULL,
                        .dot_size = r->dot_size / (size_t)p->width * (size_t)width};
}

/* Its dots go to those of all columns. */
static wisp_status put_dots(const halo_run *r, const column_part *c)
{
    const size_t row = 2 * (size_t)r->p->width, some = 2 * (size_t)c->width, first = 2 * (size_t)c->first;
    wisp_ctx *ctx = c->x.ctx;
    const wisp__backend *backend = ctx->backend;
    wisp_status status = WISP_OK;
    if (!r->dot) return status;
    WISP_TRY(backend->read(ctx, c->dot, c->host, c->run.dot_size * sizeof *c->host));
    for (size_t i = 0; i < r->dot_size / row; i++)
        WISP_TRY(backend->write(ctx, r->dot + i * row + first, c->host + i * some, some * sizeof *c->host));
out:
    return status;
}

static wisp_status make_part(column_part *c, const halo_run *r, int first, int width)
{
    wisp_ctx *ctx = r->s->x->ctx;
    wisp_status status;
    WISP_TRY(wisp_alloc(ctx, &c->factors, wisp__factor_bytes(r->s->x), 1));
    WISP_TRY(wisp_alloc(ctx, &c->chain, (size_t)r->p->chains, sizeof *c->chain));
    WISP_TRY(wisp_alloc(ctx, &c->host, r->dot_size, sizeof *c->host));
    WISP_TRY(ctx->backend->alloc(ctx, &c->dot, r->dot_size, sizeof *c->dot));
    set_part(c, r, first, width);
out:
    return status;
}

/* The exchange of the next part is on its way while the rows of this one are multiplied that need the halo, and those
   of the next one that need none. */
static wisp_status run_parts(const halo_run *r, column_part *c, int parts)
{
    const wisp__grid *g = &r->s->A->grid;
    wisp__halo *h = r->s->A->halo;
    wisp_status status;
    WISP_TRY(wisp__halo_start(h, &c->x));
    status = launch(&c->run, 0, g->early);
    for (int i = 0; i < parts; i++) {
        wisp_status came = wisp__halo_wait(h, &c[i].x);
        WISP_TRY(status != WISP_OK ? status : came);
        if (i + 1 < parts) WISP_TRY(wisp__halo_start(h, &c[i + 1].x));
        status = launch(&c[i].run, g->early, g->blocks);
        if (status == WISP_OK) status = finish_dots(&c[i].run);
        if (status == WISP_OK && i + 1 < parts) status = launch(&c[i + 1].run, 0, g->early);
    }
    /* Behind all launches, which may take factors from where the dots go. */
    for (int i = 0; i < parts && status == WISP_OK; i++) status = put_dots(r, &c[i]);
out:
    return status;
}

static wisp_status run_columns(const halo_run *r)
{
    wisp_ctx *ctx = r->s->x->ctx;
    const int width = r->p->width, parts = WISP__MIN(width, COLUMN_PARTS);
    column_part *c = NULL;
    wisp_status status;
    WISP_TRY(wisp_alloc(ctx, &c, (size_t)parts, sizeof *c));
    for (int i = 0; i < parts; i++) {
        const int first = (int)wisp__split(width, parts, i);
        WISP_TRY(make_part(&c[i], r, first, (int)wisp__split(width, parts, i + 1) - first));
    }
    status = run_parts(r, c, parts);
out:
    for (int i = 0; c && i < parts; i++) {
        wisp_free(ctx, c[i].factors);
        wisp_free(ctx, c[i].chain);
        wisp_free(ctx, c[i].host);
        ctx->backend->free(ctx, c[i].dot);
    }
    wisp_free(ctx, c);
    return status;
}

/* ---- which it is -------------------------------------------------------------------------------- */

static wisp_status (*const run_by[])(const halo_run *r) = {
    [WISP_HALO_NONE] = run_none,       [WISP_HALO_OVERLAP] = run_overlap,
    [WISP_HALO_TASK] = run_task,       [WISP_HALO_NEIGHBOURS] = run_neighbours,
    [WISP_HALO_COLUMNS] = run_columns, [WISP_HALO_NOCOMM] = run_nocomm,
};

/* Those that change no bit: results repeat. */
static const wisp_halo candidate[] = {WISP_HALO_OVERLAP, WISP_HALO_NONE, WISP_HALO_TASK, WISP_HALO_NEIGHBOURS};
enum { CANDIDATES = sizeof candidate / sizeof *candidate, TRIES = 4 };

/* The best one, or the next to be tried; block rows of about the same size take the same. */
static wisp_halo choose(const wisp_mat *A, size_t row)
{
    wisp__halo_trial *t = &A->halo->trial;
    const wisp_ctx *ctx = A->ctx;
    if (A->way != WISP_HALO_AUTO) return A->way;
    /* Without the sweeps that a rank has missed its trial may be another one, or over. */
    const bool together = t->failures == ctx->failures;
    if (!together || row > 2 * t->row || t->row > 2 * row)
        *t = (wisp__halo_trial){.row = row, .failures = ctx->failures};
    return t->best != WISP_HALO_AUTO ? t->best : candidate[t->sweeps % CANDIDATES];
}

/* By the slowest rank's times; another than OVERLAP has to be clearly faster. */
static wisp_status decide(wisp__halo *h)
{
    wisp_ctx *ctx = h->ctx;
    const double clearly = wisp__tuned_of(ctx)->halo.clearly;
    wisp__halo_trial *t = &h->trial;
    double *all = NULL;
    wisp_status status;
    WISP_TRY(wisp_alloc(ctx, &all, (size_t)ctx->ranks * WISP_HALO_NOCOMM, sizeof *all));
    WISP_TRY(ctx->comm->gather(ctx, t->least, sizeof t->least, all));
    for (int r = 0; r < ctx->ranks; r++)
        for (int i = 0; i < WISP_HALO_NOCOMM; i++) t->least[i] = fmax(t->least[i], all[r * WISP_HALO_NOCOMM + i]);
    t->best = candidate[0];
    for (int i = 1; i < CANDIDATES; i++)
        if (t->least[candidate[i]] < (t->best == candidate[0] ? clearly : 1) * t->least[t->best])
            t->best = candidate[i];
    h->found = t->best;
    for (int i = 0; i < CANDIDATES; i++)
        wisp_ctx_logf(ctx, WISP_LOG_DEBUG, "halo exchanged as '%s': %.1f us a sweep%s", wisp_halo_name(candidate[i]),
                      1e6 * t->least[candidate[i]], candidate[i] == t->best ? ", taken" : "");
out:
    wisp_free(ctx, all);
    return status;
}

wisp_status wisp__sweep_with_halo(const wisp__sweep *s, double *dot, size_t dot_size)
{
    const wisp__spmmv_params *p = &s->p;
    wisp_status status;
    wisp__halo *h = s->A->halo;
    const wisp__key key = wisp__sweep_key(s, p);
    const halo_run r = {s, p, h->ctx->backend->find_spmmv(h->ctx, &key, &p->a), dot, dot_size};
    const wisp_halo halo = choose(s->A, (size_t)p->reals * (size_t)p->real_bytes);
    const double start = wisp_now();
    WISP_TRY(run_by[halo](&r));
    if (halo != WISP_HALO_COLUMNS) WISP_TRY(finish_dots(&r));
    if (s->A->way != WISP_HALO_AUTO || h->trial.best != WISP_HALO_AUTO) return WISP_OK;
    WISP_TRY(h->ctx->backend->finish(h->ctx));
    wisp__halo_trial *t = &h->trial;
    const double took = wisp_now() - start;
    t->least[halo] = t->sweeps < CANDIDATES ? took : fmin(t->least[halo], took);
    if (++t->sweeps == TRIES * CANDIDATES) status = decide(h);
out:
    return status;
}
