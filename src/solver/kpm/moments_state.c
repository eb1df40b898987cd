/* Moments as items of a state. */
#include "../solver.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The longest of the words before a name makes an item's name of less than 40 bytes. */
enum { ITEM = 40, NAME = ITEM - (int)sizeof "moments of " };

typedef struct {
    const char *word;
    void **at;
    int64_t lines, n; /* lines of n numbers; both are from 0 to INT32_MAX */
    size_t size;
} array;
enum { ARRAYS = 4 };

static void list(array a[ARRAYS], wisp_moments *m)
{
    a[0] = (array){"mu", (void **)&m->mu, m->vectors, m->n, sizeof *m->mu};
    a[1] = (array){"imag", (void **)&m->imag, m->vectors, m->n, sizeof *m->imag};
    a[2] = (array){"sites", (void **)&m->sites, m->vectors, 1, sizeof *m->sites};
    a[3] = (array){"points", (void **)&m->points, m->point_count, WISP_POINT, sizeof *m->points};
}

/* All of m but what it points to. */
static wisp_moments numbers_of(const wisp_moments *m)
{
    wisp_moments numbers = *m;
    array a[ARRAYS];
    list(a, &numbers);
    for (int i = 0; i < ARRAYS; i++) *a[i].at = NULL;
    numbers.matrix = numbers.command = NULL;
    return numbers;
}

static const char *item_of(char item[ITEM], const char *word, const char *name)
{
    snprintf(item, ITEM, "%s of %s", word, name);
    return item;
}

static wisp_status impossible(const wisp_state *state, const char *name, const wisp_moments *m, const char *what)
{
    return wisp_ctx_failf(wisp_state_ctx(state), WISP_ERR_FORMAT,
                          "a state that can't be: %s of %s, of %lld moments of %lld vectors", what, name,
                          (long long)m->n, (long long)m->vectors);
}

static bool is_count(int64_t n) { return n > 0 && n <= INT32_MAX; }

/* An array of a kept state, which has to be of that length; without one it stays away. */
static wisp_status take(wisp_state *state, const char *name, const char *item, const wisp_moments *m, const array *a)
{
    const size_t bytes = wisp_state_bytes(state, item), line = (size_t)a->n * a->size;
    if (bytes == 0 && a->at != (void **)&m->mu) return WISP_OK;
    if (!is_count(a->lines) || bytes % line || bytes / line != (size_t)a->lines)
        return impossible(state, name, m, a->word);
    *a->at = malloc(bytes);
    if (!*a->at)
        return wisp_ctx_failf(wisp_state_ctx(state), WISP_ERR_NOMEM, "out of memory for %zu bytes of moments", bytes);
    return wisp_state_data(state, item, *a->at, bytes);
}

static wisp_status give_back(wisp_state *state, const char *name, wisp_moments *m)
{
    char item[ITEM];
    array a[ARRAYS];
    wisp_status status;
    WISP_TRY(wisp_state_data(state, item_of(item, "moments", name), m, sizeof *m));
    *m = numbers_of(m);
    if (!is_count(m->n) || !is_count(m->vectors)) {
        status = impossible(state, name, m, "numbers");
        goto out;
    }
    list(a, m);
    for (int i = 0; i < ARRAYS; i++) WISP_TRY(take(state, name, item_of(item, a[i].word, name), m, &a[i]));
    if (!m->points) m->point_count = 0;
out:
    return status;
}

wisp_status wisp_state_moments(wisp_state *state, const char *name, wisp_moments *m)
{
    char item[ITEM];
    array a[ARRAYS];
    wisp_moments numbers;
    wisp_status status;
    wisp_ctx *ctx = wisp_state_ctx(state);
    WISP_NEED(NULL, state);
    WISP_NEED(ctx, m);
    if (wisp_state_is_kept(state)) *m = (wisp_moments){0};
    WISP_NEED(ctx, name);
    if (strlen(name) > NAME)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "the name \"%s\" has more than %d characters", name, NAME);
    if (wisp_state_is_kept(state)) {
        status = give_back(state, name, m);
        if (status != WISP_OK) wisp_moments_free(m);
        return status;
    }
    if (!m->mu || !is_count(m->n) || !is_count(m->vectors))
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "moments of %s: there are none", name);
    numbers = numbers_of(m);
    WISP_TRY(wisp_state_data(state, item_of(item, "moments", name), &numbers, sizeof numbers));
    list(a, m);
    for (int i = 0; i < ARRAYS; i++)
        if (*a[i].at)
            WISP_TRY(wisp_state_data(state, item_of(item, a[i].word, name), *a[i].at,
                                     (size_t)(a[i].lines * a[i].n) * a[i].size));
out:
    return status;
}
