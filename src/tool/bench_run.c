/* The steps that `wisp bench` times. */
#include "bench.h"
#include <stdlib.h>

const char *const bench_variant_name[] = {"blocked", "naive", "reference"};

static wisp_scalar real(double x) { return (wisp_scalar){x, 0}; }

/* Figure 5 of the KPM paper: all in one pass. */
static wisp_status step_blocked(bench_runner *r)
{
    wisp_aug aug = {.terms = WISP_SCALE | WISP_SHIFT | WISP_AXPBY | WISP_DOT_XX | WISP_DOT_XY,
                    .alpha = real(2 / r->halfwidth),
                    .beta = real(-1),
                    .shift = r->shift,
                    .dot = r->dot};
    return wisp_spmmv(r->w, r->A, r->v, &aug);
}

/* Figure 3: separate operations. */
static wisp_status step_naive(bench_runner *r)
{
    wisp_status status = WISP_OK;
    WISP_TRY(wisp_spmmv(r->u, r->A, r->v, NULL));
    WISP_TRY(wisp_axpy(r->u, real(-r->center), r->v));
    WISP_TRY(wisp_scal(r->w, real(-1)));
    WISP_TRY(wisp_axpy(r->w, real(2 / r->halfwidth), r->u));
    WISP_TRY(wisp_dot(r->v, r->v, r->dot));
    WISP_TRY(wisp_dot(r->w, r->v, r->dot + r->width));
out:
    return status;
}

wisp_status bench_step(bench_runner *r)
{
    if (r->op != BENCH_KPM) return wisp_spmmv(r->w, r->A, r->v, NULL);
    if (r->variant == VARIANT_REFERENCE)
        return wisp_reference_step(r->reference, 2 / r->halfwidth, r->center, -1, r->dot);
    wisp_status status = r->variant == VARIANT_NAIVE ? step_naive(r) : step_blocked(r);
    wisp_blk *v = r->v;
    r->v = r->w;
    r->w = v;
    return status;
}

/* Bounds that are certain, so that a long series of steps stays bounded. */
static int find_bounds(tool *t, bench_runner *r)
{
    wisp_mat_props p;
    if (wisp_mat_get_props(r->A, &p)) return tool_fail_ctx(t);
    if (!p.hermitian) return tool_fail(t, "wisp bench kpm needs a Hermitian matrix, which %s is not", t->opt.arg[1]);
    r->center = 0.5 * (p.gershgorin_min + p.gershgorin_max);
    r->halfwidth = 0.505 * (p.gershgorin_max - p.gershgorin_min);
    if (!(r->halfwidth > 0)) r->halfwidth = 1;
    for (int j = 0; j < r->width; j++) r->shift[j] = real(r->center);
    return EXIT_FINE;
}

/* Least traffic and operations of one step; the naive one goes over its vectors thirteen times (table I). */
static int find_cost(tool *t, bench_runner *r)
{
    const unsigned kpm = WISP_SCALE | WISP_SHIFT | WISP_AXPBY | WISP_DOT_XX | WISP_DOT_XY;
    wisp_mat_info info;
    wisp_mat_get_info(r->A, &info);
    const double block = (double)info.rows * r->width * (double)wisp_type_size(r->type);
    if (wisp_spmmv_cost(r->A, r->type, r->width, r->op == BENCH_KPM ? kpm : 0, &r->cost)) return tool_fail_ctx(t);
    r->working_bytes = (double)info.bytes + block * (r->u ? 3 : 2);
    if (r->op == BENCH_KPM && r->variant == VARIANT_NAIVE) r->cost.bytes += (13 - 3) * block;
    return EXIT_FINE;
}

static wisp_status make_blocks(bench_runner *r)
{
    wisp_status status = WISP_OK;
    wisp_map *rows = wisp_mat_map(r->A), *cols = wisp_mat_col_map(r->A);
    WISP_TRY(wisp_alloc(r->ctx, &r->shift, (size_t)r->width, sizeof *r->shift));
    WISP_TRY(wisp_alloc(r->ctx, &r->dot, 3 * (size_t)r->width, sizeof *r->dot));
    if (r->variant == VARIANT_REFERENCE) goto out;
    WISP_TRY(wisp_blk_create(&r->v, r->ctx, cols, r->type, r->width));
    WISP_TRY(wisp_blk_create(&r->w, r->ctx, rows, r->type, r->width));
    if (r->variant == VARIANT_NAIVE) WISP_TRY(wisp_blk_create(&r->u, r->ctx, rows, r->type, r->width));
    WISP_TRY(wisp_blk_fill_random(r->v, WISP_RANDOM_TRACE, 1, 0, 0));
out:
    return status;
}

/* The matrix's type that goes with the blocks'. */
static wisp_type matrix_type(wisp_type source, wisp_type block)
{
    const bool is_double = block == WISP_D || block == WISP_Z;
    if (wisp_type_is_complex(source)) return is_double ? WISP_Z : WISP_C;
    return is_double ? WISP_D : WISP_S;
}

/* What would fail later is refused before anything is measured. */
int bench_check(tool *t, const wisp_src *src, bench_op op, bench_variant variant)
{
    const options *o = &t->opt;
    if (op == BENCH_KPM && src->rows != src->cols) return tool_fail(t, "wisp bench kpm needs a square matrix");
    for (int i = 0; o->types[i]; i++) {
        const wisp_type type = (wisp_type)o->types[i];
        if (wisp_type_is_complex(src->type) && !wisp_type_is_complex(type))
            return tool_fail(t, "a complex matrix needs complex blocks: --types c or z");
        if (variant == VARIANT_REFERENCE && type != src->type)
            return tool_fail(t, "the reference takes blocks of the matrix's type alone");
    }
    for (int j = 0; variant == VARIANT_REFERENCE && o->widths[j]; j++)
        if (o->widths[j] > 32 || (o->widths[j] & (o->widths[j] - 1)))
            return tool_fail(t, "the reference is there for the widths 1, 2, 4, 8, 16, 32 alone");
    return EXIT_FINE;
}

int bench_open(tool *t, bench_runner *r, const wisp_src *src)
{
    const wisp_mat_opts mo = {.type = matrix_type(src->type, r->type), .width = r->width};
    r->ctx = t->ctx;
    if (wisp_mat_create(&r->A, t->ctx, src, &mo) || make_blocks(r)) return tool_fail_ctx(t);
    int rc = r->op == BENCH_KPM ? find_bounds(t, r) : EXIT_FINE;
    if (!rc) rc = find_cost(t, r);
    if (!rc && r->variant == VARIANT_REFERENCE) {
        wisp_mat_free(r->A);
        r->A = NULL;
        if (wisp_reference_create(&r->reference, t->ctx, src, r->width, 1)) rc = tool_fail_ctx(t);
    }
    return rc;
}

void bench_close(bench_runner *r)
{
    wisp_blk_free(r->v);
    wisp_blk_free(r->w);
    wisp_blk_free(r->u);
    wisp_reference_free(r->reference);
    if (r->ctx) {
        wisp_free(r->ctx, r->shift);
        wisp_free(r->ctx, r->dot);
    }
    wisp_mat_free(r->A);
    *r = (bench_runner){0};
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Between two values in proportion. */
static double quantile(const double *v, int n, double q)
{
    const double at = q * (n - 1);
    const int i = (int)at;
    return i + 1 < n ? v[i] + (at - i) * (v[i + 1] - v[i]) : v[n - 1];
}

bench_quartiles bench_quartiles_of(double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, by_value);
    return (bench_quartiles){quantile(v, n, 0.25), quantile(v, n, 0.5), quantile(v, n, 0.75)};
}
