/* wisp dos --operator, and --where as such a one: tr B delta(E - H), from moments tr B T_n. The library takes B^H on
   the left, and is given B, which makes the moments those of B^H: the conjugate ones, for T_n is Hermitian, and so are
   those of random vectors, with <v|T_n B|v> in place of <v|B T_n|v>. */
#include "dos.h"
#include "../weights.h"

static const char *file_of(const tool *t)
{
    return t->cmd->bit == CMD_DOS && t->opt.operators ? *t->opt.operator_list : NULL;
}

int operator_open(tool *t, starts *s, int64_t rows, wisp_kpm_opts *k)
{
    const char *path = file_of(t);
    int64_t before, now;
    if (!path && !s->where.count) return EXIT_FINE;
    wisp_ctx_memory(t->ctx, &before, NULL);
    if (!path)
        where_projector(&s->where, &s->op);
    else if (wisp_src_open(&s->op, t->ctx, path))
        return tool_fail_ctx(t);
    if (path && source_fits(t, &s->op, "operator", path, rows)) return EXIT_FAILED;
    if ((t->opt.checkpoint || t->opt.resume) && wisp_src_hash(t->ctx, &s->op, &s->hash)) return tool_fail_ctx(t);
    wisp_ctx_memory(t->ctx, &now, NULL);
    s->bytes += now - before + s->where.rows;
    k->left = starts_some_block();
    return path ? weights_deal(t, &s->op) : EXIT_FINE;
}

/* In the precision of the matrix. */
static wisp_mat_opts options_of(const starts *s, wisp_type matrix, int width)
{
    return (wisp_mat_opts){.type = type_in(matrix, s->op.type), .width = width};
}

/* The matrix, and what a product with it takes besides. */
int operator_plan(tool *t, const starts *s, const wisp_mat_opts *mo, const wisp_kpm_opts *k, run_files *files)
{
    const wisp_mat_opts o = options_of(s, mo->type, mo->width);
    const wisp_mpk_opts once = {.steps = 1, .depth = 1};
    if (!s->op.row && !s->op.many) return EXIT_FINE;
    for (int most = 0; most < 2; most++) {
        wisp_mat_info B;
        wisp_plan product;
        if (most ? wisp_mat_bound(t->ctx, &s->op, &o, &B) : wisp_mat_plan(t->ctx, &s->op, &o, &B))
            return tool_fail_ctx(t);
        if (wisp_mpk_plan(&product, t->ctx, &B, plan_type(mo, k), mo->width, &once, NULL)) return tool_fail_ctx(t);
        const int64_t halo = 3 * B.halo_rows * mo->width * (int64_t)wisp_type_size(plan_type(mo, k));
        files->operator[most] = B.bytes + halo +(most ? product.bytes_most : product.bytes);
        files->making[most] = B.assembly_bytes;
    }
    return EXIT_FINE;
}

int operator_make(tool *t, starts *s, const wisp_mat *A, wisp_kpm_opts *k)
{
    wisp_mat_info info;
    if (!s->op.row && !s->op.many) return EXIT_FINE;
    wisp_mat_get_info(A, &info);
    wisp_mat_opts o = options_of(s, info.type, k->width);
    o.map = wisp_mat_map(A);
    const wisp_status status = wisp_mat_create(&s->B, t->ctx, &s->op, &o);
    wisp_src_close(&s->op);
    where_free(&s->where);
    k->left = NULL;
    k->adjoint = s->B;
    return status ? tool_fail_ctx(t) : EXIT_FINE;
}

void operator_conjugate(const wisp_kpm_opts *k, wisp_moments *m)
{
    for (int64_t i = 0; k->adjoint && m->imag && i < m->n * m->vectors; i++) m->imag[i] = -m->imag[i];
}

wisp_status operator_items(const starts *own, wisp_state *s)
{
    if (!own->B) return WISP_OK;
    return wisp_state_samef(s, "--operator or --where", "%016llx", (unsigned long long)own->hash);
}
