/* Contexts: objects are freed before or after them, in any order; one that can't be made says why. */
#include "ref.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

enum { OBJECTS = 7 };

/* One object of each kind on a context of its own; kind 0 is the context itself. */
typedef struct {
    wisp_ctx *ctx;
    wisp_map *map;
    wisp_mat *A;
    wisp_blk *x, *view;
    wisp_src file, spec;
} objects;

static void make(objects *o, const char *path)
{
    o->ctx = ref_ctx(NULL);
    REF_OK(o->ctx, wisp_map_create(&o->map, o->ctx, 100));
    REF_OK(o->ctx, wisp_mat_open(&o->A, o->ctx, path, NULL));
    REF_OK(o->ctx, wisp_blk_create(&o->x, o->ctx, wisp_mat_map(o->A), WISP_D, 3));
    REF_OK(o->ctx, wisp_blk_cols(&o->view, o->x, 1, 2));
    REF_OK(o->ctx, wisp_blk_fill(o->x, (wisp_scalar){1, 0}));
    REF_OK(o->ctx, wisp_src_open(&o->file, o->ctx, path));
    REF_OK(o->ctx, wisp_src_open(&o->spec, o->ctx, "graphene:nx=4,ny=4,vacancies=0.2"));
    double norm[3];
    REF_OK(o->ctx, wisp_norm(o->x, norm)); /* with scratch memory */
}

static void release(objects *o, int kind)
{
    switch (kind) {
    case 0: wisp_ctx_free(o->ctx); break;
    case 1: wisp_map_free(o->map); break;
    case 2: wisp_mat_free(o->A); break;
    case 3: wisp_blk_free(o->x); break;
    case 4: wisp_blk_free(o->view); break;
    case 5: wisp_src_close(&o->file); break;
    default: wisp_src_close(&o->spec);
    }
}

static void freed_in_any_order(void **state)
{
    (void)state;
    ref_rng r = {77};
    for (int round = 0; round < 60; round++) {
        objects o;
        int order[OBJECTS];
        make(&o, TEST_DATA "/karate.mtx");
        for (int i = 0; i < OBJECTS; i++) {
            const int j = (int)ref_below(&r, i + 1);
            order[i] = order[j];
            order[j] = i;
        }
        for (int i = 0; i < OBJECTS; i++) release(&o, order[i]);
    }
}

static void why_not(void **state)
{
    (void)state;
    wisp_ctx *ctx;
    assert_int_equal(wisp_ctx_create(&ctx, &(wisp_ctx_opts){.isa = "abacus"}), WISP_ERR_UNSUPPORTED);
    assert_null(ctx);
    assert_non_null(strstr(message_of(NULL), "'abacus'"));
    assert_int_equal(wisp_ctx_create(&ctx, &(wisp_ctx_opts){.device = "tpu"}), WISP_ERR_UNSUPPORTED);
    assert_non_null(strstr(message_of(NULL), "no device 'tpu': take one of 'cpu', "));
    assert_int_equal(wisp_ctx_create(&ctx, &(wisp_ctx_opts){.threads = -1}), WISP_ERR_ARG);
    assert_non_null(strstr(message_of(NULL), "threads"));
}

/* Those that there are, by their names, with and without a number. */
static void devices(void **state)
{
    (void)state;
    wisp_device d;
    int n = 0, gpus = 0; /* of which this machine has any number */
    for (; wisp_device_info(n, &d); n++) {
        char numbered[64], *colon = strchr(d.name, ':');
        const int letters = colon ? (int)(colon - d.name) : (int)strlen(d.name);
        snprintf(numbered, sizeof numbered, "%.*s:%d", letters, d.name, d.number);
        const char *const name[] = {d.name, numbered};
        for (int k = 0; k < 2; k++) {
            assert_int_equal(wisp_device_find(name[k]), n);
            wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.device = name[k], .threads = 1});
            assert_string_equal(wisp_ctx_device(ctx), d.name);
            wisp_ctx_free(ctx);
        }
        assert_true(d.memory_bytes > 0 && d.what[0] && d.for_tests == (d.name[0] == 'f' || d.name[0] == 'p'));
        gpus += !strncmp(d.name, "cuda", 4) || !strncmp(d.name, "opencl", 6);
    }
    assert_int_equal(n, 4 + gpus);
    assert_int_equal(wisp_device_info(-1, &d), 0);
    static const char *const none[] = {"", "cpu:1", "cpu:", "cpu:00", "far:2", "far:-1", "far:1x", "CPU", NULL};
    for (int i = 0; i < 9; i++) assert_int_equal(wisp_device_find(none[i]), -1);
}

static void *look(void *arg)
{
    (void)arg;
    return (void *)(intptr_t)(message_of(NULL)[0] == '\0');
}

/* Of another thread nothing is said. */
static void of_this_thread(void **state)
{
    (void)state;
    pthread_t other;
    void *nothing;
    why_not(NULL);
    assert_int_equal(pthread_create(&other, NULL, look, NULL), 0);
    assert_int_equal(pthread_join(other, &nothing), 0);
    assert_non_null(nothing);
}

/* ---- several threads on one context ------------------------------------------------------------ */

enum { ROUNDS = 60, WIDTH = 5, THREADS = 3 };

/* What a thread computes: products with shifts and dots, sums with factors for each column, grams. */
typedef struct {
    const wisp_mat *A;
    wisp_blk *x, *y;
    wisp_scalar dot[3 * WIDTH], gram[WIDTH * WIDTH], shift[WIDTH];
    bool failed;
} job;

static void open_job(job *j, wisp_ctx *ctx, const wisp_mat *A, uint32_t seed)
{
    *j = (job){.A = A};
    REF_OK(ctx, wisp_blk_create(&j->x, ctx, wisp_mat_map(A), WISP_D, WIDTH));
    REF_OK(ctx, wisp_blk_create(&j->y, ctx, wisp_mat_map(A), WISP_D, WIDTH));
    REF_OK(ctx, wisp_blk_fill_random(j->x, WISP_RANDOM_GAUSS, seed, 0, 0));
    for (int k = 0; k < WIDTH; k++) j->shift[k].re = 0.1 * (k + (double)seed);
}

static void *work(void *arg)
{
    job *j = arg;
    const wisp_aug aug = {.terms = WISP_SHIFT | WISP_SCALE | WISP_DOT_XY | WISP_DOT_YY,
                          .alpha = {0.2, 0},
                          .shift = j->shift,
                          .dot = j->dot};
    for (int i = 0; i < (REF_SANITIZED ? 10 : ROUNDS); i++) { /* a sanitizer sees in some what it does in all */
        j->failed |= wisp_spmmv(j->y, j->A, j->x, &aug) != WISP_OK;
        j->failed |= wisp_vaxpby(j->x, j->shift, j->y, j->shift) != WISP_OK;
        j->failed |= wisp_tsm_gram(j->gram, WIDTH, (wisp_scalar){1, 0}, j->x, j->y, (wisp_scalar){0, 0}, 0) != WISP_OK;
    }
    return NULL;
}

/* The same numbers as if each had been alone, bit by bit. */
static void take_turns(int no_pin)
{
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = 2, .no_pin = no_pin});
    wisp_mat *A;
    job alone[THREADS], together[THREADS];
    pthread_t thread[THREADS];
    REF_OK(ctx, wisp_mat_open(&A, ctx, "laplace:points=7,nx=30,ny=30,nz=30", NULL));
    for (uint32_t t = 0; t < THREADS; t++) {
        open_job(&alone[t], ctx, A, t + 1);
        open_job(&together[t], ctx, A, t + 1);
        work(&alone[t]);
    }
    for (int t = 0; t < THREADS; t++) assert_int_equal(pthread_create(&thread[t], NULL, work, &together[t]), 0);
    for (int t = 0; t < THREADS; t++) assert_int_equal(pthread_join(thread[t], NULL), 0);
    for (int t = 0; t < THREADS; t++) {
        assert_true(!alone[t].failed && !together[t].failed);
        assert_memory_equal(alone[t].dot + WIDTH, together[t].dot + WIDTH, 2 * WIDTH * sizeof(wisp_scalar));
        assert_memory_equal(alone[t].gram, together[t].gram, sizeof alone[t].gram);
        wisp_blk *all[] = {alone[t].x, alone[t].y, together[t].x, together[t].y};
        for (int i = 0; i < 4; i++) wisp_blk_free(all[i]);
    }
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
}

static void threads_take_turns(void **state)
{
    (void)state;
    unsetenv("OMP_PROC_BIND"); /* the tests' own */
    for (int no_pin = 0; no_pin < 2; no_pin++) take_turns(no_pin);
}

/* ---- the log function --------------------------------------------------------------------------- */

/* What it was told, a letter each; and how deep it is. */
typedef struct {
    wisp_ctx *ctx;
    char told[16];
    atomic_int inside;
    int deepest;
    wisp_status nested;
    const wisp_blk *x; /* it computes with */
} listener;

static void listen(void *arg, wisp_log_level level, const char *message)
{
    listener *l = arg;
    (void)level;
    const int depth = atomic_fetch_add(&l->inside, 1) + 1;
    if (depth > l->deepest) l->deepest = depth;
    strncat(l->told, message, 1);
    if (*message == 'a') {
        wisp_src src;
        wisp_ctx_logf(l->ctx, WISP_LOG_WARN, "b");
        l->nested = wisp_src_open(&src, l->ctx, "topi:foo=1");
    }
    double norm;
    if (*message == 'c') l->nested = wisp_norm(l->x, &norm);
    atomic_fetch_sub(&l->inside, 1);
}

static wisp_ctx *listened(listener *l)
{
    *l = (listener){0};
    return l->ctx = ref_ctx(&(wisp_ctx_opts){.threads = 1, .no_pin = 1, .log = listen, .log_arg = l});
}

static void log_function_calls(void **state)
{
    (void)state;
    listener l;
    wisp_ctx *ctx = listened(&l);
    wisp_ctx_logf(ctx, WISP_LOG_WARN, "a");
    wisp_ctx_logf(ctx, WISP_LOG_WARN, "d");
    assert_int_equal(l.nested, WISP_ERR_ARG);
    assert_string_equal(l.told, "abd");
    assert_int_equal(l.deepest, 1);
    wisp_ctx_free(ctx);
}

/* A product that, once the log function is in another thread, where it waits for this turn, says something itself. */
static atomic_bool in_product;

static wisp_status log_in_product(void *arg, wisp_blk *y, const wisp_blk *x)
{
    listener *l = arg;
    atomic_store(&in_product, true);
    while (!atomic_load(&l->inside)) sched_yield();
    wisp_ctx_logf(l->ctx, WISP_LOG_WARN, "d");
    return wisp_copy(y, x);
}

static void *log_one(void *arg)
{
    while (!atomic_load(&in_product)) sched_yield();
    wisp_ctx_logf(((listener *)arg)->ctx, WISP_LOG_WARN, "c");
    return NULL;
}

static void log_function_waits(void **state)
{
    (void)state;
    listener l;
    wisp_ctx *ctx = listened(&l);
    wisp_map *map;
    wisp_mat *A;
    wisp_blk *x, *y;
    pthread_t other;
    REF_OK(ctx, wisp_map_create(&map, ctx, 100));
    REF_OK(ctx, wisp_blk_create(&x, ctx, map, WISP_D, 1));
    REF_OK(ctx, wisp_blk_create(&y, ctx, map, WISP_D, 1));
    REF_OK(ctx, wisp_mat_from_apply(&A, ctx,
                                    &(wisp_operator){.map = map, .type = WISP_D, .apply = log_in_product, .arg = &l}));
    l.x = x;
    atomic_store(&in_product, false);
    assert_int_equal(pthread_create(&other, NULL, log_one, &l), 0);
    REF_OK(ctx, wisp_spmmv(y, A, x, NULL));
    assert_int_equal(pthread_join(other, NULL), 0);
    assert_int_equal(l.nested, WISP_OK);
    assert_string_equal(l.told, "cd");
    wisp_mat_free(A);
    wisp_blk_free(x);
    wisp_blk_free(y);
    wisp_map_free(map);
    wisp_ctx_free(ctx);
}

/* ---- messages of several threads ---------------------------------------------------------------- */

typedef struct {
    wisp_ctx *ctx;
    char letter;
    atomic_bool *stop;
} failing;

static void *keep_failing(void *arg)
{
    const failing *f = arg;
    char text[900];
    memset(text, f->letter, sizeof text - 1);
    text[sizeof text - 1] = '\0';
    while (!atomic_load(f->stop)) wisp_ctx_fail(f->ctx, WISP_ERR_ARG, text);
    return NULL;
}

/* A copy is one message, from its beginning to its end. */
static void copied_messages(void **state)
{
    enum { COPIES = 20000, LENGTH = 899 };
    (void)state;
    wisp_ctx *ctx = ref_ctx(NULL);
    char text[1024], part[4];
    atomic_bool stop = false;
    pthread_t thread[2];
    failing f[2] = {{ctx, 'a', &stop}, {ctx, 'b', &stop}};
    for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&thread[i], NULL, keep_failing, &f[i]), 0);
    while (!*message_of(ctx)) sched_yield();
    for (int i = 0; i < COPIES; i++) {
        assert_int_equal(strlen(wisp_ctx_message(ctx, text, sizeof text)), LENGTH);
        assert_int_equal(strspn(text, (char[]){text[0], '\0'}), LENGTH);
    }
    atomic_store(&stop, true);
    for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
    wisp_ctx_failf(ctx, WISP_ERR_ARG, "words");
    assert_string_equal(wisp_ctx_message(ctx, part, sizeof part), "wor");
    wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(freed_in_any_order),
        cmocka_unit_test(why_not),
        cmocka_unit_test(devices),
        cmocka_unit_test(of_this_thread),
        cmocka_unit_test(threads_take_turns),
        cmocka_unit_test(log_function_calls),
        cmocka_unit_test(log_function_waits),
        cmocka_unit_test(copied_messages),
    };
    return REF_RUN(tests);
}
