/* BiCGStab, with M^-1 on the right (or on the left: side.c). Pipelined: algorithm 4 of Rupp et al. 2016, four passes
   and two reductions, with a preconditioner five, in which a diagonal one multiplies; classical: algorithm 3. What is s
   = r - alpha v there is in the place of r. */
#include "krylov.h"
#include <math.h>

enum { P, V, T, SHADOW, LOW, MP, MS }; /* p, A M^-1 p, A M^-1 s, r*, an earlier x, M^-1 p, M^-1 s */
/* RHO and RR are summed over the ranks with the dots of the next product. */
enum { RHO = WISP_SET_DOT, RR, SS = WISP_SET_DOT, ST, RT };

static int blocks(const wisp__krylov *k) { return k->P ? 7 : 5; }

static int fuses(const wisp__krylov *k) { return !k->separate && k->o.precond == WISP_JACOBI ? 2 : 0; }
/* v[i] = M^-1 x, for a diagonal M that is in the passes. */
static wisp_update image(const wisp__krylov *k, int i, const wisp_blk *x, wisp_term *term)
{
    *term = (wisp_term){.x = x, .rows = k->rows};
    return (wisp_update){k->v[i], 1, term};
}

static size_t own(const wisp_solve_opts *o)
{
    (void)o;
    return sizeof(wisp__low);
}
static int low_block(const wisp__krylov *k)
{
    (void)k;
    return LOW;
}

static wisp_status scalars(wisp__krylov *k, wisp_step step)
{
    double number[WISP_NUMBERS] = {
        [WISP_NUMBER_FAR] = k->hermitian ? k->eps * k->eps : 0, [WISP_NUMBER_PRECOND] = k->P != NULL};
    return wisp__scalars(k, step, number);
}

/* <r*, r> and |r|^2. */
static wisp_status dots_of_r(wisp__krylov *k, const wisp_update *update, int updates)
{
    const wisp_inner inner[] = {{.x = k->v[SHADOW], .y = k->r, .dot_at = wisp__at(k, RHO)},
                                {.x = k->r, .y = k->r, .dot_at = wisp__at(k, RR)}};
    return wisp__pass(k, update, updates, inner, 2);
}

static wisp_status begin(wisp__krylov *k, bool fresh)
{
    wisp_status status = WISP_OK;
    wisp_term mp;
    const wisp_update update[] = {{k->v[P], 1, (wisp_term[]){{.x = k->r}}},
                                  {k->v[SHADOW], 1, (wisp_term[]){{.x = k->r}}},
                                  k->rows ? image(k, MP, k->v[P], &mp) : (wisp_update){0}};
    WISP_TRY(wisp__tell(k, fresh));
    for (int j = 0; j < k->width; j++)
        wisp__set(k, WISP_BICGSTAB_LOW)[j] = wisp__real(wisp__low_of(k, &k->col[j]) / k->col[j].ratio);
    WISP_TRY(wisp__send(k, WISP_BICGSTAB_LOW, 1));
    WISP_TRY(wisp__clear(k));
    WISP_TRY(dots_of_r(k, update, !fresh ? 0 : k->rows ? 3 : 2));
out:
    return status;
}

static wisp_status start(wisp__krylov *k) { return begin(k, true); }
static wisp_status resume(wisp__krylov *k) { return begin(k, false); }

/* v = A M^-1 p, alpha, and s = r - alpha v. */
static wisp_status first_half(wisp__krylov *k)
{
    wisp_status status = WISP_OK;
    const wisp_blk *p = k->v[P];
    if (k->P) {
        if (!k->rows) WISP_TRY(wisp__precond_apply(k->P, k->v[MP], p, (wisp_place){0}));
        p = k->v[MP];
    }
    WISP_TRY(wisp__multiply(k, k->v[V], p, WISP_DOT_UY, k->v[SHADOW]));
    WISP_TRY(wisp__sum_dots(k, RR + 1));
    WISP_TRY(scalars(k, WISP_STEP_BICGSTAB_ALPHA));
    WISP_TRY(wisp__clear(k));
    wisp_term ms;
    const wisp_update update[] = {
        {k->r, 2, (wisp_term[]){{.x = k->r}, wisp__times(k, k->v[V], WISP_BICGSTAB_F_MINUS_ALPHA)}},
        k->rows ? image(k, MS, k->r, &ms) : (wisp_update){0}};
    WISP_TRY(wisp__pass(k, update, k->rows ? 2 : 1, &(wisp_inner){.x = k->r, .y = k->r, .dot_at = wisp__at(k, SS)}, 1));
out:
    return status;
}

/* t = A M^-1 s and the dots with it; <s, t> is one with x of the product unless M^-1 s is that. */
static wisp_status second_product(wisp__krylov *k)
{
    wisp_status status = WISP_OK;
    wisp_blk *t = k->v[T];
    if (!k->P) {
        WISP_TRY(wisp__multiply(k, t, k->r, WISP_DOT_XY | WISP_DOT_YY | WISP_DOT_UY, k->v[SHADOW]));
    } else {
        const wisp_inner inner[] = {{.x = k->r, .y = t, .dot_at = wisp__at(k, ST)},
                                    {.x = k->v[SHADOW], .y = t, .dot_at = wisp__at(k, RT)}};
        if (!k->rows) WISP_TRY(wisp__precond_apply(k->P, k->v[MS], k->r, (wisp_place){0}));
        WISP_TRY(wisp__multiply(k, t, k->v[MS], WISP_DOT_YY, NULL));
        WISP_TRY(wisp__pass(k, NULL, 0, inner, 2));
    }
    WISP_TRY(wisp__sum_dots(k, RT + 1));
out:
    return status;
}

/* p = r + beta (p - omega v) */
static wisp_update turned(const wisp__krylov *k, wisp_term term[3])
{
    term[0] = wisp__times(k, k->r, WISP_BICGSTAB_F_R);
    term[1] = wisp__times(k, k->v[P], WISP_BICGSTAB_F_BETA);
    term[2] = wisp__times(k, k->v[V], WISP_BICGSTAB_F_MINUS_BETA_OMEGA);
    return (wisp_update){k->v[P], 3, term};
}

static wisp_status hear_low(wisp__krylov *k)
{
    for (int j = 0; j < k->width; j++)
        if (wisp__going(&k->col[j]))
            wisp__set_low(k, &k->col[j], wisp__set(k, WISP_BICGSTAB_LOW)[j].re * k->col[j].ratio);
    return WISP_OK;
}
static wisp_status hear(wisp__krylov *k, int iterations) { return wisp__hear(k, iterations, hear_low); }

static bool takes(const wisp__krylov *k, const wisp__krylov_column *c)
{
    return wisp__set(k, WISP_BICGSTAB_F_TAKE)[c - k->col].re != 0;
}

/* The host copies x where that is to be kept, if it looks at each step. */
static wisp_status keep_low(wisp__krylov *k)
{
    wisp_status status = WISP_OK;
    WISP_TRY(wisp__bring(k, 0, k->sets));
    for (int j = 0; j < k->width; j++)
        if (wisp__going(&k->col[j])) k->col[j].rr = wisp__set(k, WISP_SET_RR)[j].re * k->col[j].ratio;
    WISP_TRY(hear_low(k));
    const int n = wisp__list(k, takes);
    if (n) WISP_TRY(wisp__copy_some(k->v[LOW], k->list, k->x, k->list, n));
out:
    return status;
}

/* x and r go on along s; p turns, classically after <r*, r> is known. */
static wisp_status second_half(wisp__krylov *k)
{
    wisp_status status = WISP_OK;
    wisp_term x[] = {{.x = k->x},
                     wisp__times(k, k->P ? k->v[MP] : k->v[P], WISP_BICGSTAB_F_ALPHA),
                     wisp__times(k, k->P ? k->v[MS] : k->r, WISP_BICGSTAB_F_OMEGA)};
    wisp_term r[] = {{.x = k->r}, wisp__times(k, k->v[T], WISP_BICGSTAB_F_MINUS_OMEGA)}, p[3], mp;
    wisp_term low[] = {wisp__times(k, k->v[LOW], WISP_BICGSTAB_F_KEEP), wisp__times(k, k->x, WISP_BICGSTAB_F_TAKE)};
    const wisp_update update[] = {{k->v[LOW], 2, low},
                                  {k->x, 3, x},
                                  {k->r, 2, r},
                                  turned(k, p),
                                  k->rows ? image(k, MP, k->v[P], &mp) : (wisp_update){0}};
    const int updates = k->separate ? 3 : k->rows ? 5 : 4;
    const int record = k->record, host_keeps = k->look_every == 1;
    WISP_TRY(second_product(k));
    if (k->separate) k->record = -1; /* a step that ends none, and has no record: beta comes later */
    WISP_TRY(scalars(k, WISP_STEP_BICGSTAB_OMEGA));
    k->record = record;
    if (host_keeps) WISP_TRY(keep_low(k));
    WISP_TRY(wisp__clear(k));
    WISP_TRY(dots_of_r(k, update + host_keeps, updates - host_keeps));
    if (!k->separate) goto out;
    WISP_TRY(scalars(k, WISP_STEP_BICGSTAB_BETA));
    WISP_TRY(wisp__pass(k, &update[3], 1, NULL, 0));
out:
    return status;
}

static wisp_status step(wisp__krylov *k)
{
    const wisp_status status = first_half(k);
    return status == WISP_OK ? second_half(k) : status;
}

static bool keeps(const wisp__krylov *k, int i)
{
    return i == P || i == SHADOW || (i == LOW && wisp__has_low(k)) || (i == MP && k->rows);
}

/* With a Hermitian matrix it ends after as many iterations as there are rows, without rounding. Where twice as many
   have gained nothing, the next method is to go on. */
static bool is_stuck(const wisp__krylov *k, const wisp__krylov_column *c)
{
    const int64_t since = c->iterations - c->least_at, rows = wisp_map_rows(wisp_mat_map(k->A));
    return k->hermitian && since > 2 * rows + 100 && since > c->iterations / 2;
}

/* Where the host does not look at each step, that of x which is kept has an update more. */
static double moves(const wisp__krylov *k)
{
    const double of_low = k->look_every == 1 ? 0 : k->separate ? 3 : 2;
    return (k->separate ? 29 : k->P ? 18 : k->left ? 17 : 14) + (k->P ? fuses(k) : 0) + of_low;
}

const wisp__method wisp__bicgstab = {.name = "bicgstab",
                                     .own = own,
                                     .blocks = blocks,
                                     .start = start,
                                     .resume = resume,
                                     .step = step,
                                     .hear = hear,
                                     .keeps = keeps,
                                     .fuses = fuses,
                                     .moves = moves,
                                     .products = 2,
                                     .far = wisp__far,
                                     .allows = "the arithmetic allows no less",
                                     .is_stuck = is_stuck,
                                     .low = low_block,
                                     .recall = wisp__recall_low,
                                     .next = WISP_MINRES,
                                     .sides = true,
                                     .anew = true,
                                     .waits = true};
