/* The sums of wisp map: over random vectors, by the root of the kernel, or over unit vectors; its state. */
#include "map.h"
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

int64_t map_terms(int64_t moments) { return moments / 2 + 1; }
double map_resolution(const map_run *r)
{
    const int64_t moments = r->kpm.moments;
    return wisp_resolution(r->bounds.halfwidth, r->exact ? moments : 2 * map_terms(moments) - 1);
}

/* ---- random vectors -------------------------------------------------------------------------------- */

typedef struct {
    wisp_mat *A;
    wisp_blk *x, **y;
    wisp_function *f;
    wisp_scalar *c;
    char *numbers; /* of a block, row by row */
    double *part;  /* [width][rows of the region]: sizes squared, of this rank's rows, then of all */
    int64_t first, local;
} workspace;

static void free_work(tool *t, map_run *r, workspace *w)
{
    for (int e = 0; w->y && e < r->energies; e++) wisp_blk_free(w->y[e]);
    wisp_blk_free(w->x);
    void *arrays[] = {w->y, w->f, w->c, w->numbers, w->part};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) wisp_free(t->ctx, arrays[i]);
    *w = (workspace){.A = w->A};
}

static wisp_status make_work(tool *t, map_run *r, workspace *w, int width)
{
    const int64_t terms = map_terms(r->kpm.moments);
    wisp_map *map = wisp_mat_map(w->A);
    wisp_status status;
    free_work(t, r, w);
    w->local = wisp_map_local(map, &w->first);
    WISP_TRY(wisp_alloc(t->ctx, &w->y, (size_t)r->energies, sizeof *w->y));
    WISP_TRY(wisp_alloc(t->ctx, &w->f, (size_t)r->energies, sizeof *w->f));
    WISP_TRY(wisp_alloc(t->ctx, &w->c, (size_t)(r->energies * terms), sizeof *w->c));
    WISP_TRY(wisp_alloc(t->ctx, &w->numbers, (size_t)(w->local * width) + 1, wisp_type_size(r->info.type)));
    WISP_TRY(wisp_alloc(t->ctx, &w->part, (size_t)(r->rows * width), sizeof *w->part));
    WISP_TRY(wisp_blk_create(&w->x, t->ctx, map, r->info.type, width));
    for (int e = 0; e < r->energies; e++) {
        WISP_TRY(wisp_blk_create(&w->y[e], t->ctx, map, r->info.type, width));
        wisp_kernel_root(&r->bounds, r->eval.kernel, r->energy[e], terms, w->c + e * terms);
        w->f[e] = (wisp_function){.terms = terms, .c = w->c + e * terms};
    }
out:
    return status;
}

/* Each vector's density at each site, and its square. A row is one rank's, so that sums over them are exact. */
static wisp_status add_up(tool *t, map_run *r, workspace *w, int e, int width)
{
    double *value = r->value + e * r->sites, *square = r->square + e * r->sites;
    wisp_status status;
    WISP_TRY(wisp_blk_get(w->y[e], WISP_ROW_MAJOR, w->numbers, width));
    for (int j = 0; j < width; j++)
        for (int64_t k = 0; k < r->rows; k++) {
            const int64_t row = r->row[k] - w->first;
            const bool own = row >= 0 && row < w->local;
            w->part[j * r->rows + k] = own ? type_size2(r->info.type, w->numbers, row * width + j) : 0;
        }
    if (wisp_ctx_processes(t->ctx) > 1) WISP_TRY(wisp_ctx_sum(t->ctx, w->part, (size_t)(r->rows * width)));
    for (int64_t s = 0; s < r->sites; s++)
        for (int j = 0; j < width; j++) {
            double d = 0;
            for (int64_t k = r->begin[s]; k < r->begin[s + 1]; k++) d += w->part[j * r->rows + k];
            value[s] += d;
            square[s] += d * d;
        }
out:
    return status;
}

/* One rank may have no memory: then none waits for its sums. */
static wisp_status add_all(tool *t, map_run *r, workspace *w, int width)
{
    wisp_status status = WISP_OK;
    wisp_ctx_enter(t->ctx);
    for (int e = 0; e < r->energies && status == WISP_OK; e++) status = add_up(t, r, w, e, width);
    return wisp_ctx_leave(t->ctx, status);
}

/* The vectors of the next batch, and room for what is made of them: on all ranks, or on none. */
static wisp_status begin_batch(tool *t, map_run *r, workspace *w, int width, bool anew)
{
    wisp_status status = WISP_OK;
    wisp_ctx_enter(t->ctx);
    if (anew) status = make_work(t, r, w, width);
    if (status == WISP_OK)
        status = wisp_blk_fill_random(w->x, WISP_RANDOM_TRACE, t->opt.seed, STREAM_START, (uint32_t)r->done);
    return wisp_ctx_leave(t->ctx, status);
}

/* resume: the batch goes on from the kept state. */
static wisp_status some_vectors(tool *t, map_run *r, workspace *w, int width, bool resume)
{
    wisp_chebyshev_opts o = {.bounds = {.method = WISP_BOUNDS_GIVEN, .given = r->bounds}};
    wisp_expansion e;
    wisp_status status;
    checkpoint_set(t, &o);
    if (!resume) o.resume = NULL;
    WISP_TRY(wisp_chebyshev_apply(&e, w->y, w->A, w->x, r->energies, w->f, &o));
    WISP_TRY(add_all(t, r, w, width));
    r->done += width;
out:
    return status;
}

static wisp_status all_vectors(tool *t, map_run *r, wisp_mat *A)
{
    wisp_status status = WISP_OK;
    workspace w = {.A = A};
    int made = 0;
    bool resume = t->resumed;
    while (r->done < r->kpm.vectors) {
        const int64_t left = r->kpm.vectors - r->done;
        const int width = left < r->width ? (int)left : r->width;
        WISP_TRY(begin_batch(t, r, &w, width, width != made));
        made = width;
        WISP_TRY(tool_step(t, "map", (double)r->done / (double)r->kpm.vectors, 0));
        WISP_TRY(some_vectors(t, r, &w, width, resume));
        resume = false;
    }
out:
    free_work(t, r, &w);
    return status;
}

/* ---- unit vectors ---------------------------------------------------------------------------------- */

wisp_status map_add_rows(tool *t, map_run *r, const wisp_moments *m, int64_t first, int64_t count)
{
    double *dos = NULL;
    int64_t site = 0;
    wisp_status status;
    wisp_ctx_enter(t->ctx);
    WISP_TRY(wisp_alloc(t->ctx, &dos, (size_t)r->energies, sizeof *dos));
    for (int64_t v = 0; v < count; v++) {
        WISP_TRY(wisp_dos(t->ctx, m, &r->eval, v, r->energies, r->energy, dos, NULL));
        while (first + v >= r->begin[site + 1]) site++;
        for (int e = 0; e < r->energies; e++) r->value[e * r->sites + site] += dos[e];
    }
out:
    wisp_free(t->ctx, dos);
    return wisp_ctx_leave(t->ctx, status); /* one rank may be cancelled, or want for memory: then all stop here */
}

/* What is whole of the rows of a batch that was stopped. */
static wisp_status take_whole(tool *t, map_run *r, wisp_moments *m)
{
    wisp_status status = WISP_OK;
    if (m->n != r->kpm.moments || m->vectors < 1) return WISP_OK;
    wisp_ctx_resume(t->ctx);
    WISP_TRY(map_add_rows(t, r, m, r->done, m->vectors));
    if (r->keeps) WISP_TRY(map_kept_rows(t, r, m));
    r->done += m->vectors;
out:
    return status;
}

/* Some rows at a time. */
static wisp_status all_rows(tool *t, map_run *r, const wisp_mat *A)
{
    wisp_moments m = {0};
    wisp_status status = WISP_OK;
    bool resume = t->resumed;
    while (r->done < r->rows) {
        wisp_kpm_opts o = r->kpm;
        o.trace = WISP_TRACE_SITES;
        o.sites = r->row + r->done;
        o.vectors = r->rows - r->done < MAP_ROWS ? r->rows - r->done : MAP_ROWS;
        o.bounds = (wisp_bounds_opts){.method = WISP_BOUNDS_GIVEN, .given = r->bounds};
        checkpoint_set(t, &o);
        if (!resume) o.resume = NULL;
        resume = false;
        WISP_TRY(tool_step(t, "map", (double)r->done / (double)r->rows, 0));
        status = wisp_kpm(&m, A, &o);
        if (status == WISP_ERR_CANCELLED && !t->kept.file && take_whole(t, r, &m) != WISP_OK) r->done = 0;
        if (status != WISP_OK) goto out;
        WISP_TRY(map_add_rows(t, r, &m, r->done, m.vectors));
        if (r->keeps) WISP_TRY(map_kept_rows(t, r, &m));
        r->done += o.vectors;
        wisp_moments_free(&m);
    }
out:
    wisp_moments_free(&m);
    return status;
}

wisp_status map_compute(tool *t, map_run *r, wisp_mat *A)
{
    wisp_status status;
    if (r->exact || !r->keeps) {
        t->kept.in_parts = true;
        status = r->exact ? all_rows(t, r, A) : all_vectors(t, r, A);
        if (status == WISP_OK) checkpoint_offer_whole(t);
        return status;
    }
    status = map_kept_vectors(t, r, A);
    if (status == WISP_ERR_CANCELLED && r->done > 1) wisp_ctx_resume(t->ctx); /* its vectors are evaluated */
    const wisp_status evaluated = status == WISP_OK || r->done > 1 ? map_kept_evaluate(t, r) : status;
    return status ? status : evaluated;
}

/* ---- before and after ------------------------------------------------------------------------------ */

wisp_status map_begin(tool *t, map_run *r)
{
    const size_t all = (size_t)(r->energies * r->sites);
    double **array[] = {&r->value, &r->square, &r->low, &r->high};
    wisp_status status = WISP_OK;
    for (size_t i = 0; i < sizeof array / sizeof *array; i++)
        WISP_TRY(wisp_alloc(t->ctx, array[i], all, sizeof **array[i]));
out:
    return status;
}

bool map_cut(map_run *r)
{
    const int64_t old = r->sites;
    int64_t sites = 0;
    while (sites < old && r->begin[sites + 1] <= r->done) sites++;
    if (sites == 0) return false;
    for (int e = 0; e < r->energies; e++)
        memmove(r->value + e * sites, r->value + e * old, (size_t)sites * sizeof *r->value);
    r->asked_sites = old;
    r->sites = sites;
    r->rows = r->done = r->begin[sites];
    return true;
}

/* Sums over vectors become means, standard errors and bars. */
void map_finish(map_run *r)
{
    const wisp_moments like = {.vectors = r->done, .trace = WISP_TRACE_RANDOM, .type = r->info.type};
    const int64_t all = r->energies * r->sites;
    if (r->exact) {
        memcpy(r->low, r->value, (size_t)all * sizeof *r->low);
        memcpy(r->high, r->value, (size_t)all * sizeof *r->high);
    } else {
        wisp_sums_mean(r->done, all, r->value, r->square);
        wisp_bars95(&like, NULL, all, r->value, r->square, r->low, r->high);
    }
}

void map_free(tool *t, map_run *r)
{
    void *arrays[] = {r->row, r->begin, r->at, r->value, r->square, r->low, r->high};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) wisp_free(t->ctx, arrays[i]);
    wisp_moments_free(&r->kept);
    free(r->asked_where);
}

/* ---- the state ------------------------------------------------------------------------------------- */

/* What lies beside the solver's own state: what is done, and its sums. */
wisp_status map_items(void *arg, wisp_state *s)
{
    map_run *r = arg;
    struct {
        int64_t done, moments;
        wisp_bounds bounds;
        double bounds_seconds;
    } at = {r->done, r->kpm.moments, r->bounds, r->bounds_seconds};
    const size_t all = (size_t)(r->energies * r->sites) * sizeof(double);
    const uint64_t rows = XXH3_64bits(r->row, (size_t)r->rows * sizeof *r->row),
                   sites = XXH3_64bits(r->begin, (size_t)r->sites * sizeof *r->begin),
                   energies = XXH3_64bits(r->energy, (size_t)r->energies * sizeof *r->energy);
    wisp_status status;
    WISP_TRY(wisp_state_samef(s, "--energies", "%d, %016llx", r->energies, (unsigned long long)energies));
    WISP_TRY(wisp_state_samef(s, "--where", "%lld rows, %016llx", (long long)r->rows, (unsigned long long)rows));
    WISP_TRY(wisp_state_samef(s, "--positions", "%lld sites, %016llx", (long long)r->sites, (unsigned long long)sites));
    WISP_TRY(wisp_state_samef(s, "--trace", "%s", r->exact ? "exact" : "random"));
    WISP_TRY(wisp_state_samef(s, "--seed", "%llu", r->exact ? 0 : (unsigned long long)r->kpm.seed));
    WISP_TRY(wisp_state_samef(s, "--vectors", "%lld", r->exact ? 0 : (long long)r->kpm.vectors));
    WISP_TRY(wisp_state_samef(s, "--moments", "%lld", (long long)r->asked));
    WISP_TRY(wisp_state_samef(s, "--kernel", "%d", (int)r->eval.kernel));
    WISP_TRY(wisp_state_samef(s, "--save", "%s", r->keeps ? "given" : "not given"));
    WISP_TRY(wisp_state_data(s, "map", &at, sizeof at));
    if (wisp_state_is_kept(s)) {
        r->done = at.done, r->kpm.moments = at.moments;
        r->bounds = at.bounds, r->bounds_seconds = at.bounds_seconds;
    }
    WISP_TRY(wisp_state_data(s, "densities", r->value, all));
    WISP_TRY(wisp_state_data(s, "squares", r->square, all));
    if (r->keeps && r->exact) {
        if (wisp_state_is_kept(s) && !map_kept_begin(r)) return WISP_ERR_NOMEM;
        status =
            wisp_state_data(s, "moments of rows", r->kept.mu, (size_t)(r->done * r->kpm.moments) * sizeof *r->kept.mu);
    }
out:
    return status;
}
