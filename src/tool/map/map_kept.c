/* Moments of wisp map that are kept, of which other energies and kernels are evaluated: of an exact map those of each
   row; of random vectors |r> what T_n(H)|r> has at the rows of the region, for the density at an energy is the size of
   a sum over these (map.h). */
#include "map.h"
#include "../moments.h"
#include <stdlib.h>
#include <string.h>

/* ---- the moments ----------------------------------------------------------------------------------- */

bool map_kept_begin(map_run *r)
{
    wisp_moments *m = &r->kept;
    if (m->mu) return true;
    m->n = r->exact ? r->kpm.moments : map_terms(r->kpm.moments);
    const size_t all = (size_t)map_kept_numbers(r);
    m->mu = calloc(all, sizeof *m->mu);
    m->imag = r->exact ? NULL : calloc(all, sizeof *m->imag);
    m->sites = r->exact ? calloc((size_t)r->rows, sizeof *m->sites) : NULL;
    return m->mu && (r->exact ? m->sites != NULL : m->imag != NULL);
}

static wisp_status no_memory(tool *t)
{
    wisp_ctx_failf(t->ctx, WISP_ERR_NOMEM, "out of memory for the moments that --save keeps");
    return WISP_ERR_NOMEM;
}

wisp_status map_kept_rows(tool *t, map_run *r, const wisp_moments *m)
{
    wisp_ctx_enter(t->ctx);
    const wisp_status status = wisp_ctx_leave(t->ctx, map_kept_begin(r) ? WISP_OK : no_memory(t));
    if (status != WISP_OK) return status;
    memcpy(r->kept.mu + r->done * m->n, m->mu, (size_t)(m->vectors * m->n) * sizeof *m->mu);
    r->kept.seconds += m->seconds, r->kept.flops += m->flops;
    return WISP_OK;
}

typedef struct {
    wisp_blk *v[2];
    char *numbers;
    int64_t first, local;
} workspace;

/* T_n of a batch, at the rows that are here. */
static wisp_status take_numbers(map_run *r, workspace *w, const wisp_blk *x, int width, int64_t n)
{
    wisp_status status;
    WISP_TRY(wisp_blk_get(x, WISP_ROW_MAJOR, w->numbers, width));
    for (int64_t k = 0; k < r->rows; k++) {
        const int64_t row = r->row[k] - w->first;
        if (row < 0 || row >= w->local) continue;
        for (int j = 0; j < width; j++) {
            const int64_t to = ((r->done + j) * r->rows + k) * r->kept.n + n;
            const wisp_scalar number = type_load(r->info.type, w->numbers, row * width + j);
            r->kept.mu[to] = number.re, r->kept.imag[to] = number.im;
        }
    }
out:
    return status;
}

static void free_work(tool *t, workspace *w)
{
    for (int i = 0; i < 2; i++) wisp_blk_free(w->v[i]);
    wisp_free(t->ctx, w->numbers);
    *w = (workspace){0};
}

static wisp_status make_work(tool *t, const map_run *r, const wisp_mat *A, workspace *w, int width)
{
    wisp_map *map = wisp_mat_map(A);
    wisp_status status;
    free_work(t, w);
    w->local = wisp_map_local(map, &w->first);
    WISP_TRY(wisp_alloc(t->ctx, &w->numbers, (size_t)(w->local * width) + 1, wisp_type_size(r->info.type)));
    for (int i = 0; i < 2; i++) WISP_TRY(wisp_blk_create(&w->v[i], t->ctx, map, r->info.type, width));
out:
    return status;
}

static wisp_status some_vectors(tool *t, map_run *r, wisp_mat *A, workspace *w, int width)
{
    const double h = r->bounds.halfwidth;
    const size_t all = (size_t)(width * r->rows * r->kept.n), from = (size_t)(r->done * r->rows * r->kept.n);
    wisp_scalar *shift = NULL;
    wisp_status status;
    WISP_TRY(wisp_alloc(t->ctx, &shift, (size_t)width, sizeof *shift));
    for (int j = 0; j < width; j++) shift[j] = (wisp_scalar){r->bounds.center, 0};
    WISP_TRY(wisp_blk_fill_random(w->v[0], WISP_RANDOM_TRACE, t->opt.seed, STREAM_START, (uint32_t)r->done));
    WISP_TRY(take_numbers(r, w, w->v[0], width, 0));
    for (int64_t n = 1; n < r->kept.n; n++) {
        const wisp_aug step = {.terms = WISP_SCALE | WISP_SHIFT | (n > 1 ? WISP_AXPBY : 0),
                               .alpha = {(n > 1 ? 2 : 1) / h, 0},
                               .beta = {-1, 0},
                               .shift = shift};
        const double part = ((double)r->done + width * (double)n / (double)r->kept.n) / (double)r->kpm.vectors;
        WISP_TRY(tool_step(t, "map", part, 0));
        WISP_TRY(wisp_spmmv(w->v[n % 2], A, w->v[(n + 1) % 2], &step));
        WISP_TRY(take_numbers(r, w, w->v[n % 2], width, n));
    }
    if (wisp_ctx_processes(t->ctx) > 1) { /* each row is one rank's, so that the sums are exact */
        WISP_TRY(wisp_ctx_sum(t->ctx, r->kept.mu + from, all));
        WISP_TRY(wisp_ctx_sum(t->ctx, r->kept.imag + from, all));
    }
out:
    wisp_free(t->ctx, shift);
    return status;
}

/* One rank may be cancelled, or want for memory: then all stop here. */
static wisp_status batch(tool *t, map_run *r, wisp_mat *A, workspace *w, int width, bool anew)
{
    wisp_status status = WISP_OK;
    wisp_ctx_enter(t->ctx);
    if (!map_kept_begin(r)) status = no_memory(t);
    if (status == WISP_OK && anew) status = make_work(t, r, A, w, width);
    if (status == WISP_OK) status = some_vectors(t, r, A, w, width);
    return wisp_ctx_leave(t->ctx, status);
}

wisp_status map_kept_vectors(tool *t, map_run *r, wisp_mat *A)
{
    const double start = wisp_now();
    wisp_status status = WISP_OK;
    workspace w = {0};
    int made = 0;
    while (r->done < r->kpm.vectors) {
        const int64_t left = r->kpm.vectors - r->done;
        const int width = left < r->width ? (int)left : r->width;
        WISP_TRY(batch(t, r, A, &w, width, width != made));
        made = width;
        r->done += width;
    }
out:
    free_work(t, &w);
    r->kept.seconds = wisp_now() - start;
    return status;
}

/* ---- evaluated ------------------------------------------------------------------------------------- */

/* |sum of c_n t_n|^2 of a vector at a row. */
static double density_at(const map_run *r, const wisp_scalar *c, int64_t terms, int64_t vector, int64_t k)
{
    const int64_t at = (vector * r->rows + k) * r->kept.n;
    double re = 0, im = 0;
    for (int64_t n = 0; n < terms; n++) re += c[n].re * r->kept.mu[at + n], im += c[n].re * r->kept.imag[at + n];
    return re * re + im * im;
}

static wisp_status sum_vectors(tool *t, map_run *r)
{
    const int64_t terms = map_terms(r->kpm.moments);
    wisp_scalar *c = NULL;
    wisp_ctx_enter(t->ctx);
    wisp_status status = wisp_ctx_leave(t->ctx, wisp_alloc(t->ctx, &c, (size_t)terms, sizeof *c));
    if (status) goto out;
    for (int e = 0; e < r->energies; e++) {
        WISP_TRY(tool_step(t, "energies", (double)e / r->energies, 0));
        wisp_kernel_root(&r->bounds, r->eval.kernel, r->energy[e], terms, c);
        for (int64_t s = 0; s < r->sites; s++)
            for (int64_t v = 0; v < r->done; v++) {
                double d = 0;
                for (int64_t k = r->begin[s]; k < r->begin[s + 1]; k++) d += density_at(r, c, terms, v, k);
                r->value[e * r->sites + s] += d;
                r->square[e * r->sites + s] += d * d;
            }
    }
out:
    wisp_free(t->ctx, c);
    return status;
}

wisp_status map_kept_evaluate(tool *t, map_run *r)
{
    return r->exact ? map_add_rows(t, r, &r->kept, 0, r->rows) : sum_vectors(t, r);
}

/* ---- files ----------------------------------------------------------------------------------------- */

/* Where each row of the region is, its site, and which row it is. */
static int set_points(tool *t, map_run *r)
{
    double *points = calloc((size_t)r->rows, WISP_POINT * sizeof *points);
    if (!points) return tool_fail(t, "out of memory for the places of %lld rows", (long long)r->rows);
    for (int64_t s = 0; s < r->sites; s++)
        for (int64_t k = r->begin[s]; k < r->begin[s + 1]; k++) {
            double *to = points + k * WISP_POINT;
            if (r->at) memcpy(to, r->at[s], sizeof *r->at);
            to[3] = (double)s, to[4] = r->at != NULL, to[5] = (double)r->row[k];
        }
    const wisp_status status = wisp_moments_points(t->ctx, &r->kept, r->rows, points);
    free(points);
    return status ? tool_fail_ctx(t) : EXIT_FINE;
}

int map_kept_save(tool *t, map_run *r)
{
    wisp_moments *m = &r->kept;
    if (!t->opt.save) return EXIT_FINE;
    m->rows = r->info.rows, m->nnz = r->info.nnz;
    m->vectors = r->exact ? r->rows : r->done * r->rows;
    m->trace = r->exact ? WISP_TRACE_SITES : WISP_TRACE_GIVEN;
    if (r->exact) memcpy(m->sites, r->row, (size_t)r->rows * sizeof *r->row);
    m->bounds = r->bounds, m->bounds_method = r->method, m->bounds_seconds = r->bounds_seconds;
    m->seed = t->opt.seed;
    m->type = r->info.type;
    m->width = r->width, m->depth = 1, m->threads = wisp_ctx_threads(t->ctx);
    m->partial = r->exact ? r->asked_sites > 0 : r->done < r->kpm.vectors;
    m->realizations = r->exact ? 0 : (int)r->done;
    snprintf(m->version, sizeof m->version, "%s", wisp_version());
    const int rc = set_points(t, r);
    if (rc) return rc;
    if (wisp_moments_label(t->ctx, m, t->opt.arg[0], t->command_line)) return tool_fail_ctx(t);
    return moments_save(t, m);
}

/* The region, from the places of its rows. */
static int take_points(tool *t, map_run *r)
{
    const wisp_moments *m = &r->kept;
    r->rows = m->point_count;
    if (wisp_alloc(t->ctx, &r->row, (size_t)r->rows, sizeof *r->row) ||
        wisp_alloc(t->ctx, &r->begin, (size_t)r->rows + 1, sizeof *r->begin) ||
        (m->points[4] != 0 && wisp_alloc(t->ctx, &r->at, (size_t)r->rows, sizeof *r->at)))
        return tool_fail_ctx(t);
    for (int64_t k = 0; k < r->rows; k++) {
        const double *of = m->points + k * WISP_POINT;
        r->row[k] = (int64_t)of[5];
        const bool next = of[3] == (double)r->sites;
        if (r->row[k] >= m->rows || (!next && (k == 0 || of[3] != (double)(r->sites - 1))))
            return tool_fail(t, "%s: row %lld of the region is out of order", t->opt.from, (long long)k);
        if (!next) continue;
        if (r->at) memcpy(r->at[r->sites], of, sizeof *r->at);
        r->begin[r->sites++] = k;
    }
    r->begin[r->sites] = r->rows;
    return EXIT_FINE;
}

/* How many moments: all, or the fewer that are asked for. */
static int choose_moments(tool *t, map_run *r)
{
    const options *o = &t->opt;
    const int64_t there = r->exact ? r->kept.n : 2 * (r->kept.n - 1) + 1;
    const int64_t asked = o->resolution > 0 ? wisp_moments_for(r->bounds.halfwidth, o->resolution) : o->moments;
    r->kpm.moments = asked ? asked : r->exact ? there : there - 1;
    r->eval.n = r->exact ? r->kpm.moments : 0;
    if (asked <= there) return EXIT_FINE;
    return tool_fail(t, "%s holds %lld moments, which reach a resolution of %.4g; %lld are asked for", o->from,
                     (long long)there, wisp_resolution(r->bounds.halfwidth, there), (long long)asked);
}

int map_kept_load(tool *t, map_run *r)
{
    wisp_moments *m = &r->kept;
    uint64_t seed[LIST];
    int rc = moments_load(t, m, seed);
    if (rc) return rc;
    r->exact = m->trace == WISP_TRACE_SITES;
    const int64_t each = r->exact ? 1 : m->realizations;
    if (!m->points || m->orbitals || each < 1 || m->vectors != each * m->point_count ||
        (!r->exact && (m->trace != WISP_TRACE_GIVEN || !m->imag)))
        return tool_fail(t, "%s holds no moments of wisp map", t->opt.from);
    r->done = r->exact ? m->vectors : each;
    r->kpm.vectors = r->done;
    r->kpm.seed = t->opt.seed = seed[0];
    r->bounds = m->bounds, r->method = m->bounds_method, r->bounds_seconds = m->bounds_seconds;
    r->seconds = m->seconds;
    r->width = m->width;
    r->info.rows = m->rows, r->info.nnz = m->nnz, r->info.type = m->type;
    r->asked_where = moments_value(m->command, "where");
    rc = take_points(t, r);
    return rc ? rc : choose_moments(t, r);
}
