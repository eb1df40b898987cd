/* The file in which `wisp machine` keeps what it has measured, for later runs. */
#include "../out/out.h"
#include "../plan.h"
#include "machine.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

bool machine_is_simulated(void)
{
    const char *simulated = getenv("WISP_MACHINE");
    return simulated && *simulated;
}

/* $XDG_CACHE_HOME/wisp/machine-HOST.json, of a device's own figures machine-HOST-DEVICE.json, else below ~/.cache;
   false if there is no such place. With $WISP_MACHINE that file, to which nothing is written, and which has none of
   devices. */
static bool cache_path(const wisp_machine *m, char path[PATH_MAX])
{
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char host[256] = "";
    if (machine_is_simulated()) return !*m->device && snprintf(path, PATH_MAX, "%s", getenv("WISP_MACHINE")) < PATH_MAX;
    gethostname(host, sizeof host - 1);
    for (char *c = host; *c; c++)
        if (*c == '/') *c = '_';
    const bool own = base && *base == '/';
    if (!own && !(home && *home)) return false;
    return snprintf(path, PATH_MAX, "%s%s/wisp/machine-%s%s%s.json", own ? base : home, own ? "" : "/.cache", host,
                    *m->device ? "-" : "", m->device) < PATH_MAX;
}

/* ---- written ------------------------------------------------------------------------------------- */

/* The two folders before the file's name; 0 or an errno. */
static int make_folders(const char *path)
{
    char base[PATH_MAX], folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
    snprintf(base, sizeof base, "%.*s", (int)(strrchr(folder, '/') - folder), folder);
    if (mkdir(base, 0700) && errno != EEXIST) return errno;
    return mkdir(folder, 0755) && errno != EEXIST ? errno : 0;
}

/* A moment in UTC, of which the first 10 letters are the day. */
static const char *date_text(char text[MACHINE_DATE], time_t when)
{
    struct tm tm;
    if (!gmtime_r(&when, &tm) || !strftime(text, MACHINE_DATE, "%Y-%m-%dT%H:%M:%SZ", &tm)) *text = '\0';
    return text;
}

bool machine_store(tool *t, const wisp_machine *m, json_t *o, char *why, size_t size)
{
    char path[PATH_MAX], date[MACHINE_DATE];
    JSON_PUT(o, J("measured", (const char *)date_text(date, time(NULL))));
    if (machine_is_simulated()) return true;
    const bool has_place = cache_path(m, path);
    const int error = has_place ? make_folders(path) : 0;
    if (!has_place) snprintf(why, size, "XDG_CACHE_HOME and HOME name no folder");
    if (error) snprintf(why, size, "cannot make the folder of %s: %s", path, strerror(error));
    if (!has_place || error) return false;
    if (wisp_ctx_set_machine(t->ctx, m)) {
        snprintf(why, size, "%s; measure again while nothing else runs, or with fewer threads", tool_message(t));
        return false;
    }
    char *text = json_text(o);
    const bool is_written = text && wisp_file_write(t->ctx, path, text, strlen(text)) == WISP_OK;
    if (!is_written) snprintf(why, size, "%s", text ? tool_message(t) : "out of memory");
    free(text);
    return is_written;
}

int machine_keep(tool *t, const wisp_machine *m, json_t *o)
{
    char why[MACHINE_WHY], path[PATH_MAX];
    if (machine_store(t, m, o, why, sizeof why)) {
        if (!machine_is_simulated() && cache_path(m, path)) outfile_done(t, path);
        return EXIT_FINE;
    }
    if (tool_is_stopped(t)) return tool_stopped(t);
    return tool_incomplete(t, "the machine is measured, but nothing is kept for later runs: %s", why);
}

/* ---- read ---------------------------------------------------------------------------------------- */

static bool same_text(const json_t *a, const json_t *b, const char *key)
{
    const char *x = json_string_value(json_object_get(a, key)), *y = json_string_value(json_object_get(b, key));
    return x && y && !strcmp(x, y);
}

/* Kernels were timed with one thread, and hold for any number of them. */
static void take_kernels(tool *t, const json_t *o, const wisp_machine *now)
{
    wisp_machine m = {0};
    memcpy(m.isa, now->isa, sizeof m.isa);
    kernels_read(json_object_get(o, "kernel_ns"), &m);
    wisp_ctx_set_machine(t->ctx, &m); /* what can't be true is not taken, as of a file of this number of threads */
}

static bool is_by_run(const json_t *o) { return json_object_get(o, "by_run"); }

/* What was kept, if it is of this version, processor, instruction set and number of threads. */
static json_t *read_file(tool *t, const wisp_machine *m, const char *path, const json_t *now)
{
    struct stat is; /* what is no file may give nothing for ever */
    json_t *o = stat(path, &is) || !S_ISREG(is.st_mode) ? NULL : json_load_file(path, 0, NULL);
    const bool of_this = o && same_text(o, now, "version") && same_text(o, now, "cpu") && same_text(o, now, "isa"),
               same = of_this && json_equal(json_object_get(o, "threads"), json_object_get(now, "threads"));
    if (of_this && !same) take_kernels(t, o, m);
    t->machine_other = !same && o && same_text(o, now, "version") && same_text(o, now, "cpu") && !is_by_run(o);
    if (same && json_object_get(o, "cache_kept_bytes") && json_object_get(o, "exchange_gbs") &&
        json_is_object(json_object_get(o, "bandwidth_gbs")) && json_is_object(json_object_get(o, "fma_gflops")))
        return o;
    json_decref(o);
    return NULL;
}

/* Of digits and what stands between those of a moment: it is shown as it stands. */
static bool is_moment(const char *text)
{
    return text && strlen(text) > 10 && strspn(text, "0123456789-T:Z") == strlen(text);
}

/* When it was measured: the file says so, or else when it was written (not that of $WISP_MACHINE). */
static void date(json_t *o, const char *path)
{
    char text[MACHINE_DATE];
    struct stat s;
    if (is_moment(json_string_value(json_object_get(o, "measured"))) || machine_is_simulated() || stat(path, &s))
        return;
    JSON_PUT(o, J("measured", (const char *)date_text(text, s.st_mtime)));
}

static void read_pair(const json_t *v, double pair[2])
{
    for (size_t i = 0; i < 2; i++) pair[i] = json_number_value(json_array_get(v, i));
}

static void read_figures(const json_t *o, wisp_machine *m)
{
    const json_t *bandwidth = json_object_get(o, "bandwidth_gbs"), *fma = json_object_get(o, "fma_gflops");
    for (int l = 0; l < WISP_LEVELS; l++)
        for (int s = 0; s < WISP_STREAMS; s++)
            read_pair(json_object_get(json_object_get(bandwidth, wisp_level_name(l)), machine_stream[s]), m->gbs[s][l]);
    read_pair(json_object_get(fma, "single"), m->fma_gflops[0]);
    read_pair(json_object_get(fma, "double"), m->fma_gflops[1]);
    m->kept_bytes = json_integer_value(json_object_get(o, "cache_kept_bytes"));
    m->exchange_gbs = json_number_value(json_object_get(o, "exchange_gbs"));
    kernels_read(json_object_get(o, "kernel_ns"), m);
    m->launch_seconds = json_number_value(json_object_get(o, "launch_seconds"));
    m->round_trip_seconds = json_number_value(json_object_get(o, "round_trip_seconds"));
}

/* Says once in a run what becomes of the file. */
static void say(tool *t, const json_t *o, const char *path, const char *wrong, const char *then)
{
    const char *when = json_string_value(json_object_get(o, "measured"));
    if (t->machine_told) return;
    t->machine_told = true;
    if (wrong)
        wisp_ctx_logf(t->ctx, WISP_LOG_WARN, "%.500s is not taken: %.500s; %s", path, wrong, then);
    else
        wisp_ctx_logf(t->ctx, WISP_LOG_INFO, "the rates of this machine are those of %.500s, measured %.10s", path,
                      when ? when : "at an unknown time");
}

bool machine_is_whole(const json_t *o)
{
    const json_t *kernels = json_object_get(o, "kernel_ns");
    if (machine_is_simulated()) return true;
    if (is_by_run(o)) return false;
    for (int k = 0; k < WISP_ROW_KINDS; k++)
        if (!json_is_object(json_object_get(kernels, wisp_rows_name(k)))) return false;
    return true;
}

json_t *machine_read(tool *t, wisp_machine *m, const char *then)
{
    gemm_rates g = {.coretype = "default"};
    char path[PATH_MAX];
    if (wisp_machine_measure(t->ctx, m, 0) || !cache_path(m, path)) return NULL;
    const wisp_machine bare = *m;
    json_t *now = machine_json(m, &g), *o = now ? read_file(t, m, path, now) : NULL;
    json_decref(now);
    if (!o) return NULL;
    const char *wrong = NULL;
    date(o, path);
    read_figures(o, m);
    if (!(m->gbs[WISP_LOAD][WISP_MEMORY][1] > 0 && m->fma_gflops[0][1] > 0 && m->fma_gflops[1][1] > 0))
        wrong = "it lacks the rate of loads from memory, or that of multiply-adds";
    else if (wisp_ctx_set_machine(t->ctx, m))
        wrong = tool_message(t);
    say(t, o, path, wrong, then);
    if (!wrong) return o;
    *m = bare;
    json_decref(o);
    return NULL;
}

bool machine_kept(tool *t, wisp_machine *m)
{
    char then[160];
    const bool own = plan_has_sides(t); /* a device with figures of its own */
    snprintf(then, sizeof then, "the run goes on without it; `wisp machine%s%s` makes it anew while nothing else runs",
             own ? " --device " : "", own ? wisp_ctx_device(t->ctx) : "");
    json_t *o = machine_read(t, m, then);
    const bool is_taken = o;
    json_decref(o);
    return is_taken;
}
