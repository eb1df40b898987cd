/* Maps: the share of rows that each rank has, references, and the sorting of rows by their lengths. */
#include "data.h"
#include <stdlib.h>
#include <string.h>

int64_t wisp__share_begin(const wisp_ctx *ctx, const int64_t *weights, int64_t rows, int rank)
{
    const int64_t *w = ctx->weight;
    int64_t before = 0, all = 0;
    if (!weights) return w ? (int64_t)((__int128)rows * w[rank] / w[ctx->ranks]) : wisp__split(rows, ctx->ranks, rank);
    for (int r = 0; r < ctx->ranks; r++) {
        before += r < rank ? weights[r] : 0;
        all += weights[r];
    }
    return (int64_t)((__int128)rows * before / all);
}

bool wisp__same_shares(const wisp_ctx *ctx, const int64_t *a, const int64_t *b, int64_t rows)
{
    bool same = true;
    for (int r = 1; a != b && r < ctx->ranks; r++)
        same &= wisp__share_begin(ctx, a, rows, r) == wisp__share_begin(ctx, b, rows, r);
    return same;
}

wisp_status wisp__weights_copy(wisp_ctx *ctx, int64_t **to, const int64_t *weights)
{
    *to = NULL;
    if (!weights) return WISP_OK;
    const wisp_status status = wisp_alloc(ctx, to, (size_t)ctx->ranks, sizeof **to);
    if (status == WISP_OK) memcpy(*to, weights, (size_t)ctx->ranks * sizeof **to);
    return status;
}

wisp_status wisp__map_share(wisp_map *map, int64_t rows, const int64_t *weights)
{
    map->rows = rows;
    map->first = wisp__share_begin(map->ctx, weights, rows, map->ctx->rank);
    return wisp__weights_copy(map->ctx, &map->weights, weights);
}

wisp_status wisp__map_alone(wisp_map **out, wisp_ctx *ctx, int64_t rows)
{
    *out = NULL;
    if (rows < 0) return wisp_ctx_failf(ctx, WISP_ERR_ARG, "a map of %lld rows", (long long)rows);
    if (rows > ctx->index_limit)
        return wisp_ctx_failf(ctx, WISP_ERR_OVERFLOW, "%lld rows are more than one process can index (%lld)",
                              (long long)rows, (long long)ctx->index_limit);
    wisp_map *map;
    wisp_status status = wisp_alloc(ctx, &map, 1, sizeof *map);
    if (status != WISP_OK) return status;
    atomic_init(&map->refs, 1);
    map->ctx = ctx;
    map->rows = map->local = rows;
    map->order = WISP_ROWS_NATURAL;
    *out = map;
    return WISP_OK;
}

wisp_status wisp_map_create_weighted(wisp_map **out, wisp_ctx *ctx, int64_t rows, const int64_t *weights)
{
    wisp_status status;
    WISP_NEED(ctx, out);
    *out = NULL;
    WISP_NEED(NULL, ctx);
    if (rows < 0) return wisp_ctx_failf(ctx, WISP_ERR_ARG, "a map of %lld rows", (long long)rows);
    WISP_TRY(wisp__weights_check(ctx, weights, "the weights of a map"));
    const int64_t first = wisp__share_begin(ctx, weights, rows, ctx->rank);
    WISP_TRY(wisp__map_alone(out, ctx, wisp__share_begin(ctx, weights, rows, ctx->rank + 1) - first));
    if ((status = wisp__map_share(*out, rows, weights)) == WISP_OK) return status;
    wisp_map_free(*out);
    *out = NULL;
out:
    return status;
}

wisp_status wisp_map_create(wisp_map **map, wisp_ctx *ctx, int64_t rows)
{
    return wisp_map_create_weighted(map, ctx, rows, NULL);
}

const int64_t *wisp_map_weights(const wisp_map *map) { return map ? map->weights : NULL; }

wisp_status wisp__map_number(wisp_map *map, const int64_t *number)
{
    if (!number || map->number) return WISP_OK;
    const wisp_status status = wisp__alloc_raw(map->ctx, &map->number, (size_t)map->local, sizeof *number);
    if (status == WISP_OK && map->local) memcpy(map->number, number, (size_t)map->local * sizeof *number);
    return status;
}

wisp_map *wisp__map_retain(wisp_map *map)
{
    atomic_fetch_add(&map->refs, 1);
    return map;
}

void wisp_map_free(wisp_map *map)
{
    if (!map || atomic_fetch_sub(&map->refs, 1) > 1) return;
    wisp_free(map->ctx, map->position);
    wisp_free(map->ctx, map->user);
    wisp_free(map->ctx, map->number);
    wisp_free(map->ctx, map->weights);
    wisp_free(map->ctx, map->visit);
    wisp_free(map->ctx, map);
}

int64_t wisp_map_rows(const wisp_map *map) { return map ? map->rows : 0; }

int64_t wisp_map_local(const wisp_map *map, int64_t *first)
{
    if (first) *first = map ? map->first : 0;
    return map ? map->local : 0;
}

int wisp_map_is_natural(const wisp_map *map) { return map && map->position == NULL; }

typedef struct {
    int32_t len, row;
} len_row;

static int by_falling_length(const void *a, const void *b)
{
    const len_row *x = a, *y = b;
    if (x->len != y->len) return x->len > y->len ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static void number_rows(void *arg, int64_t begin, int64_t end, int part)
{
    const wisp_map *map = arg;
    (void)part;
    for (int64_t i = begin; i < end; i++) map->position[i] = map->user[i] = (int32_t)i;
}

static wisp_status map_arrays(wisp_map *map)
{
    wisp_status status = WISP_OK;
    if (map->user) return status;
    WISP_TRY(wisp__alloc_raw(map->ctx, &map->position, (size_t)map->local, sizeof *map->position));
    WISP_TRY(wisp__alloc_raw(map->ctx, &map->user, (size_t)map->local, sizeof *map->user));
    wisp__team_each(map->ctx->team, map->local, WISP__SMALL, number_rows, map);
out:
    return status;
}

typedef struct {
    wisp_map *map;
    const int32_t *row_len;
    int64_t sigma;
    len_row *order;
} sort_run;

static void sort_windows(void *arg, int64_t first, int64_t last, int part)
{
    const sort_run *r = arg;
    wisp_map *map = r->map;
    len_row *order = r->order;
    (void)part;
    for (int64_t w = first; w < last; w++) {
        const int64_t begin = w * r->sigma, end = WISP__MIN(map->local, begin + r->sigma);
        for (int64_t i = begin; i < end; i++) order[i] = (len_row){r->row_len[map->user[i]], (int32_t)i};
        qsort(order + begin, (size_t)(end - begin), sizeof *order, by_falling_length);
        for (int64_t i = begin; i < end; i++) order[i].row = map->user[order[i].row];
        for (int64_t i = begin; i < end; i++) {
            map->user[i] = order[i].row;
            map->position[order[i].row] = (int32_t)i;
        }
    }
}

wisp_status wisp__map_sort(wisp_map *map, const int32_t *row_len, int64_t sigma)
{
    len_row *order = NULL;
    wisp_ctx *ctx = map->ctx;
    wisp_status status = WISP_OK;
    const int64_t rows = map->local, windows = (rows + sigma - 1) / sigma;
    WISP_TRY(map_arrays(map));
    WISP_TRY(wisp__alloc_raw(ctx, &order, (size_t)rows, sizeof *order));
    wisp__team_each(ctx->team, windows, WISP__MAX(WISP__SMALL / sigma, 1), sort_windows,
                    &(sort_run){map, row_len, sigma, order});
out:
    wisp_free(ctx, order);
    return status;
}
