/* The stand-in for CUDA's driver, by itself: instructions of PTX by texts of our own, work that runs late, and each
   thing that it is to find. */
#include "backend/cuda/cuda_api.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define DECLARE(name, arguments) CUresult name arguments;
CUDA_FUNCTIONS(DECLARE)
#define OK(call) assert_int_equal(call, CUDA_SUCCESS)
enum {
    INVALID_VALUE = 1,
    INVALID_CONTEXT = 201,
    INVALID_PTX = 218,
    INVALID_HANDLE = 400,
    ILLEGAL = 700,
    NO_RESOURCES = 701,
    TIMEOUT = 702,
    MISALIGNED = 716,
    FAILED = 719,
    STRICT = 99
};

static CUcontext context;
static CUstream stream;

static void opened(void)
{
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxPushCurrent_v2(context));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
}

static void closed(void)
{
    OK(cuStreamDestroy_v2(stream));
    OK(cuCtxPopCurrent_v2(&context));
    OK(cuDevicePrimaryCtxRelease_v2(0));
}

/* ---- instructions ---------------------------------------------------------------------------------- */

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

static const char head[] = ".version 8.0\n.target sm_80\n.address_size 64\n";
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

static CUfunction kernel(CUmodule *module, const char *text, const char *name)
{
    CUfunction f;
    OK(cuModuleLoadDataEx(module, text, 0, NULL, NULL));
    OK(cuModuleGetFunction(&f, *module, name));
    return f;
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

/* ---- groups, and their order ------------------------------------------------------------------------- */

/* to[group] = the sum of the numbers of its items by shared memory; wrong: item 1 meets no barrier. */
static const char sum_text[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry sum(.param .u64 to, .param .u32 wrong)\n.maxntid 64, 1, 1\n{\n .reg .pred %p<3>;\n .reg .b32 "
    "%r<9>;\n"
    " .reg .b64 %rd<9>;\n .shared .align 4 .b8 all[256];\n mov.u32 %r1, %tid.x;\n mov.u32 %r2, %ctaid.x;\n"
    " ld.param.u64 %rd1, [to];\n ld.param.u32 %r8, [wrong];\n mul.wide.u32 %rd2, %r1, 4;\n mov.u64 %rd3, all;\n"
    " add.s64 %rd4, %rd3, %rd2;\n add.s32 %r3, %r1, %r2;\n st.shared.u32 [%rd4], %r3;\n mov.u32 %r4, 32;\n"
    " setp.eq.s32 %p1, %r1, %r8;\n @%p1 ret;\n$L1:\n bar.sync 0;\n setp.ge.u32 %p1, %r1, %r4;\n @%p1 bra $L2;\n"
    " mul.wide.u32 %rd5, %r4, 4;\n add.s64 %rd6, %rd4, %rd5;\n ld.shared.u32 %r5, [%rd4];\n ld.shared.u32 %r6, "
    "[%rd6];\n"
    " add.s32 %r5, %r5, %r6;\n st.shared.u32 [%rd4], %r5;\n$L2:\n shr.u32 %r4, %r4, 1;\n setp.ne.s32 %p2, %r4, 0;\n"
    " @%p2 bra $L1;\n setp.ne.s32 %p1, %r1, 0;\n @%p1 ret;\n mul.wide.u32 %rd5, %r2, 4;\n add.s64 %rd6, %rd1, %rd5;\n"
    " ld.shared.u32 %r5, [all];\n st.global.u32 [%rd6], %r5;\n ret;\n}\n";

enum { GROUPS = 5, ITEMS = 64 };
static void sums(void **state)
{
    CUdeviceptr at;
    CUmodule module;
    uint32_t got[GROUPS];
    int wrong = -1;
    (void)state;
    opened();
    CUfunction f = kernel(&module, sum_text, "sum");
    void *argument[] = {&at, &wrong};
    OK(cuMemAlloc_v2(&at, sizeof got));
    OK(cuLaunchKernel(f, GROUPS, 1, 1, ITEMS, 1, 1, 0, stream, argument, NULL));
    OK(cuMemcpyDtoHAsync_v2(got, at, sizeof got, stream));
    for (uint32_t g = 0; g < GROUPS; g++) assert_int_equal(got[g], ITEMS * (ITEMS - 1) / 2 + ITEMS * g);
    OK(cuMemFree_v2(at));
    OK(cuModuleUnload(module));
    closed();
}

/* Without chance, work runs only when it is waited for: pinned memory is read late, other memory at once. */
static void late(void **state)
{
    uint32_t plain = 1, *pinned, back[2] = {7, 7};
    void *host;
    CUdeviceptr at;
    CUevent event;
    (void)state;
    opened();
    OK(cuMemHostAlloc(&host, 8, CU_MEMHOSTALLOC_DEFAULT));
    pinned = host;
    OK(cuMemAlloc_v2(&at, 8));
    pinned[0] = 1;
    OK(cuMemcpyHtoDAsync_v2(at, &plain, 4, stream));
    OK(cuMemcpyHtoDAsync_v2(at + 4, pinned, 4, stream));
    plain = 2, pinned[0] = 2;
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    OK(cuEventRecord(event, stream));
    pinned[1] = 5;
    OK(cuMemcpyDtoHAsync_v2(pinned + 1, at, 4, stream));
    assert_int_equal(pinned[1], UINT32_MAX);
    OK(cuEventSynchronize(event));
    assert_int_equal(pinned[1], UINT32_MAX);
    OK(cuMemcpyDtoHAsync_v2(back, at, 8, stream));
    assert_int_equal(back[0], 1);
    assert_int_equal(back[1], 2);
    assert_int_equal(pinned[1], 1);
    OK(cuEventDestroy_v2(event));
    OK(cuMemFreeHost(host));
    OK(cuMemFree_v2(at));
    closed();
}

/* ---- what is found --------------------------------------------------------------------------------- */

/* `poke` puts 1 at an address, `spin` waits for it to be there, and by `meet` the second group puts it. */
static const char poke_text[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry poke(.param .u64 to)\n{\n .reg .b64 %rd<2>;\n"
    " ld.param.u64 %rd1, [to];\n st.global.u32 [%rd1], 1;\n ret;\n}\n"
    ".visible .entry spin(.param .u64 to)\n{\n .reg .pred %p<2>;\n .reg .b32 %r<2>;\n .reg .b64 %rd<2>;\n"
    " ld.param.u64 %rd1, [to];\nL1:\n ld.volatile.global.u32 %r1, [%rd1];\n setp.ne.s32 %p1, %r1, 1;\n @%p1 bra L1;\n"
    " ret;\n}\n"
    ".visible .entry meet(.param .u64 to)\n{\n .reg .pred %p<2>;\n .reg .b32 %r<3>;\n .reg .b64 %rd<2>;\n"
    " ld.param.u64 %rd1, [to];\n mov.u32 %r2, %ctaid.x;\n setp.eq.s32 %p1, %r2, 1;\n @%p1 bra L2;\nL1:\n"
    " ld.volatile.global.u32 %r1, [%rd1];\n setp.ne.s32 %p1, %r1, 1;\n @%p1 bra L1;\n ret;\nL2:\n"
    " st.volatile.global.u32 [%rd1], 1;\n ret;\n}\n";

/* The first group waits for the second one. */
static void meets(void **state)
{
    CUdeviceptr at;
    CUmodule module;
    uint32_t got = 0;
    (void)state;
    opened();
    CUfunction f = kernel(&module, poke_text, "meet");
    void *argument[] = {&at};
    OK(cuMemAlloc_v2(&at, sizeof got));
    OK(cuLaunchKernel(f, 2, 1, 1, 1, 1, 1, 0, stream, argument, NULL));
    OK(cuMemcpyDtoHAsync_v2(&got, at, sizeof got, stream));
    assert_int_equal(got, 1);
    OK(cuMemFree_v2(at));
    OK(cuModuleUnload(module));
    closed();
}

static void poked(long by, const char *name, CUresult error)
{
    CUdeviceptr at, to;
    CUmodule module;
    opened();
    CUfunction f = kernel(&module, poke_text, name);
    void *argument[] = {&to};
    OK(cuMemAlloc_v2(&at, 100));
    to = at + (CUdeviceptr)by;
    OK(cuMemsetD32Async(at, 0, 25, stream));
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream, argument, NULL));
    assert_int_equal(cuStreamSynchronize(stream), error);
    if (error) assert_int_equal(cuMemAlloc_v2(&to, 100), error); /* and so does all that follows */
}
static void beyond(void) { poked(100, "poke", ILLEGAL); }
static void before(void) { poked(-4, "poke", ILLEGAL); }
static void at_null(void) { poked(-(long)(1L << 62), "poke", ILLEGAL); }
static void crooked(void) { poked(2, "poke", MISALIGNED); }
static void endless(void) { poked(0, "spin", TIMEOUT); }
static void left(void) { poked(0, "poke", CUDA_SUCCESS); }

static void freed_in_use(void)
{
    CUdeviceptr at;
    CUmodule module;
    opened();
    CUfunction f = kernel(&module, poke_text, "poke");
    void *argument[] = {&at};
    OK(cuMemAlloc_v2(&at, 100));
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream, argument, NULL));
    assert_int_equal(cuModuleUnload(module), INVALID_VALUE);
    assert_int_equal(cuMemFree_v2(at), INVALID_VALUE);
}

static void freed_twice(void)
{
    CUdeviceptr at;
    opened();
    OK(cuMemAlloc_v2(&at, 100));
    OK(cuMemFree_v2(at));
    assert_int_equal(cuMemFree_v2(at), INVALID_VALUE);
    closed();
}

static void gone_event(void)
{
    CUevent event;
    opened();
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    OK(cuEventDestroy_v2(event));
    assert_int_equal(cuEventRecord(event, stream), INVALID_HANDLE);
    closed();
}

static void no_context(void)
{
    CUdeviceptr at;
    opened();
    OK(cuCtxPopCurrent_v2(&context));
    assert_int_equal(cuMemAlloc_v2(&at, 4), INVALID_CONTEXT);
    OK(cuCtxPushCurrent_v2(context));
    closed();
}

static void far_copy(void)
{
    uint32_t host[2] = {0};
    CUdeviceptr at;
    opened();
    OK(cuMemAlloc_v2(&at, 4));
    assert_int_equal(cuMemcpyHtoDAsync_v2(at, host, 8, stream), INVALID_VALUE);
    OK(cuMemFree_v2(at));
    closed();
}

static void some_leave(void)
{
    CUdeviceptr at;
    CUmodule module;
    int wrong = 1;
    opened();
    CUfunction f = kernel(&module, sum_text, "sum");
    void *argument[] = {&at, &wrong};
    OK(cuMemAlloc_v2(&at, 4 * GROUPS));
    assert_int_equal(cuLaunchKernel(f, 1, 1, 1, 65, 1, 1, 0, stream, argument, NULL), NO_RESOURCES);
    OK(cuLaunchKernel(f, GROUPS, 1, 1, ITEMS, 1, 1, 0, stream, argument, NULL));
    assert_int_equal(cuStreamSynchronize(stream), FAILED);
}

static void unknown_words(void)
{
    static const char *const line[] = {"frobnicate.b32 %r1, %r2;",       "add.ftz.f32 %f1, %f1, %f1;",
                                       "add.f32 %f1, %f1, %f1;",         "div.full.f32 %f1, %f1, %f1;",
                                       "fma.rz.f32 %f1, %f1, %f1, %f1;", "shfl.sync.bfly.b32 %r1, %r1, 1, 31, -1;",
                                       "mov.u32 %r1, %clock;",           "bar.sync 1;",
                                       "add.s32 %r1, %r1, %q;"};
    char text[512];
    CUmodule module;
    opened();
    for (size_t i = 0; i < sizeof line / sizeof line[0]; i++) {
        snprintf(text, sizeof text, "%s.visible .entry k()\n{\n .reg .b32 %%r<3>;\n .reg .f32 %%f<2>;\n %s\n ret;\n}\n",
                 head, line[i]);
        assert_int_equal(cuModuleLoadDataEx(&module, text, 0, NULL, NULL), INVALID_PTX);
    }
    closed();
}

/* Each in a process of its own, which must end as one that did something wrong, after it said so. */
static void found(void **state)
{
    static const struct {
        void (*f)(void);
        const char *says;
    } all[] = {{beyond, "kernel 'poke', group 0, item 0: 4 bytes at 0x"},
               {before, "are in no memory"},
               {at_null, "are in no memory"},
               {crooked, "are not aligned"},
               {endless, "it waits for what nobody writes"},
               {left, "100 bytes of the device are left at the end"},
               {freed_in_use, "and a launch is queued that uses it"},
               {freed_twice, "or it was freed"},
               {gone_event, "an event that was destroyed"},
               {no_context, "cuMemAlloc_v2 without a context"},
               {far_copy, "a copy of 8 bytes at 0x"},
               {some_leave, "a barrier that not all items reach"},
               {unknown_words, "PTX that is not known: the instruction frobnicate"}};
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        char path[] = "/tmp/wisp-standin-says-XXXXXX", says[4096] = "";
        const int fd = mkstemp(path);
        int ended = 0;
        assert_true(fd >= 0);
        fflush(NULL);
        const pid_t child = fork();
        if (child == 0) {
            dup2(fd, STDERR_FILENO);
            all[i].f();
            exit(0);
        }
        assert_int_equal(waitpid(child, &ended, 0), child);
        assert_true(pread(fd, says, sizeof says - 1, 0) >= 0);
        close(fd);
        unlink(path);
        if (!WIFEXITED(ended) || WEXITSTATUS(ended) != STRICT || !strstr(says, all[i].says))
            fail_msg("case %zu ended with %d, and said: %s", i, ended, says);
    }
}

int main(void)
{
    setenv("WISP_STANDIN_SEED", "0", 1);
    unsetenv("WISP_STANDIN_FAIL");
    const struct CMUnitTest tests[] = {cmocka_unit_test(found), cmocka_unit_test(instructions), cmocka_unit_test(sums),
                                       cmocka_unit_test(late), cmocka_unit_test(meets)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
