/* wisp map: local densities of states of a region at some energies, by random vectors or exactly. */
#include "map.h"
#include "../machine/machine.h"
#include "../names.h"
#include "../positions.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int check_options(tool *t)
{
    const options *o = &t->opt;
    if (!o->energy_count) return tool_usage(t, "--energies E,.. is missing; see wisp map --help");
    if (option_seen(o, "moments") && o->resolution > 0)
        return tool_usage(t, "--moments and --resolution exclude each other");
    if (o->trace == WISP_TRACE_EXACT && (o->vectors || o->width))
        return tool_usage(t, "--%s and --trace exact exclude each other", o->vectors ? "vectors" : "width");
    return EXIT_FINE;
}

/* ---- the region ------------------------------------------------------------------------------------ */

/* Whether row k of the region is at the place of the site before it. */
static bool joins(const map_run *r, int64_t k, const double *xyz)
{
    return r->sites > 0 && r->row[k] == r->row[k - 1] + 1 && !memcmp(r->at[r->sites - 1], xyz, 3 * sizeof *xyz);
}

static int find_places(tool *t, map_run *r, const wisp_positions *p)
{
    if (wisp_alloc(t->ctx, &r->at, (size_t)r->rows, sizeof *r->at)) return tool_fail_ctx(t);
    for (int64_t k = 0; k < r->rows; k++) {
        double xyz[3] = {0};
        if (p->at(p->arg, r->row[k], xyz))
            return tool_fail(t, "the position of row %lld can't be had", (long long)r->row[k]);
        if (joins(r, k, xyz)) continue;
        memcpy(r->at[r->sites], xyz, sizeof xyz);
        r->begin[r->sites++] = k;
    }
    return EXIT_FINE;
}

static int find_sites(tool *t, map_run *r, int64_t rows)
{
    wisp_positions p = {0};
    r->rows = r->where.count ? r->where.count : rows;
    if (wisp_alloc(t->ctx, &r->row, (size_t)r->rows, sizeof *r->row) ||
        wisp_alloc(t->ctx, &r->begin, (size_t)r->rows + 1, sizeof *r->begin))
        return tool_fail_ctx(t);
    for (int64_t i = 0, k = 0; i < rows; i++)
        if (!r->where.count || r->where.in[i]) r->row[k++] = i;
    int rc = t->opt.positions ? positions_open(t, t->opt.arg[0], rows, &p) : positions_find(t, t->opt.arg[0], &p);
    if (!rc && p.at && p.rows == rows)
        rc = find_places(t, r, &p);
    else
        for (int64_t k = 0; k < r->rows; k++) r->begin[r->sites++] = k;
    r->begin[r->sites] = r->rows;
    wisp_positions_close(&p);
    return rc;
}

/* ---- the kernel's root ----------------------------------------------------------------------------- */

int64_t map_terms(int64_t moments) { return moments / 2 + 1; }
double map_resolution(const map_run *r)
{
    const int64_t moments = r->kpm.moments;
    return wisp_resolution(r->bounds.halfwidth, r->exact ? moments : 2 * map_terms(moments) - 1);
}

/* Jackson's kernel of N = 2n + 1 moments is q^2/(n + 1), q(t) = sum of cos(pi m/(2n + 2)) cos(m t) from -n to n (Weisse
   et al., Rev. Mod. Phys. 78, 275, eq. 60 to 71), around angles t and -t of an energy. Their sum squared is that of the
   squares, but for a product of each with the far end of the other one, about (resolution/distance from the end)^2. */
void map_series(const wisp_bounds *b, int64_t moments, double energy, wisp_scalar *c)
{
    const int64_t terms = map_terms(moments);
    const double x = (energy - b->center) / b->halfwidth, n1 = (double)terms, t = acos(fmax(-1, fmin(1, x)));
    const bool inside = fabs(x) < 1;
    const double unit = inside ? sqrt(1 / (2 * M_PI * n1 * sin(t) * b->halfwidth)) : 0;
    for (int64_t m = 0; m < terms; m++)
        c[m] = (wisp_scalar){unit * (m ? 4 : 2) * cos(M_PI * (double)m / (2 * n1)) * cos((double)m * t), 0};
}

/* ---- the sums -------------------------------------------------------------------------------------- */

typedef struct {
    wisp_mat *A;
    wisp_blk *x, **y;
    wisp_function *f;
    wisp_scalar *c;
    char *numbers; /* of a block, row by row */
} workspace;

static void free_work(tool *t, map_run *r, workspace *w)
{
    for (int e = 0; w->y && e < r->energies; e++) wisp_blk_free(w->y[e]);
    wisp_blk_free(w->x);
    wisp_free(t->ctx, w->y);
    wisp_free(t->ctx, w->f);
    wisp_free(t->ctx, w->c);
    wisp_free(t->ctx, w->numbers);
    *w = (workspace){.A = w->A};
}

static wisp_status make_work(tool *t, map_run *r, workspace *w, int width)
{
    const int64_t terms = map_terms(r->kpm.moments);
    wisp_map *map = wisp_mat_map(w->A);
    wisp_status status;
    free_work(t, r, w);
    WISP_TRY(wisp_alloc(t->ctx, &w->y, (size_t)r->energies, sizeof *w->y));
    WISP_TRY(wisp_alloc(t->ctx, &w->f, (size_t)r->energies, sizeof *w->f));
    WISP_TRY(wisp_alloc(t->ctx, &w->c, (size_t)(r->energies * terms), sizeof *w->c));
    WISP_TRY(wisp_alloc(t->ctx, &w->numbers, (size_t)(r->info.rows * width), wisp_type_size(r->info.type)));
    WISP_TRY(wisp_blk_create(&w->x, t->ctx, map, r->info.type, width));
    for (int e = 0; e < r->energies; e++) {
        WISP_TRY(wisp_blk_create(&w->y[e], t->ctx, map, r->info.type, width));
        map_series(&r->bounds, r->kpm.moments, r->energy[e], w->c + e * terms);
        w->f[e] = (wisp_function){.terms = terms, .c = w->c + e * terms};
    }
out:
    return status;
}

static double size_of(wisp_type type, const char *at)
{
    const double *d = (const double *)(const void *)at;
    const float *s = (const float *)(const void *)at;
    if (type_is_single(type)) return (double)s[0] * s[0] + (wisp_type_is_complex(type) ? (double)s[1] * s[1] : 0);
    return d[0] * d[0] + (wisp_type_is_complex(type) ? d[1] * d[1] : 0);
}

/* Each vector's density at each site, and its square. */
static void add_up(const map_run *r, const char *numbers, int width, double *value, double *square)
{
    const int64_t size = (int64_t)wisp_type_size(r->info.type);
    for (int64_t s = 0; s < r->sites; s++)
        for (int j = 0; j < width; j++) {
            double d = 0;
            for (int64_t k = r->begin[s]; k < r->begin[s + 1]; k++)
                d += size_of(r->info.type, numbers + (r->row[k] * width + j) * size);
            value[s] += d;
            square[s] += d * d;
        }
}

static wisp_status some_vectors(tool *t, map_run *r, workspace *w, int width)
{
    const wisp_chebyshev_opts o = {.bounds = {.method = WISP_BOUNDS_GIVEN, .given = r->bounds}};
    wisp_expansion e;
    wisp_status status;
    WISP_TRY(wisp_blk_fill_random(w->x, WISP_RANDOM_TRACE, t->opt.seed, STREAM_START, (uint32_t)r->done));
    WISP_TRY(wisp_chebyshev_apply(&e, w->y, w->A, w->x, r->energies, w->f, &o));
    for (int i = 0; i < r->energies; i++) {
        WISP_TRY(wisp_blk_get(w->y[i], WISP_ROW_MAJOR, w->numbers, width));
        add_up(r, w->numbers, width, r->value + i * r->sites, r->square + i * r->sites);
    }
    r->done += width;
out:
    return status;
}

static wisp_status all_vectors(tool *t, map_run *r, workspace *w)
{
    wisp_status status = WISP_OK;
    int made = 0;
    while (r->done < r->kpm.vectors) {
        const int64_t left = r->kpm.vectors - r->done;
        const int width = left < r->width ? (int)left : r->width;
        if (width != made) WISP_TRY(make_work(t, r, w, width));
        made = width;
        WISP_TRY(wisp_ctx_step(t->ctx, "map", (double)r->done / (double)r->kpm.vectors, 0));
        WISP_TRY(some_vectors(t, r, w, width));
    }
out:
    return status;
}

/* By unit vectors, some rows at a time, with Jackson's kernel. */
static wisp_status all_rows(tool *t, map_run *r, const wisp_mat *A)
{
    wisp_moments m = {0};
    double *dos = NULL;
    wisp_status status;
    int64_t site = 0;
    WISP_TRY(wisp_alloc(t->ctx, &dos, (size_t)r->energies, sizeof *dos));
    for (int64_t first = 0; first < r->rows; first += MAP_ROWS) {
        wisp_kpm_opts o = r->kpm;
        o.trace = WISP_TRACE_SITES;
        o.sites = r->row + first;
        o.vectors = r->rows - first < MAP_ROWS ? r->rows - first : MAP_ROWS;
        o.bounds = (wisp_bounds_opts){.method = WISP_BOUNDS_GIVEN, .given = r->bounds};
        WISP_TRY(wisp_ctx_step(t->ctx, "map", (double)first / (double)r->rows, 0));
        WISP_TRY(wisp_kpm(&m, A, &o));
        for (int64_t v = 0; v < o.vectors; v++) {
            WISP_TRY(wisp_dos(t->ctx, &m, NULL, v, r->energies, r->energy, dos, NULL));
            while (first + v >= r->begin[site + 1]) site++;
            for (int e = 0; e < r->energies; e++) r->value[e * r->sites + site] += dos[e];
        }
        wisp_moments_free(&m);
    }
    r->done = r->rows;
out:
    wisp_moments_free(&m);
    wisp_free(t->ctx, dos);
    return status;
}

/* ---- the run --------------------------------------------------------------------------------------- */

/* Sums over vectors become means, standard errors and bars. */
static void finish(map_run *r)
{
    const double R = (double)r->done;
    const wisp_moments like = {.vectors = r->done, .trace = WISP_TRACE_RANDOM, .type = r->info.type};
    const int64_t all = r->energies * r->sites;
    for (int64_t i = 0; i < all && !r->exact; i++) {
        r->value[i] /= R;
        const double scatter = r->square[i] / R - r->value[i] * r->value[i];
        r->square[i] = r->done > 1 ? sqrt(fmax(0, scatter) / (R - 1)) : (double)NAN;
    }
    if (r->exact) {
        memcpy(r->low, r->value, (size_t)all * sizeof *r->low);
        memcpy(r->high, r->value, (size_t)all * sizeof *r->high);
    } else {
        wisp_bars95(&like, NULL, all, r->value, r->square, r->low, r->high);
    }
}

static int find_bounds(tool *t, map_run *r, const wisp_mat *A)
{
    const double start = wisp_now();
    const wisp_bounds_opts o = wisp_kpm_bounds_opts(r->info.type, r->info.rows, &r->kpm);
    r->method = o.method;
    if (wisp_bounds_find(&r->bounds, A, &o)) return tool_fail_ctx(t);
    r->bounds_seconds = wisp_now() - start;
    if (t->opt.resolution > 0) r->kpm.moments = wisp_moments_for(r->bounds.halfwidth, t->opt.resolution);
    if (r->kpm.moments > WISP_CHEBYSHEV_TERMS)
        return tool_fail(t, "--resolution %g needs %lld moments; at most %d are taken", t->opt.resolution,
                         (long long)r->kpm.moments, WISP_CHEBYSHEV_TERMS);
    return EXIT_FINE;
}

static int compute(tool *t, map_run *r, wisp_mat *A)
{
    const size_t all = (size_t)(r->energies * r->sites);
    workspace w = {.A = A};
    int rc = find_bounds(t, r, A);
    if (rc) return rc;
    if (wisp_alloc(t->ctx, &r->value, all, sizeof *r->value) ||
        wisp_alloc(t->ctx, &r->square, all, sizeof *r->square) || wisp_alloc(t->ctx, &r->low, all, sizeof *r->low) ||
        wisp_alloc(t->ctx, &r->high, all, sizeof *r->high))
        return tool_fail_ctx(t);
    const double start = wisp_now();
    const wisp_status status = r->exact ? all_rows(t, r, A) : all_vectors(t, r, &w);
    free_work(t, r, &w);
    r->seconds = wisp_now() - start;
    if (status == WISP_ERR_CANCELLED && map_has_bars(r))
        tool_keep(t); /* with the vectors that are complete */
    else if (status)
        return tool_fail_ctx(t);
    finish(r);
    return EXIT_FINE;
}

static int open_all(tool *t, map_run *r, wisp_mat **A)
{
    wisp_src src = {0};
    const double start = wisp_now();
    int rc = source_open(t, &src);
    if (rc) return rc;
    rc = source_square(t, &src, "a Hamiltonian is square");
    if (!rc && src.rows < 1) rc = tool_fail(t, "%s has no rows", t->opt.arg[0]);
    if (!rc) rc = where_find(t, &r->where, src.rows);
    if (!rc) rc = find_sites(t, r, src.rows);
    where_free(&r->where);
    r->mo = source_options(&t->opt, tool_type(&t->opt, src.type), r->width);
    if (!rc && t->opt.plan) rc = map_plan_show(t, r, &src);
    if (!rc) rc = map_plan_check(t, r, &src);
    if (!rc && !t->opt.plan && wisp_mat_create(A, t->ctx, &src, &r->mo)) rc = tool_fail_ctx(t);
    wisp_src_close(&src);
    if (*A) wisp_mat_get_info(*A, &r->info);
    r->assemble_seconds = wisp_now() - start;
    return rc;
}

int cmd_map(tool *t)
{
    enum { MOMENTS = 512, VECTORS = 32, WIDTH = 4 };
    const options *o = &t->opt;
    map_run r = {.energy = o->energies, .energies = (int)o->energy_count, .exact = o->trace == WISP_TRACE_EXACT};
    wisp_mat *A = NULL;
    int rc = check_options(t);
    if (!rc) rc = tool_begin(t);
    if (rc) return rc;
    r.kpm = (wisp_kpm_opts){.moments = o->moments ? o->moments : MOMENTS,
                            .vectors = o->vectors ? o->vectors : VECTORS,
                            .seed = o->seed,
                            .bounds = bounds_options(o)};
    r.width = o->width ? (int)o->width : WIDTH;
    if (r.width > r.kpm.vectors) r.width = (int)r.kpm.vectors;
    rc = open_all(t, &r, &A);
    if (!rc && A) rc = compute(t, &r, A);
    if (rc || !A) goto out;
    r.total_seconds = wisp_now() - t->started;
    monitor_clear(&t->monitor);
    if (!o->json && !o->quiet) map_summary(t, &r);
    rc = map_write(t, &r);
    if (!rc && !r.exact && r.done < r.kpm.vectors)
        rc = tool_fail(t, "stopped; the map is of %lld of %lld vectors", (long long)r.done, (long long)r.kpm.vectors);
out:
    wisp_mat_free(A);
    wisp_free(t->ctx, r.row);
    wisp_free(t->ctx, r.begin);
    wisp_free(t->ctx, r.at);
    wisp_free(t->ctx, r.value);
    wisp_free(t->ctx, r.square);
    wisp_free(t->ctx, r.low);
    wisp_free(t->ctx, r.high);
    return rc;
}
