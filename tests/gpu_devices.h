/* Devices that run kernels of GPUs without a GPU: plain, and an OpenCL of CPUs, or cuda, where WISP_DEVICE says so, by
   a stand-in for its driver. */
#ifndef GPU_DEVICES_H
#define GPU_DEVICES_H
#include "backend/gpu/gpu.h"
#include "data/data.h"
#include "ref.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DEVICES = 2 };
static const char *device[DEVICES] = {"plain", "opencl"};
static int skipped;

/* Whether the other device gives what it should: a process of its own finds out, for some end it instead. */
static inline bool works(void)
{
    const pid_t child = fork();
    int ended = 1;
    if (child == 0) {
        wisp_ctx *ctx = NULL;
        double *a = NULL, back = 0, two = 2;
        bool right = wisp_ctx_create(&ctx, &(wisp_ctx_opts){.device = device[1], .threads = 1}) == WISP_OK &&
                     ctx->backend->alloc(ctx, &a, 1, sizeof *a) == WISP_OK;
        const wisp__fill_params p = {.v = {a, 1, 1, NULL, 1, 8}, .value = &two};
        right = right && ctx->backend->fill(ctx, &p) == WISP_OK &&
                ctx->backend->read(ctx, a, &back, sizeof back) == WISP_OK;
        _exit(!(right && back == two));
    }
    if (child > 0 && waitpid(child, &ended, 0) != child) return false;
    return ended == 0;
}
static bool has_other;

static inline void look_for_devices(void)
{
    const char *named = getenv("WISP_DEVICE");
    if (named && !strncmp(named, "cuda", 4)) device[1] = named;
    setenv("WISP_GROUP", "8", 1); /* OpenCL of CPUs makes a copy of a kernel for each item */
    /* PoCL's optimiser is not ours, and took a third of these tests' time; kernels of `plain` are optimised. */
    setenv("POCL_EXTRA_BUILD_FLAGS", "-cl-opt-disable", 1);
    unsetenv("OCL_ICD_VENDORS");           /* by which other tests see no OpenCL */
    has_other = !REF_SANITIZED && works(); /* it keeps memory of its own, as its compiler does */
}

/* What a test ends with. */
static inline int devices_done(const char *test, int failed)
{
    if (!failed && skipped)
        printf("%s: there is no device '%s' that works (opencl: Debian's pocl-opencl-icd), and nothing was compared "
               "with it\n",
               test, device[1]);
    return failed ? failed : skipped ? REF_SKIPPED : 0;
}

/* A context on each of them; NULL: there is none. Sums go by trees over groups, so groups are of one size. */
static inline void contexts(wisp_ctx *ctx[DEVICES])
{
    for (int d = 0; d < DEVICES; d++) {
        const bool there = d == 0 || has_other;
        ctx[d] = there ? ref_ctx(&(wisp_ctx_opts){.device = device[d], .threads = 1}) : NULL;
        skipped |= !there && !REF_SANITIZED;
    }
}

static inline void contexts_free(wisp_ctx *ctx[DEVICES])
{
    for (int d = 0; d < DEVICES; d++)
        if (ctx[d]) wisp_ctx_free(ctx[d]);
}

static inline void same_block(ref_mat a, ref_mat b, const char *what)
{
    const size_t count = (size_t)(a.rows * a.cols);
    if (memcmp(a.a, b.a, count * sizeof *a.a)) fail_msg("%s: other bits on '%s' than on 'plain'", what, device[1]);
}

/* The sums of a GPU go by another tree than those of the CPU. */
static inline void near_scalars(const wisp_scalar *a, const wisp_scalar *b, int n, double eps, const char *what)
{
    for (int i = 0; i < n; i++) {
        const double size = 1 + hypot(b[i].re, b[i].im);
        if (!(fabs(a[i].re - b[i].re) <= eps * size && fabs(a[i].im - b[i].im) <= eps * size))
            fail_msg("%s %d: %g%+gi, on the CPU %g%+gi", what, i, a[i].re, a[i].im, b[i].re, b[i].im);
    }
}
#endif
