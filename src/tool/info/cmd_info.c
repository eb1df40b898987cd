/* wisp info: the size, structure, symmetry and storage of a matrix. */
#include "info.h"
#include "../out/out.h"
#include "../out/text.h"
#include <stdlib.h>
#include <string.h>

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
    for (int j = 0; j < FILL_SIGMA; j++) printf("  %11s", heads[j]);
    putchar('\n');
    for (int i = 0; i < FILL_C; i++) {
        printf("%13d", fill_c[i]);
        for (int j = 0; j < FILL_SIGMA; j++) printf("  %11.3f", f->fill[i][j]);
        putchar('\n');
    }
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
    json_t *o = json_pack("{s:s, s:o, s:o, s:I, s:I, s:I, s:s, s:i, s:I, s:I}", "version", wisp_version(), "command",
                          json_words(t->command_line), "matrix", json_words(t->opt.arg[0]), "rows", (json_int_t)a->rows,
                          "cols", (json_int_t)a->cols, "nnz", (json_int_t)a->nnz, "type", wisp_type_name(a->type), "C",
                          a->C, "sigma", (json_int_t)a->sigma, "bytes", (json_int_t)a->bytes);
    if (!o) return NULL;
    json_object_set_new(o, "row_length",
                        json_pack("{s:I, s:I, s:o, s:o}", "min", (json_int_t)p->min_row, "max", (json_int_t)p->max_row,
                                  "mean", json_number(p->row_mean), "sdev", json_number(p->row_sdev)));
    json_object_set_new(o, "bytes_per_nonzero",
                        a->nnz > 0 ? json_real((double)a->bytes / (double)a->nnz) : json_null());
    json_object_set_new(o, "order", json_string(text_order(a->order)));
    json_object_set_new(o, "format", json_string(text_format(a->format)));
    json_object_set_new(o, "empty_rows", json_integer(p->empty_rows));
    json_object_set_new(o, "diagonal", json_integer(p->diagonal));
    json_object_set_new(o, "bandwidth", json_integer(p->bandwidth));
    const struct {
        const char *key;
        int value;
    } flags[] = {{"square", p->square},
                 {"pattern_symmetric", p->pattern_symmetric},
                 {"symmetric", p->symmetric},
                 {"hermitian", p->hermitian},
                 {"skew", p->skew}};
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        json_object_set_new(o, flags[i].key, json_boolean(flags[i].value));
    json_object_set_new(o, "first_not_hermitian",
                        p->bad_row < 0 ? json_null()
                                       : json_pack("[I, I]", (json_int_t)p->bad_row, (json_int_t)p->bad_col));
    json_object_set_new(o, "asymmetry", p->square ? json_number(p->asymmetry) : json_null());
    json_object_set_new(o, "largest", json_number(p->largest));
    json_object_set_new(o, "nonfinite_row", p->nonfinite_row < 0 ? json_null() : json_integer(p->nonfinite_row));
    json_object_set_new(o, "gershgorin",
                        p->square && p->nonfinite_row < 0
                            ? json_numbers((double[]){p->gershgorin_min, p->gershgorin_max}, 2)
                            : json_null());
    json_t *bars = json_array(), *fill = json_array();
    for (int i = 0; i < f->bar_count; i++)
        json_array_append_new(bars, json_pack("{s:I, s:I, s:I}", "from", (json_int_t)f->bars[i].from, "to",
                                              (json_int_t)f->bars[i].to, "rows", (json_int_t)f->bars[i].rows));
    for (int i = 0; a->nnz > 0 && i < FILL_C; i++)
        for (int j = 0; j < FILL_SIGMA; j++)
            json_array_append_new(fill,
                                  json_pack("{s:i, s:I, s:o}", "C", fill_c[i], "sigma",
                                            (json_int_t)sigma_of(j, fill_c[i]), "ratio", json_number(f->fill[i][j])));
    json_object_set_new(o, "row_lengths", bars);
    json_object_set_new(o, "fill_in", fill);
    return o;
}

/* The matrix itself. */
static int info_whole(tool *t, const wisp_src *src, const wisp_mat_opts *mo)
{
    wisp_mat *A = NULL;
    findings f = {0};
    int rc = wisp_mat_create(&A, t->ctx, src, mo) ? tool_fail_ctx(t) : find_all(t, A, &f);
    monitor_clear(&t->monitor);
    if (!rc && t->opt.json) {
        json_t *o = info_json(t, &f);
        rc = json_print(t, o);
        json_decref(o);
    } else if (!rc) {
        print_text(t, &f);
    }
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
    const wisp_mat_opts mo = {.type = tool_type(&t->opt, src.type),
                              .order = (wisp_order)t->opt.order,
                              .format = (wisp_format)t->opt.format,
                              .width = (int)t->opt.width};
    rc = t->opt.ranks ? info_ranks(t, &src, &mo) : info_whole(t, &src, &mo);
    wisp_src_close(&src);
    return rc;
}
