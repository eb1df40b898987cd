/* Kinds of storage for the entries of a matrix: each has a table of functions, and a file. */
#ifndef WISP_STORE_H
#define WISP_STORE_H
#include "../../model/model.h"
#include "compress.h"

/* A row as it is stored, read by wisp__row_col and wisp__row_value. */
typedef struct {
    int64_t row;
    int n;
    wisp__columns columns;
    int log_val;
    const void *val; /* of entry k: at + (k << log_val), or what the code there stands for */
    const uint8_t *code;
    int64_t at;
    const void *diagonal; /* of all rows, where it is apart; or NULL */
} wisp__row;

/* Pointers to arrays, by their addresses. */
enum { WISP__MOST_ARRAYS = 32 };
typedef struct {
    void *pointer[WISP__MOST_ARRAYS];
    int count;
} wisp__arrays;
/* Adds those that are not NULL. */
void wisp__arrays_add(wisp__arrays *list, void *const pointer[], int count);
#define WISP__ARRAYS(list, ...)                                               \
    do {                                                                      \
        void *const some_[] = {__VA_ARGS__};                                  \
        wisp__arrays_add(list, some_, (int)(sizeof some_ / sizeof some_[0])); \
    } while (0)

/* A way to store entries. What may be NULL is done by nobody then, or refused. Arrays of wisp__stored that several
   kinds have are seen to by store.c: to be freed, taken, looked at, told to kernels. */
struct wisp__storage {
    wisp__kind kind;
    wisp_format format;
    bool repeats;                  /* rows share patterns or lists */
    const char *never_interleaved; /* why steps are not; NULL: they may be */

    /* Making. Whether it is for a matrix of which this was found; NULL: it is not asked. */
    bool (*suits)(const wisp__compression *c);
    /* Takes what was found over. Without `put` the entries are complete then. */
    wisp_status (*create)(wisp_mat *A, wisp__compression *c);
    /* The n entries of a row, and padding up to `width`; rows from A->local_rows on have padding alone. False if the
       row has not as many entries as it had. */
    bool (*put)(wisp_mat *A, wisp__compression *c, const wisp__row_reader *r, int64_t row, int n, int64_t width);

    /* What it has besides the arrays of several kinds: pointers to arrays; structs around them, to be freed. */
    void (*arrays)(wisp__stored *s, wisp__arrays *list);
    void (*free)(wisp_ctx *ctx, wisp__stored *s);
    /* Gives a host's view structs of its own in their place. */
    void (*own)(wisp__host_mat *host);
    int64_t (*bytes)(const wisp_mat *A, bool all);   /* see wisp__mat_bytes */
    int (*column_bytes)(const wisp__compression *c); /* of an entry's column, before it is made; NULL: it has none */

    wisp__row (*row)(const wisp__stored *s, int log_c, int64_t row);
    /* Other values for a row of the same columns, where each entry has a value of its own. */
    void (*update)(wisp_mat *A, int64_t row, const wisp_scalar *v);
    /* Takes over what B has, a matrix made anew of the same rows in the same order. */
    wisp_status (*renew)(wisp_mat *A, wisp_mat *B);

    /* What kernels are told of besides what several kinds have; and the model of time. */
    void (*add_entries)(const wisp__stored *s, wisp__entries *a);
    void (*shape)(const wisp_mat *A, wisp__shape *m);
};
#define WISP__TABLE(KIND, name) extern const wisp__storage wisp__storage_##name;
WISP__KINDS(WISP__TABLE)
#undef WISP__TABLE
extern const wisp__storage wisp__storage_crs; /* SELL to kernels */

/* choose.c: for a matrix of which this was found. */
const wisp__storage *wisp__storage_for(const wisp__compression *c);

void wisp__stored_free(wisp_ctx *ctx, wisp__stored *s);
/* The usual way to take over what B has. */
wisp_status wisp__stored_renew(wisp_mat *A, wisp_mat *B);

static inline bool wisp__is_kind(const wisp__stored *s, wisp__kind kind) { return s->how && s->how->kind == kind; }
static inline wisp__half_mat *wisp__half_of(const wisp_mat *A)
{
    return wisp__is_kind(&A->local, WISP__HALF) ? A->local.half : NULL;
}

/* Where entry k of local row r is, of a matrix in chunks. */
static inline int64_t wisp__sell_at(const wisp__stored *s, int log_c, int64_t row, int64_t k)
{
    return s->chunk[row >> log_c] + (k << log_c) + (row & ((1 << log_c) - 1));
}
static inline wisp__row wisp__row_of(const wisp_mat *A, int64_t row)
{
    return A->local.how->row(&A->local, A->log_c, row);
}
static inline int wisp__row_len(const wisp_mat *A, int64_t row)
{
    return A->local.row_len ? A->local.row_len[row] : wisp__row_of(A, row).n;
}
/* Position of entry k. */
static inline int64_t wisp__row_col(const wisp__row *r, int64_t k) { return wisp__column_of(&r->columns, k); }
static inline wisp_scalar wisp__row_value(const wisp__row *r, wisp_type type, int64_t k)
{
    if (r->diagonal && wisp__row_col(r, k) == r->row) {
        const wisp_type real = wisp__real_type(type);
        return wisp__load(real, (const char *)r->diagonal + (size_t)r->row * wisp_type_size(real));
    }
    int64_t at = r->at + (k << r->log_val);
    if (r->code) at = r->code[at];
    return wisp__load(type, (const char *)r->val + (size_t)at * wisp_type_size(type));
}
static inline wisp_scalar wisp__pattern_value(const wisp_mat *A, int64_t entry)
{
    return wisp__load(A->type, (const char *)A->local.val + (size_t)entry * wisp_type_size(A->type));
}

static inline wisp_scalar wisp__half_value(const wisp_mat *A, int64_t entry)
{
    return wisp__load(A->type, (const char *)A->local.half->h.val + (size_t)entry * wisp_type_size(A->type));
}

/* ---- chunks.c: what kinds in chunks share ---- */

/* Memory for values or codes, and for a diagonal apart. */
wisp_status wisp__chunks_create(wisp_mat *A, const wisp__compression *c);
/* What `put` does with values. */
void wisp__chunks_put(wisp_mat *A, wisp__compression *c, const wisp__row_reader *r, int64_t row, int n, int64_t width);
/* The column that entry k has, or its padding: the row's own last one, so that kernels may run over it and nothing from
   elsewhere leaks in. */
static inline int32_t wisp__padded_col(const wisp__row_reader *r, int64_t k, int n, int32_t of_empty_row)
{
    return n ? r->merged[k < n ? k : n - 1] : of_empty_row;
}
/* All but the columns. */
int64_t wisp__chunks_bytes(const wisp_mat *A, bool all);
wisp__row wisp__chunks_row(const wisp__stored *s, int log_c, int64_t row);
void wisp__chunks_update(wisp_mat *A, int64_t row, const wisp_scalar *v);

/* ---- crs.c ---- */

/* Arrays of the user's, in place, where the host's memory is the device's; checked, and with rising columns. */
void wisp__crs_place(wisp_mat *A, const wisp_crs *crs);
static inline bool wisp__in_place(const wisp_mat *A) { return A->local.how == &wisp__storage_crs; }

/* ---- operator.c ---- */

static inline wisp__operator_mat *wisp__operator_of(const wisp_mat *A)
{
    return wisp__is_kind(&A->local, WISP__OPERATOR) ? A->local.op : NULL;
}
/* WISP_ERR_UNSUPPORTED of an operator, for what looks at entries. */
wisp_status wisp__need_entries(const wisp_mat *A, const char *what);

/* ---- half.c ---- */

/* Cuts a matrix of chunk height 1 down to its half; WISP_ERR_HERMITIAN if it is not Hermitian. */
wisp_status wisp__half_build(wisp_mat *A);
#endif
