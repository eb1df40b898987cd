/* All outputs that the options ask for: -o, --plot, --json. */
#include "out.h"
#include "text.h"
#include <stdlib.h>
#include <string.h>

int outputs_check(tool *t, const char *const *path, int paths)
{
    int rc = EXIT_FINE;
    if (t->opt.plan) return rc;
    for (int i = 0; i < paths && !rc; i++)
        if (path[i]) rc = outfile_check(t, path[i]);
    return rc || !t->opt.plot ? rc : plot_check(t);
}

static int write_results(tool *t, const json_t *object, csv_table_fn *table, const void *arg)
{
    char *data = NULL;
    size_t size = 0;
    int rc;
    if (has_extension(t->opt.output, "csv")) {
        rc = csv_make_table(t, table, arg, object, &data, &size);
    } else if (has_extension(t->opt.output, "json")) {
        data = json_text(object);
        size = data ? strlen(data) : 0;
        rc = data ? EXIT_FINE : tool_fail(t, "out of memory for the results");
    } else {
        rc = hdf5_make(t, object, NULL, &data, &size);
    }
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
