/* Every way to store a matrix, in every instruction set, with every pair of types and every block width, against the
   oracle: in blocks without gaps, which go by kernels made for these, and in views. */
#include "data/store/store.h"
#include "make/assemble.h"
#include "storage.h"
#include <stdio.h>
#include <stdlib.h>

/* A matrix of a kind, in each instruction set that this CPU runs. */
typedef struct {
    const storage *kind;
    char what[120];
    wisp_src src;
    ref_sparse sparse;
    wisp_mat *A[REF_ISAS];
} sample;

static sample sample_new(ref_rng *r, wisp_ctx *const ctx[REF_ISAS], const storage *kind, wisp_type type, int64_t rows)
{
    sample s = {.kind = kind, .src = shape_src(r, kind->shape, type, kind->few, rows, rows)};
    s.sparse = ref_sparse_of(&s.src, type);
    snprintf(s.what, sizeof s.what, "%s, %s matrix, %lld rows", kind->name, wisp_type_name(type), (long long)rows);
    for (int isa = 0; isa < REF_ISAS; isa++)
        if (ctx[isa]) s.A[isa] = storage_make(ctx[isa], kind, &s.src);
    return s;
}

static void sample_free(sample *s)
{
    for (int isa = 0; isa < REF_ISAS; isa++) wisp_mat_free(s->A[isa]);
    ref_sparse_free(s->sparse);
    s->src.free_arg(s->src.arg);
}

/* Which rows need the halo is seen where the host can look. */
static void visit_halo_last(wisp_mat *A)
{
    wisp__host_mat host;
    assert_int_equal(wisp__mat_lend(A, WISP_READ, &host), WISP_OK);
    assert_int_equal(wisp__visit_halo_last(&host.mat), WISP_OK);
    A->visit = host.mat.visit;
    A->grid = host.mat.grid;
    wisp__mat_return(&host);
}

/* A matrix of some hundred rows has one strip in each block of work; as if it were larger, here they have more. */
static void set_strips(sample *s, int64_t strips)
{
    for (int isa = 0; isa < REF_ISAS; isa++) {
        if (!s->A[isa] || wisp__half_of(s->A[isa])) continue; /* whose blocks are its own */
        wisp__grid *g = &s->A[isa]->grid;
        g->chunks_per_block = strips * K_STRIP >> s->A[isa]->log_c;
        g->early = g->blocks = (g->chunks + g->chunks_per_block - 1) / g->chunks_per_block;
        if (s->A[isa]->halo) visit_halo_last(s->A[isa]);
    }
}

/* One call in each instruction set, and in one of them with some of its blocks as views. */
static void check(ref_rng *r, wisp_ctx *const ctx[REF_ISAS], const sample *s, wisp_type blk, int width, unsigned terms)
{
    ref_call c = ref_call_new(r, &s->sparse, blk, width, terms, terms == REF_KPM || ref_below(r, 2));
    int have[REF_ISAS], n = 0;
    for (int isa = 0; isa < REF_ISAS; isa++) {
        if (!ctx[isa]) continue;
        ref_check_call(ctx[isa], s->A[isa], &c, REF_COMPACT, s->what);
        have[n++] = isa;
    }
    const int isa = have[ref_below(r, n)];
    ref_check_call(ctx[isa], s->A[isa], &c, ref_below(r, 2) ? REF_VIEWS : 1 + (int)ref_below(r, REF_VIEWS), s->what);
    ref_call_free(&c);
}

static void contexts(wisp_ctx *ctx[REF_ISAS], int threads)
{
    for (int isa = 0; isa < REF_ISAS; isa++) ctx[isa] = ref_isa_ctx(ref_isa[isa], threads);
}

static void contexts_free(wisp_ctx *ctx[REF_ISAS])
{
    for (int isa = 0; isa < REF_ISAS; isa++)
        if (ctx[isa]) wisp_ctx_free(ctx[isa]);
}

/* All widths, two strips of rows and more. */
static void every_kind(void **state)
{
    (void)state;
    int width[REF_MOST_WIDTHS];
    const int widths = ref_widths(width);
    ref_rng r = {41};
    for (int k = 0; k < storage_kinds; k++) {
        wisp_ctx *ctx[REF_ISAS];
        contexts(ctx, 1 + (k % 4 == 3));
        for (int p = 0; p < REF_PAIRS && !storage_kind[k].far; p++) {
            sample s = sample_new(&r, ctx, &storage_kind[k], ref_pair[p].mat, 257 + ref_below(&r, 150));
            for (int w = 0; w < widths; w++) {
                /* Each two of kind, types and width meet, not all three at once: by ranks, which share what a kernel
                   sees; and to a sanitizer, for addresses hang on types and width, and what reads a row on its kind.
                   Wide ones take nearly all of the time. */
                const int wide = width[w] > 20, one_in = (1 + 2 * wide) * (REF_SANITIZED ? 3 - wide : 1);
                if ((k + p + w) % one_in || (ref_ranks() > 1 && (k + p + w) % REF_PAIRS)) continue;
                set_strips(&s, 1 + ref_below(&r, 3));
                check(&r, ctx, &s, ref_pair[p].blk, width[w], 0);
                check(&r, ctx, &s, ref_pair[p].blk, width[w], REF_KPM);
                for (int i = width[w] == 1 ? 4 : 1; i > 0; i--) /* single columns have kernels of their own */
                    check(&r, ctx, &s, ref_pair[p].blk, width[w], (unsigned)ref_below(&r, REF_ALL_TERMS));
            }
            sample_free(&s);
        }
        contexts_free(ctx);
    }
}

/* Columns farther apart than 16 bits. */
static void far_columns(void **state)
{
    (void)state;
    ref_rng r = {42};
    wisp_ctx *ctx[REF_ISAS];
    contexts(ctx, 2);
    for (int k = 0; k < storage_kinds; k++)
        for (int p = 0; p < REF_PAIRS && storage_kind[k].far; p++) {
            sample s = sample_new(&r, ctx, &storage_kind[k], ref_pair[p].mat, 33000 + ref_below(&r, 200));
            check(&r, ctx, &s, ref_pair[p].blk, 1, p % 2 ? 0 : REF_KPM);
            check(&r, ctx, &s, ref_pair[p].blk, 2 + p % 7, (unsigned)ref_below(&r, REF_ALL_TERMS));
            sample_free(&s);
        }
    contexts_free(ctx);
}

/* So many rows that blocks of work have two strips by themselves. (A rank's part has too few.) */
static void two_strips_a_block(void **state)
{
    (void)state;
    if (ref_ranks() > 1) return;
    static const struct {
        const char *name;
        wisp_type type;
        int width;
    } cases[] = {{"CRS", WISP_Z, 3},
                 {"SELL-16", WISP_D, 1},
                 {"patterns in runs", WISP_S, 1},
                 {"bundles", WISP_C, 1},
                 {"patterns", WISP_D, 2}};
    ref_rng r = {43};
    wisp_ctx *ctx[REF_ISAS];
    contexts(ctx, 2);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int k = 0; k < storage_kinds; k++) {
            if (strcmp(storage_kind[k].name, cases[i].name)) continue;
            sample s = sample_new(&r, ctx, &storage_kind[k], cases[i].type, 1024 * K_STRIP + 300);
            for (int isa = 0; isa < REF_ISAS; isa++)
                if (ctx[isa]) assert_int_equal(s.A[isa]->grid.chunks_per_block << s.A[isa]->log_c, 2 * K_STRIP);
            check(&r, ctx, &s, cases[i].type, cases[i].width, REF_KPM);
            sample_free(&s);
        }
    contexts_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind),
        cmocka_unit_test(far_columns),
        cmocka_unit_test(two_strips_a_block),
    };
    return REF_RUN(tests);
}
