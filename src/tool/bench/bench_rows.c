/* Which cases `wisp bench` measures in turn, so that their ratios are told. */
#include "bench.h"

static bool same_case(const bench_case *a, const bench_case *b)
{
    return a->variant == b->variant && a->width == b->width && a->order == b->order && a->format == b->format &&
           a->powers == b->powers && a->cache_budget == b->cache_budget;
}

int bench_rows_one(tool *t, bench *b, const bench_case *c, bool optional)
{
    const options *o = &t->opt;
    bench_case other = *c;
    switch (o->against_what) {
    case AGAINST_ORDER: other.order = (wisp_order)o->against; break;
    case AGAINST_FORMAT: other.format = (wisp_format)o->against; break;
    case AGAINST_PLAIN: other.powers = 1; break;
    case AGAINST_SINGLE: other.width = 1; break;
    default: other.variant = (bench_variant)o->against;
    }
    const bool alternate = option_seen(o, "against") && !same_case(c, &other);
    return bench_measure(t, b, (bench_case[]){*c, other}, alternate ? 2 : 1, optional);
}

/* All variants of a solver in turn, set in relation to the classical one, unless others are asked for. */
int bench_rows_solve(tool *t, bench *b, const bench_case *c, bool optional)
{
    const options *o = &t->opt;
    bench_case list[BENCH_MOST_CASES];
    int count = 0;
    if (option_seen(o, "variant") || option_seen(o, "against")) return bench_rows_one(t, b, c, optional);
    for (int v = o->bench_variant; v <= VARIANT_CLASSICAL; v++) {
        list[count] = *c;
        list[count++].variant = (bench_variant)v;
    }
    return bench_measure(t, b, list, count, optional);
}

/* ---- wisp eig -------------------------------------------------------------------------------------- */

/* The width of the filter's blocks, by the model, for a matrix that is stored as `wisp eig` stores it. */
static wisp_status choose_width(const tool *t, const bench *b, bench_case *c)
{
    enum { VECTORS = 64, STEPS = 100 };
    const wisp_mat_opts mo = {.type = type_in(c->type, b->src.type), .width = (int)(128 / wisp_type_size(c->type))};
    wisp_choice choice;
    wisp_mat *A = NULL;
    wisp_status status = WISP_OK;
    WISP_TRY(wisp_mat_create(&A, t->ctx, &b->src, &mo));
    WISP_TRY(wisp_mat_choose(A, c->type, VECTORS, STEPS, &choice));
    c->width = choice.width;
out:
    wisp_mat_free(A);
    return status;
}

static bool is_wanted(const options *o, bench_variant v)
{
    return !option_seen(o, "variant") || o->bench_variant == (int)v;
}

/* Products of the filter, in turn with those in single precision and with the step of `wisp bench kpm`. */
int bench_rows_filter(tool *t, bench *b, const bench_case *c, bool optional)
{
    static const bench_variant variant[] = {VARIANT_SQUARES, VARIANT_STEPS};
    const bool is_double = c->type == WISP_D || c->type == WISP_Z;
    bench_case list[BENCH_MOST_CASES], typed[2] = {*c, *c}; /* and in single precision */
    int count = 0;
    typed[1].type = type_in(WISP_S, c->type);
    for (int i = 0; i < 1 + is_double; i++) {
        if (!option_seen(&t->opt, "widths") && choose_width(t, b, &typed[i])) return tool_fail_ctx(t);
        for (int k = 0; k < 2; k++) {
            if (!is_wanted(&t->opt, variant[k])) continue;
            list[count] = typed[i];
            list[count++].variant = variant[k];
        }
    }
    list[count] = typed[0];
    list[count].variant = VARIANT_KPM_STEP;
    return count > 0 ? bench_measure(t, b, list, count + 1, optional) : EXIT_FINE;
}

/* The dense operations on the search space beside LAPACK's. LAPACK's calls take 10 s for 1.6 million complex rows and
   64 columns (Xeon, 2 threads), and the square of the columns counts: beyond that they are not timed, and the rate of
   products of square matrices is the yardstick. */
int bench_rows_dense(tool *t, bench *b, const bench_case *c, bool optional)
{
    enum { MOST_OF_LAPACK = 64 };
    bench_case list[] = {*c, *c, *c};
    int rc = EXIT_FINE;
    list[0].variant = VARIANT_QR;
    list[1].variant = VARIANT_QR_LAPACK;
    list[2].variant = VARIANT_RITZ;
    if (is_wanted(&t->opt, VARIANT_QR)) rc = bench_measure(t, b, list, c->width <= MOST_OF_LAPACK ? 2 : 1, optional);
    if (!rc && is_wanted(&t->opt, VARIANT_RITZ)) rc = bench_measure(t, b, list + 2, 1, optional);
    return rc;
}
