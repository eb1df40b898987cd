/* The kernel tables of one instruction set; compiled once for each. */
#include "kernels.h"
#define REAL_BYTES 8 /* any: the registers' length is asked for */
#include "../../kernel/simd.cpu.h"

#define STRING_(s) #s
#define STRING(s) STRING_(s)
#define SPMMV(combo) PASTE(PASTE(wisp__spmmv_, combo##_), WISP_ISA)
#define FN(name) PASTE(PASTE(wisp__, name##_), WISP_ISA)
#define TABLE FN(isa)

#define HALF(combo) PASTE(PASTE(wisp__half_, combo##_), WISP_ISA)
#define DECLARE(combo, matrix, block)              \
    extern const wisp__spmmv_entry SPMMV(combo)[]; \
    extern const wisp__half_entry HALF(combo)[];
WISP__COMBO_LIST(DECLARE)
void FN(axpby_s)(const wisp__axpby_params *p, int64_t begin, int64_t end);
void FN(axpby_d)(const wisp__axpby_params *p, int64_t begin, int64_t end);
void FN(dot_s)(const wisp__dot_params *p, int64_t begin, int64_t end, int cross, double *sum, double *error);
void FN(dot_d)(const wisp__dot_params *p, int64_t begin, int64_t end, int cross, double *sum, double *error);
void FN(fuse_s)(const wisp__fuse_params *p, int64_t begin, int64_t end, int64_t strip, double *sum);
void FN(fuse_d)(const wisp__fuse_params *p, int64_t begin, int64_t end, int64_t strip, double *sum);
void FN(gram_s)(const wisp__gram_params *p, int64_t begin, int64_t end, double *sum, double *error);
void FN(gram_d)(const wisp__gram_params *p, int64_t begin, int64_t end, double *sum, double *error);
void FN(update_s)(const wisp__update_params *p, int64_t begin, int64_t end, void *copy);
void FN(update_d)(const wisp__update_params *p, int64_t begin, int64_t end, void *copy);
void FN(sum)(double *partial, int64_t blocks, size_t size, size_t begin, size_t end, int compensated);
void FN(fold)(int rows, int row, double *sum, double *error);
extern const wisp__stream_table FN(stream_s), FN(stream_d);

#ifdef SIMD_TAKE
#define BUNDLE_BYTES SIMD_BYTES
#else
#define BUNDLE_BYTES 0
#endif
#define POINT(combo, matrix, block) SPMMV(combo),
#define POINT_HALF(combo, matrix, block) HALF(combo),
extern const wisp__isa TABLE;
const wisp__isa TABLE = {
    STRING(WISP_ISA),
    SIMD_BYTES,
    BUNDLE_BYTES,
    {WISP__COMBO_LIST(POINT)},
    {WISP__COMBO_LIST(POINT_HALF)},
    {FN(axpby_s), FN(axpby_d)},
    {FN(dot_s), FN(dot_d)},
    {FN(fuse_s), FN(fuse_d)},
    FN(sum),
    FN(fold),
    {FN(gram_s), FN(gram_d)},
    {FN(update_s), FN(update_d)},
    {&FN(stream_s), &FN(stream_d)},
};
