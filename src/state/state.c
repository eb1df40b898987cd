/* The items of states: listed where they are, or given back from files. */
#include "state.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

wisp_ctx *wisp_state_ctx(const wisp_state *state) { return state ? state->ctx : NULL; }

int wisp_state_is_kept(const wisp_state *state) { return state && state->path != NULL; }

/* ---- a live state ------------------------------------------------------------------------------ */

wisp_status wisp_state_create(wisp_state **state, wisp_ctx *ctx, wisp_items_fn items, void *arg)
{
    wisp_state *s = NULL;
    wisp_status status;
    WISP_NEED(ctx, state);
    *state = NULL;
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, items);
    WISP_TRY(wisp_alloc(ctx, &s, 1, sizeof *s));
    s->ctx = ctx;
    WISP_TRY(wisp_state_add(s, items, arg));
    *state = s;
    s = NULL;
out:
    wisp_state_free(s);
    return status;
}

wisp_status wisp_state_add(wisp_state *state, wisp_items_fn items, void *arg)
{
    WISP_NEED(NULL, state);
    WISP_NEED(state->ctx, items);
    for (int i = 0; i < state->parts; i++)
        if (state->part[i].items == items && state->part[i].arg == arg) return WISP_OK;
    if (wisp_state_is_kept(state) || state->parts == WISP__STATE_PARTS)
        return wisp_ctx_failf(state->ctx, WISP_ERR_ARG, "a live state takes items %d times, a kept one never",
                              WISP__STATE_PARTS);
    state->part[state->parts].items = items;
    state->part[state->parts++].arg = arg;
    return WISP_OK;
}

wisp_status wisp_state_offer(wisp_state *state, wisp_offer_fn offer, void *arg)
{
    WISP_NEED(NULL, state);
    wisp_ctx *ctx = state->ctx;
    WISP_NEED(ctx, offer);
    const unsigned before = atomic_load(&ctx->complaints);
    if (offer(arg, state) == 0) return WISP_OK;
    if (atomic_load(&ctx->complaints) != before) return WISP_ERR_CANCELLED; /* it has said why */
    return wisp_ctx_failf(ctx, WISP_ERR_CANCELLED, "ended by offer()");
}

wisp_status wisp_state_offer_whole(wisp_state *state, wisp_offer_fn offer, void *arg)
{
    WISP_NEED(NULL, state);
    WISP_NEED(state->ctx, offer);
    state->whole = true;
    (void)offer(arg, state);
    state->whole = false;
    return WISP_OK;
}

int wisp_state_is_whole(const wisp_state *state) { return state && state->whole; }

static void forget_items(wisp_state *s)
{
    for (int i = 0; i < s->items; i++)
        if (s->item[i].owned) wisp_free(s->ctx, s->item[i].data);
    s->items = 0;
}

wisp_status wisp__state_list(wisp_state *state)
{
    wisp_status status = WISP_OK;
    forget_items(state);
    for (int i = 0; i < state->parts; i++) WISP_TRY(state->part[i].items(state->part[i].arg, state));
out:
    return status;
}

void wisp_state_free(wisp_state *state)
{
    if (!state) return;
    wisp_ctx *ctx = state->ctx;
    forget_items(state);
    wisp_free(ctx, state->item);
    for (int p = 0; p < state->ranks && state->file; p++) wisp__state_file_close(&state->file[p], ctx);
    wisp_free(ctx, state->file);
    wisp_free(ctx, state->path);
    wisp_free(ctx, state);
}

static wisp_status note(wisp_state *s, wisp__item_kind kind, const char *name, void *data, size_t bytes, wisp_blk *x)
{
    if (s->items == s->room) {
        const int room = s->room ? 2 * s->room : 16;
        const wisp_status status = wisp__widen(s->ctx, &s->item, (size_t)s->items, (size_t)room, sizeof *s->item);
        if (status != WISP_OK) return status;
        s->room = room;
    }
    wisp__item *item = &s->item[s->items++];
    *item = (wisp__item){.head = {.kind = kind, .bytes = bytes}, .data = data, .block = x};
    memcpy(item->head.name, name, strlen(name));
    return WISP_OK;
}

static wisp_status note_copy(wisp_state *s, wisp__item_kind kind, const char *name, const void *data, size_t bytes)
{
    void *copy = NULL;
    wisp_status status = wisp__alloc_raw(s->ctx, &copy, bytes + 1, 1);
    if (status != WISP_OK) return status;
    if (bytes) memcpy(copy, data, bytes);
    status = note(s, kind, name, copy, bytes, NULL);
    if (status != WISP_OK)
        wisp_free(s->ctx, copy);
    else
        s->item[s->items - 1].owned = true;
    return status;
}

/* ---- a kept one -------------------------------------------------------------------------------- */

static wisp_status misfit(const wisp_state *s, const char *name, const char *why)
{
    return wisp_ctx_failf(s->ctx, WISP_ERR_MISMATCH, "%s: its \"%s\" %s", s->path, name, why);
}

/* The item of a file, which has to be of this kind. */
static wisp_status find(wisp_state *s, int p, wisp__item_kind kind, const char *name, const wisp__item **item)
{
    const wisp__state_file *f;
    const wisp_status status = wisp__state_part(s, p, false, &f);
    if (status != WISP_OK) return status;
    *item = wisp__state_find(f, name);
    if (!*item) return misfit(s, name, "is missing: it is of another kind of run, or of another version");
    if ((*item)->head.kind != kind) return misfit(s, name, "is of another kind");
    return WISP_OK;
}

static wisp_status give_sums(wisp_state *s, const char *name, double *x, size_t n)
{
    wisp_status status = WISP_OK;
    const wisp_ctx *ctx = s->ctx;
    const bool same = s->ranks == ctx->ranks;
    const int from = same ? ctx->rank : 0, to = same ? from + 1 : ctx->rank == 0 ? s->ranks : 0;
    double *part = NULL;
    memset(x, 0, n * sizeof *x);
    if (!same) WISP_TRY(wisp_alloc(s->ctx, &part, n + 1, sizeof *part));
    for (int p = from; p < to; p++) {
        const wisp__item *item;
        WISP_TRY(find(s, p, WISP__SUMS, name, &item));
        if (item->head.bytes != n * sizeof *x) {
            status = misfit(s, name, "has another length");
            goto out;
        }
        WISP_TRY(wisp__state_read(s, &s->file[p], item, 0, same ? x : part, n * sizeof *x));
        for (size_t i = 0; i < n && !same; i++) x[i] += part[i];
    }
out:
    wisp_free(s->ctx, part);
    return status;
}

typedef struct {
    int64_t number, row;
} numbered;

static int by_number(const void *a, const void *b)
{
    const numbered *x = a, *y = b;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Rows of a file that are this rank's, wherever they are now, into rows[local][size]; *found grows by their number. */
static wisp_status give_numbered(wisp_state *s, const wisp__state_file *f, const wisp__item *item, size_t size,
                                 const numbered *own, int64_t local, char *rows, int64_t *found)
{
    char *all = NULL;
    wisp_status status;
    WISP_TRY(wisp__alloc_raw(s->ctx, &all, (size_t)f->head.local, size));
    WISP_TRY(wisp__state_read(s, f, item, 0, all, (size_t)f->head.local * size));
    for (int64_t i = 0; i < f->head.local; i++) {
        const numbered key = {f->numbers ? f->numbers[i] : f->head.first + i, 0};
        const numbered *at = bsearch(&key, own, (size_t)local, sizeof key, by_number);
        if (!at) continue;
        memcpy(rows + (size_t)at->row * size, all + (size_t)i * size, size);
        ++*found;
    }
out:
    wisp_free(s->ctx, all);
    return status;
}

/* The same where ranks have the rows that they count. */
static wisp_status give_range(wisp_state *s, const wisp__state_file *f, const wisp__item *item, size_t size,
                              const wisp_map *map, char *rows, int64_t *found)
{
    const int64_t begin = WISP__MAX(map->first, f->head.first);
    const int64_t end = WISP__MIN(map->first + map->local, f->head.first + f->head.local);
    if (begin >= end) return WISP_OK;
    *found += end - begin;
    return wisp__state_read(s, f, item, (size_t)(begin - f->head.first) * size,
                            rows + (size_t)(begin - map->first) * size, (size_t)(end - begin) * size);
}

static wisp_status sort_own(wisp_ctx *ctx, const wisp_map *map, numbered **own)
{
    const wisp_status status = wisp_alloc(ctx, own, (size_t)map->local + 1, sizeof **own);
    if (status != WISP_OK) return status;
    for (int64_t i = 0; i < map->local; i++) (*own)[i] = (numbered){map->number ? map->number[i] : map->first + i, i};
    qsort(*own, (size_t)map->local, sizeof **own, by_number);
    return WISP_OK;
}

static wisp_status find_block(wisp_state *s, int p, const char *name, const wisp_blk *x, const wisp__item **item)
{
    const wisp_status status = find(s, p, WISP__BLOCK, name, item);
    if (status != WISP_OK) return status;
    if ((*item)->head.type == x->type && (*item)->head.width == (uint32_t)x->width) return WISP_OK;
    return misfit(s, name, "is a block of another type or width");
}

static wisp_status give_block(wisp_state *s, const char *name, wisp_blk *x)
{
    const wisp_map *map = x->map;
    const wisp__state_file *first;
    const wisp__item *item;
    char *rows = NULL;
    numbered *own = NULL;
    int64_t found = 0;
    wisp_status status;
    WISP_TRY(find_block(s, 0, name, x, &item));
    WISP_TRY(wisp__state_part(s, 0, false, &first));
    const size_t size = (size_t)x->width * wisp_type_size(x->type);
    const bool renumbered = first->head.renumbered || map->number;
    if (first->head.rows != map->rows) {
        status = misfit(s, name, "has another number of rows");
        goto out;
    }
    WISP_TRY(wisp_alloc(s->ctx, &rows, (size_t)map->local + 1, size));
    if (renumbered) WISP_TRY(sort_own(s->ctx, map, &own));
    for (int p = 0; p < s->ranks; p++) {
        const wisp__state_file *f;
        const int64_t begin = first->begin[p], end = first->begin[p + 1];
        if (begin == end || (!renumbered && (begin >= map->first + map->local || end <= map->first))) continue;
        WISP_TRY(wisp__state_part(s, p, false, &f));
        WISP_TRY(find_block(s, p, name, x, &item));
        WISP_TRY(renumbered ? give_numbered(s, f, item, size, own, map->local, rows, &found)
                            : give_range(s, f, item, size, map, rows, &found));
    }
    status = found == map->local ? wisp_blk_put(x, WISP_ROW_MAJOR, rows, x->width) : misfit(s, name, "lacks rows");
out:
    wisp_free(s->ctx, rows);
    wisp_free(s->ctx, own);
    return status;
}

/* ---- the four kinds ---------------------------------------------------------------------------- */

static wisp_status check_name(const wisp_state *s, const char *name)
{
    if (strlen(name) < WISP__ITEM_NAME) return WISP_OK;
    return wisp_ctx_failf(s->ctx, WISP_ERR_ARG, "the name \"%s\" has more than %d characters", name,
                          WISP__ITEM_NAME - 1);
}

wisp_status wisp_state_data(wisp_state *state, const char *name, void *data, size_t bytes)
{
    WISP_NEED(NULL, state);
    WISP_NEED(state->ctx, name);
    wisp_status status = check_name(state, name);
    if (status != WISP_OK) return status;
    if (bytes > 0) WISP_NEED(state->ctx, data);
    if (!state->path)
        return bytes <= WISP_STATE_COPIED ? note_copy(state, WISP__DATA, name, data, bytes)
                                          : note(state, WISP__DATA, name, data, bytes, NULL);
    const wisp__item *item;
    status = find(state, 0, WISP__DATA, name, &item);
    if (status != WISP_OK) return status;
    if (item->head.bytes != bytes) return misfit(state, name, "has another length");
    return wisp__state_read(state, &state->file[0], item, 0, data, bytes);
}

wisp_status wisp_state_sums(wisp_state *state, const char *name, double *x, size_t n)
{
    WISP_NEED(NULL, state);
    WISP_NEED(state->ctx, name);
    const wisp_status status = check_name(state, name);
    if (status != WISP_OK) return status;
    if (n > 0) WISP_NEED(state->ctx, x);
    return state->path ? give_sums(state, name, x, n) : note(state, WISP__SUMS, name, x, n * sizeof *x, NULL);
}

wisp_status wisp_state_block(wisp_state *state, const char *name, wisp_blk *x)
{
    WISP_NEED(NULL, state);
    WISP_NEED(state->ctx, name);
    WISP_NEED(state->ctx, x);
    const wisp_status status = check_name(state, name);
    if (status != WISP_OK) return status;
    if (x->nrows != x->map->local)
        return wisp_ctx_failf(state->ctx, WISP_ERR_ARG, "the block \"%s\" has some of its rows alone", name);
    const size_t bytes = (size_t)x->nrows * (size_t)x->width * wisp_type_size(x->type);
    return state->path ? give_block(state, name, x) : note(state, WISP__BLOCK, name, NULL, bytes, x);
}

wisp_status wisp_state_same(wisp_state *state, const char *name, const char *words)
{
    WISP_NEED(NULL, state);
    WISP_NEED(state->ctx, name);
    WISP_NEED(state->ctx, words);
    const wisp_status status = check_name(state, name);
    if (status != WISP_OK) return status;
    if (strlen(words) >= WISP_MESSAGE)
        return wisp_ctx_failf(state->ctx, WISP_ERR_ARG, "the words of \"%s\" are longer than WISP_MESSAGE", name);
    if (state->path) {
        const char *other = wisp_state_words(state, name);
        if (!other) return misfit(state, name, "is missing: it is of another kind of run, or of another version");
        if (!strcmp(words, other)) return WISP_OK;
        return wisp_ctx_failf(state->ctx, WISP_ERR_MISMATCH, "%s is of a run with %s %s, and this one has %s",
                              state->path, name, other, words);
    }
    return note_copy(state, WISP__WORDS, name, words, strlen(words) + 1);
}

wisp_status wisp_state_samef(wisp_state *state, const char *name, const char *format, ...)
{
    WISP_FORMATTED(words, WISP_MESSAGE, format);
    return wisp_state_same(state, name, words);
}

const char *wisp_state_words(const wisp_state *state, const char *name)
{
    if (!wisp_state_is_kept(state) || !name) return NULL;
    const wisp__item *item = wisp__state_find(&state->file[0], name);
    return item && item->head.kind == WISP__WORDS ? item->data : NULL;
}

size_t wisp_state_bytes(const wisp_state *state, const char *name)
{
    if (!wisp_state_is_kept(state) || !name) return 0;
    const wisp__item *item = wisp__state_find(&state->file[0], name);
    return item ? (size_t)item->head.bytes : 0;
}
