/* wisp info: the size, structure, symmetry and storage of a matrix. */
#include "info.h"
#include "../out/out.h"
#include "../out/text.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { BARS = 16, FILL_C = 6, FILL_SIGMA = 4 };
static const int fill_c[FILL_C] = {1, 4, 8, 16, 32, 64};

typedef struct {
    int64_t from, to, rows; /* rows with from .. to entries */
} bar;

typedef struct {
    wisp_mat_info info;
    wisp_mat_props props;
    bar bars[BARS];
    int bar_count;
    double fill[FILL_C][FILL_SIGMA];
} findings;

/* 1, 8 C, 1024, 65536 */
static int64_t sigma_of(int column, int C)
{
    return column == 0 ? 1 : column == 1 ? 8 * (int64_t)C : column == 2 ? 1024 : 65536;
}

/* Row lengths in at most BARS classes of one size. */
static int find_bars(tool *t, const wisp_mat *A, findings *f)
{
    enum { MOST_BINS = 1 << 22 };
    int64_t shortest = f->props.min_row, longest = f->props.max_row, *hist;
    int bins = longest < MOST_BINS ? (int)longest + 1 : MOST_BINS;
    if (wisp_alloc(t->ctx, &hist, (size_t)bins, sizeof *hist)) return tool_fail_ctx(t);
    int rc = wisp_mat_row_histogram(A, hist, bins) ? tool_fail_ctx(t) : EXIT_FINE;
    int64_t step = (longest - shortest) / BARS + 1;
    for (int64_t i = shortest; !rc && i <= longest && f->bar_count < BARS; i += step) {
        bar *b = &f->bars[f->bar_count++];
        *b = (bar){i, i + step - 1 < longest ? i + step - 1 : longest, 0};
        for (int64_t j = b->from; j <= b->to && j < bins; j++) b->rows += hist[j];
    }
    wisp_free(t->ctx, hist);
    return rc;
}

static int find_all(tool *t, const wisp_mat *A, findings *f)
{
    wisp_mat_get_info(A, &f->info);
    if (wisp_mat_get_props(A, &f->props)) return tool_fail_ctx(t);
    int rc = f->info.rows > 0 ? find_bars(t, A, f) : EXIT_FINE;
    for (int i = 0; !rc && i < FILL_C; i++)
        for (int j = 0; !rc && j < FILL_SIGMA; j++)
            if (wisp_mat_fill_in(A, fill_c[i], sigma_of(j, fill_c[i]), &f->fill[i][j])) rc = tool_fail_ctx(t);
    return rc;
}

static void print_symmetry(const findings *f)
{
    const wisp_mat_props *p = &f->props;
    bool complex = wisp_type_is_complex(f->info.type);
    if (!p->square) {
        text_line("symmetry", "none: not square");
    } else if (p->hermitian) {
        text_line("symmetry", "%s", !complex ? "symmetric" : p->symmetric ? "symmetric and Hermitian" : "Hermitian");
    } else {
        const char *kind = p->symmetric           ? "symmetric, not Hermitian"
                           : p->skew              ? "skew-symmetric"
                           : p->pattern_symmetric ? "none, but the pattern is symmetric"
                                                  : "none";
        text_line("symmetry", "%s   (first seen at row %lld, column %lld)", kind, (long long)p->bad_row,
                  (long long)p->bad_col);
        if (p->nonfinite_row < 0)
            text_line("", "|a_ij - conj a_ji| up to %.3g, %.2g of the largest entry%s", p->asymmetry,
                      p->asymmetry / p->largest,
                      p->nearly_hermitian ? "   (rounding? see --hermitian-part of dos)" : "");
    }
}

static void print_bars(const findings *f)
{
    static const char full[] = "########################################";
    int64_t most = 1;
    char n[TEXT], range[TEXT];
    for (int i = 0; i < f->bar_count; i++) most = f->bars[i].rows > most ? f->bars[i].rows : most;
    printf("\n%13s  %15s\n", "row length", "rows");
    for (int i = 0; i < f->bar_count; i++) {
        const bar *b = &f->bars[i];
        int length = (int)((double)b->rows / (double)most * (double)(sizeof full - 1) + 0.5);
        if (length == 0 && b->rows > 0) length = 1;
        if (b->from == b->to)
            snprintf(range, sizeof range, "%lld", (long long)b->from);
        else
            snprintf(range, sizeof range, "%lld to %lld", (long long)b->from, (long long)b->to);
        printf("%13s  %15s%s%.*s\n", range, text_count(n, b->rows), length ? "  " : "", length, full);
    }
}

static void print_fill(const findings *f)
{
    printf("\nSELL-C-sigma: stored entries over nonzeros\n%13s", "C");
    static const char *const heads[] = {"sigma 1", "sigma 8 C", "sigma 1024", "sigma 65536"};
    for (int j = 0; j < FILL_SIGMA; j++) text_cell(11, heads[j], NULL);
    putchar('\n');
    for (int i = 0; i < FILL_C; i++) {
        printf("%13d", fill_c[i]);
        for (int j = 0; j < FILL_SIGMA; j++) text_number(11, NULL, "%.3f", f->fill[i][j]);
        putchar('\n');
    }
}

/* Of a matrix of the gallery that has positions; 0: of another one. A file goes before a spec of the same name. */
static int positions_of(const tool *t, wisp_positions *p)
{
    *p = (wisp_positions){0};
    struct stat st;
    if (!stat(t->opt.arg[0], &st) || wisp_positions_open_gallery(p, t->ctx, t->opt.arg[0])) return 0;
    return p->dimensions;
}

static void print_positions(const tool *t)
{
    wisp_positions p;
    if (positions_of(t, &p))
        text_line("positions", "in %d dimension%s, of which the lattice is periodic in %d", p.dimensions,
                  p.dimensions == 1 ? "" : "s", __builtin_popcount(p.periodic));
    wisp_positions_close(&p);
}

static void print_text(const tool *t, const findings *f)
{
    const wisp_mat_info *a = &f->info;
    const wisp_mat_props *p = &f->props;
    char b[3][TEXT];
    text_line("matrix", "%s", t->opt.arg[0]);
    text_line("rows", "%s   columns %s", text_count(b[0], a->rows), text_count(b[1], a->cols));
    text_line("nonzeros", "%s   %s", text_count(b[0], a->nnz), wisp_type_name(a->type));
    text_line("stored", "%s as SELL-%d-%lld, format %s, order %s", text_bytes(b[0], (double)a->bytes), a->C,
              (long long)a->sigma, text_format(a->format), text_order(a->order));
    if (a->nnz > 0) text_line("", "%.3g bytes per nonzero", (double)a->bytes / (double)a->nnz);
    text_line("row length", "%lld to %lld, mean %.4g, standard deviation %.3g", (long long)p->min_row,
              (long long)p->max_row, p->row_mean, p->row_sdev);
    text_line("empty rows", "%s", text_count(b[0], p->empty_rows));
    text_line("diagonal", "%s entries", text_count(b[0], p->diagonal));
    text_line("bandwidth", "%s", text_count(b[0], p->bandwidth));
    print_symmetry(f);
    print_positions(t);
    if (p->nonfinite_row >= 0)
        text_line("values", "row %lld holds a NaN or an infinity", (long long)p->nonfinite_row);
    else if (p->square)
        text_line("Gershgorin", "[%.6g, %.6g]", p->gershgorin_min, p->gershgorin_max);
    if (f->bar_count) print_bars(f);
    if (a->nnz > 0) print_fill(f);
}

static json_t *info_json(const tool *t, const findings *f)
{
    const wisp_mat_info *a = &f->info;
    const wisp_mat_props *p = &f->props;
    json_t *bars = json_array(), *fill = json_array();
    for (int i = 0; i < f->bar_count; i++)
        json_array_append_new(bars,
                              JSON_NEW(J("from", f->bars[i].from), J("to", f->bars[i].to), J("rows", f->bars[i].rows)));
    for (int i = 0; a->nnz > 0 && i < FILL_C; i++)
        for (int j = 0; j < FILL_SIGMA; j++)
            json_array_append_new(
                fill, JSON_NEW(J("C", fill_c[i]), J("sigma", sigma_of(j, fill_c[i])), J("ratio", f->fill[i][j])));
    return JSON_PUT(json_head(t, t->opt.arg[0]), J("rows", a->rows), J("cols", a->cols), J("nnz", a->nnz),
                    J("type", wisp_type_name(a->type)), J("C", a->C), J("sigma", a->sigma), J("bytes", a->bytes),
                    J("row_length", JSON_NEW(J("min", p->min_row), J("max", p->max_row), J("mean", p->row_mean),
                                             J("sdev", p->row_sdev))),
                    J_IF(a->nnz > 0, "bytes_per_nonzero", (double)a->bytes / (double)a->nnz),
                    J("order", text_order(a->order)), J("format", text_format(a->format)),
                    J("empty_rows", p->empty_rows), J("diagonal", p->diagonal), J("bandwidth", p->bandwidth),
                    J("square", json_boolean(p->square)), J("pattern_symmetric", json_boolean(p->pattern_symmetric)),
                    J("symmetric", json_boolean(p->symmetric)), J("hermitian", json_boolean(p->hermitian)),
                    J("skew", json_boolean(p->skew)),
                    J_IF(p->bad_row >= 0, "first_not_hermitian", json_wholes((int64_t[]){p->bad_row, p->bad_col}, 2)),
                    J_IF(p->square, "asymmetry", p->asymmetry), J("largest", p->largest),
                    J_IF(p->nonfinite_row >= 0, "nonfinite_row", p->nonfinite_row),
                    J_IF(p->square && p->nonfinite_row < 0, "gershgorin",
                         json_numbers((double[]){p->gershgorin_min, p->gershgorin_max}, 2)),
                    J("row_lengths", bars), J("fill_in", fill));
}

/* The matrix itself. */
static int info_whole(tool *t, const wisp_src *src, const wisp_mat_opts *mo)
{
    wisp_mat *A = NULL;
    findings f = {0};
    int rc = wisp_mat_create(&A, t->ctx, src, mo) ? tool_fail_ctx(t) : find_all(t, A, &f);
    monitor_clear(&t->monitor);
    if (!rc && t->opt.json)
        rc = json_print_new(t, info_json(t, &f));
    else if (!rc)
        print_text(t, &f);
    wisp_mat_free(A);
    return rc;
}

int cmd_info(tool *t)
{
    wisp_src src = {0};
    int rc = EXIT_FINE;
    if (t->opt.width > 0 && !t->opt.ranks) return tool_usage(t, "--width goes with --ranks");
    if (t->opt.partition && !t->opt.ranks) return tool_usage(t, "--partition goes with --ranks");
    if ((rc = tool_start(t))) return rc;
    if (wisp_src_open(&src, t->ctx, t->opt.arg[0])) return tool_fail_ctx(t);
    const wisp_mat_opts mo = source_options(&t->opt, tool_type(&t->opt, src.type), (int)t->opt.width);
    rc = t->opt.ranks ? info_ranks(t, &src, &mo) : info_whole(t, &src, &mo);
    wisp_src_close(&src);
    return rc;
}
