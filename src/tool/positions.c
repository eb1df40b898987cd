/* Where the rows of a matrix are: --positions and --cell, or the gallery; sources that are made of that. */
#include "positions.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Rank 0 looks, as where matrices are opened. */
static int is_file(tool *t, const char *name, bool *is)
{
    struct stat st;
    double there = wisp_ctx_rank(t->ctx) == 0 && !stat(name, &st) && !S_ISDIR(st.st_mode);
    if (wisp_ctx_sum(t->ctx, &there, 1)) return tool_fail_ctx(t);
    *is = there > 0;
    return EXIT_FINE;
}

int positions_find(tool *t, const char *name, wisp_positions *p)
{
    bool file = false;
    const int rc = is_file(t, name, &file);
    *p = (wisp_positions){0};
    if (rc || file) return rc;
    const wisp_status status = wisp_positions_open_gallery(p, t->ctx, name);
    return status == WISP_ERR_NOMEM || tool_is_stopped(t) ? tool_fail_ctx(t) : EXIT_FINE;
}

int positions_open(tool *t, const char *name, int64_t rows, wisp_positions *p)
{
    const options *o = &t->opt;
    if (o->positions)
        return wisp_positions_open_file(p, t->ctx, o->positions, rows, o->cell[0], o->cell_vectors) ? tool_fail_ctx(t)
                                                                                                    : EXIT_FINE;
    const int rc = positions_find(t, name, p);
    if (!rc && p->at && p->rows != rows)
        return tool_fail(t, "%s has %lld positions for %lld rows", name, (long long)p->rows, (long long)rows);
    if (rc || p->at) return rc;
    return tool_fail(t, "%s: where its rows are is not known; give it by --positions FILE%s%s", name,
                     option_there(t->cmd, "cell") ? ", and --cell where it is periodic" : "",
                     t->cmd->bit & CMD_SIGMA ? "; or velocities of your own in place of --direction: --velocity-a FILE"
                                             : "");
}

static double along(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static void leave_out(double *v, const double *unit)
{
    const double part = along(v, unit);
    for (int d = 0; d < 3; d++) v[d] -= part * unit[d];
}

void positions_counter(const double (*vector)[3], int n, int i, double *way)
{
    double other[2][3];
    int others = 0;
    for (int j = 0; j < n; j++) { /* made orthonormal */
        if (j == i) continue;
        memcpy(other[others], vector[j], sizeof *other);
        for (int k = 0; k < others; k++) leave_out(other[others], other[k]);
        const double size = sqrt(along(other[others], other[others]));
        for (int d = 0; d < 3; d++) other[others][d] /= size;
        others++;
    }
    memcpy(way, vector[i], sizeof *vector);
    for (int k = 0; k < others; k++) leave_out(way, other[k]);
    const double square = along(way, way);
    for (int d = 0; d < 3; d++) way[d] /= square;
}

/* Columns of a file are x, y and z. */
bool positions_extend(const tool *t, const wisp_positions *p, int along)
{
    for (int d = 0; d < p->dimensions; d++)
        if (p->cell[d][along] != 0) return true;
    return t->opt.positions && along < p->dimensions;
}

int positions_check(tool *t, bool wanted)
{
    const options *o = &t->opt;
    if (o->cell_vectors && !o->positions) return tool_usage(t, "--cell needs --positions FILE");
    if (o->positions && !wanted)
        return tool_usage(t, "--positions is for %s",
                          t->cmd->bit & CMD_SIGMA ? "--direction and --peierls" : "--velocity and --peierls");
    return EXIT_FINE;
}

/* ---- sources that are made of another one -------------------------------------------------------- */

typedef struct {
    wisp_src h, field, velocity; /* each made of the one before, if it is asked for */
    wisp_positions positions;
    const wisp_src *last;
} chain;

static int chain_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const chain *c = arg;
    return c->last->row(c->last->arg, row, col, val);
}

static void free_chain(void *arg)
{
    chain *c = arg;
    wisp_src_close(&c->velocity);
    wisp_src_close(&c->field);
    wisp_src_close(&c->h);
    wisp_positions_close(&c->positions);
    free(c);
}

static int make_chain(tool *t, chain *c, const char *name)
{
    const options *o = &t->opt;
    const double direction[3] = {o->velocity == 0, o->velocity == 1, o->velocity == 2};
    int rc = c->h.rows == c->h.cols ? EXIT_FINE
                                    : tool_fail(t, "%s is %lld x %lld; only rows of a square matrix have positions",
                                                name, (long long)c->h.rows, (long long)c->h.cols);
    if (!rc) rc = positions_open(t, name, c->h.rows, &c->positions);
    c->last = &c->h;
    if (!rc && option_seen(o, "peierls")) {
        if (wisp_src_peierls(&c->field, t->ctx, c->last, &c->positions, o->peierls)) rc = tool_fail_ctx(t);
        c->last = &c->field;
    }
    if (!rc && option_seen(o, "velocity")) {
        if (wisp_src_velocity(&c->velocity, t->ctx, c->last, &c->positions, direction, WISP_VELOCITY))
            rc = tool_fail_ctx(t);
        c->last = &c->velocity;
    }
    return rc;
}

int positions_source(tool *t, wisp_src *src, const char *name,
                     wisp_status (*open)(wisp_src *, wisp_ctx *, const char *))
{
    const bool plain = !option_seen(&t->opt, "peierls") && !option_seen(&t->opt, "velocity");
    if (plain) return open(src, t->ctx, name) ? tool_fail_ctx(t) : EXIT_FINE;
    chain *c = calloc(1, sizeof *c);
    if (!c) return tool_fail(t, "out of memory for %s", name);
    int rc = open(&c->h, t->ctx, name) ? tool_fail_ctx(t) : EXIT_FINE;
    if (!rc) rc = make_chain(t, c, name);
    if (rc) {
        free_chain(c);
        return rc;
    }
    *src = *c->last;
    src->row = chain_row;
    src->many = NULL;
    src->arg = c;
    src->free_arg = free_chain;
    return EXIT_FINE;
}
