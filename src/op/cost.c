/* The cost of wisp_spmmv: the bytes that it must move at least, and its floating-point operations. */
#include "../data/store/store.h"
#include "op.h"

/* Floating-point operations per element of a block row, all arithmetic taken as that of the block's type: a sparse
   product, then axpy, scal, axpy and the dots of figure 3 of the KPM paper, whose sum is its table I. */
static double flops_per_element(wisp_type type, unsigned terms)
{
    const bool complex = wisp_type_is_complex(type);
    const double add = complex ? 2 : 1, multiply = complex ? 6 : 1, square = complex ? 4 : 2;
    double flops = 0;
    if (terms & WISP_SHIFT) flops += add + multiply;
    if (terms & WISP_SCALE) flops += multiply;
    if (terms & WISP_AXPBY) flops += add + multiply;
    if (terms & WISP_ADD) flops += add + multiply;
    if (terms & WISP_CHAIN) flops += add + 2 * multiply;
    if (terms & WISP_DOT_XX) flops += square;
    if (terms & WISP_DOT_XY) flops += add + multiply;
    if (terms & WISP_DOT_YY) flops += square;
    if (terms & WISP_DOT_UY) flops += add + multiply;
    return flops;
}

/* How often a block goes to or from memory, beside x that is read and y that is written once. */
static double moves_of(unsigned terms)
{
    return (terms & WISP_AXPBY ? 1 : 0) + (terms & (WISP_ADD | WISP_DOT_UY) ? 1 : 0) + (terms & WISP_CHAIN ? 2 : 0);
}

/* The same op by op, as apply.c does them. */
static double moves_apart(unsigned terms)
{
    double moves = 0;
    if (terms & WISP_SHIFT) moves += 3;
    if (terms & (WISP_SCALE | WISP_AXPBY)) moves += terms & WISP_AXPBY ? 3 : 2;
    if (terms & WISP_ADD) moves += 3;
    if (terms & WISP_CHAIN) moves += 3;
    if (terms & WISP_DOT_XX) moves += 1;
    if (terms & WISP_DOT_XY) moves += 2;
    if (terms & WISP_DOT_YY) moves += 1;
    if (terms & WISP_DOT_UY) moves += 2;
    return moves;
}

/* Of A x alone. */
static wisp_cost cost_of_product(const wisp_mat *A, wisp_type type, int width)
{
    const double columns = width, element = (double)wisp_type_size(type);
    const double rows = (double)A->map->local, x = (double)A->local_cols; /* with the halo */
    const double add = wisp_type_is_complex(type) ? 2 : 1;
    const double multiply = wisp_type_is_complex(A->type) ? 6 : wisp_type_is_complex(type) ? 2 : 1;
    const wisp__operator_mat *m = wisp__operator_of(A);
    wisp_cost cost = {.bytes = (double)wisp__mat_bytes(A, false) + (x + rows) * columns * element,
                      .flops = columns * (double)A->local.nnz * (add + multiply)};
    if (m && m->o.cost) m->o.cost(m->o.arg, type, width, &cost);
    return cost;
}

wisp_status wisp_spmmv_cost(const wisp_mat *A, wisp_type type, int width, unsigned terms, wisp_cost *cost)
{
    WISP_NEED(wisp_mat_ctx(A), cost);
    *cost = (wisp_cost){0};
    WISP_NEED(NULL, A);
    if (type == WISP_DEFAULT) type = A->type;
    if (!wisp__types_fit(A->type, type) || width < 1)
        return wisp_ctx_failf(A->ctx, WISP_ERR_ARG, "cost: no product of a %s matrix with %s blocks of width %d",
                              wisp_type_name(A->type), wisp_type_name(type), width);
    const double numbers = (double)A->map->local * width; /* of y */
    const double moves = wisp__operator_of(A) ? moves_apart(terms) : moves_of(terms);
    *cost = cost_of_product(A, type, width);
    cost->bytes += moves * numbers * (double)wisp_type_size(type);
    cost->flops += numbers * flops_per_element(type, terms);
    return WISP_OK;
}
