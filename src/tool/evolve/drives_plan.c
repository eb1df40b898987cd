/* Sweeps of an evolution under H(t), before it begins: they follow from the steps' errors, so a model of a few
   neighbouring rows of all matrices takes the steps in the place of the whole. */
#include "evolve.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MODEL_ROWS = 256, MOST_OFFERS = 20000 };

/* Rows and columns first .. first + rows - 1 of a source. */
typedef struct {
    const wisp_src *src;
    int64_t first, rows;
} window;

static int window_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const window *w = arg;
    const size_t size = wisp_type_size(w->src->type), most = (size_t)w->src->max_row + 1;
    int64_t *all = malloc(most * sizeof *all);
    char *value = malloc(most * size);
    int inside = 0, n = all && value ? w->src->row(w->src->arg, w->first + row, all, value) : -1;
    for (int i = 0; i < n; i++) {
        const int64_t c = all[i] - w->first;
        if (c < 0 || c >= w->rows) continue;
        if (col) {
            col[inside] = c;
            memcpy((char *)val + (size_t)inside * size, value + (size_t)i * size, size);
        }
        inside++;
    }
    free(all), free(value);
    return n < 0 ? -1 : inside;
}

static wisp_status window_mat(tool *t, const window *w, wisp_type type, wisp_map *map, wisp_mat **A)
{
    const wisp_src src = {.rows = w->rows,
                          .cols = w->rows,
                          .max_row = w->src->max_row,
                          .type = w->src->type,
                          .row = window_row,
                          .arg = (void *)(uintptr_t)w};
    const wisp_mat_opts mo = expectations_options(&src, type, map);
    return wisp_mat_create(A, t->ctx, &src, &mo);
}

/* The run of the model, which ends early where it is long. */
typedef struct {
    const wisp_evolve_opts *o;
    double now; /* the last time at which the drives were looked at */
    int64_t offers;
} model_run;

static int model_at(void *arg, double time, double *f)
{
    model_run *m = arg;
    m->now = time;
    return m->o->drive_at(m->o->drive_arg, time, f);
}

static int model_offer(void *arg, wisp_state *state)
{
    model_run *m = arg;
    (void)state;
    return ++m->offers > MOST_OFFERS;
}

static wisp_status model_sweeps(tool *t, const evolve_results *r, const wisp_mat *A, wisp_mat *const *drive,
                                double *sweeps)
{
    model_run m = {.o = &r->opts};
    wisp_evolve_opts o = r->opts;
    wisp_evolution e;
    wisp_blk *psi = NULL;
    wisp_status status;
    o.drive = (const wisp_mat *const *)drive;
    o.drive_at = model_at, o.drive_arg = &m;
    o.offer = model_offer, o.offer_arg = &m;
    o.bounds = (wisp_bounds_opts){.seed = o.bounds.seed}; /* its own */
    WISP_TRY(wisp_blk_create(&psi, t->ctx, wisp_mat_map(A), r->type, 1));
    WISP_TRY(wisp_blk_fill_random(psi, WISP_RANDOM_GAUSS, 0, 0, 0));
    status = wisp_evolve(&e, A, psi, r->times - 1, r->time + 1, &o);
    *sweeps = (double)e.sweeps;
    const bool early = m.offers > MOST_OFFERS;
    if (early) *sweeps *= fabs((r->time[r->times - 1] - r->time[0]) / (m.now - r->time[0]));
    if (early) status = WISP_OK;
out:
    wisp_blk_free(psi);
    return status;
}

double drives_sweeps(tool *t, const wisp_src *src, const evolve_results *r, int64_t *rows)
{
    const drives *d = &r->d;
    double sweeps = NAN;
    wisp_mat *A = NULL, **mat = NULL;
    window *w = NULL;
    wisp_status status;
    *rows = src->rows < MODEL_ROWS ? src->rows : MODEL_ROWS;
    if (wisp_ctx_processes(t->ctx) > 1 || !src->row) return NAN; /* a rank may not know the others' rows */
    for (int i = 0; i < d->count; i++)
        if (!d->one[i].src.row) return NAN;
    const int64_t near = t->opt.site_count ? t->opt.sites[0] - *rows / 2 : 0, last = src->rows - *rows;
    const int64_t first = near < 0 ? 0 : near > last ? last : near;
    WISP_TRY(wisp_alloc(t->ctx, &mat, (size_t)d->count, sizeof(wisp_mat *)));
    WISP_TRY(wisp_alloc(t->ctx, &w, (size_t)d->count + 1, sizeof *w));
    w[0] = (window){src, first, *rows};
    WISP_TRY(window_mat(t, w, r->type, NULL, &A));
    for (int i = 0; i < d->count; i++) {
        w[1 + i] = (window){&d->one[i].src, first, *rows};
        WISP_TRY(window_mat(t, w + 1 + i, r->type, wisp_mat_map(A), mat + i));
    }
    status = model_sweeps(t, r, A, mat, &sweeps);
out:
    for (int i = 0; i < d->count && mat; i++) wisp_mat_free(mat[i]);
    wisp_mat_free(A);
    wisp_free(t->ctx, mat), wisp_free(t->ctx, w);
    return status == WISP_OK ? sweeps : NAN;
}
