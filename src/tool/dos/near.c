/* Local quantities of huge lattices: of the matrix only those rows are made that the moments can see from --sites and
   --left-sites. */
#include "dos.h"
#include "../out/text.h"
#include <string.h>
#include <unistd.h>

enum { LEAST_STEPS = 32, ALWAYS = 1 << 19 }; /* ALWAYS: rows on average */

/* Whether vectors begin and end on rows that are named, the number of moments is known, and nothing needs the whole: of
   a file all entries are looked at, which must be Hermitian; and what is proven of a Green's function, now or by
   --from, is so for a spectrum within the bounds, which are the part's unless they are given. */
static bool may_be_near(const tool *t, const wisp_kpm_opts *k)
{
    const options *o = &t->opt;
    const bool of_part = k->bounds.method != WISP_BOUNDS_GIVEN;
    return of_rows(t) && o->site_count && !of_spectral(t) && !o->left && !o->overlap && !o->partition &&
           !o->checkpoint && !o->resume && !(of_part && (of_green(t) || o->save)) &&
           (k->moments || !moments_by_bounds(t)) && wisp_ctx_processes(t->ctx) == 1 && access(o->arg[0], F_OK) != 0;
}

/* On average over the steps; of a huge matrix the part may be no large one, for its entries are held as they are. */
static int64_t most_rows(int64_t rows)
{
    const int64_t part = rows / 64 > ALWAYS ? rows / 64 : ALWAYS;
    return rows / 2 < part ? rows / 2 : part;
}

static wisp_status find(tool *t, near *n, wisp_src *src, int64_t steps)
{
    const options *o = &t->opt;
    const size_t right = (size_t)o->site_count, all = right + (size_t)o->left_site_count;
    int64_t *row = NULL;
    wisp_src some = {0};
    wisp_status status = wisp_alloc(t->ctx, &row, all, sizeof *row);
    if (status == WISP_OK) status = wisp_alloc(t->ctx, &n->place, all, sizeof *n->place);
    if (status == WISP_OK) {
        memcpy(row, o->sites, right * sizeof *row);
        if (all > right) memcpy(row + right, o->left_sites, (all - right) * sizeof *row);
        status = wisp_src_near(&some, t->ctx, src, row, (int64_t)all, steps, most_rows(src->rows), n->place);
    }
    wisp_free(t->ctx, row);
    if (status == WISP_ERR_NOMEM) status = WISP_OK; /* the whole may take less, and says so if it does not */
    if (some.rows > src->rows / 4 * 3) wisp_src_close(&some);
    if (status == WISP_OK && some.row) {
        n->ctx = t->ctx;
        n->of = src->rows;
        n->rows = some.rows;
        n->steps = steps;
        wisp_src_close(src);
        *src = some;
    }
    if (!n->rows) {
        wisp_free(t->ctx, n->place);
        n->place = NULL;
    }
    return status;
}

int near_open(tool *t, near *n, wisp_src *src, wisp_kpm_opts *k)
{
    if (!may_be_near(t, k)) return EXIT_FINE;
    const int64_t steps = (plan_moments(k) - 1) / 2;
    /* So few take little anyway, and would have far narrower bounds. */
    if (steps < LEAST_STEPS) return EXIT_FINE;
    if (find(t, n, src, steps)) return tool_fail_ctx(t);
    if (k->sites && n->place) k->sites = n->place;
    return EXIT_FINE;
}

const int64_t *near_places(const near *n, const tool *t, int side)
{
    if (!n->place) return side ? t->opt.left_sites : t->opt.sites;
    return n->place + (side ? t->opt.site_count : 0);
}

void near_done(const near *n, const tool *t, results *r, wisp_moments *m)
{
    if (!n->place) return;
    r->near_rows = n->rows;
    r->near_steps = n->steps;
    m->rows = n->of;
    m->nnz = 0; /* not counted */
    if (m->sites) memcpy(m->sites, t->opt.sites, (size_t)t->opt.site_count * sizeof *m->sites);
}

void near_free(near *n)
{
    wisp_free(n->ctx, n->place);
    *n = (near){0};
}

void near_json(json_t *o, const results *r)
{
    if (!r->near_rows) return;
    JSON_PUT(o, J("near", JSON_NEW(J("rows", r->near_rows), J("nnz", r->stored.nnz), J("steps", r->near_steps))));
}

void near_summary(const results *r)
{
    char a[TEXT];
    if (!r->near_rows) return;
    text_line("near", "%s rows are within %lld steps of these: all that the moments can see; bounds are theirs",
              text_count(a, r->near_rows), (long long)r->near_steps);
}
