/* --like: the choices of a run are an object of its results, which is written here, and read for another run. */
#include "like.h"
#include "names.h"
#include "out/out.h"
#include "weights.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

enum { WORD = 32, LONGEST = 200 };
#define MOST_WEIGHT ((int64_t)1 << 40)

/* ---- written ------------------------------------------------------------------------------------- */

/* Whether an option is a part of what is asked: its answer, and so the bits, hang on it. */
static bool is_question(int row)
{
    const char *group = NULL, *name = option_table[row].name;
    for (int i = 0; i <= row; i++)
        if (option_table[i].group) group = option_table[i].group;
    static const char *const others[] = {"variant", "reduce", "kernel", "interval", "points", "energies", "per"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (!strcmp(name, others[i])) return true;
    return !strcmp(group, option_table[0].group);
}

/* As it was typed; of a long list the first part, and what tells it from others. */
static json_t *typed(const char *text)
{
    char part[LONGEST + WORD];
    if (!text) return json_string("given");
    if (strlen(text) <= LONGEST) return json_words(text);
    snprintf(part, sizeof part, "%.*s.. %016llx", LONGEST, text, (unsigned long long)XXH3_64bits(text, strlen(text)));
    return json_words(part);
}

static json_t *asked_json(const tool *t)
{
    json_t *o = JSON_NEW(J("matrix", wisp_matrix_name(t->opt.arg[0])));
    for (int i = 0; o && i < option_rows; i++)
        if (t->opt.seen[i] && is_question(i)) json_object_set_new(o, option_table[i].name, typed(t->opt.text[i]));
    return o;
}

/* What each rank has chosen for its rows. */
enum { ORDER, TILES_ON, SLICES, PLACING };

/* One value, of all[ranks][PLACING]; or those of all ranks, with commas between, where they differ. */
static json_t *of_ranks(const double *all, int ranks, int which, bool differ)
{
    char *text = NULL;
    size_t size;
    if (!differ)
        return which == SLICES ? json_integer((json_int_t)all[SLICES])
                               : json_string(text_order((wisp_order)all[which]));
    FILE *f = open_memstream(&text, &size);
    if (!f) return json_null();
    for (int r = 0; r < ranks; r++, all += PLACING) {
        if (r) fputc(',', f);
        if (which == SLICES)
            fprintf(f, "%.0f", all[SLICES]);
        else
            fputs(text_order((wisp_order)all[which]), f);
    }
    json_t *o = fclose(f) ? json_null() : json_string(text);
    free(text);
    return o;
}

static void put_order(json_t *o, tool *t, const wisp_mat_info *info)
{
    const int ranks = wisp_ctx_processes(t->ctx);
    const size_t numbers = (size_t)ranks * PLACING;
    bool differ = false, tiles = false;
    double *all = calloc(numbers, sizeof *all);
    wisp_ctx_enter(t->ctx);
    wisp_status status = WISP_OK;
    if (all) {
        double *mine = all + (ptrdiff_t)wisp_ctx_rank(t->ctx) * PLACING;
        mine[ORDER] = info->order, mine[TILES_ON] = info->tiles_on, mine[SLICES] = (double)info->slices;
        status = wisp_ctx_sum(t->ctx, all, numbers);
    } else {
        status = wisp_ctx_failf(t->ctx, WISP_ERR_NOMEM, "out of memory for the orders of %d ranks", ranks);
    }
    if (wisp_ctx_leave(t->ctx, status) == WISP_OK) {
        for (int r = 0; r < ranks; r++) {
            differ |= memcmp(all + (ptrdiff_t)r * PLACING, all, PLACING * sizeof *all) != 0;
            tiles |= all[(ptrdiff_t)r * PLACING] == WISP_ROWS_TILES;
        }
        JSON_PUT(o, J("order", of_ranks(all, ranks, ORDER, differ)),
                 J_IF(tiles, "tiles_on", of_ranks(all, ranks, TILES_ON, differ)),
                 J_IF(tiles, "slices", of_ranks(all, ranks, SLICES, differ)));
    }
    free(all);
}

/* How the matrix lies, and for blocks of which width. */
static json_t *layout_json(tool *t, const wisp_mat_info *info, int width)
{
    json_t *o = JSON_NEW(J("type", wisp_type_name(info->type)), J_MAYBE(width > 0, "width", width));
    put_order(o, t, info);
    return JSON_PUT(o, J("format", text_format(info->format)), J("asked_format", text_format(info->asked_format)),
                    J("C", info->C), J("sigma", info->sigma), J("weights", weights_json(t)),
                    J("partition", text_partition((wisp_partition)t->opt.partition)), J("halo", json_halo(t, info)));
}

/* The device; or those of all ranks, where they differ. */
static json_t *devices_here(const tool *t)
{
    json_t *all = json_devices(t);
    size_t i, others = 0;
    json_t *device;
    json_array_foreach(all, i, device) others += !json_equal(device, json_array_get(all, 0));
    if (others > 0) return all;
    json_decref(all);
    return json_string(wisp_ctx_device(t->ctx));
}

/* Where it runs, as far as bits hang on it. */
static json_t *place_json(const tool *t)
{
    return JSON_NEW(J("version", wisp_version()), J("device", devices_here(t)), J("isa", wisp_ctx_isa(t->ctx)),
                    J("ranks", wisp_ctx_processes(t->ctx)));
}

json_t *like_json(tool *t, const wisp_mat_info *info, const like_run *run)
{
    json_t *o = JSON_NEW(J("subcommand", t->cmd->name), J("asked", asked_json(t)));
    json_t *parts[] = {place_json(t), layout_json(t, info, run->width)};
    for (int i = 0; i < 2; i++) {
        if (o && parts[i]) json_object_update(o, parts[i]);
        json_decref(parts[i]);
    }
    return JSON_PUT(o, J_MAYBE(run->depth > 0, "depth", run->depth),
                    J_MAYBE(run->row_bytes > 0, "row_bytes", run->row_bytes),
                    J_MAYBE(run->bytes > 0, "bytes", run->bytes), J_MAYBE(run->method, "method", run->method));
}

/* ---- read ---------------------------------------------------------------------------------------- */

/* What is wrong is noted, and told at the end. */
typedef struct {
    const json_t *from;
    int rank;
    const char *wrong; /* the first key whose value can't be */
} reader;

/* A text, or the part of it that is of this rank; NULL: there is none. */
static const char *part_of(const reader *r, const json_t *v)
{
    const char *text = json_string_value(v);
    for (int i = 0; text && i < r->rank && strchr(text, ','); i++) text = strchr(text, ',') + 1;
    return text;
}

static void refuse(reader *r, const char *key)
{
    if (!r->wrong) r->wrong = key;
}

/* A whole number; 0: there is none. */
static int64_t whole_of(reader *r, const char *key, int64_t least, int64_t most)
{
    const json_t *v = json_object_get(r->from, key);
    const char *text = part_of(r, v);
    if (!v || json_is_null(v)) return 0;
    char *end = NULL;
    const int64_t n = text ? strtoll(text, &end, 10) : json_integer_value(v);
    const bool is_number = text ? end > text && (!*end || *end == ',') : json_is_integer(v);
    if (is_number && n >= least && n <= most) return n;
    refuse(r, key);
    return 0;
}

/* The number of a word before `end`; 0: there is none. */
static int word_of(reader *r, const char *key, const char *const *words, int end)
{
    const json_t *v = json_object_get(r->from, key);
    const char *text = part_of(r, v);
    if (!v || json_is_null(v)) return 0;
    for (int i = 0; text && i < end && words[i]; i++)
        if (strlen(words[i]) == strcspn(text, ",") && !strncmp(words[i], text, strlen(words[i]))) return i;
    refuse(r, key);
    return 0;
}

static void take_precision(options *o, reader *r)
{
    static const char *const names[] = {"none", "single", "double", "complex single", "complex double", NULL};
    const wisp_type type = (wisp_type)word_of(r, "type", names, WISP_Z + 1);
    const bool given = option_seen(o, "precision"), is_double = !type_is_single(type);
    if (type == WISP_DEFAULT) return;
    /* Where single precision was found to do it is tried again, with the same outcome. */
    if (given && (o->precision != PRECISION_AUTO || !is_double)) return;
    o->precision = is_double ? PRECISION_DOUBLE : PRECISION_SINGLE;
    o->takes_precision = true;
}

static int take_weights(tool *t, reader *r)
{
    const json_t *all = json_object_get(r->from, "weights");
    const size_t ranks = (size_t)t->processes;
    int64_t sum = 0;
    if (ranks == 1 || !json_is_array(all) || t->opt.weights || t->opt.weights_by == WEIGHTS_ROWS) return EXIT_FINE;
    t->like.weights = calloc(ranks, sizeof *t->like.weights);
    if (!t->like.weights) return tool_fail(t, "out of memory for the weights of %zu processes", ranks);
    for (size_t i = 0; i < ranks; i++) {
        const json_int_t w = json_integer_value(json_array_get(all, i)); /* 0 where there is none */
        if (w < 0 || w > MOST_WEIGHT) refuse(r, "weights");
        t->like.weights[i] = w;
        sum += w;
    }
    if (sum == 0) refuse(r, "weights");
    t->opt.weights_by = WEIGHTS_GIVEN;
    return EXIT_FINE;
}

/* What hangs on the number of ranks. */
static int take_shares(tool *t, reader *r)
{
    options *o = &t->opt;
    const int order = word_of(r, "order", order_names, ORDERS),
              tiles_on = word_of(r, "tiles_on", order_names, WISP_ROWS_TILES);
    const int64_t slices = whole_of(r, "slices", 0, INT32_MAX);
    const bool columns = word_of(r, "halo", halo_names, INT32_MAX) == WISP_HALO_COLUMNS; /* others have the same bits */
    if (!o->order) {
        o->order = order;
        if (order == WISP_ROWS_TILES) o->tiles_on = tiles_on, o->slices = slices;
    }
    if (!option_seen(o, "partition")) o->partition = word_of(r, "partition", partition_names, INT32_MAX);
    if (!o->halo && columns) o->halo = WISP_HALO_COLUMNS;
    return take_weights(t, r);
}

static int take(tool *t)
{
    options *o = &t->opt;
    reader r = {.from = t->like.chosen, .rank = t->process};
    const int64_t width = whole_of(&r, "width", 1, 4096), depth = whole_of(&r, "depth", 1, 1 << 20);
    const int64_t ranks = whole_of(&r, "ranks", 1, INT32_MAX);
    const int format = word_of(&r, "format", format_names, FORMATS),
              asked = word_of(&r, "asked_format", format_names, FORMATS);
    /* Others have as many as is asked. */
    const unsigned chosen =
        CMD_DOS | CMD_LDOS | CMD_COUNT | CMD_GREEN | CMD_SPECTRAL | CMD_THERMAL | CMD_TRACE | CMD_SIGMA;
    if ((t->cmd->bit & chosen) && !o->width && o->variant == WISP_KPM_BLOCKED) o->width = width;
    if (!o->depth && o->variant != WISP_KPM_NAIVE) o->depth = ranks == 1 && t->processes == 1 ? depth : 0;
    /* What was compressed unasked is so again: who asks gets other codes and lists. */
    if (!o->format) o->format = format == WISP_FORMAT_COMPRESSED || ranks > 1 ? asked : format;
    o->row_bytes = whole_of(&r, "row_bytes", 4, INT32_MAX);
    o->bytes = whole_of(&r, "bytes", 1, INT64_MAX);
    if (t->cmd->bit == CMD_EIG && !option_seen(o, "method"))
        o->method = word_of(&r, "method", eig_method_names, INT32_MAX);
    take_precision(o, &r);
    const int rc = ranks == t->processes ? take_shares(t, &r) : EXIT_FINE;
    if (rc || !r.wrong) return rc;
    return tool_fail(t, "%s is damaged: \"%s\" of what was chosen can't be so", o->like, r.wrong);
}

/* Of the matrix, beside what was chosen. */
static const char *const sizes[] = {"rows", "nnz"};

int like_read(tool *t)
{
    const char *path = t->opt.like, *command;
    struct stat is;
    json_error_t e;
    if (!path) return EXIT_FINE;
    if (t->opt.resume)
        return tool_usage(t, "--like and --resume exclude each other: a state has the choices of its run");
    if (stat(path, &is)) return tool_fail(t, "cannot read %s: %s", path, strerror(errno));
    if (!S_ISREG(is.st_mode)) return tool_fail(t, "cannot read %s: it is no file", path);
    json_t *all = json_load_file(path, JSON_REJECT_DUPLICATES, &e);
    if (!all) return tool_fail(t, "%s is no JSON: line %d: %s", path, e.line, e.text);
    t->like.chosen = json_incref(json_object_get(all, "chosen"));
    for (int i = 0; i < 2; i++) json_object_set(t->like.chosen, sizes[i], json_object_get(all, sizes[i]));
    json_decref(all);
    command = json_string_value(json_object_get(t->like.chosen, "subcommand"));
    if (!command)
        return tool_fail(t, "%s does not say what a run chose; take what wisp %s --json has printed", path,
                         t->cmd->name);
    if (strcmp(command, t->cmd->name))
        return tool_fail(t, "%s is of wisp %.20s, and this is wisp %s, which chooses otherwise", path, command,
                         t->cmd->name);
    return take(t);
}

void like_free(tool *t)
{
    json_decref(t->like.chosen);
    free(t->like.weights);
    t->like.chosen = NULL;
    t->like.weights = NULL;
}

/* Processors of the host: these have the same bits. */
static bool is_host(const json_t *device)
{
    static const char *const names[] = {"cpu", "far"};
    const char *text = json_string_value(device);
    for (size_t i = 0; text && i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == strcspn(text, ":") && !strncmp(text, names[i], strlen(names[i]))) return true;
    return false;
}

/* Whether some rank has them; or all ranks. */
static bool on_host(const json_t *devices, bool all)
{
    size_t i;
    json_t *device;
    if (!json_is_array(devices)) return is_host(devices);
    json_array_foreach(devices, i, device) if (is_host(device) != all) return !all;
    return all;
}

static json_t *device_there(const tool *t) { return json_object_get(t->like.chosen, "device"); }

const char *like_isa(const tool *t)
{
    const char *env = getenv("WISP_ISA");
    const bool hangs = on_host(device_there(t), false) && !(env && *env);
    return hangs ? json_string_value(json_object_get(t->like.chosen, "isa")) : NULL;
}

/* ---- what differs ---------------------------------------------------------------------------------- */

typedef struct {
    char text[700];
    size_t used;
} differences;

static const char *shown(const json_t *v, char word[WORD + LONGEST])
{
    char *text = !v || json_is_null(v) || json_is_string(v) ? NULL : json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT);
    const char *what = json_is_string(v) ? json_string_value(v) : text ? text : "not given";
    snprintf(word, WORD + LONGEST, "%.*s", WORD, what);
    free(text);
    return word;
}

static void compare(differences *d, const char *key, const json_t *here, const json_t *there)
{
    char a[WORD + LONGEST], b[WORD + LONGEST];
    const bool none = (!here || json_is_null(here)) && (!there || json_is_null(there));
    if (none || (here && there && json_equal(here, there)) || d->used >= sizeof d->text) return;
    const int n = snprintf(d->text + d->used, sizeof d->text - d->used, "%s%s %s (there %s)", d->used ? ", " : "", key,
                           shown(here, a), shown(there, b));
    d->used += n > 0 ? (size_t)n : 0;
}

/* The keys of `here`, and those that `there` has besides. */
static void compare_all(differences *d, json_t *here, json_t *there, bool both)
{
    const char *key;
    json_t *value;
    json_object_foreach(here, key, value) compare(d, key, value, json_object_get(there, key));
    if (!both) return;
    json_object_foreach(there, key, value) if (!json_object_get(here, key)) compare(d, key, NULL, value);
}

static void say(const tool *t, const differences *d)
{
    if (d->used)
        wisp_ctx_logf(t->ctx, WISP_LOG_WARN, "this run is not that of %.200s, and its bits may be others: %s",
                      t->opt.like, d->text);
}

void like_begin(const tool *t)
{
    differences d = {.used = 0};
    if (!t->like.chosen) return;
    json_t *asked = asked_json(t), *place = place_json(t), *there = t->like.chosen;
    compare_all(&d, asked, json_object_get(there, "asked"), true);
    if (on_host(device_there(t), true) && on_host(json_object_get(place, "device"), true))
        json_object_del(place, "device");
    compare_all(&d, place, there, false);
    say(t, &d);
    json_decref(asked);
    json_decref(place);
}

void like_matrix(tool *t, const wisp_mat_info *info, int width)
{
    differences d = {.used = 0};
    if (!t->like.chosen) return;
    json_t *layout = layout_json(t, info, width), *there = t->like.chosen;
    JSON_PUT(layout, J(sizes[0], info->rows), J(sizes[1], info->nnz));
    json_object_del(layout, "asked_format"); /* how it came about is of no matter */
    const char *halo = json_string_value(json_object_get(there, "halo"));
    if (json_integer_value(json_object_get(there, "ranks")) != wisp_ctx_processes(t->ctx))
        json_object_del(layout, "weights"); /* it is told that ranks are more or fewer */
    /* All ways but one have the same bits. */
    if (t->opt.halo != WISP_HALO_COLUMNS && !(halo && !strcmp(halo, wisp_halo_name(WISP_HALO_COLUMNS))))
        json_object_del(layout, "halo");
    compare_all(&d, layout, there, false);
    say(t, &d);
    json_decref(layout);
}
