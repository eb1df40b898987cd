/* JSON on the standard output and in memory. */
#include "out.h"
#include "text.h"
#include "../plan.h"
#include "../weights.h"
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

json_t *json_number(double v) { return isfinite(v) ? json_real(v) : json_null(); }

json_t *json_put(json_t *object, const json_entry *entry)
{
    for (; entry->key; entry++) json_object_set_new(object, entry->key, entry->value);
    return object;
}

json_t *json_head(const tool *t, const char *matrix)
{
    return JSON_NEW(J("version", wisp_version()), J("command", t->command_line), J("matrix", matrix));
}

json_t *json_halo(const tool *t, const wisp_mat_info *info)
{
    const bool exchanges = !t->opt.from && wisp_ctx_processes(t->ctx) > 1;
    return exchanges ? json_string(wisp_halo_name(info->halo_used)) : json_null();
}

json_t *json_valid(const tool *t, const wisp_mat_info *info)
{
    return json_boolean(t->opt.from || wisp_ctx_processes(t->ctx) == 1 || info->halo != WISP_HALO_NOCOMM);
}

json_t *json_devices(const tool *t)
{
    json_t *array = json_array();
    const char *name;
    for (int r = 0; (name = wisp_ctx_device_of(t->ctx, r, NULL)); r++) json_array_append_new(array, json_string(name));
    return array;
}

void json_run(json_t *o, tool *t, const wisp_mat_info *info, const like_run *run)
{
    int64_t held, there, limit;
    wisp_ctx_memory(t->ctx, NULL, &held);
    wisp_ctx_device_memory(t->ctx, NULL, &there, &limit);
    there = plan_most(t, there);
    limit = plan_most(t, limit);
    JSON_PUT(o, J("order", text_order(info->order)), J("format", text_format(info->format)),
             J("threads", wisp_ctx_threads(t->ctx)), J("ranks", wisp_ctx_processes(t->ctx)),
             J("halo", json_halo(t, info)), J("valid", json_valid(t, info)), J("weights", weights_json(t)),
             J("device", wisp_ctx_device(t->ctx)), J("devices", json_devices(t)), J("isa", wisp_ctx_isa(t->ctx)),
             J("memory_bytes", plan_most(t, held)), J_MAYBE(limit > 0, "device_memory_bytes", there),
             J("checkpoint", checkpoint_json(t)), J("resumed", t->opt.resume), J("chosen", like_json(t, info, run)));
}

json_t *json_seed(uint64_t seed)
{
    char text[TEXT];
    if (seed <= INT64_MAX) return json_integer((json_int_t)seed);
    snprintf(text, sizeof text, "%llu", (unsigned long long)seed);
    return json_string(text);
}

json_t *json_numbers(const double *v, int64_t n)
{
    json_t *array = json_array();
    for (int64_t i = 0; array && i < n; i++) {
        if (!json_array_append_new(array, json_number(v[i]))) continue;
        json_decref(array);
        array = NULL;
    }
    return array;
}

json_t *json_wholes(const int64_t *v, int64_t n)
{
    json_t *array = json_array();
    for (int64_t i = 0; i < n; i++) json_array_append_new(array, json_integer(v[i]));
    return array;
}

json_t *json_bounds(const wisp_bounds *b, wisp_bounds_method method)
{
    return JSON_NEW(J("center", b->center), J("halfwidth", b->halfwidth),
                    J("failure_probability", b->failure_probability), J("method", bounds_names[method]));
}

char *json_text(const json_t *object)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    if (!f) return NULL;
    const char *key;
    json_t *value;
    const char *before = "{\n  ";
    int failed = 0;
    /* Iterating is not const in jansson 2, though it changes nothing. */
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        fprintf(f, "%s\"%s\": ", before, key);
        failed |= json_dumpf(value, f, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
        before = ",\n  ";
    }
    fputs("\n}\n", f);
    failed |= ferror(f);
    if (fclose(f) || failed) {
        free(text);
        return NULL;
    }
    return text;
}

/* Whether the standard output takes PIPE_BUF bytes at once; else waits for it, not for long. (As has_room of
   base/outfile.c, which is the library's own.) */
static bool has_room(void)
{
    enum { MILLISECONDS = 100 };
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&out, 1, MILLISECONDS) > 0;
}

/* 0 or an errno; ends early when the run is stopped: stdio would go on, into a pipe that nobody may empty any more. So
   would a write that begins just after the signal, if it had to wait. */
static int print(tool *t, const char *text)
{
    size_t left = strlen(text);
    if (fflush(stdout)) return errno;
    while (left > 0 && !tool_is_stopped(t)) {
        stop_at(&t->monitor.stop, "printing", 0);
        if (!has_room()) continue;
        const ssize_t n = write(STDOUT_FILENO, text, left < PIPE_BUF ? left : PIPE_BUF);
        if (n < 0 && errno != EINTR) return errno;
        if (n > 0) text += n, left -= (size_t)n;
    }
    return 0;
}

int json_print(tool *t, const json_t *object)
{
    if (wisp_ctx_rank(t->ctx) > 0) return EXIT_FINE; /* the first one prints */
    char *text = object ? json_text(object) : NULL;
    if (!text) return tool_fail(t, "out of memory for the results");
    t->printed = true;
    const int error = print(t, text);
    free(text);
    if (tool_is_stopped(t)) return tool_stopped(t);
    return error ? tool_fail(t, "cannot write to the standard output: %s", strerror(error)) : EXIT_FINE;
}

int json_print_new(tool *t, json_t *object)
{
    const int rc = json_print(t, object);
    json_decref(object);
    return rc;
}

/* A string that need not be there, nor be UTF-8 (file names). */
json_t *json_words(const char *s)
{
    if (!s) return json_null();
    json_t *j = json_string(s);
    if (j) return j;
    char *ascii = strdup(s);
    for (char *c = ascii; c && *c; c++)
        if ((unsigned char)*c >= 0x80) *c = '?';
    j = ascii ? json_string(ascii) : NULL;
    free(ascii);
    return j;
}
