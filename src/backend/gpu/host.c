/* What a GPU has no kernels for: the host does it, with the CPU's, on memory that it is lent meanwhile. */
#include "gpu.h"

enum { MOST_LOANS = 32 };
typedef struct {
    wisp_ctx *ctx;
    wisp_status status;
    void *address[MOST_LOANS];
    int count;
} loans;

/* Puts the host's address in the place of the device's; NULL stays. The first failure stays, too. */
static void borrow(loans *l, void *pointer_to_address, size_t bytes, wisp_access how)
{
    void *address, *host;
    memcpy(&address, pointer_to_address, sizeof address);
    if (!address || l->status != WISP_OK) return;
    l->status = l->ctx->backend->lend(l->ctx, address, bytes, how, &host);
    if (l->status != WISP_OK) return;
    l->address[l->count++] = address;
    memcpy(pointer_to_address, &host, sizeof host);
}

static void borrow_all(loans *l, wisp_access how, void *const *place, size_t n)
{
    for (size_t i = 0; i < n; i++) borrow(l, place[i], WISP__WHOLE_ARRAY, how);
}
#define BORROW(l, how, ...) \
    borrow_all(l, how, (void *const[]){__VA_ARGS__}, sizeof((void *[]){__VA_ARGS__}) / sizeof(void *))

static void give_back(loans *l)
{
    while (l->count > 0) l->ctx->backend->unlend(l->ctx, l->address[--l->count]);
}

wisp_status wisp__gpu_launch_half(wisp_ctx *ctx, const wisp__key *key, const wisp__spmmv_params *p,
                                  const wisp__half *half, double *dot, size_t dot_size)
{
    wisp__half h = *half;
    wisp__spmmv_params q = *p;
    wisp__chain chain[MOST_LOANS / 4];
    loans l = {.ctx = ctx, .status = WISP_OK};
    if (p->chains > (int)(sizeof chain / sizeof chain[0]))
        return wisp_ctx_failf(
            ctx, WISP_ERR_UNSUPPORTED,
            "the device '%s' takes half of a Hermitian matrix with up to %d chains alone; store it whole",
            wisp_ctx_device(ctx), (int)(sizeof chain / sizeof chain[0]));
    BORROW(&l, WISP_READ, &h.first, &h.row, &h.inside, &h.col, &h.val, &h.outside, &h.reach, &h.incoming, &h.spill_row,
           &h.into, &h.from, &h.spill, &h.source_at, &h.source);
    BORROW(&l, WISP_READ, &q.gather, &q.x, &q.u);
    if (p->terms & K_PREV) borrow(&l, &q.prev, WISP__WHOLE_ARRAY, WISP_READ);
    borrow(&l, &q.y, WISP__WHOLE_ARRAY, WISP_WRITE);
    if (!(p->terms & K_PREV)) q.prev = q.y;
    for (int i = 0; i < p->chains; i++) {
        chain[i] = p->chain[i];
        borrow(&l, &chain[i].z, WISP__WHOLE_ARRAY, WISP_WRITE);
    }
    q.chain = chain;
    borrow(&l, &dot, dot_size * sizeof *dot, WISP_WRITE);
    for (int i = 0; i < K_FACTOR_SETS; i++)
        borrow(&l, &q.factors_at[i], 2 * (size_t)p->width * sizeof(double), WISP_READ);
    if (l.status == WISP_OK) wisp__spread_factors(&q);
    if (l.status == WISP_OK) l.status = wisp__backend_cpu.launch_half(ctx, key, &q, &h, dot, dot_size);
    give_back(&l);
    return l.status;
}
