/* wisp info --ranks: how a matrix would lie on several processes. Threads of this one stand for them, and each plans
   its part of the matrix, with the halo that it will have; none is made. */
#include "info.h"
#include "../out/out.h"
#include "../out/text.h"
#include <stdlib.h>

typedef struct {
    tool *t;
    const wisp_src *src; /* opened by one rank, so that it answers for all rows */
    const wisp_mat_opts *mo;
    wisp_mat_info *part; /* [ranks] */
    char why[512];       /* the first rank's message of a failure */
} layout;

static int plan_part(void *arg, int rank)
{
    layout *l = arg;
    tool *t = l->t;
    const int threads = wisp_ctx_threads(t->ctx) / (int)t->opt.ranks;
    wisp_ctx *ctx;
    wisp_ctx_opts o = {.threads = threads > 0 ? threads : 1, .no_pin = 1, .memory_limit = t->opt.mem_limit};
    if (rank == 0) {
        o.progress = monitor_progress;
        o.progress_arg = &t->monitor;
    }
    wisp_status status = wisp_ctx_create(&ctx, &o);
    if (rank == 0 && status == WISP_OK) catch_signals(ctx);
    wisp_src src = *l->src;
    src.free_arg = NULL; /* it is everybody's */
    if (status == WISP_OK) status = source_partition(t, ctx, &src);
    if (status == WISP_OK) status = wisp_mat_plan(ctx, &src, l->mo, &l->part[rank]);
    if (rank == 0 && status != WISP_OK) snprintf(l->why, sizeof l->why, "%s", tool_message_of(l->t, ctx));
    if (rank == 0) catch_signals(t->ctx);
    wisp_src_close(&src);
    wisp_ctx_free(ctx);
    return status == WISP_OK ? EXIT_FINE : EXIT_FAILED;
}

/* Bytes of a row of the vectors that are multiplied. */
static int64_t row_bytes(const layout *l)
{
    return (l->mo->width > 0 ? l->mo->width : 1) * (int64_t)wisp_type_size(l->part->type);
}

/* The part of the matrix, the lists of its exchange, and rows that are packed for it. */
static int64_t held_bytes(const layout *l, const wisp_mat_info *p)
{
    return p->bytes + p->exchange_bytes + p->packed_rows * row_bytes(l);
}

/* What is told of a rank. */
enum { ROWS, NONZEROS, HALO, FROM, TO, RECEIVED, SENT, MEMORY, NUMBERS };
static const struct {
    const char *key, *head;
    int width; /* of the column */
    bool bytes;
} shown[NUMBERS] = {{"rows", "rows", 13, false},           {"nnz", "nonzeros", 15, false},
                    {"halo_rows", "halo rows", 12, false}, {"receives_from", "from", 5, false},
                    {"sends_to", "to", 5, false},          {"received_bytes", "received", 9, true},
                    {"sent_bytes", "sent", 9, true},       {"memory_bytes", "memory", 9, true}};
typedef struct {
    int64_t of[NUMBERS];
} numbers;

static numbers numbers_of(const layout *l, int64_t rank)
{
    const wisp_mat_info *p = &l->part[rank];
    return (numbers){{[ROWS] = p->local_rows,
                      [NONZEROS] = p->local_nnz,
                      [HALO] = p->halo_rows,
                      [FROM] = p->receive_ranks,
                      [TO] = p->send_ranks,
                      [RECEIVED] = p->halo_rows * row_bytes(l),
                      [SENT] = p->send_rows * row_bytes(l),
                      [MEMORY] = held_bytes(l, p)}};
}

/* Of all ranks: the sums, and the most that one has. */
static void sum_up(const layout *l, numbers *all, numbers *most)
{
    *all = *most = (numbers){{0}};
    for (int64_t r = 0; r < l->t->opt.ranks; r++) {
        const numbers n = numbers_of(l, r);
        for (int i = 0; i < NUMBERS; i++) {
            all->of[i] += n.of[i];
            if (most->of[i] < n.of[i]) most->of[i] = n.of[i];
        }
    }
}

static void print_row(const char *name, const numbers *n)
{
    char b[TEXT];
    printf("%6s", name);
    for (int i = 0; i < NUMBERS; i++)
        text_cell(shown[i].width, NULL, shown[i].bytes ? text_bytes(b, (double)n->of[i]) : text_count(b, n->of[i]));
    putchar('\n');
}

static void print_text(const layout *l)
{
    const tool *t = l->t;
    const wisp_mat_info *a = l->part;
    const int width = l->mo->width > 0 ? l->mo->width : 1;
    char b[2][TEXT];
    numbers all, most;
    sum_up(l, &all, &most);
    text_line("matrix", "%s", t->opt.arg[0]);
    text_line("rows", "%s   columns %s", text_count(b[0], a->rows), text_count(b[1], a->cols));
    text_line("nonzeros", "%s   %s", text_count(b[0], all.of[NONZEROS]), wisp_type_name(a->type));
    text_line("ranks", "%d; received and sent before a product with %d vector%s", (int)t->opt.ranks, width,
              width > 1 ? "s" : "");
    if (t->opt.partition)
        text_line("partition", "%s%s", text_partition((wisp_partition)t->opt.partition),
                  t->opt.partition == WISP_PARTITION_SCOTCH
                      ? "   (SCOTCH, in one process; PT-SCOTCH, by processes under mpirun, finds other parts)"
                      : "");
    text_line("memory", "%s, on a rank at most %s, without vectors", text_bytes(b[0], (double)all.of[MEMORY]),
              text_bytes(b[1], (double)most.of[MEMORY]));
    printf("\n%6s", "rank");
    for (int i = 0; i < NUMBERS; i++) text_cell(shown[i].width, shown[i].head, NULL);
    putchar('\n');
    for (int r = 0; r < t->opt.ranks; r++) {
        const numbers n = numbers_of(l, r);
        snprintf(b[0], sizeof b[0], "%d", r);
        print_row(b[0], &n);
    }
    print_row("all", &all);
    print_row("most", &most);
}

static json_t *numbers_json(const numbers *n)
{
    json_t *o = json_object();
    for (int i = 0; i < NUMBERS; i++) JSON_PUT(o, J(shown[i].key, n->of[i]));
    return o;
}

static json_t *layout_json(const layout *l)
{
    const tool *t = l->t;
    const wisp_mat_info *a = l->part;
    numbers all, most;
    sum_up(l, &all, &most);
    json_t *parts = json_array();
    for (int64_t r = 0; r < t->opt.ranks; r++) {
        const numbers n = numbers_of(l, r);
        json_array_append_new(parts, numbers_json(&n));
    }
    return JSON_PUT(json_head(t, t->opt.arg[0]), J("rows", a->rows), J("cols", a->cols),
                    J("type", wisp_type_name(a->type)), J("order", text_order(a->order)),
                    J("width", l->mo->width > 0 ? l->mo->width : 1),
                    J("partition", text_partition((wisp_partition)t->opt.partition)), J("ranks", t->opt.ranks),
                    J("all", numbers_json(&all)), J("most", numbers_json(&most)), J("parts", parts));
}

int info_ranks(tool *t, const wisp_src *src, const wisp_mat_opts *mo)
{
    layout l = {.t = t, .src = src, .mo = mo, .part = calloc((size_t)t->opt.ranks, sizeof *l.part)};
    int rc = EXIT_FINE;
    if (!l.part) return tool_fail(t, "out of memory for %lld ranks", (long long)t->opt.ranks);
    if (wisp_ranks_run((int)t->opt.ranks, plan_part, &l, &rc))
        rc = tool_fail(t, "%s", tool_message_of(t, NULL));
    else if (rc)
        rc = tool_is_stopped(t) ? tool_stopped(t) : tool_fail(t, "%s", l.why);
    monitor_clear(&t->monitor);
    if (!rc && t->opt.json)
        rc = json_print_new(t, layout_json(&l));
    else if (!rc)
        print_text(&l);
    free(l.part);
    return rc;
}
