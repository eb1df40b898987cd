/* What the C that ptx2c.py makes needs, and how run.c runs it. Memory of the device is a range of addresses that nobody
   may follow; what they stand for lies elsewhere. Each access is checked: a wrong one ends the launch. */
#ifndef STANDIN_RUN_H
#define STANDIN_RUN_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct run run;
typedef struct item item;
typedef struct {
    uint32_t offset, bytes;
} run_param;
typedef struct {
    const char *name;
    void (*call)(run *r, item *t, char *params);
    uint32_t params;
    const run_param *param;
    uint32_t params_bytes, most_items, shared_bytes, local_bytes;
} run_entry;
/* A variable of a module, which gets its address when it is loaded. */
typedef struct {
    const char *name;
    const void *value;
    uint64_t bytes, address;
} run_variable;
typedef struct {
    uint64_t begin, end;
} run_range;

enum { RUN_BARRIER = 1, RUN_NO_MEMORY, RUN_ACCESS, RUN_ALIGNMENT, RUN_TRAP, RUN_ENDLESS };
enum {
    RUN_SLOT = 1 << 16, /* an allocation begins at a multiple of it */
    RUN_LOOKS = 64      /* of an item, until other threads get the core */
};
typedef struct {
    uint64_t begin, bytes; /* of the range of addresses */
    char *memory;          /* what they stand for */
    const uint32_t *slot;  /* for each RUN_SLOT bytes the number of an allocation, or 0 */
    const run_range *range;
} run_memory;

struct item {
    run *r;
    uint32_t id, group;
    char *local;
    uint64_t looks;
    int barriers, cut, ended; /* cut: ended in the middle */
};
/* A thread that runs groups of a launch. */
struct run {
    const run_memory *memory;
    const run_entry *entry;
    char *params;
    uint32_t items, groups;
    uint64_t shared_bytes, dynamic_bytes;
    char *shared;
    item *item;
    void (*barrier)(run *r, item *t);
    void (*ends)(run *r, item *t) __attribute__((noreturn));
    void (*waits)(run *r, item *t);
    int alone, failed; /* alone: no item has met a barrier, so all run one after the other */
    uint64_t address;  /* of what failed, */
    uint32_t bytes;    /* and what was to be read or written there */
};
typedef struct {
    int failed;
    uint64_t address;
    uint32_t bytes, item, group;
} run_failure;
/* Runs all groups; 0, or what failed. seed: of the order of items. */
int run_launch(const run_memory *memory, const run_entry *entry, char *params, uint32_t groups, uint32_t items,
               uint32_t dynamic_bytes, uint64_t seed, run_failure *failure);

/* ---- what the C calls ------------------------------------------------------------------------------ */

#define SHARED_WINDOW (UINT64_C(1) << 60)
#define LOCAL_WINDOW (UINT64_C(1) << 61)
static inline void item_barrier(run *r, item *t) { r->barrier(r, t); }
static inline void item_exit(run *r, item *t) { r->ends(r, t); }
static __attribute__((noinline, noreturn, unused)) void item_fails(item *t, int what, uint64_t address, uint32_t bytes)
{
    run *r = t->r;
    r->failed = what, r->address = address, r->bytes = bytes;
    r->ends(r, t);
}
/* A look at what another group may have written, or a wait for it: one that never ends is found. */
static inline void item_waits(item *t)
{
    if (++t->looks % RUN_LOOKS == 0) t->r->waits(t->r, t);
}

static inline int in_global(const run *r, uint64_t a) { return a - r->memory->begin < r->memory->bytes; }
static inline int in_shared(const run *r, uint64_t a) { return (void)r, a - SHARED_WINDOW < UINT32_MAX; }
static inline int in_local(const run *r, uint64_t a) { return (void)r, a - LOCAL_WINDOW < UINT32_MAX; }
static inline void *at_global(run *r, item *t, uint64_t a, uint32_t bytes)
{
    const run_memory *m = r->memory;
    const uint64_t off = a - m->begin;
    if (off >= m->bytes) item_fails(t, RUN_ACCESS, a, bytes);
    const run_range *range = m->range + m->slot[off / RUN_SLOT];
    if (a < range->begin || a + bytes > range->end) item_fails(t, RUN_ACCESS, a, bytes);
    if (a % bytes) item_fails(t, RUN_ALIGNMENT, a, bytes);
    return m->memory + off;
}
#define at_const at_global
static inline void *at_block(item *t, char *block, uint64_t room, uint64_t a, uint32_t bytes)
{
    if (a > room || bytes > room - a) item_fails(t, RUN_ACCESS, a, bytes);
    if (a % bytes) item_fails(t, RUN_ALIGNMENT, a, bytes);
    return block + a;
}
static inline void *at_shared(run *r, item *t, uint64_t a, uint32_t bytes)
{
    return at_block(t, r->shared, r->shared_bytes, a, bytes);
}
static inline void *at_local(run *r, item *t, uint64_t a, uint32_t bytes)
{
    return at_block(t, t->local, r->entry->local_bytes, a, bytes);
}
static inline void *at_param(run *r, item *t, uint64_t a, uint32_t bytes)
{
    return at_block(t, r->params, r->entry->params_bytes, a - (uint64_t)(uintptr_t)r->params, bytes);
}
static inline void *at_generic(run *r, item *t, uint64_t a, uint32_t bytes)
{
    if (in_shared(r, a)) return at_shared(r, t, a - SHARED_WINDOW, bytes);
    if (in_local(r, a)) return at_local(r, t, a - LOCAL_WINDOW, bytes);
    return at_global(r, t, a, bytes);
}

/* Bits of a type, and back; loads and stores, each of which takes place. seen and show: beside other groups. */
#define BITS_(n)                                                                                                   \
    static inline uint##n##_t bits##n(const char *p) { return *(const volatile uint##n##_t *)(const void *)p; }    \
    static inline void put##n(char *p, uint##n##_t v) { *(volatile uint##n##_t *)(void *)p = v; }                  \
    static inline uint##n##_t seen##n(item *t, const char *p)                                                      \
    {                                                                                                              \
        item_waits(t);                                                                                             \
        return __atomic_load_n((const uint##n##_t *)(const void *)p, __ATOMIC_SEQ_CST);                            \
    }                                                                                                              \
    static inline void show##n(char *p, uint##n##_t v)                                                             \
    {                                                                                                              \
        __atomic_store_n((uint##n##_t *)(void *)p, v, __ATOMIC_SEQ_CST);                                           \
    }                                                                                                              \
    static inline uint##n##_t shl##n(uint##n##_t a, uint32_t by) { return (uint##n##_t)(by < n ? a << by : 0); }   \
    static inline uint##n##_t shr_u##n(uint##n##_t a, uint32_t by) { return (uint##n##_t)(by < n ? a >> by : 0); } \
    static inline int##n##_t shr_s##n(int##n##_t a, uint32_t by) { return (int##n##_t)(a >> (by < n ? by : n - 1)); }
BITS_(8)
BITS_(16)
BITS_(32)
BITS_(64)
#define REAL_(n, type)                                   \
    static inline type f##n##_of(uint##n##_t b)          \
    {                                                    \
        type f;                                          \
        memcpy(&f, &b, sizeof f);                        \
        return f;                                        \
    }                                                    \
    static inline uint##n##_t of_f##n(type f)            \
    {                                                    \
        uint##n##_t b;                                   \
        memcpy(&b, &f, sizeof b);                        \
        return b;                                        \
    }                                                    \
    /* A number beats NaN, and -0 is less than 0. */     \
    static inline type min_f##n(type a, type b)          \
    {                                                    \
        if (a != a || b != b) return a != a ? b : a;     \
        if (a == b) return __builtin_signbit(a) ? a : b; \
        return a < b ? a : b;                            \
    }                                                    \
    static inline type max_f##n(type a, type b)          \
    {                                                    \
        if (a != a || b != b) return a != a ? b : a;     \
        if (a == b) return __builtin_signbit(a) ? b : a; \
        return a > b ? a : b;                            \
    }
REAL_(32, float)
REAL_(64, double)
static inline float abs_f32(float a) { return __builtin_fabsf(a); }
static inline double abs_f64(double a) { return __builtin_fabs(a); }

/* The upper half of 1 / a or 1 / sqrt(a), by that of a; what is subnormal is 0. */
static inline double upper_half(double a)
{
    const double least = 0x1p-1022;
    if (__builtin_fabs(a) < least) return __builtin_copysign(0, a);
    return f64_of(of_f64(a) & UINT64_C(0xffffffff00000000));
}
static inline double rcp_coarse(double a) { return upper_half(1 / upper_half(a)); }
static inline double rsqrt_coarse(double a) { return upper_half(1 / __builtin_sqrt(upper_half(a))); }

/* Integers from whole numbers: the nearest there is. NaN is 0 in 32 bits of a float, else the highest bit alone. */
#define FROM_(to, type, low, high, real, from, nan) \
    static inline type to##_from_##from(real v)     \
    {                                               \
        if (v != v) return nan;                     \
        if (v <= (real)(low)) return low;           \
        return v >= (real)(high) ? high : (type)v;  \
    }
FROM_(s32, int32_t, INT32_MIN, INT32_MAX, float, f32, 0)
FROM_(u32, uint32_t, 0, UINT32_MAX, float, f32, 0)
FROM_(s64, int64_t, INT64_MIN, INT64_MAX, float, f32, INT64_MIN)
FROM_(u64, uint64_t, 0, UINT64_MAX, float, f32, UINT64_C(1) << 63)
FROM_(s32, int32_t, INT32_MIN, INT32_MAX, double, f64, INT32_MIN)
FROM_(u32, uint32_t, 0, UINT32_MAX, double, f64, UINT32_C(1) << 31)
FROM_(s64, int64_t, INT64_MIN, INT64_MAX, double, f64, INT64_MIN)
FROM_(u64, uint64_t, 0, UINT64_MAX, double, f64, UINT64_C(1) << 63)

/* Division by 0 gives what GPUs give, and the least number by -1 is itself. */
#define DIVIDE_(t, type, least)                                                                                      \
    static inline type div_##t(type a, type b)                                                                       \
    {                                                                                                                \
        return b == 0 ? (type)-1 : (least) && b == (type)-1 ? (type)(0 - (uint64_t)a) : (type)(a / b);               \
    }                                                                                                                \
    static inline type rem_##t(type a, type b) { return b == 0 ? a : (least) && b == (type)-1 ? 0 : (type)(a % b); } \
    static inline type abs_##t(type a) { return (least) && a < (type)1 ? (type)(0 - (uint64_t)a) : a; }
DIVIDE_(s16, int16_t, 1)
DIVIDE_(u16, uint16_t, 0)
DIVIDE_(s32, int32_t, 1)
DIVIDE_(u32, uint32_t, 0)
DIVIDE_(s64, int64_t, 1)
DIVIDE_(u64, uint64_t, 0)

#define CARRY_(n, type)                                                           \
    static inline type add_carry##n(type a, type b, int with, int *carry)         \
    {                                                                             \
        const unsigned __int128 sum = (unsigned __int128)a + b + (unsigned)with;  \
        if (carry) *carry = (int)(sum >> n & 1);                                  \
        return (type)sum;                                                         \
    }                                                                             \
    static inline type sub_carry##n(type a, type b, int with, int *carry)         \
    {                                                                             \
        const unsigned __int128 less = (unsigned __int128)a - b - (unsigned)with; \
        if (carry) *carry = (int)(less >> n & 1);                                 \
        return (type)less;                                                        \
    }
CARRY_(32, uint32_t)
CARRY_(64, uint64_t)
static inline uint32_t clz(uint64_t a, int bits) { return (uint32_t)(a ? __builtin_clzll(a) - (64 - bits) : bits); }
static inline uint64_t brev(uint64_t a, int bits)
{
    uint64_t back = 0;
    for (int i = 0; i < bits; i++) back |= (a >> i & 1) << (bits - 1 - i);
    return back;
}
static inline uint64_t bfe(uint64_t a, uint32_t at, uint32_t count, int bits, int sign)
{
    uint64_t got = 0;
    at &= 255, count &= 255;
    const uint32_t top = at + count - 1 < (uint32_t)bits ? at + count - 1 : (uint32_t)bits - 1;
    const uint64_t fill = sign && count ? a >> top & 1 : 0;
    for (uint32_t i = 0; i < (uint32_t)bits; i++)
        got |= (i < count && at + i < (uint32_t)bits ? a >> (at + i) & 1 : fill) << i;
    return got;
}
static inline uint64_t bfi(uint64_t a, uint64_t into, uint32_t at, uint32_t count, int bits)
{
    at &= 255, count &= 255;
    for (uint32_t i = 0; i < count && at + i < (uint32_t)bits; i++)
        into = (into & ~(UINT64_C(1) << (at + i))) | (a >> i & 1) << (at + i);
    return into;
}
static inline uint32_t prmt(uint32_t a, uint32_t b, uint32_t pick)
{
    const uint64_t all = (uint64_t)b << 32 | a;
    uint32_t made = 0;
    for (int i = 0; i < 4; i++) {
        const uint32_t from = pick >> (4 * i) & 15, byte = (uint32_t)(all >> (8 * (from & 7))) & 255;
        made |= (from & 8 ? (byte & 128 ? 255u : 0u) : byte) << (8 * i);
    }
    return made;
}
static inline uint32_t lop3(uint32_t a, uint32_t b, uint32_t c, uint32_t table)
{
    uint32_t made = 0;
    for (int i = 0; i < 32; i++) made |= (table >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1)) & 1) << i;
    return made;
}
static inline uint32_t shf_by(uint32_t by, int clamp) { return clamp ? (by < 32 ? by : 32) : by & 31; }
static inline uint32_t shf_l(uint32_t low, uint32_t high, uint32_t by, int clamp)
{
    return (uint32_t)((((uint64_t)high << 32 | low) << shf_by(by, clamp)) >> 32);
}
static inline uint32_t shf_r(uint32_t low, uint32_t high, uint32_t by, int clamp)
{
    return (uint32_t)(((uint64_t)high << 32 | low) >> shf_by(by, clamp));
}
#endif
