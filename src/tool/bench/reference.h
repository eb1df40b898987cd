/* The yardstick of `wisp bench kpm`: the step of the Chebyshev recurrence with its two dots, by a plain fused kernel on
   CRS arrays in natural order and on small pages, without prefetch. */
#ifndef WISP_TOOL_REFERENCE_H
#define WISP_TOOL_REFERENCE_H
#include <wisp/wisp.h>

typedef struct bench_reference bench_reference;
/* For a square source in real or complex double, which may be closed afterwards, and for widths 1, 2, 4, 8, 16, 32;
   else WISP_ERR_UNSUPPORTED. v is filled with the random numbers of wisp_blk_fill_random for traces, w with zeros. */
wisp_status bench_reference_open(bench_reference **r, wisp_ctx *ctx, const wisp_src *src, int width, uint64_t seed);
/* w = alpha (A - center) v + beta w, with the real parts of <v,v> and <w,v> in dot[2][width]; then v and w change
   places. */
wisp_status bench_reference_step(bench_reference *r, double alpha, double center, double beta, wisp_scalar *dot);
void bench_reference_close(bench_reference *r); /* r may be NULL */
#endif
