/* Sets of processing units, and what other systems than Linux have in the place of its calls: this program's library
   has it, too, for of two definitions its own comes first. */
#define WISP_PORTABLE 1
#include "base/system_other.c"
#include "ref.h"
#include "base/units.h"
#include <errno.h>
#include <pthread.h>

static void sets_of_units(void **state)
{
    (void)state;
    ref_rng rng = {.state = 5};
    for (int round = 0; round < 200; round++) {
        bool in[2][WISP__UNITS] = {0};
        wisp__units set[2] = {0};
        for (int s = 0; s < 2; s++)
            for (int64_t n = ref_below(&rng, 41); n > 0; n--) {
                const int unit = (int)ref_below(&rng, WISP__UNITS);
                in[s][unit] = true;
                wisp__units_add(&set[s], unit);
            }
        int count = 0;
        bool meet = false, equal = true;
        for (int i = 0; i < WISP__UNITS; i++) {
            assert_int_equal(wisp__units_has(&set[0], i), in[0][i]);
            count += in[0][i];
            meet |= in[0][i] && in[1][i];
            equal &= in[0][i] == in[1][i];
        }
        assert_int_equal(wisp__units_count(&set[0]), count);
        assert_int_equal(wisp__units_meet(&set[0], &set[1]), meet);
        assert_int_equal(wisp__units_equal(&set[0], &set[1]), equal);
        wisp__units either = set[0], rest = set[0];
        wisp__units_join(&either, &set[1]);
        wisp__units_leave(&rest, &set[1]);
        for (int i = 0; i < WISP__UNITS; i++) {
            assert_int_equal(wisp__units_has(&either, i), in[0][i] || in[1][i]);
            assert_int_equal(wisp__units_has(&rest, i), in[0][i] && !in[1][i]);
        }
    }
}

static void numbers_that_no_set_has(void **state)
{
    (void)state;
    wisp__units set = wisp__units_one(WISP__UNITS - 1);
    wisp__units_add(&set, -1);
    wisp__units_add(&set, WISP__UNITS);
    assert_int_equal(wisp__units_count(&set), 1);
    assert_false(wisp__units_has(&set, -1));
    assert_false(wisp__units_has(&set, WISP__UNITS));
}

static void texts(void **state)
{
    char text[128];
    (void)state;
    for (int error = 1; error < 40; error++)
        assert_string_equal(wisp__error_text(error, text, sizeof text), strerror(error));
    assert_true(strlen(wisp__error_text(123456, text, sizeof text)) > 0);
    ref_rng rng = {.state = 7};
    for (size_t n = 0; n < sizeof text; n++) {
        for (size_t i = 0; i < n; i++) text[i] = "abc"[ref_below(&rng, 3)];
        for (const char *c = "abcd"; *c; c++) assert_ptr_equal(wisp__last_byte(text, *c, n), memrchr(text, *c, n));
    }
}

static void random_bytes(void **state)
{
    unsigned char some[256] = {0}, more[256] = {0};
    (void)state;
    assert_true(wisp__random_bytes(some, sizeof some));
    assert_true(wisp__random_bytes(more, sizeof more));
    assert_memory_not_equal(some, more, sizeof some);
}

/* Two threads tell each other by turns. */
typedef struct {
    atomic_uint word;
    unsigned turns;
} turns;

static void *take_odd(void *arg)
{
    turns *t = arg;
    for (unsigned now; (now = atomic_load(&t->word)) < t->turns;)
        if (now % 2 == 1) {
            atomic_fetch_add(&t->word, 1);
            wisp__futex_wake(&t->word);
        } else {
            wisp__futex_wait(&t->word, now, NULL);
        }
    return NULL;
}

static void waits(void **state)
{
    turns t = {.turns = 100};
    pthread_t thread;
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, take_odd, &t), 0);
    for (unsigned now; (now = atomic_load(&t.word)) < t.turns;)
        if (now % 2 == 0) {
            atomic_fetch_add(&t.word, 1);
            wisp__futex_wake(&t.word);
        } else {
            wisp__futex_wait(&t.word, now, NULL);
        }
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(atomic_load(&t.word), t.turns);
    wisp__futex_wait(&t.word, t.turns - 1, NULL);                         /* it is another number already */
    wisp__futex_wait(&t.word, t.turns, &(struct timespec){.tv_nsec = 1}); /* nobody will change it */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets_of_units), cmocka_unit_test(numbers_that_no_set_has),
        cmocka_unit_test(texts),         cmocka_unit_test(random_bytes),
        cmocka_unit_test(waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
