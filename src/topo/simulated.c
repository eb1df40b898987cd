/* $WISP_MACHINE: a file as `wisp machine` keeps it, of the machine that the model sees instead of this one. Memory
   is what there is here. */
#include "machine.h"
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CACHES = 8, WORD = 128 };

typedef struct {
    const char *at;  /* what is still to be read */
    char path[WORD]; /* of the value that is read: "caches.0.bytes" */
    wisp_machine m;
    int level[CACHES], cores[CACHES]; /* of the caches as listed; 0: not known */
    int64_t bytes[CACHES];
} reader;

static int level_of(const char *name)
{
    for (int l = 0; l < WISP_LEVELS; l++)
        if (!strcmp(wisp_level_name(l), name)) return l;
    return -1;
}

static void take_word(reader *r, const char *word)
{
    int i, end = 0;
    if (!strcmp(r->path, ".cpu")) snprintf(r->m.cpu, sizeof r->m.cpu, "%s", word);
    if (!strcmp(r->path, ".isa")) snprintf(r->m.isa, sizeof r->m.isa, "%.15s", word);
    if (sscanf(r->path, ".caches.%d.level%n", &i, &end) == 1 && end && i >= 0 && i < CACHES)
        r->level[i] = level_of(word) + 1;
}

/* Of an entry or a row: ".kernel_ns.KIND.TYPE.", then which width, and which of both. */
static void take_kernel(reader *r, double v)
{
    char kind[WORD], type[WORD];
    int width, part;
    if (sscanf(r->path, ".kernel_ns.%127[^.].%127[^.].%d.%d", kind, type, &width, &part) != 4) return;
    if (width < 0 || width >= WISP_KERNEL_WIDTHS || part < 0 || part > 1) return;
    for (int k = 0; k < WISP_ROW_KINDS; k++)
        for (int t = 0; t < WISP_KERNEL_TYPES; t++)
            if (!strcmp(kind, wisp_rows_name(k)) && !strcmp(type, wisp_type_name((wisp_type)(WISP_S + t))))
                r->m.kernel_ns[k][t][width][part] = v;
}

static void take_number(reader *r, double v)
{
    static const char *const name[] = {".packages", ".nodes", ".cores", ".cpus", ".threads"};
    wisp_machine *m = &r->m;
    int *count[] = {&m->packages, &m->nodes, &m->cores, &m->cpus, &m->threads}, i;
    char word[WORD];
    const double most = 1e15, few = 1e6; /* far beyond what can be true; and what integers hold */
    v = fmax(-most, fmin(most, v));      /* that -nan is most is as good */
    for (size_t k = 0; k < sizeof count / sizeof *count; k++)
        if (!strcmp(r->path, name[k])) *count[k] = fabs(v) < few ? (int)v : 0;
    if (!strcmp(r->path, ".cache_kept_bytes")) m->kept_bytes = (int64_t)v;
    if (!strcmp(r->path, ".exchange_gbs")) m->exchange_gbs = v;
    if (sscanf(r->path, ".caches.%d.%127s", &i, word) == 2 && i >= 0 && i < CACHES) {
        if (!strcmp(word, "bytes")) r->bytes[i] = (int64_t)v;
        if (!strcmp(word, "cores")) r->cores[i] = fabs(v) < few ? (int)v : 0;
    }
    if (sscanf(r->path, ".bandwidth_gbs.%127[^.].load.%d", word, &i) == 2 && level_of(word) >= 0 && i >= 0 && i < 2)
        m->gbs[WISP_LOAD][level_of(word)][i] = v;
    take_kernel(r, v);
}

static char next(reader *r)
{
    while (isspace((unsigned char)*r->at)) r->at++;
    return *r->at;
}

static bool read_word(reader *r, char word[WORD])
{
    if (next(r) != '"') return false;
    const size_t n = strcspn(r->at + 1, "\"");
    snprintf(word, WORD, "%.*s", (int)n, r->at + 1);
    r->at += n + 2;
    return n < WORD && r->at[-1] == '"';
}

/* A value of JSON, with all that is in it; false if it is none. The path bounds the depth. */
static bool read_value(reader *r)
{
    char word[WORD], *end;
    const char c = next(r), close = c == '{' ? '}' : ']';
    if (c == '"') {
        if (!read_word(r, word)) return false;
        take_word(r, word);
    } else if (c == '-' || isdigit((unsigned char)c)) {
        take_number(r, strtod(r->at, &end));
        r->at = end;
    } else if (isalpha((unsigned char)c)) {
        while (isalpha((unsigned char)*r->at)) r->at++;
    } else if (c == '{' || c == '[') {
        const size_t length = strlen(r->path);
        for (int i = 0; i == 0 || *r->at == ','; i++) {
            r->at++;
            if (i == 0 && next(r) == close) break;
            snprintf(word, sizeof word, "%d", i);
            if (c == '{' && (!read_word(r, word) || next(r) != ':')) return false;
            if (c == '{') r->at++;
            if (length + strlen(word) + 2 > sizeof r->path) return false;
            snprintf(r->path + length, sizeof r->path - length, ".%s", word);
            if (!read_value(r)) return false;
            r->path[length] = 0;
            next(r);
        }
        return *r->at++ == close;
    } else {
        return false;
    }
    return true;
}

/* What is wrong with it, in words; NULL: nothing. */
static const char *finish(reader *r, char *why, size_t size)
{
    const int64_t most = INT64_C(1) << 40; /* bytes of a cache */
    wisp_machine *m = &r->m;
    const int before = snprintf(why, size, "figures can't be true: ");
    if (m->cores < 1) return "\"cores\" is no number of cores";
    for (int i = 0; i < CACHES; i++) {
        if (r->level[i] == 0 && r->bytes[i] == 0) continue;
        const int l = r->level[i] - 1;
        if (l < 0 || l >= WISP_MEMORY) return "a cache's \"level\" is none of L1, L2, L3";
        if (r->bytes[i] < 1 || r->cores[i] < 1) return "a cache has no \"bytes\" or no \"cores\" that share it";
        if (r->bytes[i] > most) return "a cache's \"bytes\" can't be true";
        m->cache_bytes[l] = r->bytes[i], m->cache_cores[l] = r->cores[i];
    }
    if (m->cache_bytes[WISP_L1] == 0 || m->cache_bytes[WISP_L2] == 0) return "\"caches\" has no L1 or no L2";
    m->packages = WISP__MAX(m->packages, 1);
    m->nodes = WISP__MAX(m->nodes, 1);
    m->cpus = WISP__MAX(m->cpus, m->cores);
    m->threads = WISP__MAX(m->threads, m->cores);
    return wisp__machine_doubt(m, why + before, size - (size_t)before) ? why : NULL;
}

static char *read_file(wisp_ctx *ctx, const char *path, wisp_status *status)
{
    enum { MOST = 1 << 20 }; /* far more than any machine has to tell */
    char *text = malloc(MOST);
    FILE *f = text ? fopen(path, "r") : NULL;
    const size_t n = f ? fread(text, 1, MOST - 1, f) : 0;
    if (n > 0 && !ferror(f)) {
        text[n] = 0;
    } else {
        *status = wisp_ctx_failf(ctx, WISP_ERR_IO,
                                 "WISP_MACHINE=%s: it can't be read: %s; name a JSON file of a machine", path,
                                 !text             ? "out of memory"
                                 : !f || ferror(f) ? strerror(errno)
                                                   : "it is empty");
        free(text);
        text = NULL;
    }
    if (f) fclose(f);
    return text;
}

wisp_status wisp__simulate(wisp_ctx *ctx)
{
    const char *path = getenv("WISP_MACHINE"), *wrong = NULL;
    char why[256];
    wisp_status status = WISP_OK;
    if (!path || !*path) return WISP_OK;
    char *text = read_file(ctx, path, &status);
    if (!text) return status;
    reader r = {.at = text, .m = *wisp__topology(ctx)};
    wisp_machine *m = &r.m;
    memset(m->cache_bytes, 0, sizeof m->cache_bytes);
    m->cores = 0;
    if (!read_value(&r) || next(&r))
        wrong = "it is no JSON";
    else
        wrong = finish(&r, why, sizeof why);
    if (wrong) {
        status =
            wisp_ctx_failf(ctx, WISP_ERR_FORMAT, "WISP_MACHINE=%s: %s; name a JSON file of a machine", path, wrong);
    } else {
        ctx->topology = *m;
        ctx->simulated = true;
    }
    free(text);
    return status;
}
