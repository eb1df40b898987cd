/* The properties of a matrix whose rows several ranks have, and the memory for it. */
#include "props.h"
#include "store/store.h"

/* An entry in the halo, for the rank that has its partner. */
typedef struct {
    int64_t row, col; /* numbers */
    wisp_scalar value;
} foreign_entry;

/* They go in rounds, so that neither a long halo nor many neighbours take much memory: as many at once to a neighbour
   for each of its rows in the halo, and besides. The neighbour sends as many rows, and so knows how many come. */
enum { OF_A_ROW = 4, OF_A_RANK = 256 };
static int64_t most_at_once(int64_t rows, int64_t ranks) { return OF_A_ROW * rows + OF_A_RANK * ranks; }

typedef struct {
    const wisp_mat *A;
    foreign_entry *list;  /* of a round, neighbour by neighbour */
    int64_t *seen, *at;   /* [neighbours] entries that were met in this pass; where those of the round begin in list */
    int64_t *all, rounds; /* [neighbours] entries */
} foreign_run;

/* A row's entries in the halo; those of the round, if there is a list, go there. */
static void add_foreign(foreign_run *f, int64_t row, int64_t round)
{
    const wisp_mat *A = f->A;
    const int64_t local = A->col_map->local;
    const wisp__row e = wisp__row_of(A, row);
    for (int k = e.n - 1; k >= 0 && wisp__row_col(&e, k) >= local; k--) { /* columns rise */
        const int64_t col = wisp__row_col(&e, k);
        const int i = wisp__halo_source(A->halo, col - local);
        const int64_t many = most_at_once(A->halo->from[i].count, 1), n = f->seen[i]++ - round * many;
        if (f->list && n >= 0 && n < many)
            f->list[f->at[i] + n] =
                (foreign_entry){wisp__map_user(A->map, row), wisp__col_number(A, col), wisp__row_value(&e, A->type, k)};
    }
}

/* All entries in the halo, which are in the blocks that wait for it. */
static void go_over_foreign(foreign_run *f, int64_t round)
{
    const wisp__grid *g = &f->A->grid;
    const int64_t per = g->chunks_per_block << f->A->log_c;
    for (int i = 0; i < f->A->halo->from_count; i++) f->seen[i] = 0;
    for (int64_t b = g->early; b < g->blocks; b++) {
        const int64_t first = g->order[b] * per, end = WISP__MIN(first + per, f->A->local_rows);
        for (int64_t row = first; row < end; row++) add_foreign(f, row, round);
    }
}

static wisp_status foreign_open(foreign_run *f, const wisp_mat *A)
{
    const int neighbours = A->halo->from_count;
    int64_t held = 0;
    wisp_status status;
    *f = (foreign_run){.A = A};
    WISP_TRY(wisp_alloc(A->ctx, &f->seen, 3 * (size_t)neighbours, sizeof *f->seen));
    f->at = f->seen + neighbours, f->all = f->at + neighbours;
    go_over_foreign(f, 0);
    for (int i = 0; i < neighbours; i++) {
        const int64_t many = most_at_once(A->halo->from[i].count, 1);
        f->all[i] = f->seen[i];
        f->at[i] = held;
        held += WISP__MIN(f->all[i], many);
        f->rounds = WISP__MAX(f->rounds, (f->all[i] + many - 1) / many);
    }
    WISP_TRY(wisp__alloc_raw(A->ctx, &f->list, (size_t)held, sizeof *f->list));
out:
    return status;
}

/* The messages of a round, to[ranks]. */
static void address(const foreign_run *f, int64_t round, wisp__message *to)
{
    const wisp__halo *h = f->A->halo;
    for (int r = 0; r < f->A->ctx->ranks; r++) to[r] = (wisp__message){.rank = r, .data = f->list};
    for (int i = 0; i < h->from_count; i++) {
        const int64_t many = most_at_once(h->from[i].count, 1), left = f->all[i] - round * many;
        wisp__message *m = &to[h->from[i].rank];
        if (left <= 0) continue;
        m->data = f->list + f->at[i];
        m->bytes = (size_t)WISP__MIN(left, many) * sizeof *f->list;
    }
}

/* The partner of an entry of another rank is in one of this rank's rows. */
static void look_at_foreign(const wisp_mat *A, wisp_mat_props *p, const foreign_entry *e)
{
    const int64_t row = wisp__map_position(A->map, e->col - A->map->first), in_halo = wisp__halo_find(A->halo, e->row);
    bool found = in_halo >= 0;
    const wisp_scalar w = found ? wisp__value_at(A, row, A->col_map->local + in_halo, &found) : (wisp_scalar){0, 0};
    wisp__props_compare(p, e->row, e->col, e->value, w, found);
}

/* All ranks go on until none has more to send. */
wisp_status wisp__props_across(const wisp_mat *A, wisp_mat_props *p)
{
    wisp_ctx *ctx = A->ctx;
    const size_t ranks = (size_t)ctx->ranks;
    foreign_run f = {0};
    wisp__message *to = NULL, *from = NULL;
    double more = 1;
    wisp_status status;
    WISP_TRY(wisp_alloc(ctx, &to, ranks, sizeof *to));
    WISP_TRY(foreign_open(&f, A));
    for (int64_t round = 0; more > 0; round++) {
        if (round < f.rounds) go_over_foreign(&f, round);
        address(&f, round, to);
        WISP_TRY(wisp__comm_exchange(ctx, to, &from));
        for (size_t r = 0; r < ranks; r++)
            for (size_t i = 0; i < from[r].bytes / sizeof *f.list; i++)
                look_at_foreign(A, p, (const foreign_entry *)from[r].data + i);
        wisp_free(ctx, from);
        from = NULL;
        more = round + 1 < f.rounds;
        WISP_TRY(ctx->comm->sum(ctx, &more, 1));
    }
out:
    wisp_free(ctx, f.list);
    wisp_free(ctx, f.seen);
    wisp_free(ctx, to);
    wisp_free(ctx, from);
    return status;
}

wisp_status wisp__props_of_ranks(const wisp_mat *A, wisp_mat_props *p, double *sum2)
{
    wisp_mat_props *all = NULL;
    wisp_status status = WISP_OK;
    if (A->ctx->ranks == 1) return status;
    WISP_TRY(wisp_alloc(A->ctx, &all, (size_t)A->ctx->ranks, sizeof *all));
    WISP_TRY(A->ctx->comm->gather(A->ctx, p, sizeof *p, all));
    *p = all[0];
    for (int r = 1; r < A->ctx->ranks; r++) wisp__props_merge(p, &all[r]);
    status = A->ctx->comm->sum(A->ctx, sum2, 1);
out:
    wisp_free(A->ctx, all);
    return status;
}

/* ---- memory ---------------------------------------------------------------------------------- */

int64_t wisp__props_bytes(const wisp_ctx *ctx, const wisp_mat_info *info)
{
    const int64_t entry = (int64_t)sizeof(foreign_entry), ranks = ctx->ranks,
                  tables = wisp__props_tables(info->local_rows);
    if (ranks == 1) return tables;
    const int64_t to = WISP__MIN(most_at_once(info->halo_rows, info->receive_ranks), info->local_nnz),
                  from = WISP__MIN(most_at_once(info->send_rows, info->send_ranks), info->nnz - info->local_nnz),
                  lists = 4 * (int64_t)sizeof(wisp__message) + WISP__LINE + 3 * (int64_t)sizeof(int64_t),
                  table = 8 * ranks;
    return tables + entry * (to + from) + ranks * (lists + WISP__MAX(table + 16, (int64_t)sizeof(wisp_mat_props))) +
           2 * WISP__LINE;
}
