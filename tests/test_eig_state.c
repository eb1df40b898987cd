/* States of wisp_eig: a call that is ended in its middle and goes on, once or many times, ends with the same bits as
   one that was never interrupted, with any number of threads; with other ranks, with the same pairs. */
#include "ref.h"
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wisp/state.h>
#include "state/state.h"
#define XXH_INLINE_ALL
#include <xxhash.h>

typedef struct {
    const char *what, *matrix;
    wisp_eig_opts o;
    wisp_eig_method used;
} question;

/* ---- calls that end ---------------------------------------------------------------------------------- */

typedef struct {
    wisp_checkpoint *checkpoint; /* NULL: offers are counted alone */
    int64_t left;                /* offers to the one that ends the call */
    int64_t offers;
} ending;

static int end_at(void *arg, wisp_state *state)
{
    ending *e = arg;
    assert_false(wisp_state_is_kept(state));
    e->offers++;
    if (!e->checkpoint || --e->left > 0) return 0;
    wisp_checkpoint_request(e->checkpoint, 1);
    return wisp_checkpoint_offer(e->checkpoint, state);
}

/* The same on all ranks, and no other test's. */
static const char *file_name(wisp_ctx *ctx, char name[64])
{
    double pid = wisp_ctx_rank(ctx) == 0 ? (double)getpid() : 0;
    REF_OK(ctx, wisp_ctx_sum(ctx, &pid, 1));
    /* In memory, where it can be: files are synced, and there are hundreds. */
    snprintf(name, 64, "%s/test_eig_state.%.0f", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", pid);
    return name;
}

/* Of the question's type. */
static wisp_mat *matrix_of(wisp_ctx *ctx, const question *q)
{
    wisp_mat *A;
    REF_OK(ctx, wisp_mat_open(&A, ctx, q->matrix, &(wisp_mat_opts){.order = WISP_ROWS_NATURAL, .type = q->o.type}));
    return A;
}

static wisp_ctx *context(int threads) { return ref_ctx(&(wisp_ctx_opts){.threads = threads, .no_pin = 1}); }

/* One call, which ends at this offer, and goes on from `file` if it is there. *offers: how many there were. */
static wisp_status leg(wisp_ctx *ctx, const question *q, const char *file, bool resumed, int64_t end, wisp_eigen *v,
                       wisp_mat **A)
{
    wisp_state *state = NULL;
    wisp_checkpoint_info info;
    ending e = {.left = end};
    wisp_eig_opts o = q->o;
    *A = matrix_of(ctx, q);
    if (resumed) REF_OK(ctx, wisp_state_open(&state, ctx, file));
    REF_OK(ctx, wisp_checkpoint_create(&e.checkpoint, ctx, &(wisp_checkpoint_opts){.path = file, .after = state}));
    o.offer = end_at, o.offer_arg = &e, o.resume = state;
    const wisp_status status = wisp_eig(v, *A, &o);
    wisp_checkpoint_get_info(e.checkpoint, &info);
    if (status == WISP_ERR_CANCELLED)
        assert_true(info.ended && info.saved);
    else if (status == WISP_OK)
        wisp_checkpoint_remove(e.checkpoint);
    else
        fail_msg("%s: %s", q->what, message_of(ctx));
    wisp_checkpoint_free(e.checkpoint);
    wisp_state_free(state);
    return status;
}

static wisp_eigen undisturbed(wisp_ctx *ctx, const question *q, wisp_mat **A, int64_t *offers)
{
    wisp_eigen v, same;
    ending e = {0};
    wisp_eig_opts o = q->o;
    *A = matrix_of(ctx, q);
    REF_OK(ctx, wisp_eig(&v, *A, &o));
    o.offer = end_at, o.offer_arg = &e;
    REF_OK(ctx, wisp_eig(&same, *A, &o));
    assert_int_equal(v.found, same.found);
    assert_memory_equal(v.value, same.value, (size_t)v.found * sizeof *v.value);
    assert_int_equal(v.method, q->used);
    wisp_eigen_free(&same);
    *offers = e.offers;
    return v;
}

/* ---- the same result --------------------------------------------------------------------------------- */

static void same_bits(const wisp_eigen *a, const wisp_eigen *b, const char *what)
{
    if (a->found != b->found || memcmp(a->value, b->value, (size_t)a->found * sizeof *a->value) ||
        memcmp(a->residual, b->residual, (size_t)a->found * sizeof *a->residual))
        fail_msg("%s: %d pairs, and %d others", what, a->found, b->found);
    ref_mat x = ref_get(a->vectors), y = ref_get(b->vectors);
    if (memcmp(x.a, y.a, (size_t)(x.rows * x.cols) * sizeof *x.a)) fail_msg("%s: other vectors", what);
    ref_free(x), ref_free(y);
    assert_true(a->complete == b->complete && a->rounds == b->rounds && a->products == b->products);
    assert_true(a->search == b->search && a->block == b->block && a->degree == b->degree && a->method == b->method);
    assert_true(a->flops == b->flops && a->low == b->low && a->high == b->high);
    assert_true(a->bounds.center == b->bounds.center && a->bounds.halfwidth == b->bounds.halfwidth);
    assert_int_equal(a->filter.terms, b->filter.terms);
    assert_true(!a->filter.c == !b->filter.c);
    if (a->filter.c) assert_memory_equal(a->filter.c, b->filter.c, (size_t)a->filter.terms * sizeof *a->filter.c);
    assert_true(!a->moments == !b->moments);
    if (!a->moments) return;
    assert_int_equal(a->moments->n, b->moments->n);
    assert_memory_equal(a->moments->mu, b->moments->mu,
                        (size_t)(a->moments->n * a->moments->vectors) * sizeof *a->moments->mu);
}

static void same_pairs(const wisp_eigen *a, const wisp_eigen *b, double tolerance, const char *what)
{
    if (a->found != b->found) fail_msg("%s: %d pairs, and %d others", what, a->found, b->found);
    for (int i = 0; i < a->found; i++)
        if (!(hypot(a->value[i].re - b->value[i].re, a->value[i].im - b->value[i].im) <= tolerance))
            fail_msg("%s: pair %d: %.15g and %.15g", what, i, a->value[i].re, b->value[i].re);
    assert_true(a->complete && b->complete);
}

/* A chain of calls, each of which ends after a random number of offers, `legs` of them at least, with other numbers of
   threads each. first: offers of the first one; 0: a random number, too. */
static void chain(wisp_ctx *ctx, const question *q, const wisp_eigen *want, int64_t offers, int legs, int64_t first,
                  ref_rng *r)
{
    char name[64], what[160];
    int made = 0;
    const char *file = file_name(ctx, name);
    for (wisp_status status = WISP_ERR_CANCELLED; status == WISP_ERR_CANCELLED; made++) {
        wisp_ctx *own = context(made == 0 ? 2 : 1 + (int)ref_below(r, 2));
        wisp_eigen v;
        wisp_mat *A;
        const int64_t any = made < 40 ? 1 + ref_below(r, 2 * offers / legs + 1) : INT64_MAX;
        const int64_t end = made == 0 && first > 0 ? first : any;
        snprintf(what, sizeof what, "%s, call %d of %d threads", q->what, made, wisp_ctx_threads(own));
        status = leg(own, q, file, made > 0, end, &v, &A);
        if (status == WISP_OK) same_bits(&v, want, what);
        wisp_eigen_free(&v);
        wisp_mat_free(A);
        wisp_ctx_free(own);
    }
    assert_int_equal(access(file, F_OK), -1);
}

static void ask(const question *q, int chains)
{
    wisp_ctx *ctx = context(2);
    wisp_mat *A;
    int64_t offers;
    ref_rng r = {(uint64_t)q->o.seed + 5};
    wisp_eigen want = undisturbed(ctx, q, &A, &offers);
    /* To a sanitizer each offer is like the one before it: one chain that ends anywhere, and one at the last offer. */
    for (int i = ref_few() ? chains - 1 : 0; i < chains; i++)
        chain(ctx, q, &want, offers, ref_few() ? 3 : 1 + 5 * i, 0, &r);
    for (int i = 0; i < (ref_few() ? 1 : 2); i++)
        chain(ctx, q, &want, offers, ref_few() ? 1 : 8, offers - 4 * i, &r); /* while it looks what is missing */
    wisp_eigen_free(&want);
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
}

static const question filtered[] = {
    {"fold", "graphene:nx=18,ny=15", {.which = WISP_EIG_INTERVAL, .low = -0.25, .high = 0.3}, WISP_CHEBFD},
    {"fold, single",
     "graphene:nx=16,ny=15",
     {.which = WISP_EIG_INTERVAL, .low = -0.25, .high = 0.3, .filter_type = WISP_S, .tolerance = 1e-12},
     WISP_CHEBFD},
    {"end", "graphene:nx=16,ny=15", {.which = WISP_EIG_INTERVAL, .low = 2.8, .high = 3.5}, WISP_CHEBFD},
    {"series", "graphene:nx=16,ny=15", {.which = WISP_EIG_INTERVAL, .low = -2.3, .high = -2.2}, WISP_CHEBFD},
    {"series, single",
     "graphene:nx=16,ny=15",
     {.which = WISP_EIG_INTERVAL, .low = -2.3, .high = -2.2, .filter_type = WISP_S, .tolerance = 1e-12},
     WISP_CHEBFD},
    {"nearest",
     "graphene:nx=16,ny=15",
     {.which = WISP_EIG_NEAREST, .method = WISP_CHEBFD, .target = 0.1, .count = 10, .seed = 3},
     WISP_CHEBFD},
    {"some of a level, by narrower filters",
     "kagome:nx=22,ny=22,periodic=xy",
     {.which = WISP_EIG_NEAREST, .method = WISP_CHEBFD, .target = 2, .count = 8, .tolerance = 1e-6, .any = 1},
     WISP_CHEBFD},
    {"complex",
     "topi:nx=6,ny=6,nz=6",
     {.which = WISP_EIG_NEAREST, .method = WISP_CHEBFD, .target = 0.1, .count = 8},
     WISP_CHEBFD},
    {"vectors of single precision",
     "graphene:nx=16,ny=15",
     {.which = WISP_EIG_NEAREST, .method = WISP_CHEBFD, .target = 0.2, .count = 6, .type = WISP_S},
     WISP_CHEBFD},
    {"a space that is too small",
     "graphene:nx=24,ny=21",
     {.which = WISP_EIG_INTERVAL, .low = -0.25, .high = 0.3, .search = 20, .tolerance = 1e-6},
     WISP_CHEBFD},
};

static void filters(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof filtered / sizeof *filtered; i++) {
        /* As others, but for the numbers. (Narrower filters take as long as all others; test_eig_any has them, too.) */
        if (ref_few() && (i == 0 || i == 2 || i == 4 || i == 5 || i == 6)) continue;
        ask(&filtered[i], 2);
    }
}

/* With and without a polynomial; looks by products, and searches, of which multiplets need several. */
static const question outer[] = {
    {"smallest", "graphene:nx=16,ny=15", {.which = WISP_EIG_SMALLEST, .count = 6}, WISP_LANCZOS},
    {"largest, block 1", "graphene:nx=16,ny=15", {.which = WISP_EIG_LARGEST, .count = 4, .block = 1}, WISP_LANCZOS},
    {"a level", "graphene:nx=15,ny=15", {.which = WISP_EIG_LARGEST, .count = 3, .block = 1}, WISP_LANCZOS},
    {"long",
     "anderson:nx=10,ny=10,nz=10,disorder=2",
     {.which = WISP_EIG_SMALLEST, .count = 3, .search = 20},
     WISP_LANCZOS},
    {"complex", "topi:nx=6,ny=6,nz=6", {.which = WISP_EIG_SMALLEST, .count = 5, .seed = 4}, WISP_LANCZOS},
    {"of single precision",
     "graphene:nx=16,ny=15",
     {.which = WISP_EIG_LARGEST, .count = 5, .type = WISP_S, .tolerance = 1e-5},
     WISP_LANCZOS},
    {"of largest real part", "matpde:nx=30,ny=30", {.which = WISP_EIG_LARGEST_REAL, .count = 6}, WISP_KRYLOV_SCHUR},
    {"of largest size", "matpde:nx=30,ny=30", {.which = WISP_EIG_LARGEST, .count = 5, .block = 2}, WISP_KRYLOV_SCHUR},
    {"with a polynomial", "matpde:nx=60,ny=60,beta=2", {.which = WISP_EIG_LARGEST_REAL, .count = 4}, WISP_KRYLOV_SCHUR},
    {"near a level", "matpde:nx=40,ny=40,beta=0.0001", {.which = WISP_EIG_LARGEST_REAL, .count = 2}, WISP_KRYLOV_SCHUR},
    {"complex vectors",
     "matpde:nx=24,ny=24",
     {.which = WISP_EIG_LARGEST_REAL, .count = 4, .type = WISP_Z},
     WISP_KRYLOV_SCHUR},
};

static void krylov(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof outer / sizeof *outer; i++) {
        if (ref_few() && (i == 1 || i == 7 || i == 10)) continue; /* as others, but for the numbers */
        ask(&outer[i], 2);
    }
}

/* ---- other ranks --------------------------------------------------------------------------------------- */

typedef struct {
    const question *q;
    const wisp_eigen *want;
    char file[64];
    bool resumed;
    int64_t end; /* offers of a call */
    bool done;
} by_ranks;

/* A call by these ranks, which ends after `end` offers, or with the pairs that are right. */
static int some_ranks(void *arg, int rank)
{
    by_ranks *b = arg;
    wisp_ctx *ctx = context(1);
    wisp_eigen v;
    wisp_mat *A;
    const wisp_status status = leg(ctx, b->q, b->file, b->resumed, b->end, &v, &A);
    if (status == WISP_OK) {
        const double scale = v.bounds.halfwidth > 0 ? v.bounds.halfwidth : 30 * hypot(v.value[0].re, v.value[0].im);
        same_pairs(&v, b->want, 3 * fmax(b->q->o.tolerance, 1e-8) * scale, b->q->what);
    }
    if (rank == 0) b->done = status == WISP_OK;
    wisp_eigen_free(&v);
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
    return 0;
}

static void ask_ranks(const question *q)
{
    static const int ranks[] = {3, 2, 1, 3, 5};
    wisp_ctx *ctx = context(1);
    wisp_mat *A;
    int64_t offers;
    int result = 0, i = 0;
    wisp_eigen want = undisturbed(ctx, q, &A, &offers);
    assert_true(offers > 4);
    for (int64_t first = 2; first < (ref_few() ? 3 : 30) && first < offers / 2; first += 17) {
        by_ranks b = {.q = q, .want = &want, .end = first};
        file_name(ctx, b.file);
        for (i = 0; !b.done; i++) {
            b.resumed = i > 0;
            b.end += ref_few() ? b.end : b.end / 2;
            assert_int_equal(wisp_ranks_run(ranks[i % 5], some_ranks, &b, &result), WISP_OK);
            assert_int_equal(result, 0);
        }
        assert_true(i > 1);
        assert_int_equal(access(b.file, F_OK), -1);
    }
    wisp_eigen_free(&want);
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
}

static void other_ranks(void **state)
{
    (void)state;
    if (ref_ranks() > 1) return;
    static const int some[] = {0, 1, 4, 5};
    const size_t step = ref_few() ? 2 : 1; /* those of single precision, and a nearest one; each method */
    for (size_t i = step - 1; i < sizeof some / sizeof *some; i += step) ask_ranks(&filtered[some[i]]);
    for (size_t i = 0; i < sizeof outer / sizeof *outer; i += 3 * step) ask_ranks(&outer[i]);
}

/* ---- refusals ------------------------------------------------------------------------------------------- */

static void refuse(const question *q, int64_t end)
{
    wisp_ctx *ctx = context(1);
    wisp_eigen v;
    wisp_mat *A;
    wisp_state *state;
    char name[64];
    const char *file = file_name(ctx, name);
    const int is_filter = q->used == WISP_CHEBFD;
    if (leg(ctx, q, file, false, end, &v, &A) != WISP_ERR_CANCELLED) fail_msg("%s: did not end", q->what);
    wisp_eigen_free(&v);
    REF_OK(ctx, wisp_state_open(&state, ctx, file));
    wisp_eig_opts o = q->o;
    o.resume = state;
#define REFUSED(change, words)                                             \
    do {                                                                   \
        wisp_eig_opts other = o;                                           \
        change;                                                            \
        REF_FAILS(ctx, wisp_eig(&v, A, &other), WISP_ERR_MISMATCH, words); \
        assert_null(v.vectors);                                            \
        wisp_eigen_free(&v);                                               \
    } while (0)
    REFUSED(other.count = 3, "eigenvalues:");
    if (is_filter) REFUSED(other.target += 0.1, "eigenvalues:");
    if (is_filter) REFUSED(other.filter_type = WISP_S, "opts.filter_type:");
    if (!is_filter) REFUSED(other.count = 4, "eigenvalues:");
    REFUSED(other.seed = 99, "opts.seed:");
    REFUSED(other.tolerance = 1e-5, "opts.tolerance:");
    REFUSED(other.search = 64, "opts.search:");
    REFUSED(other.block = 3, "opts.block:");
    if (is_filter) REFUSED(other.type = WISP_Z, "opts.type:");
    REFUSED((other.bounds = (wisp_bounds_opts){.method = WISP_BOUNDS_GIVEN, .given = {.halfwidth = 20}}), "bounds");
    wisp_mat *B;
    REF_OK(ctx, wisp_mat_open(&B, ctx, "graphene:nx=20,ny=20", NULL));
    REF_FAILS(ctx, wisp_eig(&v, B, &o), WISP_ERR_MISMATCH,
              q->o.which == WISP_EIG_LARGEST_REAL ? "opts.method:" : "rows");
    wisp_eigen_free(&v);
    wisp_moments m;
    REF_FAILS(ctx, wisp_kpm(&m, B, &(wisp_kpm_opts){.moments = 16, .vectors = 2, .resume = state}), WISP_ERR_MISMATCH,
              "");
    wisp_mat_free(B);
    wisp_state_free(state);
    wisp_mat_free(A);
    unlink(file);
    for (int r = 1; r < ref_ranks(); r++) {
        char part[96];
        snprintf(part, sizeof part, "%s.1.%d", file, r);
        unlink(part);
    }
    wisp_ctx_free(ctx);
}

static void refusals(void **state)
{
    (void)state;
    refuse(&filtered[5], 100);
    refuse(&filtered[5], 2);
    refuse(&outer[0], 6);
    refuse(&outer[6], 30);
}

/* ---- whole states ---------------------------------------------------------------------------------------- */

/* All bytes of a file. */
static char *load(const char *file, size_t *bytes)
{
    FILE *f = fopen(file, "rb");
    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    *bytes = (size_t)ftell(f);
    rewind(f);
    char *all = malloc(*bytes);
    assert_int_equal(fread(all, 1, *bytes, f), *bytes);
    fclose(f);
    return all;
}

/* As if they were what somebody has kept. */
static void store_sealed(const char *file, char *all, size_t bytes)
{
    const wisp__state_tail *end = (const void *)(all + bytes - sizeof *end);
    const uint64_t hash = XXH3_64bits(all, bytes - sizeof *end);
    memcpy(all + bytes - sizeof *end, &hash, sizeof hash);
    FILE *f = fopen(file, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(all, 1, bytes, f), bytes);
    fclose(f);
}

/* A call that goes on from this file: the pairs that are wanted, or a refusal that gives none. */
static bool take_whole(wisp_ctx *ctx, const question *q, const char *file, const wisp_eigen *want)
{
    wisp_state *state;
    wisp_eigen v;
    wisp_eig_opts o = q->o;
    wisp_mat *A = matrix_of(ctx, q);
    REF_OK(ctx, wisp_state_open(&state, ctx, file));
    o.resume = state;
    const wisp_status status = wisp_eig(&v, A, &o);
    if (want) assert_int_equal(status, WISP_OK);
    if (want) same_bits(&v, want, q->what);
    if (status != WISP_OK) assert_int_equal(v.found, 0);
    wisp_eigen_free(&v);
    wisp_state_free(state);
    wisp_mat_free(A);
    return status == WISP_OK;
}

/* Some bytes of what says what there is are edited, one at a time: no number of the file is taken for an address or for
   a length that it does not have. */
static int edit_all(wisp_ctx *ctx, const question *q, const char *file, const char *item)
{
    size_t bytes;
    int taken = 0;
    char *all = load(file, &bytes), name[WISP__ITEM_NAME] = {0};
    wisp__item_head head;
    snprintf(name, sizeof name, "%s", item);
    char *at = all;
    while (memcmp(at, name, sizeof name)) assert_true(++at + sizeof head < all + bytes);
    memcpy(&head, at, sizeof head);
    at += sizeof head;
    for (size_t i = 0; i < head.bytes; i += ref_few() ? 7 : 3) {
        at[i] = (char)(at[i] ^ 0x41);
        store_sealed(file, all, bytes);
        taken += take_whole(ctx, q, file, NULL);
        at[i] = (char)(at[i] ^ 0x41);
    }
    store_sealed(file, all, bytes);
    free(all);
    return taken;
}

static void whole_of(const question *q)
{
    char name[64];
    wisp_ctx *ctx = context(1);
    const char *file = file_name(ctx, name);
    wisp_checkpoint *to;
    wisp_eigen v;
    wisp_eig_opts o = q->o;
    wisp_mat *A = matrix_of(ctx, q);
    REF_OK(ctx, wisp_checkpoint_create(&to, ctx, &(wisp_checkpoint_opts){.path = file, .holds = 1}));
    o.offer = wisp_checkpoint_offer, o.offer_arg = to;
    REF_OK(ctx, wisp_eig(&v, A, &o));
    REF_OK(ctx, wisp_checkpoint_keep(to));
    assert_true(take_whole(ctx, q, file, &v));
    const int ends = edit_all(ctx, q, file, "end of the search"), results = edit_all(ctx, q, file, "result");
    print_message("%s: %d and %d edited states are taken\n", q->what, ends, results);
    if (v.moments) (void)edit_all(ctx, q, file, "moments of the density");
    assert_true(take_whole(ctx, q, file, &v));
    wisp_checkpoint_remove(to);
    wisp_checkpoint_free(to);
    wisp_eigen_free(&v);
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
}

/* A search that rounding ends has a result, too: the call that goes on gives it, and says the same. */
static void whole_of_rounded(void)
{
    enum { ROWS = 240 };
    char name[64], why[512], again[512];
    wisp_ctx *ctx = context(1);
    const char *file = file_name(ctx, name);
    ref_mat m = ref_new(ROWS, ROWS);
    for (int i = 0; i < ROWS; i++) {
        REF_AT(m, i, i) = 1e5;
        if (i > 0) REF_AT(m, i, i - 1) = REF_AT(m, i - 1, i) = (float)(0.5 + i % 7 / 10.0);
    }
    wisp_mat *A = ref_mat_of(ctx, m, WISP_S);
    wisp_checkpoint *to;
    wisp_state *kept;
    wisp_eigen v, w;
    wisp_eig_opts o = {.which = WISP_EIG_SMALLEST, .method = WISP_LANCZOS, .count = 2};
    REF_OK(ctx, wisp_checkpoint_create(&to, ctx, &(wisp_checkpoint_opts){.path = file, .holds = 1}));
    o.offer = wisp_checkpoint_offer, o.offer_arg = to;
    assert_int_equal(wisp_eig(&v, A, &o), WISP_ERR_STAGNATION);
    wisp_ctx_message(ctx, why, sizeof why);
    REF_OK(ctx, wisp_checkpoint_keep(to));
    o.offer = NULL;
    REF_OK(ctx, wisp_state_open(&kept, ctx, file));
    o.resume = kept;
    assert_int_equal(wisp_eig(&w, A, &o), WISP_ERR_STAGNATION);
    assert_string_equal(wisp_ctx_message(ctx, again, sizeof again), why);
    assert_true(w.found == v.found && w.rounds == v.rounds && w.products == v.products && !w.complete);
    wisp_state_free(kept);
    wisp_checkpoint_remove(to);
    wisp_checkpoint_free(to);
    wisp_eigen_free(&v), wisp_eigen_free(&w);
    wisp_mat_free(A);
    ref_free(m);
    wisp_ctx_free(ctx);
}

static void whole_states(void **state)
{
    (void)state;
    if (ref_ranks() > 1) return;
    whole_of(&filtered[5]);
    whole_of(&outer[0]);
    whole_of(&outer[6]);
    whole_of_rounded();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(whole_states), cmocka_unit_test(filters),
                                       cmocka_unit_test(krylov), cmocka_unit_test(other_ranks),
                                       cmocka_unit_test(refusals)};
    return REF_RUN(tests);
}
