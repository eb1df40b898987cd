/* One language for kernels of GPUs: OpenCL C 1.2, CUDA C++ (HIP has the same words), and C whose work-items take turns
   (item.h). Every kernel has the same arguments: a struct p, which begins with at[K_PLACES], and K_PLACES arrays; PLACE
   is what lies at[i] bytes behind array i. Groups that share what they make meet at flags: ATOMIC_ADD and LOAD_FLAG,
   with a FENCE between these and all else. BARRIER orders what is LOCAL, BARRIER_ALL all that the group has put and
   seen. Arithmetic is fma and what is written, in this order, so that results are the same bits in each. */
#ifndef WISP_DIALECT_H
#define WISP_DIALECT_H

#if defined(__OPENCL_VERSION__) || defined(__OPENCL_C_VERSION__)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF
#define GLOBAL __global
#define LOCAL __local
#define IN_LOCAL __local
#define INLINE static
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#define BARRIER_ALL() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define FENCE() mem_fence(CLK_GLOBAL_MEM_FENCE)
#define ATOMIC_ADD(at, n) atomic_add(at, n)
#define LOAD_FLAG(at) atomic_add(at, 0)
#define PAUSE() ((void)0)
#define ITEM ((int)get_local_id(0))
#define GROUP ((i64)get_group_id(0))
#define GROUPS ((i64)get_num_groups(0))
typedef long i64;
typedef uint u32;
typedef ulong u64;
typedef int i32;
typedef ushort u16;
typedef short i16;
typedef uchar u8;
#define FMA fma
#define KERNEL(name, params) \
    __kernel __attribute__((reqd_work_group_size(GROUP_SIZE, 1, 1))) void name(ARGUMENTS(params))
#elif defined(__CUDACC__) || defined(__HIP__)
#define GLOBAL
#define LOCAL __shared__
#define IN_LOCAL
#define INLINE static __device__ __forceinline__
#define BARRIER() __syncthreads()
#define BARRIER_ALL() __syncthreads()
#define FENCE() __threadfence()
#define ATOMIC_ADD(at, n) atomicAdd(at, n)
#define LOAD_FLAG(at) (*(volatile const int *)(at))
#define PAUSE() ((void)0)
#define ITEM ((int)threadIdx.x)
#define GROUP ((i64)blockIdx.x)
#define GROUPS ((i64)gridDim.x)
typedef long long i64;
typedef unsigned u32;
typedef unsigned long long u64;
typedef int i32;
typedef unsigned short u16;
typedef short i16;
typedef unsigned char u8;
#define FMA fma
#define NAN __longlong_as_double(0x7ff8000000000000) /* there are no headers */
#define KERNEL(name, params) extern "C" __global__ void __launch_bounds__(GROUP_SIZE) name(ARGUMENTS(params))
#else
/* item.h stands before it. */
#define GLOBAL
#define LOCAL static _Thread_local
#define IN_LOCAL
#define INLINE static inline
#ifdef HURRIED /* a test: nobody waits */
#define BARRIER() ((void)0)
#else
#define BARRIER() item_barrier()
#endif
#define BARRIER_ALL() BARRIER()
#ifndef WATCHED /* a test: it has words of its own for what groups share */
#define FENCE() __atomic_thread_fence(__ATOMIC_ACQ_REL)
#define ATOMIC_ADD(at, n) __atomic_fetch_add(at, n, __ATOMIC_RELAXED)
#define LOAD_FLAG(at) __atomic_load_n(at, __ATOMIC_RELAXED)
#define PAUSE() sched_yield()
#endif
#define ITEM item_id()
#define GROUP item_group()
#define GROUPS item_groups()
#define FMA(a, b, c) (sizeof(a) == 8 ? fma(a, b, c) : (real)fmaf((float)(a), (float)(b), (float)(c)))
#define KERNEL(name, params)                                                                                      \
    static void name(ARGUMENTS(params));                                                                          \
    static void item_kernel(const void *p, char *const *a)                                                        \
    {                                                                                                             \
        name(*(const params *)p, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], \
             a[13], a[14], a[15], a[16], a[17], a[18], a[19]);                                                    \
    }                                                                                                             \
    static void name(ARGUMENTS(params))
#endif
#define ARGUMENTS(params)                                                                                           \
    const params p, GLOBAL char *a0, GLOBAL char *a1, GLOBAL char *a2, GLOBAL char *a3, GLOBAL char *a4,            \
        GLOBAL char *a5, GLOBAL char *a6, GLOBAL char *a7, GLOBAL char *a8, GLOBAL char *a9, GLOBAL char *a10,      \
        GLOBAL char *a11, GLOBAL char *a12, GLOBAL char *a13, GLOBAL char *a14, GLOBAL char *a15, GLOBAL char *a16, \
        GLOBAL char *a17, GLOBAL char *a18, GLOBAL char *a19
#define ARRAY_(i) a##i
#define ARRAY(i) ARRAY_(i)
#define PLACE(type, i) ((GLOBAL type *)(ARRAY(i) + p.at[i]))
#ifndef WATCHED
/* Elements of blocks that other groups may put or see before the kernel ends. */
#define SEE(a, i) ((a)[i])
#define PUT(a, i, e) ((a)[i] = (e))
#endif
/* NULL where there is none. */
#define PLACE_OR_NULL(type, i) (ARRAY(i) ? PLACE(type, i) : (GLOBAL type *)0)

/* ---- numbers: real ones, or an element of one or two of them ------------------------------------ */

#ifdef REAL
typedef REAL real;
#if PARTS == 2
typedef struct {
    real x, y;
} elem;
INLINE elem make(real re, real im)
{
    elem e;
    e.x = re, e.y = im;
    return e;
}
INLINE elem mul_add(elem a, elem b, elem c)
{
    c.x = FMA(a.x, b.x, c.x), c.x = FMA(-a.y, b.y, c.x);
    c.y = FMA(a.x, b.y, c.y), c.y = FMA(a.y, b.x, c.y);
    return c;
}
INLINE elem real_mul_add(real a, elem b, elem c)
{
    c.x = FMA(a, b.x, c.x), c.y = FMA(a, b.y, c.y);
    return c;
}
#else
typedef real elem;
INLINE elem make(real re, real im) { return re; }
INLINE elem mul_add(elem a, elem b, elem c) { return FMA(a, b, c); }
INLINE elem real_mul_add(real a, elem b, elem c) { return FMA(a, b, c); }
#endif
/* factor * b + c with a factor of doubles, whose imaginary part counts in complex elements alone. */
INLINE elem factor_add(double re, double im, elem b, elem c)
{
    return im == 0 ? real_mul_add((real)re, b, c) : mul_add(make((real)re, (real)im), b, c);
}
#endif

/* The row behind the last one of a row block. */
INLINE i64 block_end(i64 block, i64 rows_per_block, i64 rows)
{
    const i64 to = (block + 1) * rows_per_block;
    return to < rows ? to : rows;
}

/* ---- sums: COMPENSATED ones have their rounding errors behind them ------------------------------- */

/* s += x, whose error is e; *error takes that of the sum up, too. */
INLINE void add_sum(double x, double e, double *s, double *error)
{
    const double sum = *s + x, part = sum - *s;
    *error += e + ((*s - (sum - part)) + (x - part));
    *s = sum;
}
INLINE void add_product(double x, double y, double *s, double *error)
{
    const double xy = x * y;
    add_sum(xy, fma(x, y, -xy), s, error);
}
/* The same for one of n sums, which are s[SUM_NUMBERS * n]. */
#ifdef COMPENSATED
#define SUM_NUMBERS 2
#define ADD_SUM(x, e, s, n) add_sum(x, e, s, (s) + (n))
#define ADD_PRODUCT(x, y, s, n) add_product(x, y, s, (s) + (n))
#else
#define SUM_NUMBERS 1
#define ADD_SUM(x, e, s, n) *(s) += (x)
#define ADD_PRODUCT(x, y, s, n) *(s) = FMA(x, y, *(s))
#endif

#ifdef REAL
/* Of two sums, the first grows by re <a, b>, and the second by im <a, b> where that is asked for. */
INLINE void add_dot(double *s, elem a, elem b, int cross)
{
#if PARTS == 2
    ADD_PRODUCT((double)a.x, (double)b.x, s, 2);
    ADD_PRODUCT((double)a.y, (double)b.y, s, 2);
    if (cross) {
        ADD_PRODUCT((double)a.x, (double)b.y, s + 1, 2);
        ADD_PRODUCT(-(double)a.y, (double)b.x, s + 1, 2);
    }
#else
    ADD_PRODUCT((double)a, (double)b, s, 2);
#endif
}
#endif

/* The items' sums, n of each, over items whose numbers have the same remainder by `lanes`, a power of 2: in a tree of a
   fixed order. That of remainder l is in all[i * GROUP_SIZE + l] then; all[SUM_NUMBERS * n * GROUP_SIZE]. */
INLINE void group_sums(const double *s, int n, int lanes, IN_LOCAL double *all)
{
    for (int i = 0; i < SUM_NUMBERS * n; i++) all[i * GROUP_SIZE + ITEM] = s[i];
    for (int reach = GROUP_SIZE / 2; reach >= lanes; reach /= 2) {
        BARRIER();
        if (ITEM >= reach) continue;
        for (int i = 0; i < n; i++) {
            IN_LOCAL double *to = all + i * GROUP_SIZE + ITEM;
#ifdef COMPENSATED
            double sum = to[0], error = to[n * GROUP_SIZE];
            add_sum(to[reach], to[n * GROUP_SIZE + reach], &sum, &error);
            to[0] = sum, to[n * GROUP_SIZE] = error;
#else
            to[0] += to[reach];
#endif
        }
    }
    BARRIER();
}
#endif
