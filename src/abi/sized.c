/* The symbols behind include/wisp/sized*.h: structs of the caller's size become those of this library, and back. Most
   are made of the headers as the library is built (sized.cmake): const structs are IN where there is a status, and
   INOUT where there is none, or they tell what wisp_mat_plan and others have found. Others are RESULT and OUT, or, of
   functions that free them, INOUT and OUT. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <wisp/task.h>
#include <wisp/wisp.h>
#include "config.h"
#ifdef WISP_HAVE_MPI
#include <wisp/mpi.h>
#endif

/* The caller's struct as this library knows it; fields that the caller does not know are zero. */
static void take(void *known, size_t known_size, const void *given, size_t given_size)
{
    const size_t both = given_size < known_size ? given_size : known_size;
    memset((char *)known + both, 0, known_size - both);
    memcpy(known, given, both);
}

/* The same of options: those that this library does not know must be at their defaults. */
static wisp_status take_options(void *known, size_t known_size, const void *given, size_t given_size, const char *name,
                                wisp_ctx *ctx)
{
    take(known, known_size, given, given_size);
    for (size_t i = known_size; i < given_size; i++)
        if (((const char *)given)[i])
            return wisp_ctx_failf(ctx, WISP_ERR_UNSUPPORTED,
                                  "the program uses fields of %s that this library, version %s, does not know", name,
                                  wisp_version());
    return WISP_OK;
}

/* Back: fields that this library does not know become zero. */
static void give(void *given, size_t given_size, const void *known, size_t known_size)
{
    const size_t both = given_size < known_size ? given_size : known_size;
    memcpy(given, known, both);
    memset((char *)given + both, 0, given_size - both);
}

/* NAME_known points to this library's form of the struct NAME, or is NULL as NAME is. INOUT: fields are read and
   written. RESULT: written alone, and zero if there is a failure before. IN: options; unknown ones that are used set
   `status`. */
#define KNOWN(type, name) \
    type name##_own;      \
    type *const name##_known = name ? &name##_own : NULL
#define INOUT(type, name) \
    KNOWN(type, name);    \
    if (name) take(name##_known, sizeof(type), name, name##_size)
#define RESULT(type, name) \
    KNOWN(type, name);     \
    if (name) memset(name##_known, 0, sizeof(type))
#define IN(type, name, ctx) \
    KNOWN(type, name);      \
    if (name && status == WISP_OK) status = take_options(name##_known, sizeof(type), name, name##_size, #type, ctx)
#define OUT(name) \
    if (name) give(name, name##_size, name##_known, sizeof *name##_known)
/* Nothing lies behind the last field, so that a field that is appended makes the struct longer. */
#define ENDS_WITH(type, last) \
    _Static_assert(sizeof(type) == offsetof(type, last) + sizeof(((type *)0)->last), #type " ends with padding")

#include "sized.inc"

#ifdef WISP_HAVE_MPI
wisp_status wisp_ctx_create_mpi_sized(wisp_ctx **ctx, MPI_Comm comm, const wisp_ctx_opts *opts, size_t opts_size)
{
    wisp_status status = WISP_OK;
    IN(wisp_ctx_opts, opts, NULL);
    if (ctx) *ctx = NULL;
    if (status == WISP_OK) status = wisp_ctx_create_mpi(ctx, comm, opts_known);
    return status;
}
#endif

/* ---- those that the rules above do not make ------------------------------------------------------ */

wisp_status wisp_src_deal_sized(wisp_src *src, size_t src_size, wisp_ctx *ctx, const int64_t *weights)
{
    wisp_status status = WISP_OK;
    IN(wisp_src, src, ctx);
    if (status == WISP_OK) status = wisp_src_deal(src_known, ctx, weights);
    OUT(src);
    return status;
}

wisp_status wisp_machine_kernels_sized(wisp_ctx *ctx, wisp_machine *machine, size_t machine_size)
{
    INOUT(wisp_machine, machine);
    const wisp_status status = wisp_machine_kernels(ctx, machine_known);
    OUT(machine);
    return status;
}

void wisp_kpm_bounds_opts_sized(wisp_bounds_opts *result, wisp_type type, int64_t rows, const wisp_kpm_opts *opts,
                                size_t opts_size)
{
    INOUT(wisp_kpm_opts, opts);
    *result = wisp_kpm_bounds_opts(type, rows, opts_known);
}

wisp_status wisp_moments_label_sized(wisp_ctx *ctx, wisp_moments *m, size_t m_size, const char *matrix,
                                     const char *command)
{
    INOUT(wisp_moments, m);
    const wisp_status status = wisp_moments_label(ctx, m_known, matrix, command);
    OUT(m);
    return status;
}

wisp_status wisp_moments_points_sized(wisp_ctx *ctx, wisp_moments *m, size_t m_size, int64_t count,
                                      const double *points)
{
    INOUT(wisp_moments, m);
    const wisp_status status = wisp_moments_points(ctx, m_known, count, points);
    OUT(m);
    return status;
}

wisp_status wisp_state_moments_sized(wisp_state *state, const char *name, wisp_moments *m, size_t m_size)
{
    INOUT(wisp_moments, m);
    const wisp_status status = wisp_state_moments(state, name, m_known);
    OUT(m);
    return status;
}

/* The runs lie as far apart as the caller's struct is long. */
wisp_status wisp_moments_merge_sized(wisp_ctx *ctx, wisp_moments *m, size_t m_size, const wisp_moments *runs,
                                     size_t runs_size, int64_t count)
{
    INOUT(wisp_moments, m);
    wisp_moments *known = NULL;
    wisp_status status = WISP_OK;
    if (runs && ctx) status = wisp_alloc(ctx, &known, count > 0 ? (size_t)count : 1, sizeof *known);
    for (int64_t i = 0; known && i < count && status == WISP_OK; i++) {
        const char *run = (const char *)runs + (size_t)i * runs_size;
        status = take_options(&known[i], sizeof known[i], run, runs_size, "wisp_moments", ctx);
    }
    if (status == WISP_OK)
        status = wisp_moments_merge(ctx, m_known, known, count);
    else if (m)
        memset(m_known, 0, sizeof *m_known);
    wisp_free(ctx, known);
    OUT(m);
    return status;
}

wisp_status wisp_eig_sized(wisp_eigen *e, size_t e_size, const wisp_mat *A, const wisp_eig_opts *opts, size_t opts_size)
{
    wisp_status status = WISP_OK;
    IN(wisp_eig_opts, opts, wisp_mat_ctx(A));
    RESULT(wisp_eigen, e);
    if (status == WISP_OK) status = wisp_eig(e_known, A, opts_known);
    if (e && e_size < offsetof(wisp_eigen, condition) + sizeof e->condition) { /* what the caller could not free */
        free(e_known->condition);
        e_known->condition = NULL;
    }
    OUT(e);
    return status;
}
