/* Rates of CPUs that were measured: what is assumed until a machine is measured itself. The CPU is told by the numbers
   that its makers give, for names such as "AMD EPYC" tell nothing. */
#include "known.h"
#include <math.h>
#ifdef __x86_64__
#include "known_kernels.h"
#include <cpuid.h>
#include <string.h>
#endif

/* Two loads of a register in each turn of a clock of 3 GHz, half a cache line from the second level, a quarter from the
   third. */
static const wisp__known common = {.name = "a common CPU",
                                   .loads = 2 * 3e9,
                                   .l2 = WISP__LINE / 2 * 3e9,
                                   .l3 = WISP__LINE / 4 * 3e9,
                                   .memory = 20e9,
                                   .group = INFINITY};

#ifdef __x86_64__
/* A last cache of a Zen has a link to memory of its own, which its cores share. Kernels of AVX2 were measured on a Zen
   4 alone, whose core is that of a Zen 3 to them. */
static const wisp__known zen3 = {"AMD Zen 3", 7.2e9, 189e9, 104e9, 13e9, 25e9, &zen4_avx2},
                         zen4 = {"AMD Zen 4", 3.2e9, 118e9, 100e9, 31e9, 37e9, &zen4_avx512},
                         zen4_by_avx2 = {"AMD Zen 4", 6.7e9, 115e9, 95e9, 31e9, 37e9, &zen4_avx2},
                         zen5 = {"AMD Zen 5", 7.2e9, 260e9, 108e9, 37e9, 60e9, NULL},
                         xeon = {"Intel Xeon", 4.7e9, 130e9, 30e9, 12e9, INFINITY, NULL};

/* As the makers write them, with their extensions. */
typedef struct {
    char maker[13];
    unsigned family, model;
} cpu_number;

/* Rows go by the first that fits. */
static const struct {
    const char *maker;
    unsigned family, first, last; /* models */
    const char *isa;
    const wisp__known *known;
} list[] = {
    {"AuthenticAMD", 0x19, 0x00, 0xff, "avx512", &zen4}, {"AuthenticAMD", 0x19, 0x00, 0x0f, "avx2", &zen3},
    {"AuthenticAMD", 0x19, 0x20, 0x5f, "avx2", &zen3},   {"AuthenticAMD", 0x19, 0x00, 0xff, "avx2", &zen4_by_avx2},
    {"AuthenticAMD", 0x1a, 0x00, 0xff, "avx512", &zen5}, {"GenuineIntel", 0x06, 0x00, 0xff, "avx512", &xeon},
};

static cpu_number number_of_this(void)
{
    unsigned a, b, c, d;
    cpu_number n = {.maker = ""};
    if (!__get_cpuid(0, &a, &b, &c, &d)) return n;
    memcpy(n.maker, &b, 4);
    memcpy(n.maker + 4, &d, 4);
    memcpy(n.maker + 8, &c, 4);
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
        if (!strcmp(n.maker, list[i].maker) && n.family == list[i].family && n.model >= list[i].first &&
            n.model <= list[i].last && !strcmp(isa, list[i].isa))
            return list[i].known;
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
