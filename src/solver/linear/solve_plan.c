/* What wisp_solve takes: memory, and an iteration. */
#include "krylov.h"
#include <math.h>

/* What there is beside the numbers in blocks: see prepare of solve.c. */
static int64_t small_bytes(wisp_ctx *ctx, const wisp_solve_opts *o, int width, int blocks, const wisp__method *method)
{
    enum { HEADS = 1 << 16, SCALARS = 32, BLOCK = 256 };
    const int64_t sets = 2 * (WISP_SETS + wisp_ctx_look_every(ctx) + 4 * o->degree); /* on the device and on the host */
    const int64_t m = wisp__basis(method, o), scalars = 6 * m + sets + SCALARS;
    const int64_t column = scalars * (int64_t)sizeof(wisp_scalar) + (method->own ? (int64_t)method->own(o) : 0);
    return width * (column + (int64_t)sizeof(wisp__krylov_column)) + blocks * BLOCK + HEADS;
}

/* Blocks of the method at most, and of the one that may follow it; of both that may be taken where none is named. */
static int most_blocks(wisp__krylov *k)
{
    const bool open = k->o.method == WISP_METHOD_DEFAULT;
    const wisp_method named = open ? wisp__choice(true, false) : k->o.method, next = wisp__method_of(named)->next;
    const wisp_method may[] = {named, next ? next : named, open ? wisp__choice(false, false) : named};
    int most = 0;
    wisp__precond **P = k->o.side == WISP_SIDE_LEFT ? &k->left : &k->P;
    *P = k->o.precond != WISP_PRECOND_NONE ? (wisp__precond *)k : NULL; /* never followed */
    for (int i = 0; i < 3; i++) {
        k->method = wisp__method_of(may[i]);
        const int blocks = wisp__blocks(k);
        if (blocks > most) most = blocks;
    }
    return most;
}

/* Of several ranks: copies of what they sum, which are the dots of a call, or the sizes of some columns; the proof has
   a list of those. */
static double sums_bytes(wisp_ctx *ctx, const wisp_mat_info *A, int width, const wisp_solve_opts *o)
{
    enum { CHUNK = 1024, DOTS = 16 };
    if (wisp_ctx_processes(ctx) == 1) return 0;
    const double chunk = fmax((double)A->local_rows, CHUNK),
                 dots = (double)(DOTS + WISP__AHEAD * (o->restart + WISP__AHEAD) + o->shadow) * width;
    return (fmax(chunk, dots) + CHUNK) * sizeof(wisp_scalar) + (double)A->rows / CHUNK;
}

/* Of products, those of polynomials and of powers (of a method with a basis) among them. */
static wisp_status products_plan(wisp_plan *plan, wisp_ctx *ctx, const wisp_mat_info *A, wisp_type type, int width,
                                 const wisp_solve_opts *o, const wisp__method *m)
{
    const bool polynomial = o->precond == WISP_CHEBYSHEV || o->precond == WISP_NEUMANN;
    const int count = polynomial ? o->degree : m->restarts ? WISP__AHEAD : 1;
    const wisp_mpk_opts steps = {.steps = count, .terms = WISP_DOT_XX | WISP_DOT_XY};
    return wisp_mpk_plan(plan, ctx, A, type, width, &steps, NULL);
}

/* Rows of b and x that this rank has, with those of others that blocks have room for. How the columns of a matrix that
   is not square are shared, and what A^H gets of others, is not in its facts. */
typedef struct {
    double b, x;
} shape;
static shape shape_of(wisp_ctx *ctx, const wisp_mat_info *A, const wisp__method *m)
{
    const double rows = (double)A->local_rows + (double)A->halo_rows;
    const double cols = (double)A->cols / wisp_ctx_processes(ctx) + (double)A->halo_rows;
    return m->any_shape ? (shape){rows, cols} : (shape){rows, rows};
}
static shape shape_most(wisp_ctx *ctx, const wisp_mat_info *A, const wisp__method *m)
{
    const bool many = m->any_shape && wisp_ctx_processes(ctx) > 1;
    return many ? (shape){(double)A->rows, (double)A->cols} : shape_of(ctx, A, m);
}
static int short_blocks(const wisp__method *m, int blocks)
{
    int n = 0;
    for (int i = 0; i < blocks; i++) n += m->is_short && m->is_short(i);
    return n;
}

/* ---- an iteration -------------------------------------------------------------------------------- */

/* Each application of a polynomial is so many products; a diagonal that updates multiply by is read in some passes. */
static void plan_iteration(wisp_plan *plan, const wisp_mat_info *A, wisp_type type, const wisp__krylov *k,
                           const wisp_choice *step)
{
    const wisp_solve_opts *o = &k->o;
    const int times = k->method->products, width = k->width;
    const double rows = (double)A->local_rows, of_x = k->method->any_shape ? shape_of(k->ctx, A, k->method).x : rows;
    const double column = 0.5 * (rows + of_x) * (double)wisp_type_size(type), block = column * width;
    const double product =
        (double)A->sweep_bytes + 2 * block + (double)A->halo_rows * width * (double)wisp_type_size(type);
    const int fuses = o->precond == WISP_JACOBI && k->P && k->method->fuses ? k->method->fuses(k) : 0;
    const double precond = fuses ? fuses * column : times * wisp__precond_bytes(A, type, width, o);
    const double products =
        o->precond == WISP_CHEBYSHEV || o->precond == WISP_NEUMANN ? times * (1 + o->degree) : times;
    plan->iteration_bytes = times * product + k->method->moves(k) * block + precond;
    if (!step || !(step->seconds > 0)) return;
    plan->iteration_seconds =
        products * step->seconds + 1e-9 * (plan->iteration_bytes - products * product) / step->load_gbs;
}

wisp_status wisp_solve_plan(wisp_plan *plan, wisp_ctx *ctx, const wisp_mat_info *A, wisp_type type, int width,
                            const wisp_solve_opts *opts, const wisp_choice *step)
{
    wisp_status status;
    wisp_plan products, passes;
    WISP_NEED(ctx, plan);
    *plan = (wisp_plan){0};
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, A);
    if (type == WISP_DEFAULT) type = A->type;
    wisp__krylov k = {.o = opts ? *opts : (wisp_solve_opts){0}};
    WISP_TRY(wisp__solve_check_options(ctx, &k.o, A->rows == A->cols));
    if (k.o.precond == WISP_CHEBYSHEV || k.o.precond == WISP_NEUMANN) WISP_TRY(wisp__check_bounds(ctx, A, &k.o.bounds));
    k.o.method = wisp__method_for(&k.o, A->rows == A->cols);
    const wisp_method named = k.o.method;
    if (named == WISP_METHOD_DEFAULT) k.o.method = wisp__choice(true, false);
    wisp__solve_defaults(&k.o, type, A->rows);
    wisp_solve_opts o = k.o;
    k.o.method = named;
    const wisp__method *m = wisp__method_of(named == WISP_METHOD_DEFAULT ? wisp__choice(false, false) : named);
    WISP_TRY(products_plan(&products, ctx, A, type, width, &o, m));
    /* Terms, and dots, of one call: those of new vectors with each vector of a basis. */
    const int most = most_blocks(&k), lists = 16 + wisp__basis(m, &o), proof = wisp__proof_columns(type);
    const double rows = (double)A->local_rows + (double)A->halo_rows, size = (double)wisp_type_size(type);
    const shape of = shape_of(ctx, A, m), of_most = shape_most(ctx, A, m);
    const double width_of[2] = {(1.0 + most - short_blocks(m, most)) * width, (2.0 + short_blocks(m, most)) * width};
    WISP_TRY(wisp_fuse_plan(&passes, ctx, wisp_whole_number(rows), type, width, lists, lists));
    /* Narrower blocks are made beside the others, and those of the proof. */
    const int beside = width / 2, more = proof > beside ? proof - beside : 0;
    const double null = o.null ? 2.0 * width + 2.0 * wisp_blk_width(o.null) + 4 : 0; /* with those of its check */
    const double small = (double)small_bytes(ctx, &o, width, 4 + most, m);
    const double all =
        (of.b * width_of[0] + of.x * width_of[1] + fmax(of.b, of.x) * beside + rows * null) * size + small;
    const double all_most =
        (of_most.b * width_of[0] + of_most.x * width_of[1] + fmax(of_most.b, of_most.x) * beside + rows * null) * size +
        small;
    double precond = wisp__precond_plan(A, type, width, &o), bounds = 0, bounds_most = 0;
    WISP_TRY(wisp__precond_bounds(ctx, A, width, &o, &bounds, &bounds_most));
    const double run = all_most + rows * more * size + (double)products.bytes_most + (double)passes.bytes_most +
                       sums_bytes(ctx, A, width, &o) + fmax(precond, bounds_most);
    *plan = (wisp_plan){.bytes = wisp_whole_number(all + (double)products.bytes + floor(fmax(precond, bounds))),
                        .bytes_most = wisp_whole_number(fmax(run, (double)A->props_bytes)),
                        .products = NAN,
                        .sweeps = NAN,
                        .seconds = NAN,
                        .iteration_bytes = NAN,
                        .iteration_seconds = NAN};
    k = (wisp__krylov){
        .ctx = ctx, .o = o, .P = k.P, .left = k.left, .method = wisp__method_of(o.method), .width = width};
    k.separate = o.variant == WISP_CLASSICAL;
    k.look_every = !k.method->hear ? 1 : wisp_ctx_look_every(ctx);
    plan_iteration(plan, A, type, &k, step);
out:
    return status;
}
