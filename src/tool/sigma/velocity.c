/* The velocities of wisp sigma: of positions that the gallery knows, or matrices of the user's. */
#include "sigma.h"
#include "../moments.h"
#include "../names.h"
#include "../positions.h"
#include "../weights.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void take_volume(sigma_results *r, const wisp_positions *p)
{
    r->dimensions = p->dimensions;
    if (r->has_volume || !(p->volume > 0)) return;
    r->eval.volume = p->volume;
    r->has_volume = true;
}

/* That of a real matrix stays real: [H, x], which is antisymmetric. */
static int open_one(tool *t, const sigma_sources *s, wisp_src *v, int along)
{
    const double direction[3] = {along == 0, along == 1, along == 2};
    const bool is_complex = wisp_type_is_complex(s->h.type);
    if (!positions_extend(t, &s->positions, along))
        return tool_fail(t, "%s does not extend along %c; take another --direction than %s", t->opt.arg[0], 'x' + along,
                         direction_names[t->opt.direction]);
    if (wisp_src_velocity(v, t->ctx, &s->h, &s->positions, direction, is_complex ? WISP_VELOCITY : WISP_VELOCITY_REAL))
        return tool_fail_named(t);
    return EXIT_FINE;
}

static int open_file(tool *t, const sigma_sources *s, wisp_src *v, const char *option, const char *path)
{
    if (wisp_src_open(v, t->ctx, path)) return tool_fail_ctx(t);
    return source_fits(t, v, option, path, s->h.rows);
}

static int open_files(tool *t, sigma_sources *s)
{
    const options *o = &t->opt;
    int rc = open_file(t, s, &s->a, "velocity-a", o->velocity_a);
    if (!rc && o->velocity_b) rc = open_file(t, s, &s->b, "velocity-b", o->velocity_b);
    if (!rc) rc = weights_deal(t, &s->a);
    return rc ? rc : weights_deal(t, &s->b);
}

static wisp_mat_opts options_of(const tool *t, const wisp_src *v, wisp_type type, int width)
{
    wisp_type own = v->type;
    if (type_is_single(type)) own = type_in(type, own);
    return (wisp_mat_opts){.type = own, .width = width, .halo = (wisp_halo)t->opt.halo};
}

int velocity_field(tool *t, sigma_sources *s)
{
    const bool field = option_seen(&t->opt, "peierls");
    if (t->opt.velocity_a && !field) return EXIT_FINE;
    const int rc = positions_open(t, t->opt.arg[0], s->h.rows, &s->positions);
    if (rc || !field) return rc;
    s->bare = s->h;
    s->h = (wisp_src){0};
    if (wisp_src_peierls(&s->h, t->ctx, &s->bare, &s->positions, t->opt.peierls)) return tool_fail_named(t);
    return EXIT_FINE;
}

/* V_a multiplies a column, V_b a block. */
int velocity_open(tool *t, sigma_sources *s, sigma_results *r)
{
    const options *o = &t->opt;
    const int width = r->kubo.width > 0 ? r->kubo.width : 16, a = o->direction / 3, b = o->direction % 3;
    int rc;
    if (o->velocity_a) {
        rc = open_files(t, s);
        if (!rc && !s->positions.at) rc = positions_find(t, o->arg[0], &s->positions);
        if (!rc) take_volume(r, &s->positions);
    } else {
        take_volume(r, &s->positions);
        rc = open_one(t, s, &s->a, a);
        if (!rc && a != b) rc = open_one(t, s, &s->b, b);
    }
    if (rc) return rc;
    volume_look(t, r, &s->positions);
    const bool two = s->b.row || s->b.many;
    s->a_opts = options_of(t, &s->a, s->h_opts.type, two ? 1 : width);
    s->b_opts = options_of(t, two ? &s->b : &s->a, s->h_opts.type, width);
    return EXIT_FINE;
}

void velocity_close(sigma_sources *s)
{
    wisp_src_close(&s->a);
    wisp_src_close(&s->b);
    wisp_src_close(&s->h);
    wisp_src_close(&s->bare);
    wisp_positions_close(&s->positions);
}

int velocity_make(tool *t, sigma_sources *s, const wisp_mat *A, wisp_mat **V_a, wisp_mat **V_b)
{
    s->a_opts.map = s->b_opts.map = wisp_mat_map(A);
    if (wisp_mat_create(V_a, t->ctx, &s->a, &s->a_opts)) return tool_fail_ctx(t);
    *V_b = *V_a;
    if (!s->b.row && !s->b.many) return EXIT_FINE;
    *V_b = NULL;
    return wisp_mat_create(V_b, t->ctx, &s->b, &s->b_opts) ? tool_fail_ctx(t) : EXIT_FINE;
}

void velocity_free(wisp_mat *V_a, wisp_mat *V_b)
{
    if (V_b != V_a) wisp_mat_free(V_b);
    wisp_mat_free(V_a);
}

/* ---- of a kept run ------------------------------------------------------------------------------- */

/* A file of format 5 says it; another --volume is taken instead, and told of. */
static void take_sample(sigma_results *r)
{
    const wisp_moments *m = &r->m;
    r->direction = m->direction - 1;
    r->dimensions = m->dimensions;
    r->differ = memcmp(m->mark[1], m->mark[2], sizeof m->mark[1]) != 0;
    if (r->has_volume) {
        if (fabs(r->eval.volume - m->volume) > 1e-9 * m->volume) r->kept_volume = m->volume;
    } else if (m->volume > 0) {
        r->eval.volume = m->volume;
        r->has_volume = true;
    }
}

int velocity_of_kept(tool *t, sigma_results *r)
{
    const char *command = r->m.command;
    wisp_positions p;
    if (r->m.mark[1][0] != 0 || r->m.volume > 0 || r->m.direction) {
        take_sample(r);
        return EXIT_FINE;
    }
    if (!command || strncmp(command, "wisp sigma ", strlen("wisp sigma "))) return EXIT_FINE; /* a program's own */
    char *direction = moments_value(command, "direction"), *volume = moments_value(command, "volume");
    const bool named = direction != NULL;
    for (int i = 0; direction && direction_names[i]; i++)
        if (!strncmp(direction, direction_names[i], 2)) r->direction = i;
    if (volume && !r->has_volume) {
        r->eval.volume = strtod(volume, NULL);
        r->has_volume = r->eval.volume > 0;
    }
    free(direction), free(volume);
    r->differ = moments_asked(command, "velocity-b");
    if (!named || !r->m.matrix || moments_asked(command, "positions")) return EXIT_FINE;
    const int rc = positions_find(t, r->m.matrix, &p);
    if (rc || !p.at) return rc;
    take_volume(r, &p);
    wisp_positions_close(&p);
    return EXIT_FINE;
}
