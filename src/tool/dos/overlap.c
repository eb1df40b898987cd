/* wisp dos and count --overlap: the density of states of A x = lambda S x is that of S^-1/2 A S^-1/2, whose trace
   random vectors of the orthogonal basis give as they give that of a matrix. */
#include "../moments.h"
#include "../out/text.h"
#include "dos.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

int overlap_check(tool *t)
{
    options *o = &t->opt;
    const int rc = pencil_check(t);
    if (rc || !o->overlap) return rc;
    if (o->operators || o->where) return tool_usage(t, "--overlap does not go with --operator and --where");
    if (o->precision == PRECISION_AUTO)
        return tool_usage(t, "--precision auto is not for --overlap; take single or double");
    if (!option_seen(o, "precision")) o->precision = PRECISION_DOUBLE;
    return EXIT_FINE;
}

void overlap_type(const tool *t, const pencil *p, wisp_kpm_opts *k)
{
    const bool single = t->opt.precision == PRECISION_SINGLE;
    if (p->src.rows > 0 && wisp_type_is_complex(p->src.type)) k->type = single ? WISP_C : WISP_Z;
}

/* S, its bounds and its polynomial, and the blocks of a product with it: three, and one that the operator keeps. */
int overlap_plan(tool *t, const pencil *p, const wisp_mat_opts *mo, const wisp_kpm_opts *k, run_files *files)
{
    enum { BLOCKS = 4, LANCZOS = 8, LANCZOS_BLOCKS = 3, LITTLE = 1 << 18 };
    const wisp_mat_opts o = pencil_options(p, mo->type, mo->width);
    const wisp_mpk_opts sum = {.steps = WISP_CHEBYSHEV_STEPS, .sums = 1};
    const wisp_type type = plan_type(mo, k);
    if (!t->opt.overlap) return EXIT_FINE;
    for (int most = 0; most < 2; most++) {
        wisp_mat_info S;
        wisp_plan product;
        if (most ? wisp_mat_bound(t->ctx, &p->src, &o, &S) : wisp_mat_plan(t->ctx, &p->src, &o, &S))
            return tool_fail_ctx(t);
        if (wisp_mpk_plan(&product, t->ctx, &S, type, mo->width, &sum, NULL)) return tool_fail_ctx(t);
        const int64_t row = (S.local_rows + S.halo_rows) * (int64_t)wisp_type_size(type);
        const int64_t bounds = S.props_bytes + LANCZOS * LANCZOS_BLOCKS * row + (most ? LITTLE : 0);
        files->operator[most] =
            S.bytes + BLOCKS * mo->width * row +(most ? product.bytes_most + LITTLE : product.bytes);
        files->making[most] = S.assembly_bytes > bounds ? S.assembly_bytes : bounds;
    }
    return EXIT_FINE;
}

wisp_status overlap_time(tool *t, const pencil *p, const wisp_mat_opts *mo, wisp_type type, int64_t columns,
                         wisp_choice *step)
{
    wisp_choice of_S;
    const int64_t steps = p->info.terms - 1;
    if (!t->opt.overlap) return WISP_OK;
    const wisp_mat_opts o = pencil_options(p, mo->type, step->width);
    const wisp_status status = wisp_src_choose(t->ctx, &p->src, &o, type, columns, steps, &of_S);
    if (status != WISP_OK) return status;
    step->seconds += 2 * (double)steps * of_S.seconds;
    step->limit = of_S.limit;
    return WISP_OK;
}

int overlap_make(tool *t, results *r, const wisp_mat *A, int width, const wisp_mat **searched)
{
    wisp_mat_info info;
    wisp_mat_get_info(A, &info);
    const int rc = pencil_make(t, &r->pencil, A, width, &info);
    *searched = r->pencil.C ? r->pencil.C : A;
    return rc;
}

/* S^-1/2 has an error, which moves energies by no more than this. */
static double shift_of(const results *r) { return pencil_error(&r->pencil, &r->m->bounds); }

void overlap_warn(tool *t, const results *r)
{
    if (!t->opt.overlap || !(100 * shift_of(r) > r->resolution)) return;
    wisp_ctx_logf(
        t->ctx, WISP_LOG_WARN,
        "energies are off by up to %.1e, by the error of S^-1/2, and the resolution is %.1e: fewer moments hide "
        "that, and an S of a smaller condition number has less of it",
        shift_of(r), r->resolution);
}

/* The file of S, of moments that are kept; to be freed. NULL: there is none. */
static char *kept_file(const tool *t, const results *r)
{
    return t->opt.from ? moments_value(r->m->command, "overlap") : NULL;
}

void overlap_json(json_t *o, const tool *t, const results *r)
{
    char *name = kept_file(t, r);
    if (t->opt.overlap)
        JSON_PUT(o, J("overlap", pencil_json(t, &r->pencil)), J("energy_error", shift_of(r)));
    else if (name)
        JSON_PUT(o, J("overlap", JSON_NEW(J("file", name))));
    free(name);
}

void overlap_summary(const tool *t, const results *r)
{
    char *name = kept_file(t, r);
    pencil_summary(t, &r->pencil);
    if (t->opt.overlap)
        text_line("", "its error moves no energy by more than %.1e", shift_of(r));
    else if (name)
        text_line("overlap", "A x = lambda S x, S %s", name);
    free(name);
}
