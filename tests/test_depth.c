/* How many steps are interleaved, where that is left to the library: what the model finds, and what the times say. */
#include "data/cascade.h"
#include "ref.h"

/* A chain: each row has a few columns on either side. */
enum { ROWS = 40000, NEAR = 3, WIDTH = 64, BUDGET = 6 << 20, STEPS = 16 };

static int row(void *arg, int64_t i, int64_t *col, void *val)
{
    (void)arg;
    int n = 0;
    for (int64_t j = i - NEAR; j <= i + NEAR; j++)
        if (j >= 0 && j < ROWS) {
            if (col) col[n] = j, ((double *)val)[n] = 1;
            n++;
        }
    return n;
}

typedef struct {
    wisp_ctx *ctx;
    wisp_mat *A;
    wisp__steps_like like;
    int turns[STEPS + 1]; /* of each depth, so far */
} fixture;

/* On a machine whose memory is slow, so that the model finds deep interleaving best. */
static void begin(fixture *f)
{
    wisp_machine m = {.exchange_gbs = 500};
    const wisp_src src = {.rows = ROWS, .cols = ROWS, .max_row = 2 * NEAR + 1, .type = WISP_D, .row = row};
    const wisp_mat_opts o = {.width = WIDTH, .order = WISP_ROWS_NATURAL, .format = WISP_FORMAT_SELL};
    *f = (fixture){.ctx = ref_isa_ctx(NULL, 2), .like = {.type = WISP_D, .width = WIDTH, .cache_budget = BUDGET}};
    for (int l = 0; l < WISP_LEVELS; l++) m.gbs[WISP_LOAD][l][1] = l == WISP_MEMORY ? 5 : 500;
    wisp_ctx_set_machine(f->ctx, &m);
    f->ctx->rates.l2_bytes = 2 << 20;
    f->ctx->one_node = true; /* or nothing is interleaved */
    wisp__rates_find(f->ctx, &f->like.rates);
    REF_OK(f->ctx, wisp_mat_create(&f->A, f->ctx, &src, &o));
}

static void end(fixture *f)
{
    wisp_mat_free(f->A);
    wisp_ctx_free(f->ctx);
}

/* A turn, in which a step takes so many seconds, by the depth's number: 1, 2, 4, .. */
static int turn(fixture *f, const double seconds[WISP__DEPTHS])
{
    const wisp__cascade *c;
    REF_OK(f->ctx, wisp__depth_take(f->A, &f->like, STEPS, &c));
    const int depth = c ? c->steps : 1;
    wisp__cascade_release(f->A, c);
    wisp__depth_tell(f->A, &f->like, STEPS, depth, seconds[__builtin_ctz((unsigned)depth)]);
    f->turns[depth]++;
    return depth;
}

static int best(const fixture *f)
{
    int most, best;
    wisp__depth_known(f->A, &f->like, STEPS, &most, &best);
    return best;
}

/* What the model finds is what is done first. The others have their turns, few in the long run; what is clearly faster
   takes over, and gives way again when the machine changes. */
static void times_decide(void **state)
{
    (void)state;
    static const double plain[WISP__DEPTHS] = {1, 1.5, 1.4, 1.3, 1.2}, deep[WISP__DEPTHS] = {2, 1.5, 1.0, 1.1, 1.2},
                        close[WISP__DEPTHS] = {0.99, 1, 1, 1, 1};
    fixture f;
    begin(&f);
    const int first = turn(&f, close);
    assert_true(first >= 4);
    for (int i = 0; i < 500; i++) turn(&f, close);
    assert_int_equal(best(&f), first); /* 1% is not clearly */
    assert_true(f.turns[first] > 460 && f.turns[1] >= 2);
    for (int i = 0; i < 500; i++) turn(&f, plain);
    assert_int_equal(best(&f), 1);
    for (int i = 0; i < 1000; i++) turn(&f, deep);
    assert_int_equal(best(&f), 4);
    end(&f);
}

/* A turn that something else disturbed changes nothing for long, whichever depth it was. */
static void disturbed(void **state)
{
    (void)state;
    static const double deep[WISP__DEPTHS] = {1.2, 1.1, 1.0, 1.0, 1.0};
    for (int when = 0; when < 24; when++) {
        fixture f;
        begin(&f);
        for (int i = 0; i < 200; i++) {
            double seconds[WISP__DEPTHS];
            for (int d = 0; d < WISP__DEPTHS; d++) seconds[d] = deep[d] * (i == when ? 3 : 1);
            turn(&f, seconds);
        }
        assert_true(best(&f) >= 4);
        assert_true(f.turns[1] + f.turns[2] < 24);
        end(&f);
    }
}

/* Few steps have no deep turns, and say nothing about them; and others are not mixed up with these. */
static void few_steps(void **state)
{
    (void)state;
    fixture f;
    const wisp__cascade *c;
    int deepest, found;
    begin(&f);
    for (int steps = 0; steps <= STEPS; steps++)
        for (int i = 0; i < 4; i++) {
            REF_OK(f.ctx, wisp__depth_take(f.A, &f.like, steps, &c));
            assert_true((c ? c->steps : 1) <= (steps > 1 ? steps : 1));
            wisp__depth_known(f.A, &f.like, steps, &deepest, &found);
            assert_true(found <= deepest && deepest <= (steps > 1 ? steps : 1));
            wisp__cascade_release(f.A, c);
        }
    const int before = best(&f);
    for (int i = 0; i < 100; i++) { /* what is left over of longer runs */
        REF_OK(f.ctx, wisp__depth_take(f.A, &f.like, deepest - 1, &c));
        wisp__depth_tell(f.A, &f.like, deepest - 1, c ? c->steps : 1, 1e-9);
        wisp__cascade_release(f.A, c);
    }
    assert_int_equal(best(&f), before);
    for (int width = 1; width <= 8; width++) { /* more than are kept */
        wisp__steps_like other = f.like;
        other.width = width;
        other.terms = WISP_DOT_XX;
        REF_OK(f.ctx, wisp__depth_take(f.A, &other, STEPS, &c));
        wisp__cascade_release(f.A, c);
    }
    REF_OK(f.ctx, wisp__depth_take(f.A, &f.like, STEPS, &c));
    wisp__cascade_release(f.A, c);
    assert_int_equal(best(&f), before);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(times_decide), cmocka_unit_test(disturbed),
                                       cmocka_unit_test(few_steps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
