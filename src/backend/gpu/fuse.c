/* Updates and dots on a GPU. A call of wisp_fuse is cut into passes, of which most calls are one: as many updates and
   dots as a kernel has arrays for. A pass is one launch of a kernel that is made for its shape (kernel/fuse.gpu.h). The
   sums of all dots are another one. A device that has made many such kernels runs further shapes by those for any
   (fuse_any.c, dots.c): they give the same bits. */
#include "fuse.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { ARRAYS = G_FUSE_PARTIAL, MOST_PIECES = 16, MOST_DOTS = 8, WORDS = 1024 };

/* What an array of the kernel is. */
typedef enum { BLOCK, ROWS, PLACED, STAGED } array_kind;
typedef struct {
    array_kind kind;
    const void *at; /* STAGED: on the host */
    int64_t ld;     /* in elements */
    bool read;      /* before it is written */
    bool written;
} array;

typedef struct {
    array array[ARRAYS];
    wisp__gpu_piece piece[MOST_PIECES];
    double factor[G_FACTORS][2];
    int arrays, pieces, factors;
    int first_dot, dots;
    char work[WORDS]; /* in the words of the kernel */
    int length;
    bool full; /* something has found no room */
} pass;

typedef struct {
    const wisp__gpu_fused *f;
    pass now;
} run;

/* ---- what a pass does, in words ---------------------------------------------------------------- */

static int array_of(pass *s, array_kind kind, const void *at, int64_t ld)
{
    for (int i = 0; i < s->arrays; i++)
        if (s->array[i].kind == kind && s->array[i].at == at && s->array[i].ld == ld) return i;
    if (s->arrays == ARRAYS) {
        s->full = true;
        return 0;
    }
    s->array[s->arrays] = (array){.kind = kind, .at = at, .ld = ld};
    return s->arrays++;
}

/* The register of a block's element, which has been read or computed. Blocks are the same memory or don't meet. */
static int value_of(pass *s, const void *at, int64_t ld)
{
    const int i = array_of(s, BLOCK, at, ld);
    s->array[i].read |= !s->array[i].written;
    return i;
}

static __attribute__((format(printf, 2, 3))) void say(pass *s, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    const int n = vsnprintf(s->work + s->length, (size_t)(WORDS - s->length), format, list);
    va_end(list);
    if (n >= WORDS - s->length)
        s->full = true;
    else
        s->length += n;
}

/* x, times the number of its row if it has one. */
typedef char value_word[32];
static void value_to(const run *r, pass *s, const void *x, int64_t ld, const void *rows, int64_t ld_rows, value_word to)
{
    const int64_t numbers = r->f->numbers;
    const int v = value_of(s, x, ld / numbers);
    if (rows)
        snprintf(to, sizeof(value_word), "TIMES(%d,v%d)", array_of(s, ROWS, rows, ld_rows / numbers), v);
    else
        snprintf(to, sizeof(value_word), "v%d", v);
}

static void add_term(run *r, pass *s, const wisp__fuse_term *t)
{
    const wisp__gpu_fused *f = r->f;
    value_word v;
    value_to(r, s, t->x, t->ld_x, t->rows, t->ld_rows, v);
    if (t->factors_at) {
        say(s, "PLACED(%d,%s) ", array_of(s, PLACED, t->factors_at, 0), v);
    } else if (!t->alike && f->width > 1) {
        say(s, "PLACED(%d,%s) ", array_of(s, STAGED, wisp__gpu_factors(f, t), 0), v);
    } else if (s->factors == G_FACTORS) {
        s->full = true;
    } else {
        double *factor = s->factor[s->factors];
        factor[0] = t->factor, factor[1] = 0;
        if (!t->alike) wisp__gpu_complex(factor, wisp__gpu_factors(f, t), f->is_double, f->p->reals, 1, f->p->period);
        say(s, "GIVEN(%d,%s) ", s->factors++, v);
    }
}

static void add_piece(run *r, pass *s, const wisp__gpu_piece *piece)
{
    const int64_t ld = piece->u->ld_y / r->f->numbers;
    if (s->pieces == MOST_PIECES) {
        s->full = true;
        return;
    }
    s->piece[s->pieces++] = *piece;
    if (piece->again)
        say(s, "MORE(%d) ", value_of(s, piece->u->y, ld));
    else
        say(s, "BEGIN ");
    for (int t = 0; t < piece->terms && !s->full; t++) add_term(r, s, piece->term[t]);
    const int y = array_of(s, BLOCK, piece->u->y, ld);
    s->array[y].written = true;
    say(s, "END(%d) ", y);
}

static void add_dot(run *r, pass *s, const wisp__fuse_dot *d)
{
    value_word y;
    const int x = value_of(s, d->x, d->ld_x / r->f->numbers);
    value_to(r, s, d->y, d->ld_y, d->rows, d->ld_rows, y);
    say(s, "DOT(%d,v%d,%s,%d) ", s->dots, x, y, d->cross);
    if (s->dots++ == MOST_DOTS) s->full = true;
}

/* ---- launches ---------------------------------------------------------------------------------- */

/* The definitions of the program. */
static void define(const run *r, const pass *s, char *to, size_t room)
{
    char factors[ARRAYS * 12] = "", loads[ARRAYS * 12] = "", stores[ARRAYS * 12] = "";
    int f = 0, l = 0, w = 0;
    for (int i = 0; i < s->arrays; i++) {
        const array *m = s->array + i;
        if (m->kind == PLACED || m->kind == STAGED)
            f += sprintf(factors + f, "FACTOR(%d) ", i);
        else
            l += sprintf(loads + l, "%s(%d) ", m->kind == ROWS ? "ROWS" : m->read ? "LOAD" : "NEW", i);
        if (m->written) w += sprintf(stores + w, "STORE(%d) ", i);
    }
    snprintf(to, room,
             "#define REAL %s\n#define PARTS %d\n#define DOTS %d\n#define FACTORS %s\n#define LOADS %s\n"
             "#define WORK %s\n#define STORES %s\n",
             WISP__GPU_REAL(r->f->is_double), r->f->p->reals, s->dots, factors, loads, s->work, stores);
}

/* Arrays of factors of the host's go together. */
static void enter_factors(wisp__gpu_call *c, const run *r, const pass *s)
{
    const wisp__gpu_fused *f = r->f;
    const size_t bytes = 2 * (size_t)f->width * sizeof *f->room;
    const size_t at = c->staged_at;
    int n = 0, first = 0;
    for (int i = 0; i < s->arrays; i++) {
        if (s->array[i].kind != STAGED) continue;
        wisp__gpu_complex(f->room + 2 * f->width * n, s->array[i].at, f->is_double, f->p->reals, f->width,
                          f->p->period);
        if (n++ == 0) first = i;
    }
    if (n == 0) return;
    wisp__gpu_staged(c, first, f->room, (size_t)n * bytes);
    n = 0;
    for (int i = first; i < s->arrays; i++)
        if (s->array[i].kind == STAGED) wisp__gpu_own(c, i, *c->staged, at + (size_t)n++ * bytes);
}

/* Without dots any number of groups does. */
static int64_t rows_per_group(const run *r, const pass *s, int lanes)
{
    const wisp__gpu *g = r->f->g;
    const int64_t rows = r->f->p->count, abreast = g->group_size / lanes, groups = wisp__gpu_groups(g, rows * lanes);
    return s->dots ? r->f->per : (rows + groups * abreast - 1) / (groups * abreast) * abreast;
}

static wisp_status launch(run *r, const pass *s, const char *defines)
{
    const wisp__gpu_fused *f = r->f;
    const int lanes = wisp__gpu_lanes(f->g, f->width);
    k_fuse k = {.rows = f->p->count,
                .rows_per_block = rows_per_group(r, s, lanes),
                .width = f->width,
                .lanes = lanes,
                .size = f->size};
    wisp__gpu_call c = WISP__GPU_CALL(f->ctx, k);
    memcpy(k.factor, s->factor, sizeof k.factor);
    for (int i = 0; i < s->arrays; i++) {
        k.ld[i] = s->array[i].ld;
        if (s->array[i].kind != STAGED) wisp__gpu_at(&c, i, s->array[i].at);
    }
    enter_factors(&c, r, s);
    if (s->dots) wisp__gpu_own(&c, G_FUSE_PARTIAL, f->g->partial, wisp__gpu_dot_at(f, s->first_dot));
    return wisp__gpu_launch(&c, "fuse", (k.rows + k.rows_per_block - 1) / k.rows_per_block, "%s", defines);
}

/* Runs what has been put together; the next pass is empty. */
static wisp_status flush(run *r)
{
    const wisp__gpu_fused *f = r->f;
    pass *s = &r->now;
    char defines[WORDS + 4 * ARRAYS * 12];
    wisp_status status = WISP_OK;
    if (f->p->count > 0 && (s->pieces > 0 || s->dots > 0)) {
        define(r, s, defines, sizeof defines);
        const bool made = wisp__gpu_has(f->g, "fuse", defines);
        if (made || f->g->shapes > 0) {
            if (!made) f->g->shapes--;
            WISP_TRY(launch(r, s, defines));
        } else {
            for (int i = 0; i < s->pieces; i++) WISP_TRY(wisp__gpu_update_any(f, s->piece + i));
            for (int i = 0; i < s->dots; i++) WISP_TRY(wisp__gpu_dot_any(f, s->first_dot + i));
        }
    }
out:
    *s = (pass){.first_dot = s->first_dot + s->dots};
    return status;
}

/* ---- all together ------------------------------------------------------------------------------ */

/* Whether a pass still has room for it; else it is as before. */
static bool takes_piece(run *r, const wisp__gpu_piece *piece)
{
    const pass was = r->now;
    add_piece(r, &r->now, piece);
    if (!r->now.full) return true;
    r->now = was;
    return false;
}

static bool takes_dot(run *r, const wisp__fuse_dot *d)
{
    const pass was = r->now;
    add_dot(r, &r->now, d);
    if (!r->now.full) return true;
    r->now = was;
    return false;
}

/* An update with more terms than a pass has room for: some, then some more. Those that read y itself, `own` of them,
   are first, for y is written when others follow. */
static wisp_status take_long(run *r, const wisp__gpu_piece *all, int own)
{
    wisp_status status = WISP_OK;
    for (int done = 0, n; done < all->terms; done += n) {
        wisp__gpu_piece some = {all->u, all->term + done, WISP__MIN(all->terms - done, ARRAYS), done > 0};
        while (!takes_piece(r, &some)) some.terms--;
        n = some.terms;
        if (done == 0 && n < own) {
            r->now = (pass){0};
            return wisp__gpu_update_any(r->f, all);
        }
        if (done + n < all->terms) WISP_TRY(flush(r));
    }
out:
    return status;
}

/* list: room for its terms, which stays. */
static wisp_status take_update(run *r, const wisp__fuse_update *u, const wisp__fuse_term **list)
{
    wisp_status status = WISP_OK;
    int n = 0, own = 0;
    for (int reads_y = 1; reads_y >= 0; reads_y--) {
        for (int t = 0; t < u->terms; t++)
            if ((u->term[t].x == u->y) == reads_y) list[n++] = u->term + t;
        if (reads_y) own = n;
    }
    const wisp__gpu_piece all = {u, list, n, false};
    if (takes_piece(r, &all)) return WISP_OK;
    WISP_TRY(flush(r));
    if (!takes_piece(r, &all)) status = take_long(r, &all, own);
out:
    return status;
}

/* Dots first .. first + n - 1. */
static wisp_status take_dots(run *r, wisp__gpu_fused *f, int first, int n)
{
    wisp_status status;
    double *to[G_SUMS];
    f->first_dot = r->now.first_dot = first;
    f->size = (int64_t)n * 2 * f->width;
    WISP_TRY(wisp__gpu_room(f->g, &f->g->partial, (size_t)(f->groups * f->size) * sizeof(double)));
    for (int i = 0; i < n; i++) {
        const wisp__fuse_dot *d = f->p->dot + first + i;
        to[i] = d->to;
        if (takes_dot(r, d)) continue;
        WISP_TRY(flush(r));
        takes_dot(r, d);
    }
    WISP_TRY(flush(r));
    status = wisp__gpu_sums(f->ctx, f->groups, f->size, 2 * (int64_t)f->width, to, n);
out:
    return status;
}

wisp_status wisp__gpu_fuse(wisp_ctx *ctx, bool is_double, const wisp__fuse_params *p, int64_t per_block)
{
    const int width = p->row / p->reals;
    wisp__gpu_fused f = {.ctx = ctx,
                         .g = wisp__gpu_of(ctx),
                         .p = p,
                         .is_double = is_double,
                         .width = width,
                         .numbers = (int64_t)p->reals * p->rows,
                         .room = malloc((size_t)(2 * ARRAYS * WISP__MAX(width, 1)) * sizeof(double))};
    const wisp__fuse_term **list = malloc((size_t)WISP__MAX(p->terms, 1) * sizeof *list), **next = list;
    run r = {.f = &f};
    wisp_status status = WISP_OK;
    (void)per_block;
    wisp__gpu_dot_groups(f.g, p->count, width, &f.per, &f.groups);
    if (!f.room || !list) {
        status = wisp_ctx_failf(ctx, WISP_ERR_NOMEM, "out of memory for %lld terms", (long long)p->terms);
        goto out;
    }
    for (int i = 0; i < p->updates && p->count > 0; i++) {
        WISP_TRY(take_update(&r, p->update + i, next));
        next += p->update[i].terms;
    }
    for (int i = 0; i < p->dots; i += G_SUMS) WISP_TRY(take_dots(&r, &f, i, WISP__MIN(p->dots - i, G_SUMS)));
    status = flush(&r);
out:
    free(list);
    free(f.room);
    return status;
}
