/* Contexts: objects are freed before or after them, in any order; one that can't be made says why. */
#include "ref.h"
#include <pthread.h>
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
    assert_non_null(strstr(wisp_ctx_message(NULL), "'abacus'"));
    assert_int_equal(wisp_ctx_create(&ctx, &(wisp_ctx_opts){.device = "tpu"}), WISP_ERR_UNSUPPORTED);
    assert_non_null(strstr(wisp_ctx_message(NULL), "no device 'tpu'"));
    assert_int_equal(wisp_ctx_create(&ctx, &(wisp_ctx_opts){.threads = -1}), WISP_ERR_ARG);
    assert_non_null(strstr(wisp_ctx_message(NULL), "threads"));
}

static void *look(void *arg)
{
    (void)arg;
    return (void *)(intptr_t)(wisp_ctx_message(NULL)[0] == '\0');
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(freed_in_any_order),
        cmocka_unit_test(why_not),
        cmocka_unit_test(of_this_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
