/* How much of a gathered block the caches keep. It follows from how far apart in a sweep the rows are that gather the
   same line of the block. */
#include "../base/sort.h"
#include "model.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EACH = 8, BUCKETS = 40 * EACH };

/* Returns to a line after so many rows of the sweep, by the logarithm of these, for each line; and threads that meet it
   at all. */
typedef struct {
    int64_t lines, per_line;
    double first, count[BUCKETS];
} gaps;

const int64_t wisp__comings_bytes = 2 * sizeof(gaps);

wisp_status wisp__sample_open(wisp__sample *s, wisp_ctx *ctx, int64_t rows, int64_t entries)
{
    wisp_status status;
    *s = (wisp__sample){.rows = rows};
    WISP_TRY(wisp_alloc(ctx, &s->first, (size_t)rows + 1, sizeof *s->first));
    WISP_TRY(wisp_alloc(ctx, &s->place, (size_t)(entries + rows), sizeof *s->place));
out:
    return status;
}

void wisp__sample_close(wisp__sample *s, wisp_ctx *ctx)
{
    wisp_free(ctx, s->first);
    wisp_free(ctx, s->place);
    *s = (wisp__sample){0};
}

static int bucket_of(int64_t gap)
{
    const int b = (int)(EACH * log2((double)gap));
    return b < BUCKETS ? b : BUCKETS - 1;
}

/* When a row comes in its thread's part of the sweep, of so many threads; those of different ones are far apart. */
static int64_t time_of(const wisp__caches *c, int threads, int64_t place)
{
    const int64_t far_apart = INT64_C(1) << 48, block = threads > 1 ? place / c->block_rows : 0;
    if (threads < 2) return place;
    return block % threads * far_apart + block / threads * c->block_rows + place % c->block_rows;
}

/* Rows of the block that share a line follow one another in a run; its last ones, which fill none, are left out. The
   first row of a line that is at or behind this one; -1: there is none. */
static int64_t line_from(const wisp__sample *s, int64_t row, int64_t per_line)
{
    if (row % WISP__RUN + per_line > WISP__RUN) row = (row / WISP__RUN + 1) * WISP__RUN;
    return row + per_line <= s->rows ? row : -1;
}

static int64_t gather_line(const wisp__sample *s, int64_t row, int64_t per_line)
{
    return s->first[row + per_line] - s->first[row];
}

/* The rows that gather one line: one after the other in the sweep. */
static void count_line(gaps *g, const wisp__sample *s, const wisp__caches *c, int threads, int64_t row, int64_t *time)
{
    const int64_t begin = s->first[row], n = gather_line(s, row, g->per_line), far_apart = INT64_C(1) << 40;
    for (int64_t i = 0; i < n; i++) time[i] = time_of(c, threads, s->place[begin + i]);
    qsort(time, (size_t)n, sizeof *time, wisp__by_number);
    g->first++;
    for (int64_t i = 1; i < n; i++) {
        const int64_t gap = time[i] - time[i - 1];
        g->first += gap > far_apart;
        if (gap > 0 && gap <= far_apart) g->count[bucket_of(gap)]++;
    }
    g->lines++;
}

static void count_lines(gaps *g, const wisp__sample *s, const wisp__caches *c, int threads, int64_t per_line,
                        int64_t *time)
{
    *g = (gaps){.per_line = per_line};
    for (int64_t row = 0; (row = line_from(s, row, per_line)) >= 0; row += per_line)
        count_line(g, s, c, threads, row, time);
    const double lines = (double)WISP__MAX(g->lines, 1);
    g->first = g->lines > 0 ? g->first / lines : 1;
    for (int b = 0; b < BUCKETS; b++) g->count[b] /= lines;
}

/* The chance that so many bytes push a line out of a cache. None is sharp. */
typedef struct {
    double bytes;
    wisp__filling full;
} capacity;
static double lost(double passed, const capacity *c)
{
    return WISP__MIN(WISP__MAX((passed / c->bytes - c->full.from) / (c->full.to - c->full.from), 0), 1);
}

/* What is lost passes again, and pushes out more: from nothing lost up to where that ends. */
static double comes(const gaps *g, double row_bytes, double stream_bytes, capacity cache)
{
    enum { MOST_TURNS = 100 }; /* it ends long before that, as a rule */
    double times = g->first, before = 0;
    for (int turn = 0; turn < MOST_TURNS && times - before > 1e-3; turn++) {
        const double row = stream_bytes + times * row_bytes;
        before = times;
        times = g->first;
        for (int b = 0; b < BUCKETS; b++)
            if (g->count[b] > 0) times += g->count[b] * lost(exp2((b + 0.5) / EACH) * row, &cache);
    }
    return times;
}

wisp_status wisp__comings_find(wisp_ctx *ctx, const wisp__tuned *t, const wisp__sample *s, int64_t row_bytes,
                               double stream_bytes, const wisp__caches *c, wisp__comings *found)
{
    const int64_t per_line = WISP__MAX(t->line / row_bytes, 1);
    gaps *all = NULL, *own;
    int64_t *time = NULL, most = 1;
    wisp_status status;
    for (int64_t row = 0; (row = line_from(s, row, per_line)) >= 0; row += per_line)
        most = WISP__MAX(most, gather_line(s, row, per_line));
    WISP_TRY(wisp_alloc(ctx, &all, 2, sizeof *all));
    WISP_TRY(wisp_alloc(ctx, &time, (size_t)most, sizeof *time));
    own = all + 1;
    count_lines(all, s, c, 1, per_line, time);
    count_lines(own, s, c, c->threads, per_line, time);
    const double part = (double)row_bytes; /* of a line */
    *found = (wisp__comings){.last = comes(all, part, stream_bytes, (capacity){c->l3, t->time.shared}),
                             .l2 = comes(own, part, stream_bytes, (capacity){c->l2, t->time.own}),
                             .l1 = comes(own, part, stream_bytes, (capacity){c->l1, t->time.own}),
                             .threads = own->first};
    found->l2 = WISP__MAX(found->l2, found->last); /* nothing comes past a level */
    found->l1 = WISP__MAX(found->l1, found->l2);
out:
    wisp_free(ctx, time);
    wisp_free(ctx, all);
    return status;
}

/* What comes takes the place of any line with equal chance: of a line that is met again after (1 - h) bytes / cache
   others have come, each of which hit it with a chance of one in as many as there are lines, exp(-(1 - h) bytes /
   cache) are left. */
double wisp__kept_part(double bytes, double cache)
{
    enum { TURNS = 200 };
    double h = 0;
    if (bytes <= cache) return 1;
    for (int i = 0; i < TURNS; i++) h = exp(-(1 - h) * bytes / cache);
    return h;
}

/* A number that stands for the distances of a group of rows (FNV-1a). */
static uint64_t distances_of(const wisp__sample *s, int64_t row, int64_t group)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (int64_t i = row; i < row + group; i++)
        for (int64_t k = s->first[i]; k <= s->first[i + 1]; k++) {
            h ^= k < s->first[i + 1] ? (uint64_t)(s->place[k] - s->place[s->first[i]]) : UINT64_C(1) << 63;
            h *= 0x100000001b3u;
        }
    return h;
}

static bool same_distances(const wisp__sample *s, int64_t a, int64_t b)
{
    const int64_t *p = s->place + s->first[a], *q = s->place + s->first[b], n = s->first[a + 1] - s->first[a];
    if (s->first[b + 1] - s->first[b] != n) return false;
    for (int64_t k = 1; k < n; k++)
        if (p[k] - p[0] != q[k] - q[0]) return false;
    return true;
}

static double alike_apart(const wisp__sample *s, int64_t group, int64_t apart)
{
    const int64_t rows = group * apart;
    int64_t groups = 0, alike = 0;
    for (int64_t run = 0; run < s->rows; run += WISP__RUN)
        for (int64_t i = run, k; i + rows <= WISP__MIN(run + WISP__RUN, s->rows); i += rows) {
            for (k = i; k + apart < i + rows && same_distances(s, k, k + apart);) k++;
            alike += k + apart == i + rows;
            groups++;
        }
    return groups > 0 ? (double)alike / (double)groups : 0;
}

double wisp__sample_alike(const wisp__sample *s, int64_t group, int64_t most_apart)
{
    double most = 0;
    for (int64_t apart = 1; apart <= most_apart && group * apart <= WISP__RUN; apart++)
        most = fmax(most, alike_apart(s, group, apart));
    return most;
}

wisp_status wisp__sample_repeats(wisp_ctx *ctx, const wisp__sample *s, int64_t group, double *part)
{
    enum { OFTEN = 4 };
    const int64_t groups = s->rows / group;
    int64_t repeats = 0;
    int64_t *seen;
    wisp_status status;
    WISP_TRY(wisp_alloc(ctx, &seen, (size_t)WISP__MAX(groups, 1), sizeof *seen));
    for (int64_t i = 0; i < groups; i++) seen[i] = (int64_t)distances_of(s, i * group, group);
    qsort(seen, (size_t)groups, sizeof *seen, wisp__by_number);
    for (int64_t i = 0, next; i < groups; i = next) {
        for (next = i; next < groups && seen[next] == seen[i];) next++;
        if (next - i >= OFTEN) repeats += next - i;
    }
    *part = groups > 0 ? (double)repeats / (double)groups : 0;
    wisp_free(ctx, seen);
out:
    return status;
}

/* The distance within which nearly all entries are, those that wrap around left out; and those that follow. */
void wisp__sample_finish(wisp__sample *s)
{
    const double nearly_all = 0.98;
    double count[BUCKETS] = {0}, far = 0, all = 0, follow = 0, pairs = 0, uneven = 0, rows = 0;
    const int64_t entries = s->first[s->rows];
    for (int64_t i = 0; i < s->rows; i++) {
        const int64_t begin = s->first[i], n = s->first[i + 1] - begin, self = s->place[begin];
        for (int64_t k = 1; k < n; k++) {
            const int64_t d = llabs((long long)(s->place[begin + k] - self));
            if (d > 0) count[bucket_of(d)]++, all++;
        }
        if (i % WISP__RUN == 0) continue;
        rows++;
        uneven += s->first[i] - s->first[i - 1] != n;
        if (s->first[i] - s->first[i - 1] != n) continue;
        for (int64_t k = 1; k < n; k++) follow += s->place[begin + k] == s->place[begin + k - n] + 1;
        pairs += (double)n - 1;
    }
    s->entries = s->rows > 0 ? (double)(entries - s->rows) / (double)s->rows : 0;
    s->follows = pairs > 0 ? follow / pairs : 0;
    s->uneven = rows > 0 ? uneven / rows : 0;
    for (int b = 0; b < BUCKETS && far < nearly_all * all; b++) {
        far += count[b];
        if (count[b] > 0) s->reach = exp2((b + 1.0) / EACH);
    }
}
