/* Structs of an earlier and of a later version of the interface: fields that the program does not know are taken as
   zero and not written; those that the library does not know must be zero. */
#include "ref.h"
#include <stddef.h>
#include <stdlib.h>

enum { GUARD = 0x5a };

/* A struct of `size` bytes of a program, with bytes behind it that nobody may touch. */
static void *of_size(const void *whole, size_t known, size_t size)
{
    char *p = malloc(size + 64);
    memset(p, 0, size);
    memcpy(p, whole, known < size ? known : size);
    memset(p + size, GUARD, 64);
    return p;
}
static void check_guard(const void *p, size_t size)
{
    for (int i = 0; i < 64; i++) assert_int_equal(((const char *)p)[size + (size_t)i], GUARD);
}

static void earlier_options(void **state)
{
    (void)state;
    wisp_ctx *ctx;
    /* Without memory_limit, the last field: one byte would be refused. */
    const wisp_ctx_opts whole = {.threads = 1, .memory_limit = 1};
    wisp_ctx_opts *o = of_size(&whole, sizeof whole, offsetof(wisp_ctx_opts, memory_limit));
    assert_int_equal(wisp_ctx_create_sized(&ctx, o, offsetof(wisp_ctx_opts, memory_limit)), WISP_OK);
    wisp_map *map;
    REF_OK(ctx, wisp_map_create(&map, ctx, 10));
    wisp_map_free(map);
    wisp_ctx_free(ctx);
    free(o);
}

static void later_options(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_ctx(NULL);
    wisp_mat *A, *B;
    wisp_src src;
    REF_OK(ctx, wisp_src_open(&src, ctx, "laplace:nx=8"));
    const wisp_mat_opts whole = {.width = 4};
    const size_t size = sizeof whole + 16;
    char *o = of_size(&whole, sizeof whole, size);
    REF_OK(ctx, wisp_mat_create_sized(&A, ctx, &src, sizeof src, (const wisp_mat_opts *)(void *)o, size));
    o[size - 1] = 1; /* a field that this library does not know */
    REF_FAILS(ctx, wisp_mat_create_sized(&B, ctx, &src, sizeof src, (const wisp_mat_opts *)(void *)o, size),
              WISP_ERR_UNSUPPORTED, "fields of wisp_mat_opts");
    assert_null(B);
    free(o);
    /* Results are empty then, whatever was there. */
    const size_t kpm_size = sizeof(wisp_kpm_opts) + 8;
    const wisp_kpm_opts kpm = {.moments = 8, .vectors = 2};
    char *k = of_size(&kpm, sizeof kpm, kpm_size);
    wisp_moments m;
    memset(&m, GUARD, sizeof m);
    k[kpm_size - 1] = 1;
    REF_FAILS(ctx, wisp_kpm_sized(&m, sizeof m, A, (const wisp_kpm_opts *)(void *)k, kpm_size), WISP_ERR_UNSUPPORTED,
              "fields of wisp_kpm_opts");
    assert_true(!m.mu && m.vectors == 0);
    wisp_moments_free(&m);
    free(k);
    const size_t ctx_size = sizeof(wisp_ctx_opts) + 8;
    char *c = of_size(&(wisp_ctx_opts){.threads = 1}, sizeof(wisp_ctx_opts), ctx_size);
    wisp_ctx *none = ctx;
    c[ctx_size - 1] = 1;
    assert_int_equal(wisp_ctx_create_sized(&none, (const wisp_ctx_opts *)(void *)c, ctx_size), WISP_ERR_UNSUPPORTED);
    assert_null(none);
    assert_non_null(strstr(message_of(NULL), "fields of wisp_ctx_opts"));
    free(c);
    wisp_mat_free(A);
    wisp_src_close(&src);
    wisp_ctx_free(ctx);
}

/* What is filled in: the fields that the program knows, and no byte behind; those of a later one become zero. */
static void results(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_ctx(NULL);
    wisp_mat *A;
    wisp_mat_info right;
    REF_OK(ctx, wisp_mat_open(&A, ctx, "laplace:nx=8", NULL));
    wisp_mat_get_info(A, &right);
    const size_t sizes[] = {offsetof(wisp_mat_info, C), sizeof right, sizeof right + 24};
    for (int i = 0; i < 3; i++) {
        wisp_mat_info *info = of_size(&(wisp_mat_info){0}, sizeof *info, sizes[i]);
        if (sizes[i] > sizeof right) memset((char *)info + sizeof right, 1, sizes[i] - sizeof right);
        wisp_mat_get_info_sized(A, info, sizes[i]);
        assert_true(info->rows == right.rows && info->nnz == right.nnz && info->type == right.type);
        for (size_t k = sizeof right; k < sizes[i]; k++) assert_int_equal(((char *)info)[k], 0);
        check_guard(info, sizes[i]);
        free(info);
    }
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
}

/* An array of structs lies as the program laid it. */
static void arrays(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_ctx(NULL);
    wisp_mat *A;
    wisp_moments m[2], merged;
    const size_t stride = sizeof(wisp_moments) + 8;
    REF_OK(ctx, wisp_mat_open(&A, ctx, "laplace:nx=30", NULL));
    for (int i = 0; i < 2; i++) {
        const wisp_kpm_opts o = {
            .moments = 8, .vectors = 2, .seed = 1 + (uint64_t)i, .bounds.method = WISP_BOUNDS_GERSHGORIN};
        REF_OK(ctx, wisp_kpm(&m[i], A, &o));
    }
    char *runs = calloc(2, stride);
    for (int i = 0; i < 2; i++) memcpy(runs + (size_t)i * stride, &m[i], sizeof m[i]);
    REF_OK(ctx, wisp_moments_merge_sized(ctx, &merged, sizeof merged, (const wisp_moments *)(void *)runs, stride, 2));
    assert_int_equal(merged.vectors, 4);
    wisp_moments_free(&merged);
    for (int i = 0; i < 2; i++) wisp_moments_free(&m[i]);
    free(runs);
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(earlier_options),
        cmocka_unit_test(later_options),
        cmocka_unit_test(results),
        cmocka_unit_test(arrays),
    };
    return REF_RUN(tests);
}
