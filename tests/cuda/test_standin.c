/* The stand-in for CUDA's driver, by itself: groups, work that runs late, and each thing that it is to find. */
#include "standin_scene.h"
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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
    const struct CMUnitTest tests[] = {cmocka_unit_test(found), cmocka_unit_test(sums), cmocka_unit_test(late),
                                       cmocka_unit_test(meets)};
    standin_settings();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
