/* --start, --left and --left-sites of wisp ldos and green: vectors on the right and on the left, of files or rows. */
#include "dos.h"
#include "../weights.h"

/* Of a run that is planned it is asked alone whether vectors are there. */
static const char there;
const wisp_blk *starts_some_block(void) { return (const wisp_blk *)(const void *)&there; }

/* Vectors of one side: columns of a file, or rows; one stands for as many as the other side has. */
typedef struct {
    const char *file;
    const int64_t *row;
    int64_t count; /* 0: there are none */
} side_def;

static side_def side_of(const tool *t, const starts *s, int side)
{
    const options *o = &t->opt;
    side_def d = {.file = side ? o->left : o->start, .row = near_places(&s->near, t, side)};
    d.count = d.file ? s->src[side].cols : side ? o->left_site_count : o->site_count;
    return d;
}

static int open_side(tool *t, starts *s, int side, int64_t rows)
{
    const char *path = side_of(t, s, side).file;
    if (!path && side) return source_has_rows(t, "left-sites", t->opt.left_sites, t->opt.left_site_count, rows);
    if (!path) return EXIT_FINE;
    int rc = tool_agree(t, start_check_pipe(t, path));
    if (!rc) rc = start_open(t, &s->src[side], path, side ? "left vector" : "start", rows);
    return rc ? rc : weights_deal(t, &s->src[side]);
}

bool starts_are_given(const tool *t) { return t->opt.start || t->opt.left || t->opt.left_site_count; }

int starts_open(tool *t, starts *s, int64_t rows, wisp_kpm_opts *k)
{
    int64_t before, now;
    if (!starts_are_given(t)) return of_rows(t) ? EXIT_FINE : operator_open(t, s, rows, k);
    wisp_ctx_memory(t->ctx, &before, NULL);
    int rc = open_side(t, s, 0, rows);
    if (!rc) rc = open_side(t, s, 1, rows);
    if (rc) return rc;
    wisp_ctx_memory(t->ctx, &now, NULL);
    s->bytes = now - before;
    const side_def right = side_of(t, s, 0), left = side_of(t, s, 1);
    if (left.count > 1 && right.count > 1 && left.count != right.count)
        return tool_fail(t, "%lld vectors on the left and %lld on the right; take as many, or one for all",
                         (long long)left.count, (long long)right.count);
    k->trace = WISP_TRACE_GIVEN;
    k->vectors = left.count > right.count ? left.count : right.count;
    k->sites = NULL;
    if (left.count) k->left = starts_some_block();
    return EXIT_FINE;
}

/* Complex ones if anything is complex. */
void starts_type(const starts *s, wisp_type matrix, wisp_kpm_opts *k)
{
    bool is_complex = wisp_type_is_complex(matrix) || k->start;
    const bool has_operator = s->op.row || s->op.many;
    if (k->trace != WISP_TRACE_GIVEN && !has_operator) return;
    is_complex |= has_operator && wisp_type_is_complex(s->op.type);
    for (int side = 0; side < 2; side++) is_complex |= s->src[side].row && wisp_type_is_complex(s->src[side].type);
    k->type = type_in(matrix, is_complex ? WISP_Z : WISP_D);
}

static int fill_side(tool *t, starts *s, int side)
{
    const side_def d = side_of(t, s, side);
    const int width = wisp_blk_width(s->blk[side]);
    int64_t *row = NULL;
    if (d.file) return start_from_file(t, s->blk[side], &s->src[side], d.file);
    wisp_status status = wisp_alloc(t->ctx, &row, (size_t)width, sizeof *row);
    for (int j = 0; j < width && status == WISP_OK; j++) row[j] = d.row[d.count > 1 ? j : 0];
    if (status == WISP_OK) status = wisp_blk_fill_units(s->blk[side], row);
    wisp_free(t->ctx, row);
    return status ? tool_fail_ctx(t) : EXIT_FINE;
}

int starts_make(tool *t, starts *s, const wisp_mat *A, wisp_kpm_opts *k)
{
    int rc = EXIT_FINE;
    if (k->trace != WISP_TRACE_GIVEN) return operator_make(t, s, A, k);
    for (int side = 0; side < 2 && !rc; side++) {
        if (!side_of(t, s, side).count) continue;
        if (wisp_blk_create(&s->blk[side], t->ctx, wisp_mat_map(A), k->type, (int)k->vectors)) rc = tool_fail_ctx(t);
        if (!rc) rc = fill_side(t, s, side);
        wisp_src_close(&s->src[side]);
    }
    k->right = s->blk[0];
    k->left = s->blk[1];
    return rc;
}

void starts_free(starts *s)
{
    for (int side = 0; side < 2; side++) {
        wisp_src_close(&s->src[side]);
        wisp_blk_free(s->blk[side]);
    }
    wisp_src_close(&s->op);
    wisp_mat_free(s->B);
    where_free(&s->where);
    near_free(&s->near);
    *s = (starts){0};
}

int64_t starts_block_bytes(const wisp_kpm_opts *k, const wisp_mat_info *A)
{
    if (k->trace != WISP_TRACE_GIVEN || k->start) return 0;
    return (A->local_rows + A->halo_rows) * k->vectors * (int64_t)wisp_type_size(k->type);
}
