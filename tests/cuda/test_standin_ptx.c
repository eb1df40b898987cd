/* The stand-in for CUDA's driver, by itself: instructions of PTX, each by its result. */
#include "standin_scene.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static uint64_t of_double(double v)
{
    uint64_t b;
    memcpy(&b, &v, sizeof b);
    return b;
}
static uint64_t of_float(float v)
{
    uint32_t b;
    memcpy(&b, &v, sizeof b);
    return b;
}

#define A UINT64_C(0x8877665544332211)
#define B UINT64_C(0x0123456789abcdef)
#define A32 0x44332211u
#define B32 0x89abcdefu
#define THIRD (1.0 / 3)
#define TENTH 0.1f
#define D(v) of_double(v)
#define F(v) of_float(v)
/* What leaves its result in %rd9, or in %r9, %fd9, %f9 or %p9 by the letter; a, b: A and B, their low halves, -2.5 and
   1/3, as floats -2.5 and 0.1, c: 3. */
static const struct {
    char to;
    const char *ptx;
    uint64_t value;
} row[] = {
    {'l', "add.s64 %rd9, %rd1, %rd2;", A + B},
    {'l', "sub.s64 %rd9, %rd1, %rd2;", A - B},
    {'l', "mul.lo.s64 %rd9, %rd1, %rd2;", A *B},
    {'l', "mul.hi.u64 %rd9, %rd1, %rd2;", (uint64_t)(((unsigned __int128)A * B) >> 64)},
    {'l', "mul.hi.s64 %rd9, %rd1, %rd2;", (uint64_t)(((__int128)(int64_t)A * (int64_t)B) >> 64)},
    {'l', "mul.wide.u32 %rd9, %r1, %r2;", (uint64_t)A32 *B32},
    {'l', "mul.wide.s32 %rd9, %r1, %r2;", (uint64_t)((int64_t)(int32_t)A32 *(int32_t)B32)},
    {'i', "mul.hi.u32 %r9, %r1, %r2;", (uint64_t)A32 *B32 >> 32},
    {'i', "mul24.lo.u32 %r9, %r1, %r2;", (uint32_t)((A32 & 0xffffff) * (uint64_t)(B32 & 0xffffff))},
    {'i', "mad.lo.s32 %r9, %r1, %r2, %r3;", (uint32_t)(A32 *B32 + 3)},
    {'i', "mad.hi.u32 %r9, %r1, %r2, %r3;", ((uint64_t)A32 * B32 >> 32) + 3},
    {'l', "mad.wide.u32 %rd9, %r1, %r2, %rd2;", (uint64_t)A32 *B32 + B},
    {'i', "add.cc.u32 %r9, %r2, %r2; addc.u32 %r9, %r3, 0;", 4},
    {'i', "sub.cc.u32 %r9, %r1, %r2; subc.u32 %r9, %r3, 0;", 2},
    {'l', "div.s64 %rd9, %rd1, %rd2;", (uint64_t)((int64_t)A / (int64_t)B)},
    {'l', "rem.s64 %rd9, %rd1, %rd2;", (uint64_t)((int64_t)A % (int64_t)B)},
    {'i', "div.u32 %r9, %r2, %r3;", B32 / 3},
    {'i', "rem.s32 %r9, %r2, %r3;", (uint32_t)((int32_t)B32 % 3)},
    {'i', "neg.s32 %r9, %r1;", 0u - A32},
    {'i', "abs.s32 %r9, %r2;", 0u - B32},
    {'i', "min.s32 %r9, %r1, %r2;", B32},
    {'i', "max.u32 %r9, %r1, %r2;", B32},
    {'l', "min.s64 %rd9, %rd1, %rd2;", A},
    {'i', "shl.b32 %r9, %r1, 40;", 0},
    {'i', "shr.s32 %r9, %r2, 40;", 0xffffffff},
    {'i', "shr.u32 %r9, %r2, 4;", B32 >> 4},
    {'l', "shr.s64 %rd9, %rd1, 4;", (uint64_t)((int64_t)A >> 4)},
    {'i', "shf.l.wrap.b32 %r9, %r1, %r2, 8;", B32 << 8 | A32 >> 24},
    {'i', "shf.r.clamp.b32 %r9, %r1, %r2, 40;", B32},
    {'i', "popc.b64 %r9, %rd1;", 26},
    {'i', "clz.b32 %r9, %r1;", 1},
    {'i', "brev.b32 %r9, %r3;", 0xc0000000},
    {'i', "bfe.u32 %r9, %r1, 8, 8;", 0x22},
    {'i', "bfe.s32 %r9, %r2, 28, 8;", 0xfffffff8},
    {'i', "bfi.b32 %r9, %r2, %r1, 8, 16;", 0x44cdef11},
    {'i', "prmt.b32 %r9, %r1, %r2, 0x7041;", 0x8911ef22},
    {'i', "lop3.b32 %r9, %r1, %r2, %r3, 0x96;", A32 ^ B32 ^ 3},
    {'l', "not.b64 %rd9, %rd1;", ~A},
    {'l', "mov.b64 {%r4, %r5}, %rd1; mov.b64 %rd9, {%r5, %r4};", A << 32 | A >> 32},
    {'l', "cvt.s64.s32 %rd9, %r2;", 0xffffffff00000000u | B32},
    {'l', "cvt.u64.u32 %rd9, %r2;", B32},
    {'i', "cvt.u32.u64 %r9, %rd1;", A32},
    {'l', "cvt.s64.s8 %rd9, %r2;", UINT64_C(0xffffffffffffffef)},
    {'d', "fma.rn.f64 %fd9, %fd1, %fd2, %fd2;", 0},
    {'d', "mul.rn.f64 %fd9, %fd1, %fd2; add.rn.f64 %fd9, %fd9, %fd2;", 0},
    {'f', "fma.rn.f32 %f9, %f1, %f2, %f2;", 0},
    {'d', "div.rn.f64 %fd9, %fd1, %fd2;", 0},
    {'f', "div.rn.f32 %f9, %f1, %f2;", 0},
    {'d', "sqrt.rn.f64 %fd9, %fd2;", 0},
    {'f', "rcp.rn.f32 %f9, %f2;", 0},
    {'d', "rsqrt.approx.ftz.f64 %fd9, 0d4010000000000001;", UINT64_C(0x3fe0000000000000)},
    {'f', "cvt.rn.f32.f64 %f9, %fd2;", 0},
    {'d', "cvt.f64.f32 %fd9, %f2;", 0},
    {'d', "cvt.rn.f64.s64 %fd9, %rd1;", 0},
    {'f', "cvt.rn.f32.u64 %f9, %rd1;", 0},
    {'i', "cvt.rzi.s32.f64 %r9, %fd1;", 0xfffffffe},
    {'i', "cvt.rmi.s32.f64 %r9, %fd1;", 0xfffffffd},
    {'i', "cvt.rni.s32.f64 %r9, %fd1;", 0xfffffffe},
    {'i', "cvt.rzi.u32.f64 %r9, %fd1;", 0},
    {'i', "cvt.rzi.s32.f64 %r9, 0d7FF8000000000000;", 0x80000000},
    {'l', "cvt.rzi.s64.f64 %rd9, 0d7FF0000000000000;", INT64_MAX},
    {'d', "cvt.rpi.f64.f64 %fd9, %fd1;", 0},
    {'d', "neg.f64 %fd9, 0d7FF8000000000123;", UINT64_C(0xfff8000000000123)},
    {'d', "abs.f64 %fd9, %fd1;", 0},
    {'d', "min.f64 %fd9, %fd1, 0d7FF8000000000000;", 0},
    {'d', "max.f64 %fd9, 0d8000000000000000, 0d0000000000000000;", 0},
    {'d', "copysign.f64 %fd9, %fd1, %fd2;", 0},
    {'p', "setp.lt.f64 %p9, %fd1, %fd2;", 1},
    {'p', "setp.ne.f64 %p9, %fd1, 0d7FF8000000000000;", 0},
    {'p', "setp.neu.f64 %p9, %fd1, 0d7FF8000000000000;", 1},
    {'p', "setp.geu.f64 %p9, %fd1, 0d7FF8000000000000;", 1},
    {'p', "setp.nan.f64 %p9, %fd1, %fd2;", 0},
    {'p', "setp.lt.s32 %p9, %r2, %r1;", 1},
    {'p', "setp.lt.u32 %p9, %r2, %r1;", 0},
    {'p', "setp.eq.s32 %p8, %r1, %r1; setp.lt.and.u32 %p9, %r1, %r2, %p8;", 1},
    {'p', "setp.lt.u32 %p8|%p9, %r1, %r2;", 0},
    {'p', "testp.finite.f64 %p9, 0d7FF0000000000000;", 0},
    {'l', "setp.lt.u32 %p8, %r1, %r2; selp.b64 %rd9, %rd1, %rd2, %p8;", A},
    {'l', "mov.u64 %rd9, 5; setp.lt.u32 %p8, %r1, %r2; @!%p8 mov.u64 %rd9, 6;", 5},
    {'i', "st.global.u32 [%rd7], %r3; atom.global.add.u32 %r9, [%rd7], 5; ld.global.u32 %r9, [%rd7];", 8},
    {'i', "st.global.u32 [%rd7], %r3; atom.global.exch.b32 %r9, [%rd7], 5;", 3},
    {'i', "st.u32 [%rd7], %r3; atom.global.cas.b32 %r9, [%rd7], 3, 7; ld.volatile.global.u32 %r9, [%rd7];", 7},
    {'i', "st.global.u32 [%rd7], %r3; red.global.max.s32 [%rd7], %r2; ld.acquire.gpu.global.u32 %r9, [%rd7];", 3},
    {'d', "st.global.f64 [%rd7], %fd2; atom.global.add.f64 %fd9, [%rd7], %fd1; ld.global.f64 %fd9, [%rd7];", 0},
    {'l', "st.global.v2.u32 [%rd7], {%r1, %r2}; membar.gl; ld.global.nc.b64 %rd9, [%rd7];", (uint64_t)B32 << 32 | A32},
    {'l', "st.local.u64 [depot+8], %rd1; mov.u64 %rd4, depot; cvta.local.u64 %rd4, %rd4; ld.u64 %rd9, [%rd4+8];", A},
    {'l', "st.shared.u64 [all+8], %rd2; mov.u64 %rd4, all; cvta.shared.u64 %rd4, %rd4; ld.u64 %rd9, [%rd4+8];", B},
    {'l', "ld.global.u8 %rd9, [%rd8+3];", 0x44},
    {'l', "ld.global.s8 %rd9, [%rd8+7];", UINT64_C(0xffffffffffffff88)},
    {'l', "ld.const.u32 %rd9, [list+4];", 22},
    {'l', "mov.b64 %rd4, ops_param_1; ld.param.u64 %rd9, [%rd4+8];", B},
    {'l',
     "bra a3; a3: { .param .b64 p0; st.param.b64 [p0], %rd1; .param .b64 q0; call.uni (q0), twice, (p0); ld.param.b64 "
     "%rd9, [q0]; "
     "}",
     2 * A},
    {'i', "brx.idx %r10, ways; a0: mov.u32 %r9, 100; bra a2; a1: mov.u32 %r9, 200; a2:", 200},
};
enum { ROWS = sizeof row / sizeof row[0] };

static uint64_t expected(size_t i)
{
    static const struct {
        const char *ptx;
        double value;
    } real[] = {{"fma.rn.f64", 0},
                {"mul.rn.f64", -2.5 * THIRD + THIRD},
                {"div.rn.f64", -2.5 / THIRD},
                {"cvt.f64.f32", TENTH},
                {"cvt.rn.f64.s64", (double)(int64_t)A},
                {"cvt.rpi.f64.f64", -2},
                {"abs.f64", 2.5},
                {"min.f64", -2.5},
                {"max.f64", 0},
                {"copysign.f64", -THIRD},
                {"st.global.f64", THIRD - 2.5}};
    if (strchr("lip", row[i].to) || row[i].value) return row[i].value;
    if (!strncmp(row[i].ptx, "fma.rn.f64", 10)) return D(fma(-2.5, THIRD, THIRD));
    if (!strncmp(row[i].ptx, "fma.rn.f32", 10)) return F(fmaf(-2.5f, TENTH, TENTH));
    if (!strncmp(row[i].ptx, "div.rn.f32", 10)) return F(-2.5f / TENTH);
    if (!strncmp(row[i].ptx, "sqrt.rn.f64", 11)) return D(sqrt(THIRD));
    if (!strncmp(row[i].ptx, "rcp.rn.f32", 10)) return F(1 / TENTH);
    if (!strncmp(row[i].ptx, "cvt.rn.f32.f64", 14)) return F((float)THIRD);
    if (!strncmp(row[i].ptx, "cvt.rn.f32.u64", 14)) return F((float)A);
    for (size_t k = 0; k < sizeof real / sizeof real[0]; k++)
        if (!strncmp(row[i].ptx, real[k].ptx, strlen(real[k].ptx))) return D(real[k].value);
    fail_msg("no value for %s", row[i].ptx);
    return 0;
}

static const char ops_begin[] =
    ".const .align 4 .u32 list[3] = {11, 22, 33};\n"
    ".func (.param .b64 to) twice(.param .b64 of)\n{\n .reg .b64 %rd<3>;\n ld.param.u64 %rd1, [of];\n"
    " add.s64 %rd2, %rd1, %rd1;\n st.param.b64 [to], %rd2;\n ret;\n}\n"
    ".visible .entry ops(\n .param .u64 ops_param_0,\n .param .align 8 .b8 ops_param_1[16])\n.maxntid 1, 1, 1\n{\n"
    " .reg .pred %p<10>;\n .reg .b32 %r<11>;\n .reg .b64 %rd<12>;\n .reg .f64 %fd<10>;\n .reg .f32 %f<10>;\n"
    " .local .align 8 .b8 depot[16];\n .shared .align 8 .b8 all[16];\n"
    " ld.param.u64 %rd10, [ops_param_0];\n cvta.to.global.u64 %rd11, %rd10;\n ld.param.u64 %rd1, [ops_param_1];\n"
    " ld.param.u64 %rd2, [ops_param_1+8];\n cvt.u32.u64 %r1, %rd1;\n cvt.u32.u64 %r2, %rd2;\n mov.u32 %r3, 3;\n"
    " mov.u32 %r10, 1;\n mov.f64 %fd1, 0dC004000000000000;\n mov.f64 %fd2, 0d3FD5555555555555;\n"
    " mov.f32 %f1, 0fC0200000;\n mov.f32 %f2, 0f3DCCCCCD;\n st.global.u64 [%rd11], %rd1;\n mov.u64 %rd8, %rd11;\n"
    " add.s64 %rd7, %rd11, 16;\n ways: .branchtargets a0, a1;\n";

static char *ops_text(void)
{
    static const char *const store[] = {['l'] = "u64 [%%rd11+%zu], %%rd9",
                                        ['i'] = "u32 [%%rd11+%zu], %%r9",
                                        ['d'] = "f64 [%%rd11+%zu], %%fd9",
                                        ['f'] = "f32 [%%rd11+%zu], %%f9",
                                        ['p'] = "u32 [%%rd11+%zu], %%r9"};
    char *text = malloc(1 << 20), *at = text + sprintf(text, "%s%s", head, ops_begin);
    for (size_t i = 0; i < ROWS; i++) {
        at += sprintf(at, " %s\n", row[i].ptx);
        if (row[i].to == 'p') at += sprintf(at, " selp.u32 %%r9, 1, 0, %%p9;\n");
        at += sprintf(at, " st.global.");
        at += sprintf(at, store[(int)row[i].to], 32 + 8 * i);
        at += sprintf(at, ";\n");
    }
    sprintf(at, " ret;\n}\n");
    return text;
}

static void instructions(void **state)
{
    const uint64_t given[2] = {A, B};
    uint64_t got[4 + ROWS];
    CUdeviceptr at;
    CUmodule module;
    int wrong = 0;
    (void)state;
    opened();
    char *text = ops_text();
    CUfunction f = kernel(&module, text, "ops");
    void *argument[] = {&at, (void *)(uintptr_t)given};
    OK(cuMemAlloc_v2(&at, sizeof got));
    OK(cuMemsetD32Async(at, 0, sizeof got / 4, stream));
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream, argument, NULL));
    OK(cuMemcpyDtoHAsync_v2(got, at, sizeof got, stream));
    for (size_t i = 0; i < ROWS; i++)
        if (got[4 + i] != expected(i)) {
            print_error("%s gives %#llx, not %#llx\n", row[i].ptx, (unsigned long long)got[4 + i],
                        (unsigned long long)expected(i));
            wrong++;
        }
    OK(cuMemFree_v2(at));
    OK(cuModuleUnload(module));
    free(text);
    closed();
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(instructions)};
    standin_settings();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
