/* Updates of wisp_fuse by a kernel for any shape: a launch for some terms of each. */
#include "fuse.h"

/* Factors of columns come with the call, unless they are in the device's memory or all alike. */
static bool has_factors(const wisp__fuse_term *t) { return !t->factors_at && !t->alike; }
static size_t factors_bytes(const wisp__gpu_fused *f) { return 2 * (size_t)f->width * sizeof *f->room; }

/* A term's factors of columns, if it has any; room: [2 width]. */
static void enter_factors(wisp__gpu_call *c, int i, const wisp__gpu_fused *f, const wisp__fuse_term *t, double *room)
{
    if (t->factors_at) wisp__gpu_at(c, i, t->factors_at);
    if (!has_factors(t)) return;
    wisp__gpu_complex(room, wisp__gpu_factors(f, t), f->is_double, f->p->reals, f->width, f->p->period);
    wisp__gpu_staged(c, i, room, factors_bytes(f));
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
    k_fuse_update k = {.rows = f->p->count, .width = f->width, .again = again};
    wisp__gpu_call c = WISP__GPU_CALL(f->ctx, k);
    const wisp__gpu_buffer *to = terms > 0 ? own : NULL;
    int n = 0;
    for (int t = 0; t < terms; t++)
        if (has_factors(term[t])) wisp__gpu_expect(&c, f->room, factors_bytes(f));
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
    return wisp__gpu_launch(&c, "fuse_update", wisp__gpu_groups(c.g, k.rows * k.width),
                            "#define REAL %s\n#define PARTS %d\n", WISP__GPU_REAL(f->is_double), f->p->reals);
}

/* If there are more terms that read y itself than a launch takes, it is written in the end. */
wisp_status wisp__gpu_update_any(const wisp__gpu_fused *f, const wisp__gpu_piece *piece)
{
    const wisp__fuse_update *u = piece->u;
    wisp__gpu_buffer *own = NULL;
    wisp_status status = WISP_OK;
    int done = 0, reads_y = 0;
    while (reads_y < piece->terms && piece->term[reads_y]->x == u->y) reads_y++;
    if (reads_y > G_TERMS)
        WISP_TRY(wisp__gpu_room(f->g, &own, (size_t)(f->p->count * f->p->row) * wisp__real_bytes(f->is_double)));
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
