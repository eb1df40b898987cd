/* --weights: the shares of rows that ranks have. They are given, or found in a run (by nonzeros, by measuring), or
   those of a state from which a run goes on. Sources that were read in other shares are dealt out by them then. */
#include "weights.h"
#include "out/text.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

int weights_check(tool *t)
{
    const options *o = &t->opt;
    int64_t sum = 0;
    for (int64_t i = 0; i < o->weight_count; i++) sum += o->weights[i];
    if (o->weight_count && o->weight_count != t->processes)
        return tool_usage(t, "--weights: give %d number%s, one for each process, not %lld", t->processes,
                          t->processes == 1 ? "" : "s", (long long)o->weight_count);
    if (o->weight_count && sum == 0)
        return tool_usage(t, "--weights: one of the %d processes must have a number above 0", t->processes);
    return EXIT_FINE;
}

wisp_status weights_now(const tool *t, int64_t *weights)
{
    if (!t->weights) return wisp_ctx_weights(t->ctx, weights);
    memcpy(weights, t->weights, (size_t)wisp_ctx_processes(t->ctx) * sizeof *weights);
    return WISP_OK;
}

/* "2,1,1"; to be freed. NULL: there is no memory. */
static char *weights_text(const int64_t *weights, int ranks)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    if (!f) return NULL;
    for (int r = 0; r < ranks; r++) fprintf(f, "%s%lld", r ? "," : "", (long long)weights[r]);
    if (!fclose(f)) return text;
    free(text);
    return NULL;
}

/* The command line ends with these, so that they can be given again. */
static int keep(tool *t, const int64_t *weights)
{
    char *text = weights_text(weights, wisp_ctx_processes(t->ctx)), *line = NULL;
    const int n = text ? asprintf(&line, "%s --weights %s", t->typed_line, text) : -1;
    free(text);
    if (n < 0) return tool_fail(t, "out of memory for the weights of %d processes", wisp_ctx_processes(t->ctx));
    free(t->own_line);
    t->command_line = t->own_line = line;
    return EXIT_FINE;
}

/* The numbers of the last --weights of a command line, how many characters: 0 if it has none. */
static size_t weights_in(const char *command, const char **numbers)
{
    static const char option[] = " --weights";
    size_t n = 0;
    for (const char *c = command; c && (c = strstr(c, option)); c++) {
        const char *value = c + strlen(option);
        const size_t digits = *value == ' ' || *value == '=' ? strspn(value + 1, "0123456789,") : 0;
        if (digits > 0) *numbers = value + 1, n = digits;
    }
    return n;
}

int weights_keep(tool *t)
{
    const int ranks = wisp_ctx_processes(t->ctx);
    const char *env = getenv("WISP_WEIGHTS"), *numbers = NULL;
    if (ranks == 1 || t->weights) return EXIT_FINE;
    /* Given ones may be in a part of the line that is cut, or the option be typed short. */
    const bool others = t->like.weights || (env && *env);
    if (t->opt.weight_count ? weights_in(t->typed_line, &numbers) > 0 : !others) return EXIT_FINE;
    int64_t *weights = calloc((size_t)ranks, sizeof *weights);
    int rc = weights ? EXIT_FINE : tool_fail(t, "out of memory for the weights of %d processes", ranks);
    if (!rc && wisp_ctx_weights(t->ctx, weights)) rc = tool_fail_ctx(t);
    if (!rc) rc = keep(t, weights);
    free(weights);
    return rc;
}

/* Whether the shares by found weights are others than the present ones: measured ones by more than 5% of a share, which
   ranks with equal rates do not reach. */
static bool differ(const tool *t, const int64_t *weights, const int64_t *present, int ranks)
{
    const double little = t->opt.weights_by == WEIGHTS_MEASURED ? 0.05 : 0;
    double all = 0, all_present = 0;
    for (int r = 0; r < ranks; r++) all += (double)weights[r], all_present += (double)present[r];
    for (int r = 0; r < ranks; r++) {
        const double a = (double)weights[r] / all, b = (double)present[r] / all_present;
        if (fabs(a - b) > little * fmax(a, b)) return true;
    }
    return false;
}

/* Keeps found weights, or the present ones if they will do. */
static int settle(tool *t, int64_t *weights, int64_t *present)
{
    const int ranks = wisp_ctx_processes(t->ctx);
    const bool other = differ(t, weights, present, ranks);
    t->weights = other ? weights : present;
    t->dealt = other;
    free(other ? present : weights);
    return tool_agree(t, keep(t, t->weights));
}

/* Whether this is the time to find weights: once in a run, of several processes. */
static bool is_wanted(const tool *t, int by)
{
    return t->opt.weights_by == by && !t->weights && wisp_ctx_processes(t->ctx) > 1;
}

int weights_refuse_pipe(tool *t)
{
    if (t->processes == 1 || t->opt.plan || t->opt.weights_by != WEIGHTS_MEASURED || !file_reads_once(t->opt.arg[0]))
        return EXIT_FINE;
    return tool_fail(t,
                     "%s can be read only once, and --weights %s may have to read it again; save it to a file first, "
                     "or take --weights nonzeros",
                     t->opt.arg[0], weights_names[t->opt.weights_by]);
}

int weights_take(tool *t, int rc, int64_t *weights)
{
    int64_t *present = calloc((size_t)wisp_ctx_processes(t->ctx), sizeof *present);
    if (!rc && !present) rc = tool_fail(t, "out of memory for the weights of the processes");
    if (!rc && wisp_ctx_weights(t->ctx, present)) rc = tool_fail_ctx(t);
    if (!(rc = tool_agree(t, rc))) return settle(t, weights, present);
    free(weights);
    free(present);
    return rc;
}

static int find(tool *t, const wisp_src *src, const wisp_mat *A, int width)
{
    const size_t ranks = (size_t)wisp_ctx_processes(t->ctx);
    int64_t *weights = calloc(ranks, sizeof *weights);
    wisp_ctx_enter(t->ctx);
    wisp_status status =
        !weights ? wisp_ctx_failf(t->ctx, WISP_ERR_NOMEM, "out of memory for the weights of %zu processes", ranks)
        : A      ? wisp_mat_weights(A, WISP_DEFAULT, width, weights)
                 : wisp_src_weights(t->ctx, src, weights);
    status = wisp_ctx_leave(t->ctx, status);
    return weights_take(t, status ? tool_fail_ctx(t) : EXIT_FINE, weights);
}

int weights_by_source(tool *t, const wisp_src *src)
{
    if (!is_wanted(t, WEIGHTS_NONZEROS)) return EXIT_FINE;
    return find(t, src, NULL, 0);
}

int weights_by_matrix(tool *t, const wisp_mat *A, int width)
{
    if (t->opt.plan || !is_wanted(t, WEIGHTS_MEASURED)) return EXIT_FINE;
    const int rc = find(t, NULL, A, width > 0 ? width : 1);
    return !rc && t->dealt ? EXIT_LAYOUT : rc;
}

int weights_deal(tool *t, wisp_src *src)
{
    if (!t->dealt || (!src->row && !src->many)) return EXIT_FINE;
    return wisp_src_deal(src, t->ctx, t->weights) ? tool_fail_ctx(t) : EXIT_FINE;
}

void weights_free(tool *t)
{
    free(t->weights);
    free(t->own_line);
    t->weights = NULL;
    t->own_line = NULL;
}

void weights_summary(const tool *t, const wisp_mat_info *info)
{
    static const char *const how[] = {"", "   (rows)", "   (by nonzeros)", "   (measured)"};
    const int ranks = wisp_ctx_processes(t->ctx);
    int64_t *weights = ranks > 1 ? calloc((size_t)ranks, sizeof *weights) : NULL;
    char *text = weights && !weights_now(t, weights) ? weights_text(weights, ranks) : NULL;
    if (text) text_line("weights", "%s%s", text, how[t->opt.weights_by]);
    if (ranks > 1) text_line("halo", "%s", wisp_halo_name(info->halo_used));
    free(text);
    free(weights);
}

json_t *weights_json(const tool *t)
{
    const int ranks = wisp_ctx_processes(t->ctx);
    int64_t *weights = calloc((size_t)ranks, sizeof *weights);
    json_t *array = weights && !weights_now(t, weights) ? json_array() : json_null();
    for (int r = 0; json_is_array(array) && r < ranks; r++) json_array_append_new(array, json_integer(weights[r]));
    free(weights);
    return array;
}

void weights_summary_of(const char *command)
{
    const char *numbers = NULL;
    const size_t n = weights_in(command, &numbers);
    if (n) text_line("weights", "%.*s   (of the processes of that run)", (int)n, numbers);
}

json_t *weights_json_of(const char *command)
{
    const char *numbers = NULL;
    const size_t n = weights_in(command, &numbers);
    json_t *array = n ? json_array() : json_null();
    for (const char *c = numbers; n && c < numbers + n; c += *c == ',') {
        char *next;
        json_array_append_new(array, json_integer(strtoll(c, &next, 10)));
        c = next;
    }
    return array;
}
