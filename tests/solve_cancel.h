/* A call of wisp_solve that is cancelled: between two iterations, or within one, in a product. */
#ifndef SOLVE_CANCEL_H
#define SOLVE_CANCEL_H
#include <pthread.h>
#include "ref.h"

typedef struct {
    wisp_ctx *ctx;
    const wisp_mat *A;
    int at, calls;    /* at this call; 0: never */
    int other_thread; /* cancels, while this one computes */
} canceller;

static inline void *cancel(void *ctx)
{
    wisp_ctx_cancel(ctx);
    return NULL;
}

static inline void count_and_cancel(canceller *c)
{
    pthread_t thread;
    if (++c->calls != c->at) return;
    if (!c->other_thread) {
        cancel(c->ctx);
        return;
    }
    assert_int_equal(pthread_create(&thread, NULL, cancel, c->ctx), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

/* wisp_solve_opts.observe */
static inline int cancel_in_observer(void *arg, int64_t iteration, double residual)
{
    (void)iteration, (void)residual;
    count_and_cancel(arg);
    return 0;
}

/* wisp_apply_fn: A x */
static inline wisp_status cancel_in_product(void *arg, wisp_blk *y, const wisp_blk *x)
{
    canceller *c = arg;
    const wisp_status status = wisp_spmmv(y, c->A, x, NULL);
    count_and_cancel(c);
    return status;
}
#endif
