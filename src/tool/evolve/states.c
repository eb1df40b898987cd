/* States of an evolution: which file they go to, and when it gets its name. */
#include "states.h"
#include "../out/out.h"
#include "../system.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

int states_check(tool *t)
{
    const options *o = &t->opt;
    if (o->states && (o->checkpoint || o->resume))
        return tool_usage(
            t,
            "--states and --%s exclude each other; a run with --states FILE.h5 that is stopped goes on by "
            "--from FILE.h5",
            o->checkpoint ? "checkpoint" : "resume");
    if (o->froms > 1) return tool_usage(t, "--from takes one file of --states");
    if (o->from && !has_extension(o->from, "h5"))
        return tool_usage(t, "--from %s: a .h5 file that --states has written is needed", o->from);
    return EXIT_FINE;
}

uint64_t states_sum(const states_kind *kind, const states_at *at, const void *psi)
{
    const uint64_t all[] = {kind->matrix, (uint64_t)kind->rows, (uint64_t)wisp_type_size(kind->type)};
    const double numbers[] = {kind->direction.re, kind->direction.im, at->time, at->norm, at->off, at->log_norm};
    const uint64_t seed = XXH3_64bits_withSeed(numbers, sizeof numbers, XXH3_64bits(all, sizeof all));
    return XXH3_64bits_withSeed(psi, (size_t)kind->rows * wisp_type_size(kind->type), seed);
}

int64_t states_bytes(const tool *t, const states_kind *kind, int64_t times)
{
    enum { HEADS = 1 << 13, NUMBERS = 64, DIGITS = 48 };
    const bool text = t->opt.states && has_extension(t->opt.states, "mtx");
    const int64_t row = text ? DIGITS : (int64_t)wisp_type_size(kind->type);
    return t->opt.states ? HEADS + times * (kind->rows * row + NUMBERS) : 0;
}

/* What HDF5 may write of its own, as it ends a file. */
enum { END = 1 << 16 };

int states_begin(tool *t, states_out *s, const states_kind *kind, int64_t times, const double *time)
{
    const char *path = t->opt.states;
    *s = (states_out){.t = t};
    if (!path) return EXIT_FINE;
    s->format = has_extension(path, "h5") ? &states_hdf5 : &states_mtx;
    s->room = states_bytes(t, kind, 1) + states_bytes(t, kind, 1) / 64 + END;
    if (wisp_file_create(&s->file, t->ctx, path)) return tool_fail_ctx(t);
    return s->format->begin(t, &s->set, wisp_file_temporary(s->file), path, kind, times, time);
}

int states_add(states_out *s, const states_at *at, const void *psi)
{
    if (!s->set) return EXIT_FINE;
    /* A state for which there is no room is not begun, so that those before it stay. */
    if (!system_reserve(wisp_file_temporary(s->file), s->room))
        return tool_fail(s->t, "cannot write %s: %s", s->t->opt.states, strerror(errno));
    const int rc = s->format->add(s->set, at, psi);
    s->broken = rc != EXIT_FINE;
    s->count += !rc;
    return rc;
}

int64_t states_cut(states_out *s)
{
    const int64_t count = s->set && !s->broken ? s->count : 0;
    const int64_t kept = count > 0 && !states_end(s) ? count : 0;
    states_close(s);
    return kept;
}

int states_end(states_out *s)
{
    if (!s->set || s->count == 0) return EXIT_FINE;
    int rc = s->format->end(s->set);
    if (!rc) system_release(wisp_file_temporary(s->file));
    if (!rc && wisp_file_commit(s->file)) rc = tool_fail_ctx(s->t);
    if (!rc) outfile_done(s->t, s->t->opt.states);
    return rc;
}

void states_close(states_out *s)
{
    if (s->format) s->format->drop(s->set);
    wisp_file_free(s->file);
    *s = (states_out){0};
}
