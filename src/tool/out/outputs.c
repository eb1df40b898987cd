/* All outputs that the options ask for: -o, --plot, --json. */
#include "out.h"
#include "text.h"
#include <stdlib.h>
#include <string.h>

/* An option and its file. */
typedef struct {
    const char *name, *path;
} named;

static int compare_names(tool *t, const named *a, int count_a, const named *b, int count_b)
{
    for (int i = 0; i < count_a; i++)
        for (int j = 0; j < count_b; j++)
            if (a[i].name != b[j].name && wisp_file_same(a[i].path, b[j].path))
                return tool_usage(t, "--%s and %s%s name the same file", a[i].name, *b[j].name == 'M' ? "" : "--",
                                  b[j].name);
    return EXIT_FINE;
}

/* The matrix of a --drive. */
static int compare_drive(tool *t, const named *written, int count, const char *text)
{
    const char *colon = strrchr(text, ':');
    char *matrix = colon ? strndup(text, (size_t)(colon - text)) : NULL;
    const int rc = compare_names(t, written, count, &(named){"drive", matrix}, 1);
    free(matrix);
    return rc;
}

int outputs_names(tool *t)
{
    enum { WRITTEN = 7, KEPT = 2, READ = 13 };
    const options *o = &t->opt;
    const named kept[KEPT] = {{"checkpoint", o->checkpoint}, {"resume", o->resume}};
    const named written[WRITTEN] = {
        {"output", o->output},     {"save", o->save},           {"plot", o->plot},    {"vectors-out", o->vectors_out},
        {"left-out", o->left_out}, {"right-out", o->right_out}, {"states", o->states}};
    named read[READ + 3 * LIST] = {{"MATRIX", strcmp(t->cmd->args, "MATRIX") ? NULL : o->arg[0]},
                                   {"start", o->start},
                                   {"left", o->left},
                                   {"where", o->where},
                                   {"rhs", o->rhs.kind == RHS_FILE ? o->rhs.text : NULL},
                                   {"velocity-a", o->velocity_a},
                                   {"velocity-b", o->velocity_b},
                                   {"positions", o->positions},
                                   {"overlap", o->overlap},
                                   {"absorb", o->absorb},
                                   {"null", o->null},
                                   {"like", o->like},
                                   {"series", o->series}};
    for (int i = 0; i < o->froms; i++) read[READ + i] = (named){"from", o->from_list[i]};
    const int froms = READ + o->froms, operators = froms + o->operators, count = operators + o->drives;
    for (int i = 0; i < o->operators; i++) read[froms + i] = (named){"operator", o->operator_list[i]};
    for (int i = 0; i < o->drives; i++) { /* MATRIX:TABLE; its matrix below */
        const char *colon = strrchr(o->drive_list[i], ':');
        read[operators + i] = (named){"drive", colon ? colon + 1 : NULL};
    }
    int rc = compare_names(t, kept, KEPT, written, WRITTEN);
    if (!rc) rc = compare_names(t, written, WRITTEN, written, WRITTEN);
    if (!rc) rc = compare_names(t, written, WRITTEN, read, count);
    for (int i = 0; i < o->drives && !rc; i++) rc = compare_drive(t, written, WRITTEN, o->drive_list[i]);
    return rc;
}

int outputs_check(tool *t)
{
    enum { PLOT = 2, PATHS = 6 };
    const options *o = &t->opt;
    const char *results = o->output ? o->output : o->vectors_out;
    const char *path[] = {o->save, results, o->plot, o->states, o->left_out, o->right_out};
    bool h5 = false;
    for (int i = 0; i < PATHS; i++) h5 |= path[i] && i != PLOT && has_extension(path[i], "h5");
    int rc = EXIT_FINE;
    const bool needs = h5 || o->save || o->from;
    const char *const refusal = needs ? hdf5_refusal() : NULL;
    if (refusal)
        rc = tool_fail(t, "%s: %s",
                       o->save   ? "--save"
                       : o->from ? "--from"
                       : t->cmd->bit & (CMD_SOLVE | CMD_EIG | CMD_SVD | CMD_APPLY)
                           ? "a .h5 file (a .mtx file needs no HDF5)"
                           : "a .h5 file of results",
                       refusal);
    if (needs) rc = tool_agree(t, rc); /* ranks may have other libraries */
    for (int i = 0; i < PATHS && !rc && !o->plan; i++)
        if (path[i]) rc = outfile_check(t, path[i]);
    return rc || !o->plot || o->plan ? rc : plot_check(t);
}

int outputs_json(tool *t, const json_t *object)
{
    char *text = json_text(object);
    const int rc =
        text ? outfile_write(t, t->opt.output, text, strlen(text)) : tool_fail(t, "out of memory for the results");
    free(text);
    return rc;
}

static int write_results(tool *t, const json_t *object, csv_table_fn *table, const void *arg)
{
    char *data = NULL;
    size_t size = 0;
    if (has_extension(t->opt.output, "json")) return outputs_json(t, object);
    int rc = has_extension(t->opt.output, "csv") ? csv_make_table(t, table, arg, object, &data, &size)
                                                 : hdf5_make(t, object, NULL, &data, &size);
    if (!rc) rc = outfile_write(t, t->opt.output, data, size);
    free(data);
    return rc;
}

static int write_plot(tool *t, plot_script_fn *script, const void *arg)
{
    char *data = NULL;
    size_t size = 0;
    int rc = plot_run(t, script, arg, t->opt.plot, &data, &size);
    if (!rc) rc = outfile_write(t, t->opt.plot, data, size);
    free(data);
    return rc;
}

int outputs_write(tool *t, json_t *object, csv_table_fn *table, plot_script_fn *script, const void *arg)
{
    const bool show = !t->opt.json && !t->opt.quiet;
    int worst = EXIT_FINE, rc;
    if (wisp_ctx_rank(t->ctx) > 0) {
        json_decref(object);
        return worst;
    }
    if (!object && (t->opt.json || (t->opt.output && table))) worst = tool_fail(t, "out of memory for the results");
    if (object && t->opt.output && table) {
        rc = write_results(t, object, table, arg);
        if (!rc && show) text_line("results", "%s", t->opt.output);
        if (rc) worst = rc;
    }
    if (t->opt.plot && script) {
        rc = write_plot(t, script, arg);
        if (!rc && show) text_line("plot", "%s", t->opt.plot);
        if (rc) worst = rc;
    }
    if (object && t->opt.json && !(worst && tool_is_stopped(t)) && (rc = json_print(t, object))) worst = rc;
    json_decref(object);
    return worst;
}
