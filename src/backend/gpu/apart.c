/* Updates and dots by kernels for any shape: a launch for some terms of an update, and one for each dot. */
#include "fuse.h"
#include <math.h>

/* ---- dots -------------------------------------------------------------------------------------- */

void wisp__gpu_dot_groups(const wisp__gpu *g, int64_t rows, int width, int64_t *per, int64_t *groups)
{
    enum { GROUPS = 1024, TURNS = 8 };
    const int64_t least = (int64_t)(g->group_size / wisp__gpu_lanes(g, width)) * TURNS;
    *per = WISP__MAX((rows + GROUPS - 1) / GROUPS, least);
    *groups = (rows + *per - 1) / *per;
}

typedef struct {
    const void *x, *y, *rows;
    int64_t ld_x, ld_y, ld_rows; /* of rows, in elements */
    int64_t count, size;
    size_t partial_at;
    int width, parts;
    bool is_double, cross;
    double scale;
} dot_job;

/* The sums of its groups. */
static wisp_status dot(wisp_ctx *ctx, const dot_job *j)
{
    wisp__gpu *g = wisp__gpu_of(ctx);
    int64_t per, groups;
    wisp__gpu_dot_groups(g, j->count, j->width, &per, &groups);
    k_dot k = {.rows = j->count,
               .rows_per_block = per,
               .width = j->width,
               .lanes = wisp__gpu_lanes(g, j->width),
               .cross = j->cross,
               .size = j->size,
               .ld_x = j->ld_x,
               .ld_y = j->ld_y,
               .ld_rows = j->ld_rows,
               .scale = j->scale};
    wisp__gpu_call c = WISP__GPU_CALL(ctx, k);
    if (j->count > 0) {
        wisp__gpu_at(&c, D_X, j->x);
        wisp__gpu_at(&c, D_Y, j->y);
        wisp__gpu_at(&c, D_ROWS, j->rows);
    }
    wisp__gpu_own(&c, D_PARTIAL, g->partial, j->partial_at);
    return wisp__gpu_launch(&c, "dots", groups, "#define REAL %s\n#define PARTS %d\n", WISP__GPU_REAL(j->is_double),
                            j->parts);
}

static wisp_status dot_compensated(wisp_ctx *ctx, const wisp__dot_kind *kind, const wisp__dot_params *p, int64_t count,
                                   double *to, double *error)
{
    wisp__gpu *g = wisp__gpu_of(ctx);
    const int64_t numbers = (int64_t)p->parts * p->rows; /* of an element of a period, in as many rows */
    const int width = (int)(p->period / numbers);
    const int64_t rows = count * p->rows;
    int64_t per, groups;
    wisp__gpu_dot_groups(g, rows, width, &per, &groups);
    k_dot k = {.rows = rows,
               .rows_per_block = per,
               .width = width,
               .lanes = wisp__gpu_lanes(g, width),
               .cross = kind->cross && p->parts == 2,
               .ld_x = p->ld_x / numbers,
               .ld_y = p->ld_y / numbers,
               .scale = ldexp(1, p->exponent)};
    wisp__gpu_call c = WISP__GPU_CALL(ctx, k);
    wisp_status status;
    WISP_TRY(wisp__gpu_room(g, &g->partial, (size_t)(groups * 4 * width) * sizeof(double)));
    if (rows > 0) {
        wisp__gpu_at(&c, D_X, p->x);
        wisp__gpu_at(&c, D_Y, p->y);
    }
    wisp__gpu_own(&c, D_PARTIAL, g->partial, 0);
    WISP_TRY(wisp__gpu_launch(&c, "dots_compensated", groups, "#define REAL %s\n#define PARTS %d\n",
                              WISP__GPU_REAL(kind->is_double), p->parts));
    status = wisp__gpu_sum_compensated(ctx, groups, 2 * width, kind->adds, to, error);
out:
    return status;
}

wisp_status wisp__gpu_dot(wisp_ctx *ctx, const wisp__dot_kind *kind, const wisp__dot_params *p, int64_t count,
                          int64_t per_block, double *to, double *error)
{
    wisp__gpu *g = wisp__gpu_of(ctx);
    const int64_t numbers = (int64_t)p->parts * p->rows; /* of an element of a period, in as many rows */
    const int64_t width = p->period / numbers;
    int64_t per, groups;
    wisp_status status;
    (void)per_block;
    if (error) return dot_compensated(ctx, kind, p, count, to, error);
    const dot_job j = {.x = p->x,
                       .y = p->y,
                       .ld_x = p->ld_x / numbers,
                       .ld_y = p->ld_y / numbers,
                       .count = count * p->rows,
                       .size = 2 * width,
                       .width = (int)width,
                       .parts = p->parts,
                       .is_double = kind->is_double,
                       .cross = kind->cross && p->parts == 2,
                       .scale = ldexp(1, p->exponent)};
    wisp__gpu_dot_groups(g, j.count, j.width, &per, &groups);
    WISP_TRY(wisp__gpu_room(g, &g->partial, (size_t)(groups * j.size) * sizeof(double)));
    WISP_TRY(dot(ctx, &j));
    status = wisp__gpu_sum(ctx, 0, groups, j.size, kind->adds, to);
out:
    return status;
}

wisp_status wisp__gpu_dot_apart(const wisp__gpu_fused *f, int i)
{
    const wisp__fuse_dot *d = f->p->dot + i;
    return dot(f->ctx, &(dot_job){.x = d->x,
                                  .y = d->y,
                                  .rows = d->rows,
                                  .ld_x = d->ld_x / f->numbers,
                                  .ld_y = d->ld_y / f->numbers,
                                  .ld_rows = d->ld_rows / f->numbers,
                                  .count = f->p->count,
                                  .size = f->size,
                                  .partial_at = wisp__gpu_dot_at(f, i),
                                  .width = f->width,
                                  .parts = f->p->parts,
                                  .is_double = f->is_double,
                                  .cross = d->cross,
                                  .scale = 1});
}

/* ---- updates ----------------------------------------------------------------------------------- */

/* A term's factors of columns, if it has any; room: [2 width]. */
static void enter_factors(wisp__gpu_call *c, int i, const wisp__gpu_fused *f, const wisp__fuse_term *t, double *room)
{
    if (t->factors_at) {
        wisp__gpu_at(c, i, t->factors_at);
    } else if (!t->alike) {
        wisp__gpu_complex(room, wisp__gpu_factors(f, t), f->is_double, f->p->parts, f->width, f->p->period);
        wisp__gpu_staged(c, i, room, 2 * (size_t)f->width * sizeof *room);
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

/* Some terms of an update. again: the sum has some already. own: it is there, or, without terms, comes from there. */
static wisp_status update_some(const wisp__gpu_fused *f, const wisp__fuse_update *u, const wisp__fuse_term *const *term,
                               int terms, bool again, const wisp__gpu_buffer *own)
{
    k_update k = {.rows = f->p->count, .width = f->width, .again = again};
    wisp__gpu_call c = WISP__GPU_CALL(f->ctx, k);
    const wisp__gpu_buffer *to = terms > 0 ? own : NULL;
    int n = 0;
    at_sum(&c, U_Y, u, to);
    k.ld_y = to ? k.width : u->ld_y / f->numbers;
    if (again) {
        at_sum(&c, U_X, u, own);
        k.ld_x[n++] = own ? k.width : k.ld_y;
    }
    for (int t = 0; t < terms; t++, n++) {
        wisp__gpu_at(&c, U_X + n, term[t]->x);
        wisp__gpu_at(&c, U_ROWS + n, term[t]->rows);
        k.ld_x[n] = term[t]->ld_x / f->numbers;
        k.ld_rows[n] = term[t]->ld_rows / f->numbers;
        k.factor[n][0] = term[t]->factor;
        enter_factors(&c, U_FACTORS + n, f, term[t], f->room + 2 * t * k.width);
    }
    k.terms = n;
    return wisp__gpu_launch(&c, "update", wisp__gpu_groups(c.g, k.rows * k.width),
                            "#define REAL %s\n#define PARTS %d\n", WISP__GPU_REAL(f->is_double), f->p->parts);
}

/* If there are more terms that read y itself than a launch takes, it is written in the end. */
wisp_status wisp__gpu_update_apart(const wisp__gpu_fused *f, const wisp__gpu_piece *piece)
{
    const wisp__fuse_update *u = piece->u;
    wisp__gpu_buffer *own = NULL;
    wisp_status status = WISP_OK;
    int done = 0, reads_y = 0;
    while (reads_y < piece->terms && piece->term[reads_y]->x == u->y) reads_y++;
    if (reads_y > G_TERMS)
        WISP_TRY(wisp__gpu_room(f->g, &own,
                                (size_t)(f->p->count * f->p->row) * (f->is_double ? sizeof(double) : sizeof(float))));
    do {
        const bool again = piece->again || done > 0;
        const int some = WISP__MIN(piece->terms - done, again ? G_TERMS - 1 : G_TERMS);
        WISP_TRY(update_some(f, u, piece->term + done, some, again, own));
        done += some;
    } while (done < piece->terms);
    if (own) status = update_some(f, u, NULL, 0, true, own);
out:
    wisp__gpu_room_free(f->g, own);
    return status;
}
