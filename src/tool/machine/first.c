/* A long run measures a machine that never was, before it chooses, and keeps that for later runs. */
#include "../out/out.h"
#include "../out/text.h"
#include "../plan.h"
#include "machine.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* From how many seconds on a run is long: measuring is a small part of it. $WISP_MEASURE_FIRST names others; 0: none
 * is. */
static int long_run(tool *t, double *seconds)
{
    const char *text = getenv("WISP_MEASURE_FIRST");
    char *end;
    *seconds = 100;
    if (!text || !*text) return EXIT_FINE;
    *seconds = strtod(text, &end);
    if (end == text || *end || !(*seconds >= 0))
        return tool_usage(t, "WISP_MEASURE_FIRST=%s: take a number of seconds, or 0, or unset it", text);
    if (*seconds == 0) *seconds = INFINITY;
    return EXIT_FINE;
}

/* A run whose choices are given, or that was begun before, goes by them; one with little memory has none to spare; and
   several processes would measure each other. One that sees another machine is to choose for that; and what `wisp
   machine` has kept of other threads or kernels is not lost for this. */
static bool may_measure(const tool *t)
{
    return t->machine_unknown && !t->machine_other && !machine_is_simulated() && t->processes == 1 &&
           wisp_ctx_processes(t->ctx) == 1 && !plan_has_sides(t) && !strcmp(wisp_ctx_device(t->ctx), "cpu") &&
           !t->opt.mem_limit && !t->opt.like && !t->opt.resume;
}

static wisp_status measure(tool *t, wisp_machine *m)
{
    const unsigned ceilings =
        WISP_MEASURE_MEMORY | WISP_MEASURE_CACHES | WISP_MEASURE_KEPT | WISP_MEASURE_EXCHANGE | WISP_MEASURE_FMA;
    const wisp_status status = wisp_machine_measure(t->ctx, m, ceilings);
    return status ? status : wisp_machine_kernels(t->ctx, m);
}

int machine_first(tool *t, double seconds, bool *is_measured)
{
    const gemm_rates none = {.coretype = "default"};
    char about[TEXT];
    wisp_machine m;
    double from;
    *is_measured = false;
    if (!may_measure(t)) return EXIT_FINE;
    const int rc = long_run(t, &from);
    if (rc != EXIT_FINE || !(seconds >= from)) return rc;
    t->machine_unknown = false; /* once in a run */
    wisp_ctx_logf(t->ctx, WISP_LOG_INFO,
                  "this machine was not measured, and the run is to take about %s: it is measured first, and kept",
                  text_seconds(about, seconds));
    if (measure(t, &m)) {
        if (tool_is_stopped(t)) return tool_stopped(t);
        wisp_ctx_logf(t->ctx, WISP_LOG_INFO, "the machine could not be measured: %s", tool_message(t));
        return EXIT_FINE;
    }
    *is_measured = wisp_ctx_set_machine(t->ctx, &m) == WISP_OK;
    if (!*is_measured) return EXIT_FINE; /* the log says why */
    json_t *o = machine_json(&m, &none);
    char why[MACHINE_WHY];
    if (o) JSON_PUT(o, J("by_run", json_true()));
    if (o && !machine_store(t, &m, o, why, sizeof why))
        wisp_ctx_logf(t->ctx, WISP_LOG_INFO, "the machine is measured, but nothing is kept for later runs: %s", why);
    json_decref(o);
    return EXIT_FINE;
}
