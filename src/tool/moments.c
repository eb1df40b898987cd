/* Moments that are kept in files: loaded, taken together, saved, also by a run that is stopped. */
#include "average.h"
#include "moments.h"
#include "out/out.h"
#include "out/text.h"
#include "weights.h"
#include <stdlib.h>
#include <string.h>

/* The bit of the subcommand of a command line; 0: it is none of ours. */
static unsigned subcommand_of(const char *command)
{
    static const struct {
        unsigned bit;
        const char *name;
    } all[] = {
#define COMMAND(bit, run, ranks, name, ...) {bit, name},
#include "commands.h"
    };
    if (!command || strncmp(command, "wisp ", 5)) return 0;
    const char *word = command + 5;
    for (size_t i = 0, n = strcspn(word, " "); i < sizeof all / sizeof *all; i++)
        if (strlen(all[i].name) == n && !strncmp(word, all[i].name, n)) return all[i].bit;
    return 0;
}

/* The next word of a command line as tool_start has joined it, without its quotes; what is behind it. NULL: there is
   none. */
static const char *next_word(const char *at, char *word)
{
    bool quoted = false;
    at += strspn(at, " ");
    if (!*at) return NULL;
    for (; *at && (quoted || *at != ' '); at++)
        if (*at == '\'')
            quoted = !quoted;
        else
            *word++ = !quoted && *at == '\\' && at[1] ? *++at : *at;
    *word = '\0';
    return at;
}

char *moments_value(const char *command, const char *option)
{
    const unsigned bit = subcommand_of(command);
    char *word = command ? malloc(strlen(command) + 1) : NULL, *value = NULL;
    const char *at = word ? command : NULL;
    while (at && (at = next_word(at, word))) {
        const size_t n = strcspn(word, "=");
        if (strncmp(word, "--", 2)) continue;
        const bool whole = n == strlen(option) + 2 && !strncmp(word + 2, option, n - 2);
        if (!whole && !option_means(bit, word + 2, n - 2, option)) continue;
        const bool inside = word[n] == '=';
        if (!inside) at = next_word(at, word);
        free(value);
        value = at ? strdup(word + (inside ? n + 1 : 0)) : NULL;
    }
    free(word);
    return value;
}

bool moments_asked(const char *command, const char *option)
{
    char *value = moments_value(command, option);
    free(value);
    return value != NULL;
}

/* Of the options that say of what the moments are, the one that differs between two runs of commands; NULL: none. It is
   asked of runs of earlier versions, which kept nothing else of that. */
static const char *other_quantity(const char *a, const char *b)
{
    static const char *const option[] = {"direction", "velocity-a", "velocity-b", "positions", "cell",
                                         "peierls",   "operator",   "where",      "overlap"};
    for (size_t i = 0; a && b && i < sizeof option / sizeof *option; i++) {
        char *x = moments_value(a, option[i]), *y = moments_value(b, option[i]);
        const bool differ = !x != !y || (x && strcmp(x, y));
        free(x), free(y);
        if (differ) return option[i];
    }
    return NULL;
}

/* Two runs that do not fit. Where they would if they had the same volume, that is what to give. */
static int fail_unfit(tool *t, const wisp_moments *runs, int i, int j)
{
    char why[WISP_MESSAGE];
    wisp_moments same = runs[i];
    same.volume = runs[j].volume;
    snprintf(why, sizeof why, "%s", tool_message(t));
    const bool volume = wisp_moments_fit(t->ctx, &runs[j], &same) == WISP_OK;
    return tool_fail(t, "%s and %s cannot be taken together: %s%s", t->opt.from_list[j], t->opt.from_list[i], why,
                     volume ? "; --volume V is that of all" : "");
}

static int merge_runs(tool *t, wisp_moments *m, const wisp_moments *runs, int count)
{
    for (int i = 1; i < count; i++) {
        const bool known = runs[0].mark[1][0] != 0 && runs[i].mark[1][0] != 0;
        const char *other = known ? NULL : other_quantity(runs[0].command, runs[i].command);
        if (other)
            return tool_fail(t, "%s and %s cannot be taken together: their --%s differs", t->opt.from_list[0],
                             t->opt.from_list[i], other);
    }
    if (wisp_moments_merge(t->ctx, m, runs, count) == WISP_OK) return EXIT_FINE;
    for (int i = 1; i < count; i++)
        for (int j = 0; j < i; j++)
            if (wisp_moments_fit(t->ctx, &runs[j], &runs[i])) return fail_unfit(t, runs, i, j);
    return tool_fail_ctx(t); /* for want of memory */
}

/* Of rows, vectors and waves: one realization behind the other. */
static int join_runs(tool *t, wisp_moments *m, wisp_moments *runs, int count)
{
    int rc = EXIT_FINE;
    *m = runs[0];
    runs[0] = (wisp_moments){0};
    for (int i = 1; i < count && !rc; i++) {
        m->partial |= runs[i].partial;
        rc = average_append(t, m, &runs[i]);
    }
    return rc;
}

/* Of several realizations of disorder each: as those of one run. */
static int merge_averages(tool *t, wisp_moments *m, wisp_moments *runs, int count)
{
    wisp_moments as[LIST];
    char *name = NULL;
    memcpy(as, runs, (size_t)count * sizeof *as);
    int rc = average_fit(t, as, count, &name);
    const bool traces = runs[0].trace == WISP_TRACE_RANDOM;
    const char *command = runs[0].command;
    if (!rc) rc = traces ? merge_runs(t, m, as, count) : join_runs(t, m, runs, count);
    if (!rc && wisp_moments_label(t->ctx, m, name, command)) rc = tool_fail_ctx(t);
    free(name);
    if (rc || !traces) return rc;
    m->realizations = (int)m->vectors;
    m->first_vector = runs[0].first_vector;
    m->seed = runs[0].seed;
    return EXIT_FINE;
}

int moments_load(tool *t, wisp_moments *m, uint64_t *seed)
{
    wisp_moments runs[LIST] = {0};
    int rc = EXIT_FINE, count = 0;
    for (; count < t->opt.froms && !rc; count++) {
        if (wisp_moments_load(t->ctx, &runs[count], t->opt.from_list[count])) rc = tool_fail_ctx(t);
        seed[count] = runs[count].seed;
        /* Moments know of no volume: one that is given is that of all, and what a later file was saved with is left. */
        if (count && t->opt.volume > 0) runs[count].volume = runs[0].volume;
    }
    if (!rc && count == 1) {
        *m = runs[0];
        return EXIT_FINE;
    }
    bool averages = false;
    for (int i = 0; i < count; i++) averages |= runs[i].realizations > 0;
    if (!rc) rc = averages ? merge_averages(t, m, runs, count) : merge_runs(t, m, runs, count);
    for (int i = 0; i < count; i++) wisp_moments_free(&runs[i]);
    return rc;
}

int moments_save(tool *t, const wisp_moments *m)
{
    if (!t->opt.save) return EXIT_FINE;
    if (wisp_moments_save(t->ctx, m, t->opt.save)) return tool_fail_ctx(t);
    outfile_done(t, t->opt.save);
    return EXIT_FINE;
}

int moments_stopped(tool *t, wisp_moments *m, int64_t wanted, const char *command)
{
    const char *why = stop_reason();
    const bool saves = t->opt.save && m->vectors > 0 && m->trace != WISP_TRACE_EXACT;
    if (checkpoint_ended(t) && (t->kept.info.saved || !t->opt.save || m->vectors == 0)) return checkpoint_stopped(t);
    if (t->kept.file && !saves) return checkpoint_stopped(t);
    if (m->trace == WISP_TRACE_EXACT) return tool_fail(t, "stopped by %s; an exact trace can't be kept in part", why);
    if (!t->opt.save || m->vectors == 0)
        return tool_fail(t, "stopped by %s; nothing was kept%s", why,
                         !t->opt.save     ? " (--save FILE.h5 keeps what is done)"
                         : t->opt.average ? " (no realization was complete yet)"
                         : m->square      ? " (no vector was complete yet)"
                                          : " (no vector had two moments yet)");
    wisp_ctx_resume(t->ctx);
    if (wisp_moments_label(t->ctx, m, t->opt.arg[0], command) || wisp_moments_save(t->ctx, m, t->opt.save))
        return tool_fail(t, "stopped by %s, and the vectors done were not kept: %s", why, tool_message(t));
    char moments[TEXT];
    if (m->square)
        snprintf(moments, sizeof moments, "%lld x %lld", (long long)m->square, (long long)m->square);
    else
        snprintf(moments, sizeof moments, "%lld", (long long)m->n);
    const int64_t there = t->opt.average ? m->realizations : m->vectors;
    return tool_fail(t, "stopped by %s; %lld of %lld %s with %s moments are kept: wisp %s --from %s", why,
                     (long long)there, (long long)wanted, t->opt.average ? "realizations" : "vectors", moments,
                     t->cmd->name, t->opt.save);
}

void moments_vectors_line(const wisp_moments *m, int runs)
{
    char a[TEXT], b[TEXT];
    if (m->realizations > 0 && m->trace == WISP_TRACE_RANDOM) /* of which average_summary tells */
        text_line("vectors", "means of %s realization%s, %s", text_count(a, m->vectors), m->vectors == 1 ? "" : "s",
                  wisp_type_name(m->type));
    else if (runs > 1 && m->trace == WISP_TRACE_RANDOM)
        text_line("vectors", "%s random of %d runs, %s", text_count(a, m->vectors), runs, wisp_type_name(m->type));
    else if (m->first_vector < 0)
        text_line("vectors", "%s random of several runs, %s", text_count(a, m->vectors), wisp_type_name(m->type));
    else if (m->trace == WISP_TRACE_RANDOM)
        text_line("vectors", "%s random%s%s, seed %llu, %s", text_count(a, m->vectors),
                  m->first_vector ? " from number " : "", m->first_vector ? text_count(b, m->first_vector) : "",
                  (unsigned long long)m->seed, wisp_type_name(m->type));
    else
        text_line("vectors", "%s%s, %s",
                  m->trace == WISP_TRACE_EXACT   ? "exact trace"
                  : m->trace == WISP_TRACE_SITES ? "unit vectors of the chosen rows"
                                                 : text_count(a, m->vectors),
                  m->trace != WISP_TRACE_GIVEN ? ""
                  : m->imag                    ? " given, with others on the left"
                                               : " given",
                  wisp_type_name(m->type));
}

void moments_files_line(const tool *t, const wisp_moments *m)
{
    text_line("moments of", "%s   (wisp %s)", t->opt.from, m->version);
    for (int i = 1; i < t->opt.froms; i++) text_line("", "%s", t->opt.from_list[i]);
    if (t->opt.froms == 1) weights_summary_of(m->command);
}
