/* Counter-based random numbers: Philox4x32-10 (Random123). */
#ifndef WISP_RNG_H
#define WISP_RNG_H
#include "base.h"

/* 128 bits of (seed, row, column, stream): the same on every machine, layout and device. */
void wisp__philox(uint64_t seed, int64_t row, uint32_t column, uint32_t stream, uint32_t out[4]);
/* Uniform in [0, 1), 53 bits; for the gallery's disorder. */
double wisp__uniform(uint64_t seed, int64_t row, uint32_t stream);
/* The value of one trace or Gaussian vector (wisp_random). */
wisp_scalar wisp__random_value(wisp_random kind, bool is_complex, uint64_t seed, int64_t row, uint32_t column,
                               uint32_t stream);
#endif
