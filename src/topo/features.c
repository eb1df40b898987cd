#include "features.h"
#include <stdbool.h>
#ifdef __x86_64__
#include <cpuid.h>

/* The registers that the system keeps for each thread (XCR0). */
static unsigned kept_registers(void)
{
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

static bool has(unsigned bits, unsigned all) { return (bits & all) == all; }

/* Intel's manual, volume 1, 14.3 and 15.2 to 15.4: the system keeps the registers, and the CPU has the instructions. */
unsigned wisp__cpu_features(void)
{
    const unsigned ymm = 0x6, zmm = 0xe6, avx512vl = 1u << 31; /* cpuid.h's name of the latter is a signed number */
    unsigned a, b, c, d, found = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !has(c, bit_OSXSAVE | bit_AVX | bit_FMA)) return 0;
    const unsigned kept = kept_registers();
    if (!has(kept, ymm)) return 0;
    found |= WISP__CPU_FMA;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !has(b, bit_AVX2)) return found;
    found |= WISP__CPU_AVX2;
    if (has(kept, zmm) && has(b, bit_AVX512F | bit_AVX512DQ | bit_AVX512BW | avx512vl)) found |= WISP__CPU_AVX512;
    return found;
}
#else
unsigned wisp__cpu_features(void) { return 0; }
#endif
