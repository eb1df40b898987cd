/* Preconditioners: they are made, applied and freed. Each is a diagonal, a matrix (a stored one, or an operator for the
   user's function), or a polynomial of A. */
#include "krylov.h"
#include "precond.h"
#include <math.h>
#include "../solver.h"
#include <stdio.h>
#include <string.h>

struct wisp__precond {
    wisp_ctx *ctx;
    const wisp_mat *A;
    double factor; /* of A: M^-1 is of factor A */
    wisp_precond kind;
    wisp_type type;  /* of the blocks */
    int width;       /* at most */
    wisp_blk *rows;  /* JACOBI */
    wisp_mat *M;     /* BLOCK_JACOBI, APPLY, AMG, ILU, IC */
    wisp__host host; /* what M's function is, of the last three */
    wisp__ilu ilu;
    wisp__amg *amg;
    wisp__polynomial p;   /* CHEBYSHEV, NEUMANN */
    wisp_blk *work;       /* a block for it, of the width that was asked for last */
    wisp_scalar *add;     /* [degree][width] its p.add */
    int depth;            /* of its interleaved steps; 0: not known yet */
    const wisp_blk *null; /* see wisp__precond_project */
    bool both;
    wisp_blk *from; /* r without its part there, of the width that was asked for last */
};

/* ---- made ---------------------------------------------------------------------------------------- */

/* The rows of the block-diagonal matrix of inverses. */
static int inverse_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const wisp__diagonal *d = arg;
    const int64_t i = row - d->first, corner = i - i % d->n;
    const int64_t m = d->n < d->rows - corner ? d->n : d->rows - corner;
    const size_t size = wisp_type_size(d->type);
    if (i < 0 || i >= d->rows) return -1;
    if (!col) return (int)m;
    for (int64_t j = 0; j < m; j++) col[j] = d->first + corner + j;
    memcpy(val, d->inverse + (size_t)(i * d->n) * size, (size_t)m * size);
    return (int)m;
}

/* The type of the inverse blocks: as precise as the blocks that they are multiplied with, and real if A is. */
static wisp_type inverse_type(wisp_type matrix, wisp_type blocks)
{
    return wisp_type_is_complex(matrix) ? blocks : wisp__type_in(blocks, WISP_D);
}

static wisp_status make_diagonal(wisp__precond *P, const wisp_solve_opts *o, const char *definite)
{
    wisp_map *map = wisp_mat_map(P->A);
    wisp__diagonal d = {0};
    wisp_mat_info info;
    wisp_status status;
    wisp_mat_get_info(P->A, &info);
    if (info.format == WISP_FORMAT_OPERATOR)
        return wisp_ctx_failf(
            P->ctx, WISP_ERR_UNSUPPORTED,
            "an operator has no entries for a Jacobi preconditioner: take a polynomial, or a function "
            "(WISP_PRECOND_APPLY)");
    const bool blocks = P->kind == WISP_BLOCK_JACOBI;
    const int64_t rows = wisp_map_rows(map);
    WISP_TRY(
        wisp__diagonal_make(&d, P->A, P->factor, o, definite, blocks ? inverse_type(info.type, P->type) : P->type));
    if (blocks) {
        const wisp_src src = {.rows = rows,
                              .cols = rows,
                              .max_row = rows < o->block_rows ? rows : o->block_rows, /* the same on all ranks */
                              .type = d.type,
                              .row = inverse_row,
                              .arg = &d};
        WISP_TRY(
            wisp_mat_create(&P->M, P->ctx, &src, &(wisp_mat_opts){.width = P->width, .map = map, .halo = info.halo}));
    } else {
        WISP_TRY(wisp_blk_create(&P->rows, P->ctx, map, P->type, 1));
        WISP_TRY(wisp_blk_put(P->rows, WISP_ROW_MAJOR, d.inverse, 1));
    }
out:
    wisp__diagonal_free(P->ctx, &d);
    return status;
}

/* M is a function on the host's arrays. */
static wisp_status make_host(wisp__precond *P)
{
    const wisp_operator op = {.map = wisp_mat_map(P->A), .type = P->type, .apply = wisp__host_apply, .arg = &P->host};
    return wisp_mat_from_apply(&P->M, P->ctx, &op);
}

static wisp_status make_ilu(wisp__precond *P, const char *definite)
{
    wisp_status status;
    WISP_TRY(wisp__ilu_make(&P->ilu, P->A, P->factor, P->kind == WISP_IC, definite));
    WISP_TRY(wisp__host_open(&P->host, P->A, P->type, P->width));
    P->host.apply = wisp__ilu_apply;
    P->host.between = wisp__ilu_between;
    P->host.arg = &P->ilu;
    P->host.pairs = P->ilu.pairs;
    const int reals = wisp_type_is_complex(P->type) && !P->ilu.pairs ? 2 : 1;
    WISP_TRY(wisp__ilu_room(&P->ilu, reals * P->width));
    status = make_host(P);
out:
    return status;
}

static wisp_status make_amg(wisp__precond *P, const wisp_solve_opts *o, const char *definite)
{
    wisp_status status;
    WISP_TRY(wisp__amg_make(&P->amg, P->A, P->factor, definite, o->null != NULL));
    WISP_TRY(wisp__host_open(&P->host, P->A, P->type, P->width));
    P->host.apply = wisp__amg_apply;
    P->host.arg = P->amg;
    status = make_host(P);
out:
    return status;
}

static wisp_status make(wisp__precond *P, const wisp_solve_opts *o, const char *definite, const double spectrum[2])
{
    const wisp_operator op = {.map = wisp_mat_map(P->A), .type = P->type, .apply = o->apply, .arg = o->apply_arg};
    const size_t width = (size_t)P->width;
    wisp_status status = WISP_OK;
    switch (P->kind) {
    case WISP_JACOBI:
    case WISP_BLOCK_JACOBI: WISP_TRY(make_diagonal(P, o, definite)); break;
    case WISP_CHEBYSHEV:
    case WISP_NEUMANN:
        WISP_TRY(wisp__polynomial_make(&P->p, P->A, P->factor, o, definite != NULL, P->type, P->width, spectrum));
        WISP_TRY(wisp_alloc(P->ctx, &P->add, (size_t)o->degree * width, sizeof *P->add));
        break;
    case WISP_AMG: WISP_TRY(make_amg(P, o, definite)); break;
    case WISP_ILU:
    case WISP_IC: WISP_TRY(make_ilu(P, definite)); break;
    case WISP_PRECOND_APPLY:
        if (!o->apply)
            return wisp_ctx_failf(P->ctx, WISP_ERR_ARG,
                                  "precond: opts.apply is NULL, and the preconditioner is that function");
        WISP_TRY(wisp_mat_from_apply(&P->M, P->ctx, &op));
        break;
    default: return wisp_ctx_failf(P->ctx, WISP_ERR_ARG, "opts.precond: unknown value %d", (int)P->kind);
    }
out:
    return status;
}

wisp_status wisp__precond_make(wisp__precond **P, const wisp_mat *A, double factor, const wisp_solve_opts *o,
                               const char *definite, wisp_type type, int width, const double spectrum[2])
{
    wisp_ctx *ctx = wisp_mat_ctx(A);
    wisp_status status;
    *P = NULL;
    if (o->precond == WISP_PRECOND_NONE) return WISP_OK;
    wisp_ctx_enter(ctx);
    WISP_TRY(wisp_alloc(ctx, P, 1, sizeof **P));
    **P = (wisp__precond){.ctx = ctx, .A = A, .factor = factor, .kind = o->precond, .type = type, .width = width};
    WISP_TRY(make(*P, o, definite, spectrum));
out:
    status = wisp_ctx_leave(ctx, status);
    if (status == WISP_OK) return WISP_OK;
    wisp__precond_free(*P);
    *P = NULL;
    return status;
}

void wisp__precond_free(wisp__precond *P)
{
    if (!P) return;
    wisp_blk_free(P->rows);
    wisp_blk_free(P->work);
    wisp_blk_free(P->from);
    wisp_mat_free(P->M);
    wisp__host_close(&P->host);
    wisp__amg_free(P->amg);
    wisp__ilu_free(&P->ilu);
    wisp__polynomial_free(P->ctx, &P->p);
    wisp_free(P->ctx, P->add);
    wisp_free(P->ctx, P);
}

void wisp__precond_spectrum(const wisp__precond *P, double spectrum[2])
{
    spectrum[0] = P ? P->p.spectrum[0] : 0;
    spectrum[1] = P ? P->p.spectrum[1] : 0;
}

void wisp__precond_project(wisp__precond *P, const wisp_blk *null, bool both)
{
    if (P) P->null = null, P->both = both;
}

double wisp__precond_shift(const wisp__precond *P) { return P ? P->ilu.shift : 0; }
const wisp_blk *wisp__precond_rows(const wisp__precond *P) { return P ? P->rows : NULL; }
int wisp__precond_products(const wisp__precond *P) { return P ? P->p.degree : 0; }

double wisp__precond_plan(const wisp_mat_info *A, wisp_type type, int width, const wisp_solve_opts *o)
{
    const double rows = (double)A->local_rows + (double)A->halo_rows;
    const double size = (double)wisp_type_size(type), column = sizeof(int32_t);
    switch (o->precond) {
    case WISP_JACOBI: return 2 * rows * size;
    case WISP_BLOCK_JACOBI: return rows * fmin(rows, o->block_rows) * (2 * size + column); /* twice while made */
    case WISP_CHEBYSHEV:
    case WISP_NEUMANN: return rows * width * size;
    case WISP_ILU:
    case WISP_IC: return wisp__ilu_plan(A, type, width) + wisp__host_plan(rows, type, width);
    case WISP_AMG: return wisp__amg_plan(A) + wisp__host_plan(rows, type, width);
    default: return 0;
    }
}

double wisp__precond_bytes(const wisp_mat_info *A, wisp_type type, int width, const wisp_solve_opts *o)
{
    const double rows = (double)A->local_rows, size = (double)wisp_type_size(type), block = rows * width * size;
    const double product = (double)A->sweep_bytes + block + (rows + (double)A->halo_rows) * width * size, d = o->degree;
    switch (o->precond) {
    case WISP_JACOBI: return 2 * block + rows * size;
    case WISP_BLOCK_JACOBI: /* its entries take what those of A take */
        return 2 * block + (A->nnz > 0 ? (double)A->sweep_bytes * o->block_rows * (double)A->rows / (double)A->nnz : 0);
    case WISP_CHEBYSHEV: return d * product + (d - 1 + (d > 2 ? d - 2 : 0)) * block; /* with r; with the step before */
    case WISP_NEUMANN: return d * product + (d - 1) * block;
    case WISP_ILU:
    case WISP_IC: return wisp__ilu_bytes(A) + 8 * block; /* gathered, changed by both factors, and scattered */
    default: return 0;
    }
}

/* ---- applied ------------------------------------------------------------------------------------- */

static wisp_status scale(wisp__precond *P, wisp_blk *z, const wisp_blk *r, wisp_place rz)
{
    const wisp_term term = {.x = r, .rows = P->rows};
    const wisp_update update = {.y = z, .terms = 1, .term = &term};
    const wisp_inner inner = {.x = r, .y = z, .dot_at = rz};
    return wisp_fuse(&update, 1, &inner, rz.slot ? 1 : 0, WISP_NOREDUCE);
}

/* The user's function is of A. A failure of it is said to be the preconditioner's, for A may be an operator, too. */
static wisp_status multiply(wisp__precond *P, wisp_blk *z, const wisp_blk *r, wisp_place rz)
{
    const unsigned scale = P->kind == WISP_PRECOND_APPLY && P->factor != 1 ? WISP_SCALE : 0;
    const wisp_aug aug = {
        .terms = scale | (rz.slot ? WISP_DOT_XY | WISP_NOREDUCE : 0), .alpha = wisp__real(1 / P->factor), .dot_at = rz};
    const wisp_status status = wisp_spmmv(z, P->M, r, &aug);
    if (status == WISP_ERR_CALLBACK) {
        char message[512];
        wisp_ctx_message(P->ctx, message, sizeof message);
        return wisp_ctx_failf(P->ctx, status, "preconditioner: %s", message);
    }
    return status;
}

static wisp_status set_width(wisp__precond *P, int width)
{
    wisp_status status = WISP_OK;
    if (P->work && wisp_blk_width(P->work) == width) goto out;
    wisp_blk_free(P->work);
    P->work = NULL;
    P->depth = 0;
    WISP_TRY(wisp_blk_create(&P->work, P->ctx, wisp_mat_map(P->A), P->type, width));
    wisp_scalar *add = P->add;
    for (int k = 0; k < P->p.degree; k++)
        for (int j = 0; j < width; j++) *add++ = wisp__real(P->p.add[k]);
out:
    return status;
}

wisp_status wisp__precond_begin(wisp__precond *P) { return P->work ? wisp_blk_fill(P->work, wisp__real(0)) : WISP_OK; }

/* The first step, which leaves r as it is. */
static wisp_status first_step(wisp__precond *P, wisp_blk *v, const wisp_blk *r, unsigned dot, wisp_place at)
{
    const wisp__polynomial *p = &P->p;
    const int width = wisp_blk_width(r);
    wisp_scalar *shift;
    wisp_status status;
    WISP_TRY(wisp_alloc(P->ctx, &shift, (size_t)width, sizeof *shift));
    for (int j = 0; j < width; j++) shift[j] = p->gamma[0];
    WISP_TRY(wisp_spmmv(v, P->A, r,
                        &(wisp_aug){.terms = WISP_SCALE | WISP_SHIFT | WISP_ADD | dot,
                                    .alpha = p->alpha[0],
                                    .shift = shift,
                                    .dot_at = at,
                                    .u = r,
                                    .add = P->add}));
out:
    wisp_free(P->ctx, shift);
    return status;
}

/* v_k is in z and in the work block by turns, v_degree in z. Where steps are interleaved, r is copied to be v_0, so
   that the first one can be among them; else the copy would cost more than it saves. The results are the same, bit by
   bit. */
static wisp_status evaluate(wisp__precond *P, wisp_blk *z, const wisp_blk *r, wisp_place rz)
{
    const wisp__polynomial *p = &P->p;
    const size_t width = (size_t)wisp_blk_width(r);
    const unsigned dot = rz.slot ? WISP_DOT_UY | WISP_NOREDUCE : 0;
    wisp_status status;
    WISP_TRY(set_width(P, wisp_blk_width(r)));
    const int from = p->degree > 1 && P->depth != 1 ? 0 : 1;
    wisp_blk *begin = (p->degree - from) % 2 ? P->work : z, *other = begin == z ? P->work : z;
    if (from == 0) WISP_TRY(wisp_copy(begin, r));
    if (from == 1) WISP_TRY(first_step(P, begin, r, p->degree == 1 ? dot : 0, rz));
    const wisp_mpk_opts mo = {.steps = p->degree - from,
                              .alpha = p->alpha + from,
                              .beta = p->beta + from,
                              .gamma = p->gamma + from,
                              .terms = dot,
                              .dot_at = {rz.slot, rz.first + 4 * from * (int64_t)width},
                              .u = r,
                              .add = P->add + (size_t)from * width,
                              .depth_used = from == 0 ? &P->depth : NULL};
    if (mo.steps > 0) WISP_TRY(wisp_mpk((wisp_blk *[]){other, begin}, 2, P->A, &mo));
out:
    return status;
}

static wisp_status apply(wisp__precond *P, wisp_blk *z, const wisp_blk *r, wisp_place rz)
{
    return P->rows ? scale(P, z, r, rz) : P->M ? multiply(P, z, r, rz) : evaluate(P, z, r, rz);
}

/* z = Q M^-1 Q r, Q the projection: <Q r, M^-1 Q r> is <r, z>. */
static wisp_status apply_between(wisp__precond *P, wisp_blk *z, const wisp_blk *r, wisp_place rz)
{
    const int width = wisp_blk_width(r);
    wisp_status status;
    if (P->both) {
        if (P->from && wisp_blk_width(P->from) != width) {
            wisp_blk_free(P->from);
            P->from = NULL;
        }
        if (!P->from) WISP_TRY(wisp_blk_create(&P->from, P->ctx, wisp_mat_map(P->A), P->type, width));
        WISP_TRY(wisp_copy(P->from, r));
        WISP_TRY(wisp__project(P->null, P->from, NULL));
        r = P->from;
    }
    WISP_TRY(apply(P, z, r, rz));
    status = wisp__project(P->null, z, NULL);
out:
    return status;
}

wisp_status wisp__precond_apply(wisp__precond *P, wisp_blk *z, const wisp_blk *r, wisp_place rz)
{
    wisp_ctx_enter(P->ctx);
    return wisp_ctx_leave(P->ctx, (P->null ? apply_between : apply)(P, z, r, rz));
}

/* A product puts <r, z> behind <r, r>; of the steps of a polynomial it is the last dot of the last one. */
int wisp__precond_set(const wisp__precond *P) { return P->M ? 1 : P->p.degree > 0 ? 4 * P->p.degree - 1 : 0; }
