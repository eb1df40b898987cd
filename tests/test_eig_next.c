/* The moves of Chebyshev filter diagonalization (solver/eig/chebfd_next.h), as tables; that a run ends, and
   asks before it does. */
#include "ref.h"
#include "solver/eig/chebfd_next.h"
#include <math.h>

/* After a round by which residuals of pairs in the target that have not converged are up to 1e-6, in a space of 40
   columns. */
static wisp__chebfd_known known_of(int inside, int pending, double before, int stalls, int growths, bool is_single)
{
    return (wisp__chebfd_known){.inside = inside,
                                .pending = pending,
                                .worst = pending > 0 ? 1e-6 : 0,
                                .before = before,
                                .search = 40,
                                .rows = 1000,
                                .tells = true,
                                .is_single = is_single,
                                .stalls = stalls,
                                .growths = growths};
}

typedef struct {
    const char *what;
    int inside, pending;
    double before;
    int stalls, growths, is_single;
    wisp__chebfd_move move;
    int then; /* rounds without progress then */
} row;

static const row rounds[] = {
    {"residuals fall", 6, 4, 1e-3, 0, 0, 0, WISP__REFINE, 0},
    {"the first round with a space", 6, 4, INFINITY, 0, 0, 0, WISP__REFINE, 0},
    {"the first round without progress", 6, 4, 1e-6, 0, 0, 0, WISP__REFINE, 1},
    {"they fall too slowly", 6, 4, 3e-6, 0, 0, 0, WISP__REFINE, 1},
    {"the second one: more columns", 6, 4, 1e-6, 1, 0, 0, WISP__ADD_COLUMNS, 2},
    {"or more digits", 6, 4, 1e-6, 1, 0, 1, WISP__TAKE_DOUBLE, 2},
    {"for the third time", 6, 4, 1e-6, 1, 2, 0, WISP__ADD_COLUMNS, 2},
    {"no more", 6, 4, 1e-6, 1, 3, 0, WISP__REFINE, 2},
    {"the third one", 6, 4, 1e-6, 2, 3, 0, WISP__REFINE, 3},
    {"the fourth one", 6, 4, 1e-6, 3, 3, 0, WISP__GIVE_UP, 4},
    {"they grow", 6, 4, 1e-9, 3, 3, 0, WISP__GIVE_UP, 4},
    {"progress again", 6, 4, 1e-3, 3, 3, 0, WISP__REFINE, 0},
    {"the space is full of pairs", 29, 4, 1e-3, 0, 0, 0, WISP__ENLARGE, 0},
    {"it is not yet", 28, 4, 1e-3, 0, 0, 0, WISP__REFINE, 0},
    {"full before anything is asked", 33, 0, 1e-3, 0, 0, 0, WISP__ENLARGE, 0},
    {"full, and stalled", 29, 4, 1e-6, 3, 3, 0, WISP__ENLARGE, 4},
    {"all has converged", 10, 0, 1e-3, 3, 0, 0, WISP__VERIFY, 0},
    {"nothing is there", 0, 0, INFINITY, 0, 0, 0, WISP__VERIFY, 0},
};

/* 10 pairs have converged, and nothing else lies in the target. */
static const struct {
    const char *what;
    int asked, is_single;
    wisp__chebfd_verdict verdict;
    wisp__chebfd_move move;
} verdicts[] = {
    {"all that is in an interval", 0, 0, WISP__FINE, WISP__END},
    {"as many as were asked for", 10, 0, WISP__FINE, WISP__END},
    {"too few", 11, 0, WISP__FINE, WISP__LOOK_FARTHER},
    {"some are missing", 0, 0, WISP__MISSING, WISP__ADD_MISSING},
    {"before the target is too small", 11, 0, WISP__MISSING, WISP__ADD_MISSING},
    {"the density differs", 0, 0, WISP__DIFFERS, WISP__END},
    {"more digits may tell", 0, 1, WISP__DIFFERS, WISP__TAKE_DOUBLE},
    {"before it is", 11, 1, WISP__DIFFERS, WISP__TAKE_DOUBLE},
};

static void moves(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rounds / sizeof *rounds; i++) {
        const row *r = &rounds[i];
        const wisp__chebfd_known n = known_of(r->inside, r->pending, r->before, r->stalls, r->growths, r->is_single);
        if (wisp__chebfd_next(&n) != r->move) print_error("%s: move %d\n", r->what, wisp__chebfd_next(&n));
        assert_int_equal(wisp__chebfd_next(&n), r->move);
        assert_int_equal(wisp__chebfd_stalls(&n), r->then);
    }
    for (size_t i = 0; i < sizeof verdicts / sizeof *verdicts; i++) {
        wisp__chebfd_known n = known_of(10, 0, 1e-3, 0, 0, verdicts[i].is_single);
        n.asked = verdicts[i].asked;
        assert_int_equal(wisp__chebfd_next(&n), WISP__VERIFY);
        n.verdict = verdicts[i].verdict;
        if (wisp__chebfd_next(&n) != verdicts[i].move)
            print_error("%s: move %d\n", verdicts[i].what, wisp__chebfd_next(&n));
        assert_int_equal(wisp__chebfd_next(&n), verdicts[i].move);
    }
}

/* A space is full where pairs can be told from mixtures, and there is more to take. */
static void full(void **state)
{
    (void)state;
    wisp__chebfd_known n = known_of(29, 4, 1e-3, 0, 0, false);
    assert_int_equal(wisp__chebfd_next(&n), WISP__ENLARGE);
    n.tells = false;
    assert_int_equal(wisp__chebfd_next(&n), WISP__REFINE);
    n.tells = true, n.rows = 40;
    assert_int_equal(wisp__chebfd_next(&n), WISP__REFINE);
}

/* Whatever residuals do, a run that only stalls ends, after a bounded number of rounds, and tries all it can before. */
static void ends(void **state)
{
    (void)state;
    for (int single = 0; single < 2; single++) {
        wisp__chebfd_known n = known_of(6, 4, INFINITY, 0, 0, single);
        int rounds = 0, grown = 0;
        for (;; rounds++) {
            assert_true(rounds < 100);
            const wisp__chebfd_move move = wisp__chebfd_next(&n);
            if (move == WISP__GIVE_UP) break;
            const bool refines = move == WISP__REFINE;
            assert_true(refines || move == (n.is_single ? WISP__TAKE_DOUBLE : WISP__ADD_COLUMNS));
            n.stalls = refines ? wisp__chebfd_stalls(&n) : 0;
            n.before = refines ? n.worst : INFINITY;
            n.growths += !refines;
            n.is_single &= refines;
            grown += !refines;
        }
        assert_int_equal(grown, 3);
    }
}

/* A verdict is asked for once, and never while a pair in the target has not converged. */
static void asked_once(void **state)
{
    (void)state;
    ref_rng r = {5};
    for (int i = 0; i < 100000; i++) {
        wisp__chebfd_known n = {.inside = (int)(ref_next(&r) % 50),
                                .pending = (int)(ref_next(&r) % 3),
                                .worst = pow(10, -16 * fabs(ref_uniform(&r))),
                                .before = ref_next(&r) % 8 ? pow(10, -16 * fabs(ref_uniform(&r))) : INFINITY,
                                .search = 1 + (int)(ref_next(&r) % 60),
                                .rows = 60,
                                .tells = ref_next(&r) % 2,
                                .is_single = ref_next(&r) % 2,
                                .stalls = (int)(ref_next(&r) % 4),
                                .growths = (int)(ref_next(&r) % 4),
                                .asked = (int)(ref_next(&r) % 20)};
        const wisp__chebfd_move first = wisp__chebfd_next(&n);
        assert_true(first != WISP__END && first != WISP__ADD_MISSING && first != WISP__LOOK_FARTHER);
        if (first != WISP__VERIFY) continue;
        assert_int_equal(n.pending, 0);
        for (n.verdict = WISP__FINE; n.verdict <= WISP__DIFFERS; n.verdict++) {
            const wisp__chebfd_move move = wisp__chebfd_next(&n);
            assert_true(move == WISP__END || move == WISP__ADD_MISSING || move == WISP__LOOK_FARTHER ||
                        move == WISP__TAKE_DOUBLE);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(moves), cmocka_unit_test(full), cmocka_unit_test(ends),
                                       cmocka_unit_test(asked_once)};
    return REF_RUN(tests);
}
