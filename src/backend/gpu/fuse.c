/* Updates and dots on a GPU, one launch for some terms of an update, and one for each dot. */
#include "gpu.h"
#include <math.h>
#include <stdlib.h>

/* ---- dots -------------------------------------------------------------------------------------- */

typedef struct {
    const void *x, *y, *rows;
    int64_t ld_x, ld_y, ld_rows; /* of rows, in elements */
    int64_t count;
    int width, parts;
    bool is_double, cross, adds;
    double scale;
} dot_job;

static wisp_status dot(wisp_ctx *ctx, const dot_job *j, double *to)
{
    enum { GROUPS = 1024, TURNS = 8 };
    wisp__gpu *g = wisp__gpu_of(ctx);
    const int lanes = wisp__gpu_lanes(g, j->width);
    const int64_t least = (int64_t)(g->group_size / lanes) * TURNS;
    const int64_t per = WISP__MAX((j->count + GROUPS - 1) / GROUPS, least), groups = (j->count + per - 1) / per;
    k_dot k = {.rows = j->count,
               .rows_per_block = per,
               .width = j->width,
               .lanes = lanes,
               .cross = j->cross,
               .ld_x = j->ld_x,
               .ld_y = j->ld_y,
               .ld_rows = j->ld_rows,
               .scale = j->scale};
    wisp__gpu_call c = WISP__GPU_CALL(ctx, k);
    wisp_status status;
    WISP_TRY(wisp__gpu_room(g, &g->partial, (size_t)(groups * 2 * j->width) * sizeof(double)));
    if (j->count > 0) {
        wisp__gpu_at(&c, D_X, j->x);
        wisp__gpu_at(&c, D_Y, j->y);
        wisp__gpu_at(&c, D_ROWS, j->rows);
    }
    wisp__gpu_own(&c, D_PARTIAL, g->partial, 0);
    WISP_TRY(wisp__gpu_launch(&c, "dots", groups, "#define REAL %s\n#define PARTS %d\n", WISP__GPU_REAL(j->is_double),
                              j->parts));
    status = wisp__gpu_sum(ctx, 0, groups, 2 * j->width, j->adds, to);
out:
    return status;
}

wisp_status wisp__gpu_dot(wisp_ctx *ctx, const wisp__dot_kind *kind, const wisp__dot_params *p, int64_t count,
                          int64_t per_block, double *to, double *error)
{
    const int64_t numbers = (int64_t)p->parts * p->rows; /* of an element of a period, in as many rows */
    if (error) return wisp__gpu_dot_on_host(ctx, kind, p, count, per_block, to, error);
    const dot_job j = {.x = p->x,
                       .y = p->y,
                       .ld_x = p->ld_x / numbers,
                       .ld_y = p->ld_y / numbers,
                       .count = count * p->rows,
                       .width = (int)(p->period / numbers),
                       .parts = p->parts,
                       .is_double = kind->is_double,
                       .cross = kind->cross && p->parts == 2,
                       .adds = kind->adds,
                       .scale = ldexp(1, p->exponent)};
    return dot(ctx, &j, to);
}

/* ---- updates ----------------------------------------------------------------------------------- */

/* The factors of columns that the host gives a term, as complex numbers: to[2 width]. */
static void factors_of(bool is_double, const wisp__fuse_params *p, const wisp__fuse_term *t, double *to)
{
    const char *first = (const char *)p->factors + (size_t)t->factors * (is_double ? sizeof(double) : sizeof(float));
    wisp__gpu_complex(to, first, is_double, p->parts, p->row / p->parts, p->period);
}

/* A term's factors of columns, if it has any; room: [2 width]. */
static void enter_factors(wisp__gpu_call *c, int i, bool is_double, const wisp__fuse_params *p, wisp__fuse_kind kind,
                          const wisp__fuse_term *t, double *room)
{
    if (t->factors_at) {
        wisp__gpu_at(c, i, t->factors_at);
    } else if (kind != K_FUSE_ONE) {
        factors_of(is_double, p, t, room);
        wisp__gpu_staged(c, i, room, 2 * (size_t)(p->row / p->parts) * sizeof *room);
    }
}

/* Where an update's sum is: in y, or in memory of the backend's own. */
static void at_sum(wisp__gpu_call *c, int i, const wisp__fuse_update *u, const wisp__gpu_buffer *own)
{
    if (own)
        wisp__gpu_own(c, i, own, 0);
    else
        wisp__gpu_at(c, i, u->y);
}

/* Some terms of an update. again: the sum has some already, and is one more. own: it is there, or, without terms, comes
   from there. */
static wisp_status update_some(wisp_ctx *ctx, bool is_double, const wisp__fuse_params *p, const wisp__fuse_update *u,
                               const wisp__fuse_term *const *term, int terms, bool again, const wisp__gpu_buffer *own,
                               double *room)
{
    const int64_t numbers = (int64_t)p->parts * p->rows;
    k_update k = {.rows = p->count, .width = p->row / p->parts};
    wisp__gpu_call c = WISP__GPU_CALL(ctx, k);
    const wisp__gpu_buffer *to = terms > 0 ? own : NULL;
    int n = 0;
    at_sum(&c, U_Y, u, to);
    k.ld_y = to ? k.width : u->ld_y / numbers;
    if (again) {
        at_sum(&c, U_X, u, own);
        k.ld_x[0] = own ? k.width : k.ld_y;
        k.factor[n++][0] = 1;
    }
    for (int t = 0; t < terms; t++, n++) {
        wisp__gpu_at(&c, U_X + n, term[t]->x);
        wisp__gpu_at(&c, U_ROWS + n, term[t]->rows);
        k.ld_x[n] = term[t]->ld_x / numbers;
        k.ld_rows[n] = term[t]->ld_rows / numbers;
        k.factor[n][0] = term[t]->factor;
        enter_factors(&c, U_FACTORS + n, is_double, p, u->kind, term[t], room + 2 * t * k.width);
    }
    k.terms = n;
    return wisp__gpu_launch(&c, "update", wisp__gpu_groups(c.g, k.rows * k.width),
                            "#define REAL %s\n#define PARTS %d\n", WISP__GPU_REAL(is_double), p->parts);
}

/* Terms that read y itself come first, before it is written; if there are more of them than a launch takes, it is
   written in the end. */
static wisp_status update(wisp_ctx *ctx, bool is_double, const wisp__fuse_params *p, const wisp__fuse_update *u,
                          double *room)
{
    wisp__gpu *g = wisp__gpu_of(ctx);
    const wisp__fuse_term **list = malloc((size_t)WISP__MAX(u->terms, 1) * sizeof *list);
    wisp__gpu_buffer *own = NULL;
    wisp_status status = WISP_OK;
    int n = 0, done = 0;
    if (!list) return wisp_ctx_failf(ctx, WISP_ERR_NOMEM, "out of memory for %d terms", u->terms);
    for (int reads_y = 1; reads_y >= 0; reads_y--) {
        for (int t = 0; t < u->terms; t++)
            if ((u->term[t].x == u->y) == reads_y) list[n++] = u->term + t;
        if (reads_y && n > G_TERMS)
            WISP_TRY(
                wisp__gpu_room(g, &own, (size_t)(p->count * p->row) * (is_double ? sizeof(double) : sizeof(float))));
    }
    do {
        const int some = WISP__MIN(n - done, done ? G_TERMS - 1 : G_TERMS);
        WISP_TRY(update_some(ctx, is_double, p, u, list + done, some, done, own, room));
        done += some;
    } while (done < n);
    if (own) status = update_some(ctx, is_double, p, u, NULL, 0, true, own, room);
out:
    wisp__gpu_room_free(g, own);
    free(list);
    return status;
}

wisp_status wisp__gpu_fuse(wisp_ctx *ctx, bool is_double, const wisp__fuse_params *p, int64_t per_block)
{
    const int64_t numbers = (int64_t)p->parts * p->rows;
    const int width = p->row / p->parts;
    wisp_status status = WISP_OK;
    double *room = malloc((size_t)(2 * G_TERMS * WISP__MAX(width, 1)) * sizeof *room);
    (void)per_block;
    if (!room) return wisp_ctx_failf(ctx, WISP_ERR_NOMEM, "out of memory for the factors of %d columns", width);
    for (int i = 0; i < p->updates && p->count > 0; i++) WISP_TRY(update(ctx, is_double, p, p->update + i, room));
    for (int i = 0; i < p->dots; i++) {
        const wisp__fuse_dot *d = p->dot + i;
        const dot_job j = {.x = d->x,
                           .y = d->y,
                           .rows = d->rows,
                           .ld_x = d->ld_x / numbers,
                           .ld_y = d->ld_y / numbers,
                           .ld_rows = d->ld_rows / numbers,
                           .count = p->count,
                           .width = width,
                           .parts = p->parts,
                           .is_double = is_double,
                           .cross = d->cross,
                           .scale = 1};
        WISP_TRY(dot(ctx, &j, d->to));
    }
out:
    free(room);
    return status;
}
