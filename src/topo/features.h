/* What a CPU of x86-64 computes with, asked of itself and of the system. (A compiler's own test,
   __builtin_cpu_supports, is only as good as the library that comes with that compiler: of some it is always "no".) */
#ifndef WISP_FEATURES_H
#define WISP_FEATURES_H

enum {
    WISP__CPU_FMA = 1,    /* fma and AVX */
    WISP__CPU_AVX2 = 2,   /* with fma */
    WISP__CPU_AVX512 = 4, /* f, dq, vl, bw */
};

/* Those that both can; 0 on CPUs of another kind. */
unsigned wisp__cpu_features(void);
#endif
