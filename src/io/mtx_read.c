/* Matrix Market in: the text comes in batches of whole lines, each is parsed in stretches by all threads while the
   first thread fetches (and inflates) the next one. Batches and stretches do not depend on the number of threads.

   On several ranks each parses a range of the file, and entries go to the ranks that have their rows. What can't be
   cut, gzip and pipes, is parsed by rank 0 alone; arrays too, since the place of a value is known by those before it.
 */
#include "../comm/comm.h"
#include "../base/system.h"
#include "feed.h"
#include "mtx.h"
#include <string.h>
#include <unistd.h>

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
enum { BATCH = 1024, STRETCH = 32 }; /* seams everywhere */
#else /* a batch is read while the one before it is parsed: many stretches, of which each is worth a thread's turn */
enum { BATCH = 4 << 20, STRETCH = 64 << 10 };
#endif
enum { STRETCHES = BATCH / STRETCH + 1, SLACK = 64 };

/* Text of the feed, with the unfinished line of the buffer before it. */
typedef struct {
    char *text;
    size_t size, whole; /* bytes; those that are whole lines */
    wisp_status status; /* of the feed, after these bytes */
} buffer;

typedef struct {
    wisp_ctx *ctx;
    wisp__mtx m;
    wisp__feed feed;
    buffer buf[2];
    buffer *now, *then;
    size_t room;
    size_t pos;       /* in `now`: the head ends here */
    int64_t begin;    /* bytes before `now` */
    int64_t lines;    /* before `now`, then before pos */
    int64_t seen;     /* entries so far */
    bool only_checks; /* entries are not kept */
    wisp__stretch stretch[STRETCHES];
    int stretches;
    atomic_int next, stop; /* the next stretch to take; none beyond `stop`, for there is an error */
    wisp__coo coo;
} reader;

/* Reads on into `then`, behind the rest of `now`. */
static void fetch(reader *r)
{
    buffer *b = r->then;
    size_t rest = r->now->size - r->now->whole, got;
    memcpy(b->text, r->now->text + r->now->whole, rest);
    b->status = wisp__feed_fill(&r->feed, b->text + rest, r->room - rest, &got);
    b->size = rest + got;
    memset(b->text + b->size, 0, SLACK);
    if (r->feed.ended && b->size > 0 && b->text[b->size - 1] != '\n') b->text[b->size++] = '\n';
    const char *last = wisp__last_byte(b->text, '\n', b->size);
    b->whole = last ? (size_t)(last - b->text) + 1 : 0;
}

static bool at_end(const reader *r) { return r->feed.ended || r->now->status != WISP_OK; }

/* Makes `then` the buffer at hand, or says why there is none. */
static wisp_status turn(reader *r)
{
    buffer *old = r->now;
    r->begin += (int64_t)old->whole;
    r->now = r->then;
    r->then = old;
    r->pos = 0;
    if (r->now->whole > 0 || r->now->status != WISP_OK || r->feed.ended) return WISP_OK;
    return wisp_ctx_failf(r->ctx, WISP_ERR_FORMAT,
                          "%s:%lld: a line of more than %d bytes (is it a Matrix Market file?)", r->m.path,
                          (long long)r->lines + 1, BATCH);
}

/* In a range the number of the line is not known. */
static wisp_status feed_failed(reader *r, wisp_status status, int64_t line)
{
    if (r->feed.in->range) return wisp_ctx_failf(r->ctx, status, "%s: cannot read: %s", r->m.path, r->feed.what);
    return wisp_ctx_failf(r->ctx, status, "%s:%lld: %s", r->m.path, (long long)line, r->feed.what);
}

/* The next line of the head; NULL at the end of the text. */
static wisp_status head_line(reader *r, const char **line)
{
    wisp_status status;
    *line = NULL;
    while (r->pos == r->now->whole) {
        if (r->now->status != WISP_OK) return feed_failed(r, r->now->status, r->lines + 1);
        if (r->feed.ended) return WISP_OK;
        fetch(r);
        if ((status = turn(r)) != WISP_OK) return status;
    }
    *line = r->now->text + r->pos;
    r->pos = (size_t)((char *)memchr(*line, '\n', r->now->whole - r->pos) - r->now->text) + 1;
    r->lines++;
    return WISP_OK;
}

static wisp_status read_head(reader *r)
{
    wisp_status status;
    const char *line;
    WISP_TRY(head_line(r, &line));
    if (!line) return wisp_ctx_failf(r->ctx, WISP_ERR_FORMAT, "%s:1: the file is empty", r->m.path);
    WISP_TRY(wisp__mtx_banner(r->ctx, &r->m, line));
    for (;;) {
        WISP_TRY(head_line(r, &line));
        if (!line)
            return wisp_ctx_failf(r->ctx, WISP_ERR_FORMAT, "%s:%lld: the file ends before the line of sizes", r->m.path,
                                  (long long)r->lines);
        const char *p = line;
        wisp__word w = wisp__next_word(&p);
        if (w.n > 0 && *w.p != '%') break;
    }
    status = wisp__mtx_sizes(r->ctx, &r->m, line, r->lines);
out:
    return status;
}

static void cut(reader *r)
{
    const char *p = r->now->text + r->pos, *end = r->now->text + r->now->whole;
    for (r->stretches = 0; p < end; r->stretches++) {
        const char *stop =
            end - p > STRETCH ? (const char *)memchr(p + STRETCH, '\n', (size_t)(end - p - STRETCH)) + 1 : end;
        r->stretch[r->stretches] = (wisp__stretch){.begin = p, .end = stop, .bad_entry = -1};
        p = stop;
    }
    atomic_store(&r->next, 0);
    atomic_store(&r->stop, STRETCHES);
}

static void work(void *arg, int thread, int threads)
{
    reader *r = arg;
    (void)threads;
    if (thread == 0 && !at_end(r)) fetch(r);
    for (int i; (i = atomic_fetch_add(&r->next, 1)) < r->stretches && i <= atomic_load(&r->stop);) {
        wisp__stretch *stretch = &r->stretch[i];
        if (wisp__cancelled(r->ctx->team)) return;
        wisp__mtx_parse(r->ctx, &r->m, stretch);
        if (!stretch->bad && stretch->status == WISP_OK) continue;
        int stop = atomic_load(&r->stop);
        while (i < stop && !atomic_compare_exchange_weak(&r->stop, &stop, i)) {}
    }
}

static void place(void *arg, int thread, int threads)
{
    reader *r = arg;
    for (int i = thread; i < r->stretches; i += threads) wisp__mtx_place(&r->m, &r->stretch[i]);
}

/* The text itself may be damaged where its lines make no sense: then that is what the user must know. */
static wisp_status blame_gzip(reader *r, wisp_status status, int64_t line)
{
    size_t got;
    wisp_status end = r->now->status;
    if (!r->feed.gzip) return status;
    if (end == WISP_OK) end = r->then->status;
    while (end == WISP_OK && !r->feed.ended) end = wisp__feed_fill(&r->feed, r->then->text, r->room, &got);
    return end == WISP_OK ? status : feed_failed(r, end, line);
}

/* The first thing in the stretch that is wrong, by line. */
static wisp_status check(reader *r, const wisp__stretch *stretch, int64_t entries)
{
    int64_t spare = r->m.entries - stretch->first, line;
    wisp_status status = WISP_OK;
    if (stretch->status != WISP_OK) return stretch->status;
    if (stretch->bad_entry >= 0) {
        const char *text = wisp__mtx_line_of(stretch, stretch->bad_entry, &line);
        status = wisp__mtx_explain(r->ctx, &r->m, text, r->lines + line, true);
    } else if (entries > spare || (stretch->bad && entries == spare)) {
        line = stretch->lines;
        if (entries > spare) wisp__mtx_line_of(stretch, spare, &line);
        status =
            wisp_ctx_failf(r->ctx, WISP_ERR_FORMAT, "%s:%lld: there is more than the %lld entries of line %lld",
                           r->m.path, (long long)(r->lines + line), (long long)r->m.entries, (long long)r->m.size_line);
    } else if (stretch->bad) {
        line = stretch->lines;
        status = wisp__mtx_explain(r->ctx, &r->m, stretch->bad, r->lines + line, false);
    }
    return status == WISP_OK ? status : blame_gzip(r, status, r->lines + line);
}

/* Keeps what the stretches of a batch gave, in order, up to the first error. */
static wisp_status collect(reader *r)
{
    wisp_status status = WISP_OK;
    int64_t entries[STRETCHES];
    for (int i = 0; i < r->stretches; i++) {
        r->stretch[i].first = r->seen;
        entries[i] = r->stretch[i].run.count;
        r->seen += entries[i];
    }
    if (r->m.array) wisp__run_some(r->ctx->team, r->stretches <= 1, place, r);
    for (int i = 0; i < r->stretches; i++) {
        wisp__stretch *stretch = &r->stretch[i];
        if (status == WISP_OK) status = check(r, stretch, entries[i]);
        if (status == WISP_OK && !r->only_checks)
            status = wisp__coo_add(r->ctx, &r->coo, stretch->run);
        else
            wisp_free(r->ctx, stretch->run.memory);
        r->lines += stretch->lines;
    }
    return status;
}

/* Reads on until there are so many entries, or to the end, which *ended tells. */
static wisp_status read_some(reader *r, int64_t most, bool *ended)
{
    wisp_status status = WISP_OK;
    for (*ended = false; !*ended && r->coo.entries < most;) {
        bool last = at_end(r);
        cut(r);
        const bool whole = wisp__run_some(r->ctx->team, last && r->stretches <= 1, work, r);
        /* Before the stretches are looked at: a cancelled batch has holes. */
        wisp_status cancelled = wisp_ctx_step(r->ctx, "reading", 0.9 * wisp__feed_done(&r->feed), 0);
        if (cancelled == WISP_OK) cancelled = wisp__whole(r->ctx, "reading", whole);
        status = collect(r);
        WISP_TRY(cancelled != WISP_OK ? cancelled : status);
        *ended = last;
        if (!last) WISP_TRY(turn(r));
    }
    if (*ended && r->now->status != WISP_OK) return feed_failed(r, r->now->status, r->lines + 1);
out:
    return status;
}

static wisp_status check_count(reader *r)
{
    if (r->seen == r->m.entries) return WISP_OK; /* more of them have failed before */
    return wisp_ctx_failf(r->ctx, WISP_ERR_FORMAT, "%s:%lld: the file ends after %lld of %lld entries", r->m.path,
                          (long long)r->lines, (long long)r->seen, (long long)r->m.entries);
}

static wisp_status read_entries(reader *r)
{
    bool ended;
    const wisp_status status = read_some(r, INT64_MAX, &ended);
    return status == WISP_OK ? check_count(r) : status;
}

/* Up to the end of the head, unless it is a range, whose head is known. */
static wisp_status start(reader *r, wisp_ctx *ctx, const wisp__input *in)
{
    wisp_status status;
    *r = (reader){.ctx = ctx, .m.path = in->path, .m.c = r->m.c};
    WISP_TRY(wisp__feed_open(&r->feed, ctx, in));
    size_t most = wisp__feed_most(&r->feed);
    r->room = most < BATCH ? most + 1 : BATCH; /* so that the end of a small file is seen at once */
    for (int i = 0; i < 2; i++) WISP_TRY(wisp__alloc_raw(ctx, &r->buf[i].text, r->room + 1 + SLACK, 1));
    r->now = &r->buf[0];
    r->then = &r->buf[1];
    if (!in->range) status = read_head(r);
out:
    return status;
}

/* The text is no longer needed. */
static void stop(reader *r)
{
    if (!r->ctx) return;
    for (int i = 0; i < 2; i++) {
        wisp_free(r->ctx, r->buf[i].text);
        r->buf[i].text = NULL;
    }
    wisp__feed_close(&r->feed);
    wisp__coo_free(r->ctx, &r->coo);
    r->ctx = NULL;
}

static wisp_status make_source(wisp_src *src, wisp_ctx *ctx, const wisp__mtx *m, const wisp__coo *coo)
{
    const wisp__crs shape = wisp__crs_of_rank(ctx, NULL, m->numbers == 2 ? WISP_Z : WISP_D, m->rows, m->cols);
    wisp__crs *crs;
    wisp_status status = wisp__crs_build(&crs, &shape, coo, m->symmetry, m->path);
    if (status != WISP_OK) return status;
    if ((status = wisp__crs_source_of_ranks(src, crs)) != WISP_OK) wisp__crs_free(crs);
    return status;
}

static wisp_status read_alone(reader *r, wisp_src *src, wisp_ctx *ctx, const wisp__input *in)
{
    wisp__coo coo = {0};
    wisp_status status;
    WISP_TRY(start(r, ctx, in));
    WISP_TRY(read_entries(r));
    const wisp__mtx m = r->m;
    coo = r->coo;
    r->coo = (wisp__coo){0};
    stop(r);
    status = make_source(src, ctx, &m, &coo);
out:
    wisp__coo_free(ctx, &coo);
    return status;
}

/* ---- by several ranks ------------------------------------------------------------------------------- */

typedef struct {
    wisp__mtx m;
    int64_t bytes;
} head;

/* Rank 0 reads the head, and tells the others. */
static wisp_status share_head(reader *r, wisp_ctx *ctx, const wisp__input *in, head *h)
{
    head *all = NULL;
    wisp_status status;
    memset(h, 0, sizeof *h);
    WISP_TRY(wisp_alloc(ctx, &all, (size_t)ctx->ranks, sizeof *all));
    if (ctx->rank == 0) {
        WISP_TRY(start(r, ctx, in));
        h->m = r->m;
        h->bytes = r->begin + (int64_t)r->pos;
    }
    WISP_TRY(ctx->comm->gather(ctx, h, sizeof *h, all));
    *h = all[0];
    h->m.path = in->path;
    h->m.c = r->m.c;
out:
    wisp_free(ctx, all);
    return status;
}

/* Some entries and a round, until all ranks are at their ends. *bad: the text of some range is wrong, or there are more
   or fewer entries than the head says. */
static wisp_status deal_entries(reader *r, wisp_ctx *ctx, const wisp__mtx *m, wisp__deal *deal, bool *bad)
{
    const int64_t most = WISP__DEAL_BYTES / (int64_t)(wisp_type_size(deal->type) + 2 * sizeof(int32_t));
    wisp__coo none = {0};
    wisp_status status;
    bool ended = !r->ctx;
    enum { MORE, BAD, SEEN, SAYS };
    for (double say[SAYS] = {1}; say[MORE] > 0;) {
        const bool reads = !ended;
        status = reads ? read_some(r, most, &ended) : WISP_OK;
        const bool mine = status == WISP_ERR_FORMAT && r->feed.in->range;
        if (!mine) WISP_TRY(status);
        if (reads && ended && !r->feed.in->range) WISP_TRY(check_count(r));
        say[MORE] = !ended;
        say[BAD] = mine;
        say[SEEN] = (double)r->seen;
        WISP_TRY(ctx->comm->sum(ctx, say, SAYS));
        *bad = say[BAD] > 0 || (say[MORE] <= 0 && say[SEEN] != (double)m->entries);
        if (*bad) return WISP_OK;
        WISP_TRY(wisp__deal_round(deal, r->ctx ? &r->coo : &none));
    }
out:
    return status;
}

/* The file is wrong somewhere: rank 0 reads it as if it were alone, which finds the first place and its line. */
static wisp_status find_fault(reader *r, wisp_ctx *ctx, const wisp__input *in)
{
    double none = 0;
    if (ctx->rank == 0) {
        wisp_status status;
        lseek(in->fd, 0, SEEK_SET);
        if ((status = start(r, ctx, in)) != WISP_OK) return status;
        r->only_checks = true;
        if ((status = read_entries(r)) != WISP_OK) return status;
        return wisp_ctx_failf(ctx, WISP_ERR_IO, "%s: the file changed while it was read", in->path);
    }
    return ctx->comm->sum(ctx, &none, 1); /* fails */
}

static wisp_status read_together(reader *r, wisp_src *src, wisp_ctx *ctx, const wisp__input *in)
{
    head h;
    wisp__input range = *in;
    wisp__deal deal = {0};
    wisp__coo coo = {0};
    wisp_status status;
    bool bad = false;
    WISP_TRY(share_head(r, ctx, in, &h));
    if (!in->dealt && !h.m.array) {
        stop(r);
        WISP_TRY(wisp__mtx_range(ctx, in, h.bytes, &range));
        WISP_TRY(start(r, ctx, &range));
        r->m = h.m;
    }
    WISP_TRY(wisp__deal_open(&deal, ctx, NULL, h.m.numbers == 2 ? WISP_Z : WISP_D, h.m.rows,
                             h.m.symmetry != WISP_SYM_GENERAL));
    WISP_TRY(deal_entries(r, ctx, &h.m, &deal, &bad));
    stop(r);
    if (bad) {
        wisp__deal_close(&deal);
        status = find_fault(r, ctx, in);
        goto out;
    }
    WISP_TRY(wisp__deal_take(&deal, &coo));
    status = make_source(src, ctx, &h.m, &coo);
out:
    wisp__deal_close(&deal);
    wisp__coo_free(ctx, &coo);
    return status;
}

wisp_status wisp__read_mtx(wisp_src *src, wisp_ctx *ctx, const wisp__input *in)
{
    memset(src, 0, sizeof *src);
    reader *r;
    wisp_status status = wisp_alloc(ctx, &r, 1, sizeof *r);
    if (status != WISP_OK) return status;
    const locale_t c = r->m.c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    status = ctx->ranks == 1 ? read_alone(r, src, ctx, in) : read_together(r, src, ctx, in);
    stop(r);
    if (c) freelocale(c);
    wisp_free(ctx, r);
    return status;
}
