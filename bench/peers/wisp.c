/* wisp, by its public interface. VARIANT: "wisp" as it chooses, "wisp-sell" uncompressed in the order it chooses,
 * "wisp-natural" uncompressed in natural order. */
#include "peer.h"
#include <wisp/wisp.h>

static void check(wisp_ctx *ctx, wisp_status status)
{
    char text[WISP_MESSAGE];
    if (status != WISP_OK) peer_fail(wisp_status_string(status), wisp_ctx_message(ctx, text, sizeof text));
}

typedef struct {
    wisp_ctx *ctx;
    wisp_mat *A;
    wisp_blk *x, *y;
} product;

static int fill(void *arg, int64_t row, int column, void *val)
{
    double *v = val;
    for (int part = 0; part < *(int *)arg; part++) v[part] = peer_x(row, column, part);
    return 0;
}

static void step(void *arg)
{
    product *p = arg;
    check(p->ctx, wisp_spmmv(p->y, p->A, p->x, NULL));
}

static double square(void *arg)
{
    product *p = arg;
    double norm[128], sum = 0;
    check(p->ctx, wisp_norm(p->y, norm));
    for (int j = 0; j < wisp_blk_width(p->y); j++) sum += norm[j] * norm[j];
    return sum;
}

int main(int argc, char **argv)
{
    if (argc < 4 || atoi(argv[2]) < 1 || atoi(argv[2]) > 128) peer_fail("usage", "FILE WIDTH VARIANT");
    const int width = atoi(argv[2]);
    wisp_mat_opts opts = {.width = width};
    if (strcmp(argv[3], "wisp") != 0) opts.format = WISP_FORMAT_SELL;
    if (strcmp(argv[3], "wisp-natural") == 0) opts.order = WISP_ROWS_NATURAL;
    product p = {0};
#pragma omp parallel
    peer_threads(); /* those of the load test start before this thread is bound to a core */
    check(NULL, wisp_ctx_create(&p.ctx, NULL));
    check(p.ctx, wisp_mat_open(&p.A, p.ctx, argv[1], &opts));
    wisp_mat_info info;
    wisp_mat_get_info(p.A, &info);
    check(p.ctx, wisp_blk_create(&p.x, p.ctx, wisp_mat_col_map(p.A), info.type, width));
    check(p.ctx, wisp_blk_create(&p.y, p.ctx, wisp_mat_map(p.A), info.type, width));
    int parts = wisp_type_is_complex(info.type) ? 2 : 1;
    check(p.ctx, wisp_blk_fill_fn(p.x, fill, &parts));

    static const char *const order[] = {"default", "natural", "rcm", "tiles"};
    static const char *const format[] = {"default", "sell", "compressed", "hermitian"};
    char version[256];
    snprintf(version, sizeof version, "%s, %s; %s C=%d, %s order, %.2f bytes per nonzero", wisp_version(),
             wisp_ctx_isa(p.ctx), format[info.format], info.C, order[info.order],
             (double)info.bytes / (double)info.nnz);
    peer_serve(&(peer){.version = version, .step = step, .square = square, .arg = &p, .ranks = 1});
    wisp_blk_free(p.x);
    wisp_blk_free(p.y);
    wisp_mat_free(p.A);
    wisp_ctx_free(p.ctx);
    return 0;
}
