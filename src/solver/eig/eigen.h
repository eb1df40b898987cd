/* Shared by the methods of wisp_eig. */
#ifndef WISP_EIGEN_H
#define WISP_EIGEN_H
#include <math.h>
#include "dense.h"
#include "../solver.h"

enum { WISP__RESTARTS = 10000 }; /* by default */

/* Flops of dense kernels that take as long as one of a product. */
static const double wisp__slower = 5;

/* 2^exponent A. */
typedef struct {
    const wisp_mat *A; /* the user's */
    wisp_mat *made;    /* NULL: A itself is in range */
    int exponent;
    bool in_products;        /* it is an operator that multiplies with A; else a copy, */
    int64_t bytes, assembly; /* which takes so many, and held so many at most while it was made */
    wisp_blk *x;             /* between */
} wisp__scaled;

typedef struct wisp__inverse wisp__inverse;

typedef struct {
    wisp_ctx *ctx;
    const wisp_mat *A; /* the user's, or scaled.made; all numbers are its own */
    wisp__scaled scaled;
    wisp_eig_opts o; /* with every default filled in, but for bounds, search and block */
    wisp_eigen *e;
    wisp_eig_method began_as; /* the method that was chosen first */
    wisp_type type;           /* of the vectors */
    bool is_complex, hermitian;
    int64_t rows;               /* of all ranks */
    double eps;                 /* of the vectors' type */
    double flops;               /* of one product with one vector */
    double asked;               /* the tolerance, as it was asked for; o.tolerance is the one in force */
    double scale;               /* by which residuals are divided, once it is known */
    double started;             /* wisp_now() */
    bool ended;                 /* the user's wish to end is set aside */
    double most_work;           /* of a search, of which LAPACK takes as much; INFINITY: it is not to take its place */
    double most_sensible;       /* likewise, of one whose method was asked for, before it ends; 0, INFINITY: any */
    bool whole;                 /* it takes its place */
    wisp_state *live;           /* that is offered; NULL: none */
    const wisp__pencil *pencil; /* vectors are those of A x = lambda S x, orthonormal by T, while there are searched for
                                   some by an inverse; NULL: they are k->A's */
    wisp__inverse *inverse;     /* INVERT: whose Krylov space is built; CHEBFD: which may take its place. Else NULL */
    double filter_work, invert_work; /* of the choice between the two, in the measure of most_work; NaN: not known */
    double dense_work;               /* most_work as it is for LAPACK */
    int most_copied;                 /* vectors that are delivered beside the space they are of; 0: any number */
    bool default_rounds;             /* opts.max_rounds was not given */
    bool rough;                      /* the pairs need not be told from others */
    bool of_svd;                     /* wisp_svd asks: messages are its own, */
    int back;                        /* and its user's values 2^back times as large as those of A */
} wisp__eig;

/* wisp_eig with a tolerance that is wide on purpose: there is no warning of that. */
wisp_status wisp__eig_roughly(wisp_eigen *e, const wisp_mat *A, const wisp_eig_opts *opts);
/* wisp_eig for wisp_svd, whose user's values are 2^back times as large; squares: they are no roots of those, so there
   is no warning of their distances either. */
wisp_status wisp__eig_for_svd(wisp_eigen *e, const wisp_mat *A, const wisp_eig_opts *opts, int back, bool squares);
wisp_status wisp__eig_chebfd(wisp__eig *k);
wisp_status wisp__eig_lanczos(wisp__eig *k);
wisp_status wisp__eig_krylov_schur(wisp__eig *k);
wisp_status wisp__eig_dense(wisp__eig *k);
/* What each method takes; choice->method is set already. Krylov methods: the memory alone, for the number of restarts
   is not known. */
wisp_status wisp__eig_plan_chebfd(wisp__eig *k, wisp_plan *plan, wisp_eig_choice *choice);
wisp_status wisp__eig_plan_krylov(wisp__eig *k, wisp_plan *plan, wisp_eig_choice *choice);
wisp_status wisp__eig_plan_lanczos(wisp__eig *k, wisp_plan *plan, wisp_eig_choice *choice);
wisp_status wisp__eig_plan_dense(wisp__eig *k, wisp_plan *plan, wisp_eig_choice *choice);

/* What filters take before they are planned, in flops of dense kernels: the first look at the density. And how many
   times what the first look does, or a further one, a search takes with it, at least, as was seen. */
enum { WISP__TIMES_LOOK = 3, WISP__TIMES_NEXT_LOOK = 5 };
double wisp__chebfd_least_work(const wisp__eig *k);

/* ---- whole.c --- */

/* By default: the method becomes dense, or most_work is set, where LAPACK may take the place of a search. */
wisp_status wisp__eig_dense_or_search(wisp__eig *k);
/* Bytes beside A for LAPACK, if it may take the place of the search; else 0. */
int64_t wisp__eig_dense_bytes(const wisp__eig *k);
/* k->most_sensible: many times what LAPACK takes; 0: too many rows for it; INFINITY: it lacks memory on this rank. */
enum { WISP__SENSIBLE = 100 };
double wisp__eig_most_sensible(const wisp__eig *k);

/* ---- by_cost.c --- */

/* CHEBFD by default becomes INVERT at once; or k->inverse is there and most_work its own, so that a filter's plan that
   takes more is "whole". */
wisp_status wisp__eig_by_cost(wisp__eig *k);
/* It does not: what the inverse holds is given back. */
void wisp__eig_keep_filter(wisp__eig *k);
/* After CHEBFD's look: the whole search. */
wisp_status wisp__eig_over_to_inverse(wisp__eig *k);

/* ---- eig_scale.c --- */

/* Takes 2^e A in the place of A, where its numbers are out of range; those of the options likewise. */
wisp_status wisp__eig_scale(wisp__eig *k);
/* Finds bounds of k->A by the options, for so many products. */
wisp_status wisp__eig_find_bounds(wisp__eig *k, double products);
/* What is held at most before a method begins, while the entries are looked at, and bounds found if they will be. */
wisp_status wisp__eig_bounds_bytes(const wisp__eig *k, double *most);
/* Blocks that its products take. */
static inline int wisp__eig_scaled_blocks(const wisp__eig *k) { return k->scaled.in_products ? 1 : 0; }
/* What k->A, or the operator that it is 2^e times, was made of; false: it is no pencil's. p->rootless: no root of S is
   to be made, as far as this method needs none. */
bool wisp__eig_pencil(const wisp__eig *k, wisp__pencil *p);
/* A number of the user's matrix, for messages. */
double wisp__eig_shown(const wisp__eig *k, double x);
/* The target, likewise. */
enum { WISP__NUMBER = 40 };
const char *wisp__eig_target(const wisp__eig *k, char text[WISP__NUMBER]);
/* The result becomes that of the user's matrix. The exponent of a value that is above what doubles hold; 0: none is. */
int wisp__eig_scale_back(wisp__eig *k);

/* ---- eig_shared.c --- */

/* The end of a call of this status: scales back. Where a value is no number then, though all entries are, nothing that
   is given would tell it: WISP_ERR_NUMERIC, without pairs. */
wisp_status wisp__eig_end(wisp__eig *k, wisp_status status);

/* Factors, powers of two, that bring columns of opts.start to a length near 1 where it is far from that. They are freed
   by wisp_free. */
wisp_status wisp__eig_start_factors(const wisp__eig *k, wisp_scalar **factor);

/* Takes the bounds of the options, or finds them; `products`: how many will follow, which sets how much work tight
   bounds are worth. Sets k->scale. */
wisp_status wisp__eig_bounds(wisp__eig *k, double products);
/* The rest of it, where k->e->bounds were found in another way, from this time on. */
wisp_status wisp__eig_take_bounds(wisp__eig *k, double started);
/* Hermitian matrices: sets k->o.tolerance to this one, and k->scale to what belongs to it. */
void wisp__eig_set_tolerance(wisp__eig *k, double tolerance);
/* What rounding of a product with the C of a pencil comes to, over its largest |value|; 0: k->A is no such C. */
double wisp__eig_of_roots(const wisp__eig *k);
/* By which residuals are multiplied for the result. */
double wisp__eig_unit(const wisp__eig *k);
/* A residual, or the tolerance, for messages. */
double wisp__eig_residual(const wisp__eig *k, double residual);
/* Progress to the user's function, after a round or a restart. */
wisp_status wisp__eig_report(wisp__eig *k, int round, int found, double wanted, double residual);
/* To be called before a method delivers, with the status so far; whether it may. A call that the user ends still gives
   what has converged, so the wish to end is set aside until the method returns. But not on several ranks, which one of
   them may leave anywhere. */
bool wisp__eig_last(wisp__eig *k, wisp_status status);
/* WISP_ERR_STAGNATION: the search has taken more than is sensible, see k->most_sensible. */
wisp_status wisp__eig_sensible(const wisp__eig *k);
/* Whether the search has taken as much as LAPACK will; a flop of a product counts as five of dense kernels. As for the
   skier who rents: in the end it is at most twice the best choice. */
wisp_status wisp__eig_enough(wisp__eig *k, bool *enough);
/* The search for what is missing is timed as a whole: its parts do not count among those of the search itself. */
typedef struct {
    double now, filter, ortho, ritz;
} wisp__eig_times;
wisp__eig_times wisp__eig_begin_check(const wisp__eig *k);
void wisp__eig_end_check(wisp__eig *k, const wisp__eig_times *before);

/* Of n columns, so many are multiplied at once. */
int wisp__ritz_width(const wisp__eig *k, int n);
/* Takes the pairs of a result back. */
void wisp__eig_drop_pairs(wisp_eigen *e);
const char *wisp__eig_method_name(wisp_eig_method method);

/* For plans. Rows that a column has on this rank, with those of the halo behind it. */
int64_t wisp__eig_held(const wisp__eig *k);
/* Bytes beside blocks: what the exchange of `width` columns takes, what kernels take for a space of `columns`; and a
   copy of so many numbers that all ranks add up. */
int64_t wisp__eig_beside(const wisp__eig *k, int columns, int width, int64_t numbers);
/* Bytes that V^H W takes beside its result, V and W having so many columns. */
static inline int64_t wisp__eig_sums_bytes(const wisp__eig *k, double v, double w)
{
    return (int64_t)wisp_tsm_gram_bytes(k->ctx, k->type, (double)wisp__eig_held(k), v, w);
}
/* What a device with memory of its own has of it: so many columns, and complex numbers. */
int64_t wisp__eig_on_device(const wisp__eig *k, double columns, double numbers);

/* ---- eig_state.c --------------------------------------------------------------- */

/* To be called once a method is ready to begin: it is given back where it goes on from; from now on it is offered. */
wisp_status wisp__eig_state(wisp__eig *k, wisp_items_fn items, void *arg);
/* Another search takes the place of the one that began, and goes on from no state. */
void wisp__eig_begin_anew(wisp__eig *k);
/* Whether a search by this method goes on, as the state has it. */
bool wisp__eig_is_kept(const wisp__eig *k, wisp_eig_method method);
/* Between two steps, on all ranks. */
wisp_status wisp__eig_offer(const wisp__eig *k);
/* What has to be the same in the call that goes on. */
wisp_status wisp__eig_same(const wisp__eig *k, wisp_state *state);
/* The items of all methods: what has to be the same, and the result so far, with its times. */
wisp_status wisp__eig_items(wisp__eig *k, wisp_state *state);
/* eig_end.c: offers the result as a whole state, of a search that has ended so, and returns that with its message.
   Whether a kept state is one, which is all that the call gives back then; NULL is accepted. */
wisp_status wisp__eig_offer_end(wisp__eig *k, wisp_status ended);
bool wisp__eig_has_ended(const wisp_state *kept);
wisp_status wisp__eig_take_end(wisp__eig *k);
/* What a state has so many of: a refusal where that can't be. */
wisp_status wisp__eig_at_most(const wisp__eig *k, const char *what, int n, int most);
/* x[n], which is made if it is NULL. */
wisp_status wisp__eig_array(wisp__eig *k, wisp_state *state, const char *name, double **x, size_t n);
/* The first n columns of x; none if n is 0. *view, NULL at first, has to be freed in the end. */
wisp_status wisp__eig_columns(wisp_state *state, const char *name, wisp_blk *x, int n, wisp_blk **view);

/* ---- ritz.c: pairs from a space of orthonormal columns. Times go to k->e ----- */

/* Columns first .. first + n - 1 of the space become its Ritz vectors, of theta[n], ascending (Rayleigh-Ritz); the
   space is held once. */
wisp_status wisp__ritz(wisp__eig *k, wisp_blk *space, int first, int n, double *theta);
/* residual[n] becomes |A v - theta v| / scale of columns first .. first + n - 1, of length 1. */
wisp_status wisp__ritz_residuals(wisp__eig *k, wisp_blk *space, int first, int n, const double *theta,
                                 double *residual);
/* G[n][n] = V^H T V, n the columns of V, T that of k->pencil. */
wisp_status wisp__eig_gram_by_S(const wisp__eig *k, wisp_blk *V, wisp_scalar *G);
/* The result: columns first .. first + found - 1 of the space are the vectors, of theta[found], ascending, and
   residual[found] (wisp__ritz_residuals). Where they are not orthonormal they are made so, and Ritz pairs again;
   WISP_ERR_BREAKDOWN, and no result: that is not enough. The space may be freed afterwards. */
wisp_status wisp__eig_deliver(wisp__eig *k, wisp_blk *space, int first, int found, double *theta, double *residual);
/* How far dots of orthonormal vectors may lie from 0 and 1. Those by T are rounded by that much more, as far as it
   makes vectors differ in length. */
static inline double wisp__eig_orthogonal(const wisp__eig *k)
{
    enum { UNITS = 16 };
    static const double most = 1e-4;
    const double usual = k->eps * fmax(1000, sqrt((double)k->rows));
    return k->pencil ? fmax(usual, fmin(UNITS * k->eps * k->pencil->condition, most)) : usual;
}
/* So far from theta an eigenvalue of a Hermitian matrix is, at most: by the residual, which is rounded, too. */
double wisp__eig_room(const wisp__eig *k, double theta, double residual);
/* Warns where residuals do not tell the last value that is asked for from the next one, and the two are no copies of
   one value: copies lie apart by about the square of their residuals, so a thirtieth of a residual is too far. */
void wisp__eig_warn_of_levels(const wisp__eig *k, const double value[2], const double residual[2]);
/* Of theta[n], ascending, with their residuals (NULL: within the tolerance), which the question asks for, as far as
   these tell: *found from *first on. Multiplets are completed, unless any of them do; k->e->at_least counts them. */
void wisp__eig_select(const wisp__eig *k, int n, const double *theta, const double *residual, int *first, int *found);

/* ---- ortho.c ------------------------------------------------------------------ */

typedef struct {
    int rung;      /* the highest that was taken: 1, 2: Cholesky-QR once, twice; 3: shifted; 4: with pivots */
    int rank;      /* columns that are left: the first ones */
    double defect; /* about the largest |<v_i, v_j> - delta_ij| and |<q_i, v_j>|, by the last pass's dots */
    double flops;
} wisp__ortho;
/* The columns of V become orthonormal, and orthogonal to Q's, which are orthonormal (NULL: there are none); they span
   what they spanned. condition: of V, about, when it is known; 0: not known. Columns that add nothing, up to rounding,
   are dropped: the first how->rank columns are the result, the others hold anything. V and Q may be views of one block
   without a column in common. */
wisp_status wisp__orthonormal(wisp_blk *V, const wisp_blk *Q, double condition, wisp__ortho *how);
/* The same of vectors of the search, which may be a pencil's: then by T. */
wisp_status wisp__eig_orthonormal(const wisp__eig *k, wisp_blk *V, double condition, wisp__ortho *how);

/* ---- gram_of.c ---------------------------------------------------------------- */

/* y = Op x, of as many columns at once as x and y have, at most. */
typedef struct {
    wisp_status (*times)(const void *arg, wisp_blk *y, wisp_blk *x);
    const void *arg;
    wisp_blk *x, *y;
} wisp__product;
/* G[U's columns][V's columns] = U^H Op V, by way of x and y; G NULL: it goes there, and nothing is waited for. */
wisp_status wisp__gram_of(const wisp__product *p, const wisp_blk *U, wisp_blk *V, wisp_scalar *G, wisp_place at);
/* Op is T, of this wisp__pencil. */
wisp_status wisp__times_S(const void *pencil, wisp_blk *y, wisp_blk *x);

#endif
