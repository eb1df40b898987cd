/* What every --plan asks: memory that ranks need together, and what this machine has; its ceilings. */
#include "plan.h"
#include "bench/bench.h"
#include "out/text.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

/* Who gives a limit is taken at his word: then this machine's memory is not asked about. */
static int64_t limit_of(const tool *t)
{
    return t->opt.mem_limit ? t->opt.mem_limit : (int64_t)sysconf(_SC_PHYS_PAGES) * (int64_t)sysconf(_SC_PAGESIZE);
}

/* A number for the machine, the same for all processes on it. */
static double machine_number(void)
{
    char id[64] = "";
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (!f || !fgets(id, sizeof id, f)) gethostname(id, sizeof id - 1);
    if (f) fclose(f);
    return (double)(XXH3_64bits(id, strlen(id)) >> 11);
}

enum { BYTES, MACHINE, LIMIT, NUMBERS }; /* of each rank */

/* The machine whose limit is nearest, or passed most; or the rank, if each has a limit of its own. */
static void add_by_machine(const double *all, int ranks, bool together, plan_need *need)
{
    double most = -1;
    for (int r = 0; r < ranks; r++) {
        const double *mine = all + (size_t)r * NUMBERS, *other = all;
        double sum = together ? 0 : mine[BYTES];
        int here = !together;
        for (int s = 0; together && s < ranks; s++, other += NUMBERS)
            if (other[MACHINE] == mine[MACHINE]) sum += other[BYTES], here++;
        if (sum / mine[LIMIT] <= most) continue;
        most = sum / mine[LIMIT];
        *need = (plan_need){wisp_whole_number(sum), (int64_t)mine[LIMIT], here};
    }
}

/* What each rank has, size bytes, one after the other, to be freed; NULL: there was no memory, on any of them. It goes
   by words of 32 bits, which a sum of doubles keeps. */
static void *gather(tool *t, const void *own, size_t size)
{
    enum { WORD = sizeof(uint32_t) };
    const size_t ranks = (size_t)wisp_ctx_processes(t->ctx), rank = (size_t)wisp_ctx_rank(t->ctx);
    const size_t words = (size + WORD - 1) / WORD, tail = size - WORD * (words - 1);
    double *sum = calloc(ranks * words, sizeof *sum);
    wisp_ctx_enter(t->ctx);
    wisp_status status = sum ? WISP_OK : wisp_ctx_failf(t->ctx, WISP_ERR_NOMEM, "out of memory for %zu ranks", ranks);
    for (size_t i = 0; i < words && sum; i++) {
        uint32_t word = 0;
        memcpy(&word, (const char *)own + WORD * i, i + 1 < words ? WORD : tail);
        sum[rank * words + i] = word;
    }
    if (status == WISP_OK) status = wisp_ctx_sum(t->ctx, sum, ranks * words);
    status = wisp_ctx_leave(t->ctx, status);
    char *all = (char *)sum; /* in its place: a word is shorter */
    for (size_t i = 0; i < ranks * words && status == WISP_OK; i++) {
        const uint32_t word = (uint32_t)sum[i];
        memcpy(all + i / words * size + i % words * WORD, &word, (i + 1) % words ? WORD : tail);
    }
    if (status == WISP_OK) return all;
    free(sum);
    return NULL;
}

int64_t plan_most(tool *t, int64_t own)
{
    int64_t *all = gather(t, &own, sizeof own), most = own;
    for (int r = 0; all && r < wisp_ctx_processes(t->ctx); r++)
        if (all[r] > most) most = all[r];
    free(all);
    return most;
}

int plan_of_most(tool *t, int64_t bytes, void *plan, size_t size)
{
    int64_t *all = gather(t, &bytes, sizeof bytes);
    char *plans = gather(t, plan, size);
    int most = 0;
    for (int r = 1; all && r < wisp_ctx_processes(t->ctx); r++)
        if (all[r] > all[most]) most = r;
    const bool fine = all && plans;
    if (fine) memcpy(plan, plans + (size_t)most * size, size);
    free(all);
    free(plans);
    return fine ? EXIT_FINE : tool_fail_ctx(t);
}

int plan_needed(tool *t, int64_t own, plan_need *need)
{
    double *all =
        gather(t, (const double[]){(double)own, machine_number(), (double)limit_of(t)}, NUMBERS * sizeof *all);
    if (!all) return tool_fail_ctx(t);
    add_by_machine(all, wisp_ctx_processes(t->ctx), !t->opt.mem_limit, need);
    free(all);
    return EXIT_FINE;
}

const char *plan_whose(const plan_need *need)
{
    return need->ranks > 1 ? "all processes of a machine together; of the one that needs most: " : "";
}

wisp_status plan_ceilings(tool *t, wisp_machine *m, double *load_gbs, bool *kept)
{
    enum { TIMES = 5 };
    double gbs[TIMES];
    wisp_status status = WISP_OK;
    *kept = machine_kept(t, m);
    for (int i = 0; !*kept && i < TIMES; i++) WISP_TRY(wisp_load_bandwidth(t->ctx, &gbs[i]));
    if (!*kept) {
        m->gbs[WISP_LOAD][WISP_MEMORY][1] = bench_quartiles_of(gbs, TIMES).median;
        m->fma_gflops[0][1] = m->fma_gflops[1][1] = INFINITY;
    }
    *load_gbs = m->gbs[WISP_LOAD][WISP_MEMORY][1];
out:
    return status;
}

/* ---- what all plans of this kind say ------------------------------------------------------------- */

int64_t plan_largest(const int64_t *v, size_t n)
{
    int64_t most = 0;
    for (size_t i = 0; i < n; i++)
        if (v[i] > most) most = v[i];
    return most;
}

/* Of the device's own memory; 0: it has none. */
static int64_t device_limit(const tool *t)
{
    int64_t limit;
    wisp_ctx_device_memory(t->ctx, NULL, NULL, &limit);
    return limit;
}

bool plan_has_sides(const tool *t) { return device_limit(t) > 0; }

/* What a device holds for its calls: sums of groups, what comes with a call, rows on their way. No more than twice the
   vectors, where these are few; as a rule a small part of them. */
static int64_t call_bytes(int64_t vectors, bool most)
{
    enum { MOST = 16 << 20, LITTLE = 1 << 20, USUAL = 128 << 10, PART = 16 };
    const int64_t bytes = most ? LITTLE + 2 * vectors : USUAL + vectors / PART;
    return bytes < MOST ? bytes : MOST;
}

int64_t plan_total(const tool *t, const plan_held *p, bool most, plan_sides *sides)
{
    const int64_t vectors = p->vectors - (most ? 0 : p->on_host),
                  calls = plan_has_sides(t) ? call_bytes(vectors, most) : 0;
    *sides = (plan_sides){.device = p->matrix + vectors + calls};
    for (int i = 0; i < p->parts; i++) {
        int64_t host = p->part[i];
        if (i < p->held) host -= p->matrix + (most ? 0 : vectors);
        if (host > sides->host) sides->host = host;
    }
    return plan_largest(p->part, (size_t)p->parts) + calls;
}

int plan_fits_device(tool *t, int64_t bytes, bool *fits)
{
    const int64_t limit = device_limit(t);
    double over = limit > 0 && bytes > limit;
    if (wisp_ctx_sum(t->ctx, &over, 1)) return tool_fail_ctx(t);
    *fits = over == 0;
    return EXIT_FINE;
}

/* What the memory of a device is to a rank. */
static plan_sides device_of(const tool *t, int64_t device)
{
    plan_sides s = {.device = device, .limit = device_limit(t)};
    snprintf(s.name, sizeof s.name, "%s", wisp_ctx_device_of(t->ctx, wisp_ctx_rank(t->ctx), &s.ranks));
    return s;
}

/* ", for each of 2 processes", where a device is shared. */
static const char *text_share(char *buf, const plan_sides *s)
{
    if (s->ranks > 1)
        snprintf(buf, TEXT, ", for each of %d processes", s->ranks);
    else
        *buf = '\0';
    return buf;
}

int plan_refuse_device(tool *t, int64_t bytes, int64_t matrix, int64_t vectors, const char *advice)
{
    char text[4][TEXT], share[TEXT];
    struct {
        plan_sides at;
        int64_t matrix, vectors;
    } own = {device_of(t, bytes), matrix, vectors};
    const bool over = own.at.limit > 0 && bytes > own.at.limit;
    const int rc = plan_of_most(t, over ? bytes : 0, &own, sizeof own);
    if (rc) return rc;
    text_bytes(text[0], (double)own.at.device);
    text_bytes(text[1], (double)own.matrix);
    text_bytes(text[2], (double)own.vectors);
    text_bytes(text[3], (double)own.at.limit);
    if (t->opt.device_mem_limit)
        return tool_fail(t,
                         "the run would take about %s on the device %s (matrix %s, vectors %s), more than "
                         "--device-mem-limit %s",
                         text[0], own.at.name, text[1], text[2], text[3]);
    return tool_fail(t,
                     "the run would take about %s on the device %s (matrix %s, vectors %s), which has %s%s; %s, and "
                     "--device-mem-limit BYTES starts it anyway",
                     text[0], own.at.name, text[1], text[2], text[3], text_share(share, &own.at), advice);
}

int plan_sides_of_fullest(tool *t, plan_sides *about, plan_sides *most)
{
    const double steps = 1e6; /* how full is told in whole numbers */
    plan_sides both[2] = {device_of(t, about->device), device_of(t, most->device)};
    const bool own = both[1].limit > 0;
    both[0].host = about->host, both[1].host = most->host;
    const double full = own ? 1 + steps * (double)both[1].device / (double)both[1].limit : 0;
    const int rc = plan_of_most(t, wisp_whole_number(full), both, sizeof both);
    *about = both[0], *most = both[1];
    return rc;
}

void plan_sides_show(const plan_sides *about, const plan_sides *most)
{
    char b[4][TEXT];
    if (about->limit == 0) return;
    text_line("device", "about %s   (at most %s)   of %s on %s%s", text_bytes(b[0], (double)about->device),
              text_bytes_up(b[1], (double)most->device), text_bytes(b[2], (double)about->limit), about->name,
              text_share(b[3], about));
    text_line("host", "about %s   (at most %s)", text_bytes(b[0], (double)about->host),
              text_bytes_up(b[1], (double)most->host));
}

void plan_sides_json(json_t *o, const plan_sides *about, const plan_sides *most)
{
    const bool own = about->limit > 0;
    JSON_PUT(o, J_MAYBE(own, "device_bytes", about->device), J_MAYBE(own, "device_bound_bytes", most->device),
             J_MAYBE(own, "device_limit_bytes", about->limit), J_MAYBE(own, "host_bytes", about->host),
             J_MAYBE(own, "host_bound_bytes", most->host));
}

static int refuse(tool *t, const plan_bytes *own, const plan_need *need, const char *advice)
{
    char text[4][TEXT];
    plan_bytes b = *own;
    const int rc = plan_of_most(t, b.total, &b, sizeof b);
    if (rc) return rc;
    text_bytes(text[0], (double)need->bytes);
    text_bytes(text[1], (double)b.matrix.bytes);
    text_bytes(text[2], (double)b.vectors);
    text_bytes(text[3], (double)need->limit);
    if (t->opt.mem_limit)
        return tool_fail(t, "the run would take about %s (matrix %s, vectors %s), more than --mem-limit %s", text[0],
                         text[1], text[2], text[3]);
    return tool_fail(t,
                     "the run would take about %s (%smatrix %s, vectors %s), and this machine has %s; %s, and "
                     "--mem-limit BYTES starts it anyway",
                     text[0], plan_whose(need), text[1], text[2], text[3], advice);
}

/* An estimate is made only if the bound is too large. */
int plan_check(tool *t, plan_find_fn *find, const void *arg, const char *advice)
{
    const bool sides = plan_has_sides(t);
    bool fits;
    plan_bytes b;
    plan_need need;
    for (int estimate = 0; estimate < 2; estimate++) {
        int rc = find(t, arg, !estimate, &b);
        if (!rc) rc = plan_needed(t, sides ? b.sides.host : b.total, &need);
        if (!rc) rc = plan_fits_device(t, b.sides.device, &fits);
        if (rc || (need.bytes <= need.limit && fits) || (t->opt.plan && !t->opt.mem_limit && !t->opt.device_mem_limit))
            return rc;
    }
    return fits ? refuse(t, &b, &need, advice)
                : plan_refuse_device(t, b.sides.device, b.matrix.bytes, b.vectors, advice);
}

int plan_find(tool *t, plan_find_fn *find, const void *arg, plan_bytes *about, plan_bytes *most)
{
    int rc = find(t, arg, true, most);
    if (!rc) rc = find(t, arg, false, about);
    if (rc) return rc;
    plan_sides sides[2] = {about->sides, most->sides};
    rc = plan_sides_of_fullest(t, sides, sides + 1);
    if (!rc) rc = plan_of_most(t, most->total, most, sizeof *most);
    if (!rc) rc = plan_of_most(t, about->total, about, sizeof *about);
    about->sides = sides[0], most->sides = sides[1];
    return rc;
}

void plan_bytes_show(const tool *t, wisp_type type, int columns, const plan_bytes *about, const plan_bytes *most)
{
    char b[2][TEXT];
    text_line("matrix", "%s", t->opt.arg[0]);
    text_line("rows", "%s   nonzeros at most %s   %s, %d column%s", text_count(b[0], about->matrix.rows),
              text_count(b[1], most->matrix.nnz), wisp_type_name(type), columns, columns == 1 ? "" : "s");
    text_line("storage", "about %s   (at most %s)", text_bytes(b[0], (double)about->matrix.bytes),
              text_bytes_up(b[1], (double)most->matrix.bytes));
    text_line("vectors", "about %s   (at most %s)", text_bytes(b[0], (double)about->vectors),
              text_bytes_up(b[1], (double)most->vectors));
    text_line("total", "about %s at once   (at most %s)", text_bytes(b[0], (double)about->total),
              text_bytes_up(b[1], (double)most->total));
    plan_sides_show(&about->sides, &most->sides);
}

json_t *plan_json(const tool *t, wisp_type type, const plan_bytes *about, const plan_bytes *most)
{
    const wisp_mat_info *a = &about->matrix;
    json_t *o =
        JSON_PUT(json_head(t, t->opt.arg[0]), J("device", wisp_ctx_device(t->ctx)), J("rows", a->rows),
                 J("nnz", most->matrix.nnz), J("type", wisp_type_name(type)), J("format", text_format(a->format)),
                 J("matrix_bytes", a->bytes), J("vectors_bytes", about->vectors), J("total_bytes", about->total),
                 J("bound_bytes", most->total));
    plan_sides_json(o, &about->sides, &most->sides);
    return o;
}

/* A copy, in HDF5 a whole file in memory; else its transpose, of which each thread reads a row, a column of the block,
   and the text of the numbers that threads write at a time, which is compressed beside that. */
int64_t plan_output(const tool *t, const char *path, wisp_type type, int64_t rows, int64_t width, bool most)
{
    enum { LONGEST = 96, USUAL = 24, READER = 48, AT_ONCE = 1 << 16, HEADS = 1 << 16 };
    const int64_t threads = wisp_ctx_threads(t->ctx), once = AT_ONCE * threads, numbers = rows * width,
                  block = numbers * (int64_t)wisp_type_size(type);
    const int64_t some = numbers < once ? numbers : once;
    if (!path) return 0;
    const int copies = has_extension(path, "gz") ? 2 : 1;
    const int64_t number = most ? LONGEST : wisp_type_is_complex(type) ? 2 * USUAL : USUAL;
    return 4 * block + 8 * numbers + READER * threads * rows + copies * number * some + HEADS;
}

/* ---- time ---------------------------------------------------------------------------------------- */

/* The first of each rank's rows, with columns moved to its own, so that they need no halo. */
typedef struct {
    const wisp_src *src;
    int64_t first, rows;         /* of the rank, in src */
    int64_t row, col, col_count; /* the first one and number of its columns here */
} sample;

static int sample_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const sample *s = arg;
    if (s->rows == 0 || s->col_count == 0) return 0;
    const int n = s->src->row(s->src->arg, s->first + (row - s->row) % s->rows, col, val);
    for (int k = 0; col && k < n; k++) col[k] = s->col + col[k] % s->col_count;
    return n;
}

static wisp_status own_range(wisp_ctx *ctx, const wisp_src *src, int64_t all, int64_t *first, int64_t *count)
{
    wisp_map *map;
    const wisp_status status = wisp_map_create_weighted(&map, ctx, all, src->weights);
    if (status != WISP_OK) return status;
    *count = wisp_map_local(map, first);
    wisp_map_free(map);
    return WISP_OK;
}

wisp_status plan_assembly(tool *t, const wisp_src *src, const wisp_mat_opts *mo, double *seconds)
{
    enum { ROWS = 200000 };
    wisp_mat *A = NULL;
    wisp_mat_props props;
    sample s = {.src = src};
    wisp_src part = *src;
    int64_t rows;
    wisp_status status = WISP_OK;
    *seconds = 0;
    if (src->rows == 0) return WISP_OK;
    const double start = wisp_now();
    if (part.rows > ROWS) part.rows = ROWS;
    part.cols = part.rows + 1; /* not square: nor does a run look for the partner of each entry */
    part.row = sample_row;
    part.arg = &s;
    WISP_TRY(own_range(t->ctx, src, src->rows, &s.first, &s.rows));
    WISP_TRY(own_range(t->ctx, src, part.rows, &s.row, &rows));
    WISP_TRY(own_range(t->ctx, src, part.cols, &s.col, &s.col_count));
    wisp_mat_opts plain = *mo;
    plain.order = WISP_ROWS_NATURAL;
    plain.format = WISP_FORMAT_SELL;
    plain.type = src->type; /* single precision may not have numbers of a sample */
    WISP_TRY(wisp_mat_create(&A, t->ctx, &part, &plain));
    WISP_TRY(wisp_mat_get_props(A, &props));
    *seconds = (wisp_now() - start) * (double)src->rows / (double)part.rows;
out:
    wisp_mat_free(A);
    return status;
}

wisp_status plan_time_begin(tool *t, const wisp_src *src, const wisp_mat_opts *mo, plan_time *time)
{
    wisp_machine m = {0};
    wisp_status status = WISP_OK;
    *time = (plan_time){.source = wisp_now() - t->started};
    WISP_TRY(plan_ceilings(t, &m, &time->load_gbs, &time->kept));
    wisp_ctx_set_machine(t->ctx, &m);
    status = plan_assembly(t, src, mo, &time->assembly);
out:
    return status;
}

int plan_time_check(tool *t, wisp_status status)
{
    if (status == WISP_OK || (status == WISP_ERR_NOMEM && (t->opt.mem_limit || t->opt.device_mem_limit)))
        return EXIT_FINE;
    return tool_fail_ctx(t);
}

void plan_time_missing(wisp_status status)
{
    if (status != WISP_OK) text_line("time", "not known: to measure it takes more memory than the limit");
}

static double total_of(const plan_time *time) { return time->source + time->assembly + time->run; }

void plan_time_show(const plan_time *time, const char *run)
{
    char b[4][TEXT];
    text_line("time", "about %s   (start %s, assembly %s, %s %s)", text_seconds(b[0], total_of(time)),
              text_seconds(b[1], time->source), text_seconds(b[2], time->assembly), run, text_seconds(b[3], time->run));
    text_line("", "by the model, limit %s, at a load bandwidth of %.1f GB/s %s", time->limit, time->load_gbs,
              time->kept ? "kept by wisp machine" : "of now");
}

void plan_time_json(json_t *o, const plan_time *time)
{
    JSON_PUT(o, J_IF(time->known, "total_seconds", total_of(time)), J_IF(time->known, "start_seconds", time->source),
             J_IF(time->known, "assemble_seconds", time->assembly), J_IF(time->known, "seconds", time->run),
             J_IF(time->known, "load_gbs", time->load_gbs), J_IF(time->known, "ceilings", time->kept ? "kept" : "now"),
             J_IF(time->known, "limit", time->limit));
}
