/* Factors for products of tall blocks. */
#ifndef TSM_FACTOR_H
#define TSM_FACTOR_H
#include "ref.h"

/* 0, 1, or any that is no number of single precision. */
static inline wisp_scalar tsm_factor(ref_rng *r, wisp_type type, int64_t kind)
{
    if (kind == 0) return (wisp_scalar){0, 0};
    if (kind == 1) return (wisp_scalar){1, 0};
    return ref_scalar(ref_value(r, type == WISP_S ? WISP_D : type == WISP_C ? WISP_Z : type));
}
#endif
