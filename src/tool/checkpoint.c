/* --checkpoint, --every and --resume: a solver's state with what the command needs to go on, and signals that ask for
   one. */
#include "weights.h"
#include "out/out.h"
#include "out/text.h"
#include <stdlib.h>
#include <string.h>

static const double EVERY = 600; /* seconds */

/* Signals are for one rank of a process. */
static void catch_for(const tool *t, wisp_checkpoint *checkpoint)
{
    if (t->by_mpi || wisp_ctx_rank(t->ctx) == 0) catch_for_checkpoint(checkpoint);
}

static bool is_wanted(const tool *t) { return (t->opt.checkpoint || t->opt.resume) && !t->opt.plan; }

int checkpoint_check(tool *t)
{
    if (t->opt.every > 0 && !t->opt.checkpoint) return tool_usage(t, "--every is for --checkpoint FILE");
    if (is_wanted(t) && file_reads_once(t->opt.arg[0]))
        return tool_fail(t, "%s can be read only once, so that no run could go on with it; keep it in a file",
                         t->opt.arg[0]);
    if (t->opt.checkpoint) catch_requests();
    return EXIT_FINE;
}

int checkpoint_hash(tool *t, const wisp_src *src)
{
    return is_wanted(t) && wisp_src_hash(t->ctx, src, &t->kept.hash) ? tool_fail_ctx(t) : EXIT_FINE;
}

/* ---- what the command adds to a state -------------------------------------------------------------- */

static wisp_status items(void *arg, wisp_state *s)
{
    tool *t = arg;
    wisp_status status;
    WISP_TRY(wisp_state_samef(s, "command", "%s", t->cmd->name));
    WISP_TRY(wisp_state_samef(s, "matrix", "%016llx", (unsigned long long)t->kept.hash));
    WISP_TRY(wisp_state_samef(s, "--hermitian-part", "%s", t->opt.hermitian_part ? "given" : "not given"));
    WISP_TRY(wisp_state_samef(s, "--resolution", "%.17g", t->opt.resolution));
    if (t->opt.resolution > 0) WISP_TRY(wisp_state_samef(s, "--bounds", "%s", bounds_names[t->opt.bounds_method]));
    WISP_TRY(wisp_state_data(s, "layout", &t->kept.layout, sizeof t->kept.layout));
    const int ranks = wisp_ctx_processes(t->ctx);
    if (wisp_state_is_kept(s)) return WISP_OK;
    /* For a run that goes on by as many processes; and for people. */
    free(t->kept.weights);
    t->kept.weights = calloc((size_t)ranks, sizeof *t->kept.weights);
    if (!t->kept.weights) return wisp_ctx_failf(t->ctx, WISP_ERR_NOMEM, "out of memory for %d weights", ranks);
    WISP_TRY(weights_now(t, t->kept.weights));
    WISP_TRY(wisp_state_data(s, "weights", t->kept.weights, (size_t)ranks * sizeof *t->kept.weights));
    status = wisp_state_samef(s, "line", "%s", t->command_line);
out:
    return status;
}

/* For a test that names a checkpoint: each offer writes one, and waits for it. */
static int offer_counted(tool *t, wisp_state *state)
{
    wisp_checkpoint_info info;
    if (wisp_checkpoint_offer(t->checkpoint, state) || wisp_checkpoint_wait(t->checkpoint)) return 1;
    wisp_checkpoint_get_info(t->checkpoint, &info);
    stop_at(&t->monitor.stop, "checkpoint", (double)(info.written + info.failed));
    return 0;
}

int checkpoint_offer(void *arg, wisp_state *state)
{
    tool *t = arg;
    if (!t->checkpoint) return 0;
    if (t->kept.in_parts && wisp_state_is_whole(state)) return 0;
    if (wisp_state_add(state, items, t)) return 1;
    if (t->kept.more && wisp_state_add(state, t->kept.more, t->kept.more_arg)) return 1;
    return !wisp_state_is_whole(state) && stop_at_names(&t->monitor.stop, "checkpoint")
               ? offer_counted(t, state)
               : wisp_checkpoint_offer(t->checkpoint, state);
}

void checkpoint_offer_whole(tool *t)
{
    wisp_state *live = NULL;
    if (!t->checkpoint) return;
    t->kept.in_parts = false;
    wisp_ctx_enter(t->ctx);
    const wisp_status made = wisp_state_create(&live, t->ctx, t->kept.more, t->kept.more_arg);
    if (wisp_ctx_leave(t->ctx, made) == WISP_OK) (void)wisp_state_offer_whole(live, checkpoint_offer, t);
    wisp_state_free(live);
}

/* ---- going on ------------------------------------------------------------------------------------- */

/* A run by as many processes has their shares of rows, unless others are asked for in numbers. */
static int take_weights(tool *t)
{
    const int ranks = wisp_ctx_processes(t->ctx);
    const size_t bytes = (size_t)ranks * sizeof(int64_t);
    if (ranks == 1 || t->weights || t->opt.weights || wisp_state_bytes(t->resumed, "weights") != bytes)
        return EXIT_FINE;
    int64_t *weights = calloc(1, bytes);
    int rc = weights ? EXIT_FINE : tool_fail(t, "out of memory for the weights of %d processes", ranks);
    if (!rc && wisp_state_data(t->resumed, "weights", weights, bytes)) rc = tool_fail_ctx(t);
    return weights_take(t, rc, weights);
}

static bool asks_double(wisp_type type) { return type == WISP_D || type == WISP_Z; }

int checkpoint_open(tool *t)
{
    options *o = &t->opt;
    if (!o->resume || t->resumed || o->plan) return EXIT_FINE;
    if (wisp_state_open(&t->resumed, t->ctx, o->resume)) return tool_fail_ctx(t);
    const char *line = wisp_state_words(t->resumed, "line"), *hash = wisp_state_words(t->resumed, "matrix");
    char own[32];
    snprintf(own, sizeof own, "%016llx", (unsigned long long)t->kept.hash);
    if (hash && strcmp(hash, own))
        return tool_fail(t, "%s is of a run with another matrix than %s: %s", o->resume, o->arg[0], line ? line : "");
    if (items(t, t->resumed)) return tool_fail_ctx(t);
    t->kept.file = o->resume;
    const checkpoint_layout *l = &t->kept.layout;
    if (!option_seen(o, "width") && l->width > 0) o->width = l->width;
    if (!option_seen(o, "order")) o->order = (int)l->order, o->tiles_on = (int)l->tiles_on, o->slices = l->slices;
    if (!option_seen(o, "format")) o->format = (int)l->format;
    /* That of sigma is of left vectors alone. */
    const bool tries = o->precision == PRECISION_AUTO && t->cmd->bit != CMD_SIGMA;
    if (tries && asks_double((wisp_type)l->type)) o->precision = PRECISION_DOUBLE;
    return take_weights(t);
}

int checkpoint_begin(tool *t, const wisp_mat *A, int width, wisp_items_fn more, void *more_arg)
{
    wisp_mat_info info;
    wisp_mat_get_info(A, &info);
    t->kept.layout.width = width;
    t->kept.layout.order = info.order;
    t->kept.layout.tiles_on = info.tiles_on;
    t->kept.layout.slices = info.slices;
    t->kept.layout.format = info.format;
    t->kept.layout.type = info.type;
    t->kept.more = more;
    t->kept.more_arg = more_arg;
    if (t->resumed && more && more(more_arg, t->resumed)) return tool_fail_ctx(t);
    if (!t->opt.checkpoint) return EXIT_FINE;
    const double always = 1e-9, every = t->opt.every > 0 ? t->opt.every : EVERY;
    const wisp_checkpoint_opts o = {.path = t->opt.checkpoint,
                                    .every = stop_at_names(&t->monitor.stop, "checkpoint") ? always : every,
                                    .after = t->resumed,
                                    .holds = 1};
    if (wisp_checkpoint_create(&t->checkpoint, t->ctx, &o)) return tool_fail_ctx(t);
    catch_for(t, t->checkpoint);
    return EXIT_FINE;
}

/* ---- the end ---------------------------------------------------------------------------------------- */

void checkpoint_rest(tool *t)
{
    if (t->checkpoint) catch_for(t, NULL);
}

void checkpoint_pause(tool *t)
{
    char why[WISP_MESSAGE];
    if (!t->checkpoint) return;
    checkpoint_rest(t);
    wisp_ctx_message(t->ctx, why, sizeof why); /* of the solver: a disk that fails has its own words */
    (void)wisp_checkpoint_wait(t->checkpoint);
    (void)wisp_ctx_fail(t->ctx, WISP_OK, why);
    wisp_checkpoint_get_info(t->checkpoint, &t->kept.info);
    if (t->kept.info.written) t->kept.file = t->opt.checkpoint;
}

void checkpoint_whole(tool *t)
{
    if (t->checkpoint) tool_keep(t);
}

void checkpoint_again(tool *t, wisp_items_fn more, void *more_arg)
{
    t->kept.more = more;
    t->kept.more_arg = more_arg;
    if (!t->checkpoint) return;
    catch_for(t, t->checkpoint);
    tool_heed(t);
}

bool checkpoint_ended(const tool *t) { return t->kept.info.ended; }

int checkpoint_stopped(tool *t)
{
    const char *why = stop_reason(), *file = t->opt.checkpoint;
    const wisp_checkpoint_info *i = &t->kept.info;
    if (i->saved) return tool_fail(t, "stopped by %s; to go on, repeat the command with --resume %s", why, file);
    if (t->kept.file) return tool_fail(t, "stopped by %s; the last state that was kept is in %s", why, t->kept.file);
    return tool_fail(t, "stopped by %s; %s", why, tool_message(t));
}

/* Before the checkpoint goes: what was printed may be all that there is of the results. */
static int flush_printed(tool *t)
{
    if (!tool_flush(t)) return EXIT_FINE;
    if (tool_is_stopped(t)) return tool_stopped(t);
    return tool_fail(t, "cannot write to the standard output: %s", strerror(t->unprinted));
}

/* Results that could not be written, or not be made of what took long: that is kept. A disk that is full of the one may
   have room for the other, or the other is on another disk. All ranks together; of one that has failed, or of all.
   tool_agree does not tell: there may be one that has failed beside others whose search is incomplete. */
static void keep_whole(tool *t, int rc)
{
    double failures = rc == EXIT_FAILED;
    char why[WISP_MESSAGE];
    if (!t->checkpoint || wisp_ctx_sum(t->ctx, &failures, 1) || failures == 0) return;
    const wisp_status status = wisp_checkpoint_keep(t->checkpoint);
    if (status == WISP_OK) {
        t->kept.file = t->opt.checkpoint;
        monitor_error_more(&t->monitor,
                           "what was computed is kept in %s; to write results of it, repeat the command with "
                           "--resume %s, and outputs that can be written",
                           t->opt.checkpoint, t->opt.checkpoint);
    } else if (status != WISP_ERR_UNSUPPORTED) {
        monitor_error_more(&t->monitor, "what was computed is not kept: %s%s%s",
                           wisp_ctx_message(t->ctx, why, sizeof why), t->kept.file ? "; the last state is in " : "",
                           t->kept.file ? t->kept.file : "");
    }
}

int checkpoint_done(tool *t, int rc)
{
    const int unprinted = t->checkpoint && tool_has_results(rc) ? flush_printed(t) : EXIT_FINE;
    if (unprinted) rc = unprinted;
    const int own = rc;
    if (t->checkpoint) rc = tool_agree(t, rc); /* to remove it is a call of all ranks */
    if (rc) keep_whole(t, own);
    if (rc) return rc;
    wisp_checkpoint_remove(t->checkpoint);
    t->kept.file = NULL;
    checkpoint_close(t);
    return rc;
}

void checkpoint_close(tool *t)
{
    if (t->checkpoint) catch_for_checkpoint(NULL);
    wisp_checkpoint_free(t->checkpoint);
    wisp_state_free(t->resumed);
    free(t->kept.weights);
    t->checkpoint = NULL;
    t->resumed = NULL;
    t->kept.weights = NULL;
}

json_t *checkpoint_json(const tool *t)
{
    const wisp_checkpoint_info *i = &t->kept.info;
    if (!t->opt.checkpoint) return json_null();
    return JSON_NEW(J("file", t->opt.checkpoint), J("written", i->written), J("failed", i->failed),
                    J("bytes", i->bytes), J("memory_bytes", i->memory), J("seconds", i->seconds));
}

void checkpoint_summary(const tool *t)
{
    char b[2][TEXT];
    const wisp_checkpoint_info *i = &t->kept.info;
    if (t->opt.resume) text_line("resumed", "from %s", t->opt.resume);
    if (!t->opt.checkpoint) return;
    text_line("checkpoints", "%lld written, %s each, for which the run waited %s", (long long)i->written,
              text_bytes(b[0], (double)i->bytes), text_seconds(b[1], i->seconds));
}

void checkpoint_plan(int64_t bytes)
{
    char b[2][TEXT];
    text_line("checkpoint", "about %s of memory, and up to %s on the disk, for the last two and the next",
              text_bytes(b[0], (double)bytes), text_bytes(b[1], 3 * (double)bytes));
}
