/* Rates of CPUs that were measured: what is assumed until a machine is measured itself. The CPU is told by the numbers
   that its makers give, for names such as "AMD EPYC" tell nothing. */
#include "known.h"
#ifdef __x86_64__
#include "known_kernels.h"
#include <cpuid.h>
#include <string.h>
#endif

/* Two loads of a register in each turn of a clock of 3 GHz, half a cache line from the second level, a quarter from the
   third, and a part of what a socket loads from memory. */
static const wisp__known common = {.name = "a common CPU",
                                   .loads = 2 * 3e9,
                                   .l2 = WISP__LINE / 2 * 3e9,
                                   .l3 = WISP__LINE / 4 * 3e9,
                                   .memory = 20e9,
                                   .group = 200e9};

#ifdef __x86_64__
typedef struct {
    unsigned family, model; /* as the makers write them, with their extensions */
    bool amd, intel;
} cpu_number;

/* Rows go by the first that fits. A last cache of a Zen has a link to memory of its own, which its cores share. Kernels
   of AVX2 were measured on a Zen 4 alone, whose core is that of a Zen 3 to them. */
static const struct {
    bool amd;
    unsigned family, first, last; /* models */
    const char *isa;
    wisp__known known;
} list[] = {
    {true, 0x19, 0x10, 0x1f, "avx512", {"AMD Zen 4", 3.2e9, 118e9, 100e9, 31e9, 37e9, &zen4_avx512}},
    {true, 0x19, 0x60, 0xaf, "avx512", {"AMD Zen 4", 3.2e9, 118e9, 100e9, 31e9, 37e9, &zen4_avx512}},
    {true, 0x1a, 0, 0xff, "avx512", {"AMD Zen 5", 7.2e9, 260e9, 108e9, 37e9, 60e9, NULL}},
    {true, 0x19, 0x10, 0x1f, "avx2", {"AMD Zen 4", 6.7e9, 115e9, 95e9, 31e9, 37e9, &zen4_avx2}},
    {true, 0x19, 0x60, 0xaf, "avx2", {"AMD Zen 4", 6.7e9, 115e9, 95e9, 31e9, 37e9, &zen4_avx2}},
    {true, 0x19, 0, 0xff, "avx2", {"AMD Zen 3", 7.2e9, 189e9, 104e9, 13e9, 25e9, &zen4_avx2}},
    {false, 6, 0, 0xff, "avx512", {"Intel Xeon", 4.7e9, 130e9, 30e9, 12e9, 200e9, NULL}},
};

static cpu_number number_of_this(void)
{
    unsigned a, b, c, d;
    cpu_number n = {0};
    char maker[13] = "";
    if (!__get_cpuid(0, &a, &b, &c, &d)) return n;
    memcpy(maker, &b, 4);
    memcpy(maker + 4, &d, 4);
    memcpy(maker + 8, &c, 4);
    n.amd = !strcmp(maker, "AuthenticAMD");
    n.intel = !strcmp(maker, "GenuineIntel");
    if (!__get_cpuid(1, &a, &b, &c, &d)) return n;
    n.family = a >> 8 & 0xf;
    n.model = a >> 4 & 0xf;
    if (n.family == 0xf || n.family == 6) n.model += (a >> 16 & 0xf) << 4;
    if (n.family == 0xf) n.family += a >> 20 & 0xff;
    return n;
}
#endif

/* The nearest one to the CPU that this runs on, for kernels of this instruction set. */
static const wisp__known *known_cpu(const char *isa)
{
#ifdef __x86_64__
    const cpu_number n = number_of_this();
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if ((list[i].amd ? n.amd : n.intel) && n.family == list[i].family && n.model >= list[i].first &&
            n.model <= list[i].last && !strcmp(isa, list[i].isa))
            return &list[i].known;
#else
    (void)isa;
#endif
    return &common;
}

void wisp__known_assume(wisp_ctx *ctx)
{
    ctx->known = ctx->simulated ? &common : known_cpu(ctx->isa_name);
    if (!ctx->known->kernels) return;
    const unsigned short *ps = &(*ctx->known->kernels)[0][0][0][0];
    double *seconds = &ctx->rates.kernel[0][0][0][0];
    for (size_t i = 0; i < sizeof ctx->rates.kernel / sizeof *seconds; i++) seconds[i] = 1e-12 * ps[i];
}
