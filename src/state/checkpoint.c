/* Checkpoints: when one is due, what it copies, and how a generation becomes valid.

   A generation is copied by all ranks in the same offer. Each rank's task writes and syncs its file; that of rank 0
   keeps a temporary name. In later offers the ranks tell each other whether they are through. When all are, rank 0's
   file gets its name: from that on the generation is the last one, and its predecessor the one before. */
#include "state.h"
#include "../base/system.h"
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wisp/task.h>
#include "../base/outfile.h"
#include "../comm/comm.h"

typedef enum { IDLE, WRITING, NAMING } stage;
enum { WISH_WRITE = 1, WISH_END = 2, WHY = 256 };
static const double look_seconds =
    0.1; /* from one look of ranks at each other to the next, or as often as one is due */

typedef struct {
    uint64_t number;
    int ranks; /* 0: there is none */
} generation;

struct wisp_checkpoint {
    wisp_ctx *ctx;
    char *path;
    double every, look; /* seconds from one to the next, and from one look at each other to the next */
    generation last, before, writing;
    bool leave_before; /* the last file is damaged, and does not become the one before */
    atomic_int wish;
    wisp__image image;
    wisp__out out; /* of the file that is written */
    wisp_task *task;
    stage stage;
    char why[WHY]; /* of a failure, by the task */
    char *whys;    /* [ranks] of all */
    bool failing;  /* the last generation could not be written */
    bool holds;    /* whole states are copied */
    bool held;     /* image is that of a whole one, which was not written */
    bool final;    /* it is being written, and is not tried again */
    int64_t offers, next_look;
    int64_t looked_at;
    double looked, due;
    wisp_checkpoint_info info;
};

/* ---- what tasks do ----------------------------------------------------------------------------- */

static wisp_status fail(wisp_checkpoint *c, wisp_status status)
{
    if (!*wisp_ctx_message(c->ctx, c->why, sizeof c->why))
        snprintf(c->why, sizeof c->why, "%s", wisp_status_string(status));
    wisp__out_abort(&c->out);
    return status;
}

static wisp_status write_file(wisp_task *task, void *arg)
{
    wisp_checkpoint *c = arg;
    wisp_ctx *ctx = c->ctx;
    (void)task;
    wisp__image_seal(&c->image);
    char *name = wisp__state_name(ctx, c->path, c->writing.number, ctx->rank);
    if (!name) return fail(c, WISP_ERR_NOMEM);
    wisp_status status = wisp__out_open(&c->out, ctx, name);
    wisp_free(ctx, name);
    if (status == WISP_OK) status = wisp__out_write(&c->out, c->image.at, c->image.bytes);
    if (status == WISP_OK) status = wisp__out_sync(&c->out);
    if (status == WISP_OK && ctx->rank > 0) status = wisp__out_commit(&c->out);
    return status == WISP_OK ? status : fail(c, status);
}

static void remove_files(wisp_checkpoint *c, generation g)
{
    for (int r = 1; r < g.ranks; r++) {
        char *name = wisp__state_name(c->ctx, c->path, g.number, r);
        if (name) unlink(name);
        wisp_free(c->ctx, name);
    }
}

/* The last generation's name stays its own until the new one takes it, so that there is one at any time. */
static wisp_status keep_before(wisp_checkpoint *c)
{
    char before[PATH_MAX], temp[PATH_MAX], text[128];
    wisp__before_name(before, c->out.path);
    snprintf(temp, sizeof temp, "%.*s.tmp%ld", PATH_MAX - 32, before, (long)getpid());
    unlink(temp);
    bool done = link(c->out.path, temp) == 0;
    if (done)
        done = rename(temp, before) == 0;
    else if (errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS) /* a file system without links */
        done = rename(c->out.path, before) == 0;
    const int error = errno;
    unlink(temp); /* which a renaming leaves there where both names are of one file */
    if (done) return WISP_OK;
    if (error == ENOENT) return WISP_OK; /* somebody has removed it */
    return wisp_ctx_failf(c->ctx, WISP_ERR_IO, "cannot write %s: %s", before,
                          wisp__error_text(error, text, sizeof text));
}

static wisp_status name_file(wisp_task *task, void *arg)
{
    wisp_checkpoint *c = arg;
    (void)task;
    wisp_status status = WISP_OK;
    if (c->last.ranks > 0 && !c->leave_before) status = keep_before(c);
    if (status == WISP_OK) status = wisp__out_commit(&c->out);
    if (status != WISP_OK) return fail(c, status);
    remove_files(c, c->leave_before ? c->last : c->before);
    return WISP_OK;
}

static void start_task(wisp_checkpoint *c, wisp_task_fn fn)
{
    const wisp_task_opts o = {.fn = fn, .arg = c, .flags = WISP_TASK_UNPINNED};
    c->why[0] = '\0';
    if (wisp_task_start(&c->task, c->ctx, &o) != WISP_OK) {
        c->task = NULL;
        (void)fail(c, WISP_ERR_NOMEM);
    }
}

/* ---- the stages, by all ranks together ----------------------------------------------------------- */

/* The words of the lowest rank that failed, in c->why. */
static wisp_status share_why(wisp_checkpoint *c)
{
    wisp_ctx *ctx = c->ctx;
    if (ctx->ranks == 1) return WISP_OK;
    const wisp_status status = ctx->comm->gather(ctx, c->why, WHY, c->whys);
    for (int r = ctx->ranks - 1; status == WISP_OK && r >= 0; r--)
        if (c->whys[(size_t)r * WHY]) memcpy(c->why, c->whys + (size_t)r * WHY, WHY);
    return status;
}

/* The generation is given up: said once, and tried again when the next one is due. */
static wisp_status give_up(wisp_checkpoint *c)
{
    const wisp_status status = share_why(c);
    if (!c->failing && !c->final)
        wisp_ctx_logf(c->ctx, WISP_LOG_WARN, "no checkpoint was kept: %s; the run goes on, and tries again",
                      *c->why ? c->why : "another process failed");
    c->failing = true;
    c->info.failed++;
    wisp__out_abort(&c->out);
    if (c->ctx->rank == 0) remove_files(c, c->writing);
    c->stage = IDLE;
    return status;
}

static void is_valid(wisp_checkpoint *c)
{
    c->before = c->leave_before ? c->before : c->last;
    c->leave_before = false;
    c->last = c->writing;
    c->info.written++;
    c->info.bytes = (int64_t)c->image.bytes;
    if (c->failing && !c->final) wisp_ctx_logf(c->ctx, WISP_LOG_WARN, "checkpoints are kept again: %s", c->path);
    c->failing = false;
    c->stage = IDLE;
}

/* Copies the state; *all: on all ranks. */
static wisp_status copy(wisp_checkpoint *c, wisp_state *state, bool *all)
{
    wisp_ctx *ctx = c->ctx;
    double id = 0, failed;
    wisp_status status = WISP_OK;
    *all = c->held = false;
    c->writing =
        (generation){(c->last.number > c->writing.number ? c->last.number : c->writing.number) + 1, ctx->ranks};
    if (ctx->rank == 0) {
        uint32_t random[2] = {0};
        if (!wisp__random_bytes(random, sizeof random)) random[0] = (uint32_t)getpid();
        id = (double)(((uint64_t)random[0] << 20 | random[1] >> 12) + 1);
    }
    WISP_TRY(ctx->comm->sum(ctx, &id, 1));
    c->why[0] = '\0';
    wisp_status copied = wisp__state_list(state);
    if (copied == WISP_OK) copied = wisp__state_image(state, (uint64_t)id, c->writing.number, &c->image);
    if (copied != WISP_OK) (void)fail(c, copied);
    if (copied == WISP_ERR_CANCELLED) WISP_TRY(copied);
    failed = copied != WISP_OK;
    WISP_TRY(ctx->comm->sum(ctx, &failed, 1));
    c->info.memory = (int64_t)c->image.room;
    *all = failed == 0;
out:
    return status;
}

static void write_copy(wisp_checkpoint *c)
{
    c->info.last = wisp_now();
    c->stage = WRITING;
    start_task(c, write_file);
}

/* Copies the state, and starts to write it. */
static wisp_status begin(wisp_checkpoint *c, wisp_state *state)
{
    bool copied;
    wisp_status status;
    WISP_TRY(copy(c, state, &copied));
    if (!copied) return give_up(c);
    write_copy(c);
out:
    return status;
}

/* Whether this rank's task is over. */
static bool is_over(const wisp_checkpoint *c) { return !c->task || wisp_task_over(c->task); }

/* In which way it ended. */
static wisp_status end_task(wisp_checkpoint *c)
{
    const wisp_status status = c->task ? wisp_task_wait(c->task) : WISP_OK;
    wisp_task_free(c->task);
    c->task = NULL;
    return c->why[0] ? WISP_ERR_IO : status;
}

/* The tasks of this stage are over on all ranks; `failed`: on one of them in failure. */
static wisp_status go_on(wisp_checkpoint *c, bool failed)
{
    if (failed) return give_up(c);
    if (c->stage == NAMING) {
        is_valid(c);
        return WISP_OK;
    }
    c->stage = NAMING;
    if (c->ctx->rank == 0) start_task(c, name_file);
    return WISP_OK;
}

/* Waits for this stage and the next ones. */
static wisp_status finish(wisp_checkpoint *c)
{
    wisp_status status = WISP_OK;
    while (c->stage != IDLE) {
        double failed = end_task(c) != WISP_OK;
        WISP_TRY(c->ctx->comm->sum(c->ctx, &failed, 1));
        WISP_TRY(go_on(c, failed > 0));
    }
out:
    return status;
}

/* ---- offers -------------------------------------------------------------------------------------- */

static wisp_status end_now(wisp_checkpoint *c, wisp_state *state)
{
    wisp_status status;
    WISP_TRY(finish(c));
    const int64_t written = c->info.written;
    WISP_TRY(begin(c, state));
    WISP_TRY(finish(c));
    c->info.ended = 1;
    c->info.saved = c->info.written > written;
    status = c->info.saved
                 ? wisp_ctx_failf(c->ctx, WISP_ERR_CANCELLED, "ended on request; the state is kept in %s", c->path)
                 : wisp_ctx_failf(c->ctx, WISP_ERR_CANCELLED, "the state is not kept: %s", c->why);
out:
    return status;
}

/* The ranks look at each other. What rank 0's clock says counts for all. */
static wisp_status meet(wisp_checkpoint *c, wisp_state *state)
{
    enum { WRITES, ENDS, OVER, FAILED, SECONDS, DUE, COUNT };
    wisp_ctx *ctx = c->ctx;
    const double now = wisp_now();
    const int wish = atomic_exchange(&c->wish, 0);
    double sum[COUNT] = {[WRITES] = (wish & WISH_WRITE) != 0, [ENDS] = (wish & WISH_END) != 0};
    wisp_status status = WISP_OK;
    if (c->stage != IDLE && is_over(c)) {
        sum[OVER] = 1;
        sum[FAILED] = c->task ? wisp_task_wait(c->task) != WISP_OK : c->why[0] != '\0';
    }
    if (ctx->rank == 0) sum[SECONDS] = now - c->looked, sum[DUE] = c->every > 0 && now >= c->due;
    if (ctx->ranks > 1) WISP_TRY(ctx->comm->sum(ctx, sum, COUNT));
    const double each = sum[SECONDS] / (double)(c->offers - c->looked_at), step = c->look / (each + 1e-9);
    c->next_look = c->offers + (ctx->ranks == 1 || step < 1 ? 1 : step > 1e6 ? 1000000 : (int64_t)step);
    c->looked = now;
    c->looked_at = c->offers;
    if (sum[OVER] == ctx->ranks) {
        (void)end_task(c);
        WISP_TRY(go_on(c, sum[FAILED] > 0));
    }
    if (sum[ENDS] > 0) {
        status = end_now(c, state);
    } else if (sum[WRITES] > 0 || sum[DUE] > 0) {
        if (sum[WRITES] > 0) WISP_TRY(finish(c));
        if (c->stage == IDLE) {
            WISP_TRY(begin(c, state));
            c->due = now + c->every;
        }
    }
out:
    return status;
}

/* Copies a whole state, which is not written unless it is asked for. */
static wisp_status hold(wisp_checkpoint *c, wisp_state *state)
{
    wisp_status status;
    bool copied = false;
    WISP_TRY(finish(c)); /* the copy that is being written takes its place */
    WISP_TRY(copy(c, state, &copied));
    c->held = copied;
out:
    return status;
}

int wisp_checkpoint_offer(void *checkpoint, wisp_state *state)
{
    wisp_checkpoint *c = checkpoint;
    if (!c) return (int)wisp_ctx_fail(NULL, WISP_ERR_ARG, "wisp_checkpoint_offer: checkpoint is NULL");
    if (!state) return (int)wisp_ctx_fail(c->ctx, WISP_ERR_ARG, "wisp_checkpoint_offer: state is NULL");
    const bool whole = wisp_state_is_whole(state);
    if (whole ? !c->holds : ++c->offers < c->next_look) return WISP_OK;
    const double before = wisp_now();
    wisp_ctx_enter(c->ctx);
    const wisp_status status = wisp_ctx_leave(c->ctx, whole ? hold(c, state) : meet(c, state));
    c->info.seconds += wisp_now() - before;
    return (int)status;
}

wisp_status wisp_checkpoint_wait(wisp_checkpoint *checkpoint)
{
    WISP_NEED(NULL, checkpoint);
    wisp_ctx *ctx = checkpoint->ctx;
    wisp_status status;
    double ends = (atomic_exchange(&checkpoint->wish, 0) & WISH_END) != 0; /* for which there is no offer any more */
    checkpoint->next_look = 0; /* offers of what comes then may be far apart */
    wisp_ctx_enter(ctx);
    WISP_TRY(ctx->comm->sum(ctx, &ends, 1));
    if (ends > 0) checkpoint->info.ended = 1;
    status = finish(checkpoint);
out:
    return wisp_ctx_leave(ctx, status);
}

wisp_status wisp_checkpoint_keep(wisp_checkpoint *checkpoint)
{
    WISP_NEED(NULL, checkpoint);
    wisp_checkpoint *c = checkpoint;
    wisp_status status = WISP_OK;
    if (!c->held) return wisp_ctx_failf(c->ctx, WISP_ERR_UNSUPPORTED, "no state is held that could be kept");
    const int64_t written = c->info.written;
    wisp_ctx_enter(c->ctx);
    c->held = false;
    c->final = true;
    write_copy(c);
    WISP_TRY(finish(c));
    if (c->info.written == written)
        status = wisp_ctx_failf(c->ctx, WISP_ERR_IO, "%s", *c->why ? c->why : "another process failed");
out:
    c->final = false;
    return wisp_ctx_leave(c->ctx, status);
}

void wisp_checkpoint_request(wisp_checkpoint *checkpoint, int end)
{
    if (checkpoint) atomic_fetch_or(&checkpoint->wish, end ? WISH_WRITE | WISH_END : WISH_WRITE);
}

void wisp_checkpoint_get_info(const wisp_checkpoint *checkpoint, wisp_checkpoint_info *info)
{
    if (info) *info = checkpoint ? checkpoint->info : (wisp_checkpoint_info){0};
}

/* ---- making one, and its end ----------------------------------------------------------------------- */

/* Files that a process left which was killed: unfinished ones, and those of generations that are not valid any more. Of
   one pattern behind the name, unless they are of one of two generations. */
static void remove_pattern(const char *path, const char *behind, const generation *keep)
{
    char pattern[2 * PATH_MAX];
    size_t n = 0;
    glob_t found;
    for (const char *p = path; *p && n < sizeof pattern - 64; p++) {
        if (strchr("*?[\\", *p)) pattern[n++] = '\\';
        pattern[n++] = *p;
    }
    snprintf(pattern + n, sizeof pattern - n, ".%s", behind);
    if (glob(pattern, 0, NULL, &found)) return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *name = found.gl_pathv[i], *number = name + strlen(path) + 1;
        const uint64_t of = strtoull(number, NULL, 10);
        struct stat st;
        const bool is_kept =
            keep && ((keep[0].ranks && of == keep[0].number) || (keep[1].ranks && of == keep[1].number));
        if (!is_kept && (wisp__state_is(name) || (stat(name, &st) == 0 && st.st_size == 0))) unlink(name);
    }
    globfree(&found);
}

static void remove_leftovers(const wisp_checkpoint *c)
{
    const generation keep[2] = {c->last, c->before};
    remove_pattern(c->path, "tmp[0-9]*", NULL);
    remove_pattern(c->path, "before.tmp[0-9]*", NULL);
    remove_pattern(c->path, "[0-9]*.[0-9]*.tmp[0-9]*", NULL);
    remove_pattern(c->path, "[0-9]*.[0-9]*", keep);
}

static wisp_status refuse_old(wisp_ctx *ctx, const char *path)
{
    char before[PATH_MAX];
    wisp__before_name(before, path);
    for (int i = 0; i < 2; i++)
        if (access(i ? before : path, F_OK) == 0)
            return wisp_ctx_failf(
                ctx, WISP_ERR_MISMATCH,
                "%s is there already: go on from it if it is a checkpoint of this run, else remove it "
                "or take another name",
                i ? before : path);
    return WISP_OK;
}

/* The generations that are there. */
static void take_over(wisp_checkpoint *c, const wisp_state *after)
{
    wisp__state_file f;
    char name[PATH_MAX];
    c->last = (generation){after->file[0].head.number, after->ranks};
    if (after->is_before) {
        c->leave_before = true;
        c->before = c->last;
        c->last.number++; /* the damaged one: probably of as many ranks */
    } else if (wisp__state_file_open(&f, c->ctx, wisp__before_name(name, c->path), false) == WISP_OK) {
        c->before = (generation){f.head.number, (int)f.head.ranks};
        wisp__state_file_close(&f, c->ctx);
    }
}

wisp_status wisp_checkpoint_create(wisp_checkpoint **checkpoint, wisp_ctx *ctx, const wisp_checkpoint_opts *opts)
{
    wisp_checkpoint *c = NULL;
    wisp_status status = WISP_OK;
    char real[PATH_MAX];
    WISP_NEED(ctx, checkpoint);
    *checkpoint = NULL;
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, opts);
    if (!opts->path) return wisp_ctx_failf(ctx, WISP_ERR_ARG, "wisp_checkpoint_create: opts.path is NULL");
    if (!(opts->every >= 0) || opts->every > 1e12)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "opts.every is %g seconds, it must be 0 to 1e12", opts->every);
    const wisp_state *after = opts->after && wisp_file_same(opts->after->path, opts->path) ? opts->after : NULL;
    wisp_ctx_enter(ctx);
    WISP_TRY(wisp_alloc(ctx, &c, 1, sizeof *c));
    c->ctx = ctx;
    c->every = opts->every;
    c->holds = opts->holds != 0;
    c->looked = wisp_now();
    c->due = c->looked + c->every;
    c->look = c->every > 0 && c->every < look_seconds ? c->every : look_seconds;
    if (wisp__real_name(opts->path, real)) snprintf(real, sizeof real, "%s", opts->path);
    if (!(c->path = wisp__strdup(ctx, real))) WISP_TRY(WISP_ERR_NOMEM);
    WISP_TRY(wisp_alloc(ctx, &c->whys, (size_t)ctx->ranks, WHY));
    if (after) take_over(c, after);
    if (ctx->rank == 0) {
        WISP_TRY(wisp_file_check(ctx, opts->path));
        if (!after) WISP_TRY(refuse_old(ctx, c->path));
        remove_leftovers(c);
    }
out:
    status = wisp_ctx_leave(ctx, status);
    if (status != WISP_OK) {
        wisp_checkpoint_free(c);
        c = NULL;
    }
    *checkpoint = c;
    return status;
}

void wisp_checkpoint_remove(wisp_checkpoint *checkpoint)
{
    char before[PATH_MAX];
    wisp_checkpoint *c = checkpoint;
    if (!c) return;
    (void)wisp_checkpoint_wait(c); /* else what is being written would get its name behind this call */
    if (c->ctx->rank > 0) return;
    /* At any moment the last state is there, or none: a process may be killed here, too. */
    if (c->last.ranks > 0) unlink(wisp__before_name(before, c->path));
    if (c->last.ranks > 0) unlink(c->path);
    c->last.ranks = c->before.ranks = 0;
    remove_leftovers(c);
}

void wisp_checkpoint_free(wisp_checkpoint *checkpoint)
{
    if (!checkpoint) return;
    wisp_ctx *ctx = checkpoint->ctx;
    if (checkpoint->task) (void)end_task(checkpoint);
    wisp__out_abort(&checkpoint->out);
    wisp_free(ctx, checkpoint->image.at);
    wisp_free(ctx, checkpoint->whys);
    wisp_free(ctx, checkpoint->path);
    wisp_free(ctx, checkpoint);
}
