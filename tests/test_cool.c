/* Thermal pure states: each against sums over eigenvectors by LAPACK, the ensemble against sums over eigenvalues;
   batches, and runs in pieces, bit for bit; refusals; memory that fails. */
#include "canonical.h"
#include "state_pieces.h"

enum { STREAM = 0 }; /* of the random vectors */
static const double falling[] = {10, 1, 1, 0.2, 0.01, 1e-4};
enum { TEMPERATURES = sizeof falling / sizeof *falling };

static double difference(const char *what, double got, double want, double tolerance)
{
    const double d = fabs(got - want);
    if (!(d <= tolerance)) fail_msg("%s is %.15g, and should be %.15g", what, got, want);
    return d;
}

/* ---- each state ------------------------------------------------------------------------------------ */

/* The squares of r's parts along H's eigenvectors: random vectors have elements of size 1. */
static void parts_along(const real_pairs *p, ref_mat r, int j, double *part)
{
    const int64_t n = r.rows;
    for (int64_t k = 0; k < p->size; k++) {
        double dot = 0;
        for (int64_t i = 0; i < p->size; i++)
            dot += p->q[k * p->size + i] * (i < n ? creal(REF_AT(r, i, j)) : cimag(REF_AT(r, i - n, j)));
        part[k] = dot * dot / (double)n;
    }
}

static void check_state(const wisp_cooled_state *is, const real_pairs *p, const double *part, double T,
                        double tolerance)
{
    const double *E = p->E;
    long double norm = 0, energy = 0, spread = 0;
    for (int64_t k = 0; k < p->size; k++) {
        const long double w = part[k] * expl(-((long double)E[k] - E[0]) / T);
        norm += w, energy += w * (E[k] - E[0]);
    }
    energy /= norm;
    for (int64_t k = 0; k < p->size; k++) {
        const long double e = (long double)E[k] - E[0];
        spread += part[k] * expl(-e / T) * (e - energy) * (e - energy) / norm;
    }
    difference("the energy", is->energy, (double)(E[0] + energy), tolerance);
    difference("the spread", is->spread, (double)sqrtl(spread), 10 * tolerance);
    difference("ln of the norm", is->log_norm, (double)(logl(norm) / 2 - E[0] / (2 * T)), tolerance * (1 + 1 / T));
}

/* Of one and of two batches, in every type. */
static void each_state(void **state)
{
    static const wisp_type types[] = {WISP_D, WISP_Z, WISP_S, WISP_C};
    wisp_ctx *ctx = *state;
    ref_rng rng = {5};
    for (int i = 0; i < 8; i++) {
        const wisp_type type = types[i % 4], of_states = wisp_type_is_complex(type) ? type
                                                         : type == WISP_D           ? WISP_Z
                                                                                    : WISP_C;
        const int single = of_states == WISP_C;
        const int64_t n = i < 4 ? 1 + i : 24 + i, vectors = i < 4 ? 2 : 9;
        ref_mat H = random_hermitian(&rng, type, n, 0.8);
        wisp_mat *A = ref_mat_of(ctx, H, type);
        wisp_blk *x;
        wisp_cooled c;
        const int64_t temperatures = single ? 4 : TEMPERATURES;
        REF_OK(ctx, wisp_cool(&c, A,
                              &(wisp_cool_opts){.temperatures = temperatures,
                                                .temperature = falling,
                                                .vectors = vectors,
                                                .seed = 3,
                                                .first_vector = i}));
        assert_true(c.rows == n && c.temperatures == temperatures && c.vectors == vectors && c.done == vectors);
        assert_true(c.type == of_states && (c.sweeps > 0 || n == 1));
        REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), of_states, (int)vectors));
        REF_OK(ctx, wisp_blk_fill_random(x, WISP_RANDOM_TRACE, 3, STREAM, (uint32_t)i));
        ref_mat r = ref_get(x);
        const real_pairs p = pairs_of(H);
        double *part = calloc((size_t)p.size, sizeof *part);
        assert_non_null(part);
        for (int j = 0; j < vectors; j++) {
            parts_along(&p, r, j, part);
            for (int64_t k = 0; k < temperatures; k++)
                check_state(&c.state[k * vectors + j], &p, part, falling[k], single ? 1e-3 : 1e-8);
        }
        free(part);
        pairs_free(p);
        ref_free(r), ref_free(H);
        wisp_blk_free(x);
        wisp_cooled_free(&c);
        wisp_cooled_free(&c);
        wisp_mat_free(A);
    }
}

/* ---- the ensemble ---------------------------------------------------------------------------------- */

static void against_levels(void **state)
{
    static const char *const specs[] = {"spinchain:sites=8,periodic=x", "haldane:nx=6,ny=6,disorder=1",
                                        "anderson:nx=5,ny=5,nz=5,disorder=2"};
    wisp_ctx *ctx = *state;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        ref_mat H;
        wisp_mat *A = mat_of_spec(ctx, specs[i], &H);
        long double *level = exact_eigenvalues(H); /* bars can be as small as LAPACK's own rounding */
        wisp_cooled c;
        REF_OK(ctx, wisp_cool(&c, A,
                              &(wisp_cool_opts){.temperatures = TEMPERATURES, .temperature = falling, .vectors = 40}));
        for (int64_t k = 0; k < TEMPERATURES; k++) {
            double truth[QUANTITIES];
            wisp_ensemble e;
            REF_OK(ctx, wisp_cooled_ensemble(ctx, &c, NULL, k, &e));
            canonical(level, H.rows, falling[k], truth);
            for (int q = 0; q < QUANTITIES; q++) { /* a bar is for 95 of 100; none is missed by twice as much */
                const wisp_estimate *is = quantity_of(&e, q);
                assert_true(is->low <= is->value && is->value <= is->high && is->error >= 0);
                difference(quantity_name[q], is->value, truth[q], is->high - is->low);
            }
            assert_true(e.temperature == falling[k] && e.terms == 0 && e.beside > 0 && e.beside < 1e-6);
        }
        wisp_cooled_free(&c);
        free(level);
        ref_free(H);
        wisp_mat_free(A);
    }
}

/* The spectrum ends where the bounds do: but for rounding, which may put an energy below them. */
static void edges(void **state)
{
    enum { LEVELS = 7, COLDER = 40 };
    wisp_ctx *ctx = *state;
    double temperature[COLDER];
    for (int i = 0; i < COLDER; i++) temperature[i] = pow(0.8, i);
    for (int offset = 0; offset < 30; offset++) {
        const double lowest = -3 + 0.1037 * offset, half = 0.05 * (LEVELS - 1);
        ref_mat H = ref_new(LEVELS, LEVELS);
        for (int i = 0; i < LEVELS; i++) REF_AT(H, i, i) = lowest + 0.1 * i;
        wisp_mat *A = ref_mat_of(ctx, H, WISP_D);
        wisp_cool_opts o = {.temperatures = COLDER, .temperature = temperature, .vectors = 2};
        wisp_cooled c;
        o.bounds = (wisp_bounds_opts){.method = WISP_BOUNDS_GIVEN, .given = {lowest + half, half, 0}};
        REF_OK(ctx, wisp_cool(&c, A, &o));
        difference("the lowest energy", c.state[2 * (COLDER - 1)].energy, lowest, 1e-12);
        wisp_cooled_free(&c);
        wisp_mat_free(A);
        ref_free(H);
    }
}

/* ---- batches, and pieces --------------------------------------------------------------------------- */

static const wisp_cool_opts common = {
    .temperatures = TEMPERATURES, .temperature = falling, .vectors = 13, .seed = 7, .first_vector = 2};

static wisp_status cool_small(wisp_ctx *ctx, const wisp_cool_opts *o, wisp_cooled *c)
{
    wisp_mat *A;
    wisp_status status = wisp_mat_open(&A, ctx, "spinchain:sites=6", NULL);
    if (status != WISP_OK) return status;
    status = wisp_cool(c, A, o);
    wisp_mat_free(A);
    return status;
}

static void same_states(const wisp_cooled *a, const wisp_cooled *b)
{
    assert_true(a->temperatures == b->temperatures && a->vectors == b->vectors && a->done == b->done);
    assert_true(a->sweeps == b->sweeps && a->rows == b->rows && a->type == b->type);
    assert_memory_equal(&a->bounds, &b->bounds, sizeof a->bounds);
    assert_memory_equal(a->off, b->off, 2 * (size_t)a->temperatures * sizeof *a->off);
    assert_memory_equal(a->state, b->state, (size_t)(a->temperatures * a->vectors) * sizeof *a->state);
}

/* Eight states go together, and what is left over: they are those of two runs. */
static void batches(void **state)
{
    wisp_ctx *ctx = *state;
    wisp_cooled all, part;
    wisp_cool_opts o = common;
    o.bounds = (wisp_bounds_opts){.method = WISP_BOUNDS_GIVEN, .given = {.center = -1, .halfwidth = 5}};
    REF_OK(ctx, cool_small(ctx, &o, &all));
    o.first_vector += WISP_COOL_WIDTH, o.vectors -= WISP_COOL_WIDTH;
    REF_OK(ctx, cool_small(ctx, &o, &part));
    for (int64_t k = 0; k < TEMPERATURES; k++)
        assert_memory_equal(part.state + k * part.vectors, all.state + k * all.vectors + WISP_COOL_WIDTH,
                            (size_t)part.vectors * sizeof *part.state);
    wisp_cooled_free(&all);
    wisp_cooled_free(&part);
}

/* Ended at an offer, again and again, by other numbers of threads. */
static void pieces(void **state)
{
    (void)state;
    for (int each = 0; each < 8; each += 3) {
        wisp_ctx *ctx = ref_isa_ctx(NULL, 2);
        wisp_cooled want, got;
        piece p = piece_new(ctx, "cool");
        REF_OK(ctx, cool_small(ctx, &common, &want));
        for (int goes_on = 1; goes_on;) {
            wisp_ctx *own = ref_isa_ctx(NULL, 1 + p.pieces % 3);
            wisp_cool_opts o = common;
            piece_begin(&p, own, 1 + each);
            o.offer = piece_offer, o.offer_arg = &p, o.resume = p.resume;
            const wisp_status status = cool_small(own, &o, &got);
            if (status != WISP_OK && status != WISP_ERR_CANCELLED) REF_OK(own, status);
            assert_true(got.done == common.vectors || got.done == 0 || got.done == WISP_COOL_WIDTH);
            goes_on = piece_ended(&p, own, status);
            if (goes_on) wisp_cooled_free(&got);
            wisp_ctx_free(own);
        }
        assert_true(p.pieces > 1);
        same_states(&got, &want);
        wisp_cooled_free(&got);
        wisp_cooled_free(&want);
        wisp_ctx_free(ctx);
    }
}

/* A whole state is gone on from at once; what a state is not of is told. */
static void other_runs(void **state)
{
    static const double others[TEMPERATURES] = {10, 1, 0.5, 0.2, 0.01, 1e-4};
    wisp_ctx *ctx = *state;
    wisp_cooled want, got;
    piece p = piece_new(ctx, "cooled");
    wisp_cool_opts o = common;
    REF_OK(ctx, wisp_checkpoint_create(&p.checkpoint, ctx, &(wisp_checkpoint_opts){.path = p.path, .holds = 1}));
    o.offer = wisp_checkpoint_offer, o.offer_arg = p.checkpoint;
    REF_OK(ctx, cool_small(ctx, &o, &want));
    REF_OK(ctx, wisp_checkpoint_keep(p.checkpoint));
    REF_OK(ctx, wisp_state_open(&o.resume, ctx, p.path));
    o.offer = NULL;
    REF_OK(ctx, cool_small(ctx, &o, &got));
    same_states(&got, &want);
    wisp_cooled_free(&got);
    const wisp_cool_opts same = o;
#define OTHER(change, words)                                                         \
    do {                                                                             \
        o = same;                                                                    \
        change;                                                                      \
        REF_FAILS(ctx, cool_small(ctx, &o, &got), WISP_ERR_MISMATCH, words);         \
        assert_true(!got.state && !got.temperature && !got.off && got.vectors == 0); \
    } while (0)
    OTHER(o.vectors++, "opts.vectors 13 from 2 on, seed 7, and this one has 14");
    OTHER(o.first_vector--, "opts.vectors 13 from 2 on");
    OTHER(o.seed++, "opts.vectors 13 from 2 on, seed 7");
    OTHER(o.temperatures--, "opts.temperature 6 from 10 to 0.0001, and this one has 5 from 10 to 0.01");
    OTHER(o.temperature = others, "other temperatures");
#undef OTHER
    wisp_moments m;
    wisp_mat *A = mat_of_spec(ctx, "spinchain:sites=6", NULL);
    REF_FAILS(ctx, wisp_kpm(&m, A, &(wisp_kpm_opts){.resume = o.resume}), WISP_ERR_MISMATCH, "solver cool");
    wisp_mat_free(A);
    wisp_state_free(o.resume);
    wisp_cooled_free(&want);
    wisp_checkpoint_remove(p.checkpoint);
    wisp_checkpoint_free(p.checkpoint);
}

/* ---- refusals -------------------------------------------------------------------------------------- */

static void refusals(void **state)
{
    wisp_ctx *ctx = *state;
    wisp_cooled c;
    wisp_ensemble e;
    wisp_cool_opts o;
#define REFUSED(change, words)                                               \
    do {                                                                     \
        o = common;                                                          \
        change;                                                              \
        REF_FAILS(ctx, cool_small(ctx, &o, &c), WISP_ERR_ARG, words);        \
        assert_true(!c.state && !c.temperature && !c.off && c.vectors == 0); \
    } while (0)
    REFUSED(o.temperatures = 0, "opts.temperatures is 0");
    REFUSED(o.temperature = NULL, "opts.temperature is NULL");
    REFUSED(o.temperature = ((double[TEMPERATURES]){1, 2}), "opts.temperature has 2");
    REFUSED(o.temperature = ((double[TEMPERATURES]){1}), "opts.temperature has 0");
    REFUSED(o.temperature = ((double[TEMPERATURES]){HUGE_VAL}), "opts.temperature has inf");
    REFUSED(o.temperature = ((double[TEMPERATURES]){NAN}), "opts.temperature has");
    REFUSED((o.temperatures = 1, o.temperature = (double[]){1e-310}), "opts.temperature has 1e-310");
    REFUSED(o.vectors = -1, "opts.vectors is -1");
    REFUSED(o.first_vector = -1, "opts.first_vector is -1");
    REFUSED(o.first_vector = (int64_t)1 << 32, "random vectors are numbers 0 to");
#undef REFUSED
    ref_mat H = ref_new(2, 2);
    REF_AT(H, 0, 1) = 1;
    wisp_mat *A = ref_mat_of(ctx, H, WISP_D);
    REF_FAILS(ctx, wisp_cool(&c, A, &common), WISP_ERR_HERMITIAN, "");
    wisp_mat_free(A);
    ref_free(H);
    /* Two vectors at a temperature that single precision serves, and at one that it does not. */
    A = mat_of_spec_as(ctx, "spinchain:sites=6", WISP_S, NULL);
    REF_OK(ctx,
           wisp_cool(&c, A, &(wisp_cool_opts){.temperatures = 2, .temperature = (double[]){1, 1e-12}, .vectors = 2}));
    REF_OK(ctx, wisp_cooled_ensemble(ctx, &c, NULL, 0, &e));
    assert_true(e.beside > 1e-7 && e.beside < 1e-2);
    REF_FAILS(ctx, wisp_cooled_ensemble(ctx, &c, &(wisp_thermal_opts){.tolerance = 1e-8}, 0, &e), WISP_ERR_NUMERIC,
              "and opts.tolerance is 1e-08");
    REF_FAILS(ctx, wisp_cooled_ensemble(ctx, &c, NULL, 1, &e), WISP_ERR_NUMERIC,
              "at temperature 1e-12 cooled states leave an error of up to");
    REF_FAILS(ctx, wisp_cooled_ensemble(ctx, &c, &(wisp_thermal_opts){.tolerance = -1}, 0, &e), WISP_ERR_ARG,
              "opts.tolerance is -1");
    REF_FAILS(ctx, wisp_cooled_ensemble(ctx, &c, NULL, 2, &e), WISP_ERR_ARG, "temperature 2 of 2");
    REF_FAILS(ctx, wisp_cooled_ensemble(ctx, &c, NULL, -1, &e), WISP_ERR_ARG, "temperature -1 of 2");
    c.done = 1; /* as after a call that was cancelled: one vector has no error */
    REF_OK(ctx, wisp_cooled_ensemble(ctx, &c, NULL, 0, &e));
    assert_true(isfinite(e.energy.value) && isnan(e.energy.error) && isnan(e.log_z.low) && isnan(e.entropy.high));
    wisp_cooled_free(&c);
    REF_FAILS(ctx, wisp_cooled_ensemble(ctx, &c, NULL, 0, &e), WISP_ERR_ARG, "no vector");
    wisp_mat_free(A);
}

static wisp_status make_nan(void *arg, wisp_blk *y, const wisp_blk *x)
{
    (void)arg;
    const wisp_status status = wisp_copy(y, x);
    return status == WISP_OK ? wisp_blk_fill(y, (wisp_scalar){NAN, 0}) : status;
}

static void products_that_are_no_numbers(void **state)
{
    wisp_ctx *ctx = *state;
    wisp_map *map;
    wisp_mat *A;
    wisp_cooled c;
    wisp_cool_opts o = common;
    REF_OK(ctx, wisp_map_create(&map, ctx, 10));
    REF_OK(ctx, wisp_mat_from_apply(&A, ctx, &(wisp_operator){.map = map, .type = WISP_D, .apply = make_nan}));
    o.bounds = (wisp_bounds_opts){.method = WISP_BOUNDS_GIVEN, .given = {.halfwidth = 2}};
    REF_FAILS(ctx, wisp_cool(&c, A, &o), WISP_ERR_NUMERIC, "with vector 2 hold a NaN");
    wisp_mat_free(A);
    wisp_map_free(map);
}

static wisp_status cool_little(wisp_ctx *ctx, void *arg)
{
    (void)arg;
    wisp_cooled c = {0};
    const wisp_status status =
        cool_small(ctx, &(wisp_cool_opts){.temperatures = 1, .temperature = falling, .vectors = 9}, &c);
    wisp_cooled_free(&c);
    return status;
}

static void failing_memory(void **state)
{
    (void)state;
    if (ref_ranks() > 1) return;
    assert_true(ref_failing_memory(cool_little, NULL, 100, 30) > 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_state),    cmocka_unit_test(against_levels),
                                       cmocka_unit_test(edges),         cmocka_unit_test(products_that_are_no_numbers),
                                       cmocka_unit_test(batches),       cmocka_unit_test(pieces),
                                       cmocka_unit_test(other_runs),    cmocka_unit_test(refusals),
                                       cmocka_unit_test(failing_memory)};
    return REF_RUN_ALL(tests);
}
