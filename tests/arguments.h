/* What the tests of public functions with wrong arguments share: one of each thing, a call of each function with each
   of its pointers NULL in turn, and the table of them. */
#ifndef ARGUMENTS_H
#define ARGUMENTS_H
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "config.h"
#include "ref.h"

enum { ROWS = 6, WIDTH = 2, MOMENTS = 4 };

typedef struct {
    wisp_ctx *ctx;
    wisp_src src;
    wisp_map *map;
    wisp_mat *A;
    wisp_blk *x, *y, *psi;
    wisp_slot *slot;
    wisp_moments m;
    wisp_mat_info info;
    char folder[64], mtx[96], h5[96];
} fixture;

static int64_t rowptr[ROWS + 1], col[ROWS];
static double val[ROWS];
static const wisp_crs crs = {.rows = ROWS, .cols = ROWS, .type = WISP_D, .rowptr = rowptr, .col = col, .val = val};

static inline void open_fixture(fixture *f)
{
    for (int i = 0; i < ROWS; i++) rowptr[i + 1] = i + 1, col[i] = i, val[i] = i + 1;
    *f = (fixture){.ctx = ref_ctx(NULL), .folder = "/tmp/wisp-arguments-XXXXXX"};
    assert_non_null(mkdtemp(f->folder));
    snprintf(f->mtx, sizeof f->mtx, "%s/a.mtx", f->folder);
    snprintf(f->h5, sizeof f->h5, "%s/m.h5", f->folder);
    REF_OK(f->ctx, wisp_src_open_crs(&f->src, f->ctx, &crs));
    REF_OK(f->ctx, wisp_mat_create(&f->A, f->ctx, &f->src, &(wisp_mat_opts){.C = 1, .order = WISP_ROWS_NATURAL}));
    f->map = wisp_mat_map(f->A);
    wisp_mat_get_info(f->A, &f->info);
    REF_OK(f->ctx, wisp_blk_create(&f->x, f->ctx, f->map, WISP_D, WIDTH));
    REF_OK(f->ctx, wisp_blk_create(&f->y, f->ctx, f->map, WISP_D, WIDTH));
    REF_OK(f->ctx, wisp_blk_create(&f->psi, f->ctx, f->map, WISP_Z, 1));
    REF_OK(f->ctx, wisp_blk_fill(f->x, (wisp_scalar){1, 0}));
    REF_OK(f->ctx, wisp_slot_create(&f->slot, f->ctx, WISP_SETS));
    REF_OK(f->ctx, wisp_blk_fill(f->psi, (wisp_scalar){1, 0}));
    REF_OK(f->ctx, wisp_kpm(&f->m, f->A, &(wisp_kpm_opts){.moments = MOMENTS, .vectors = 2}));
    REF_OK(f->ctx, wisp_src_write(&f->src, f->ctx, f->mtx, NULL));
#ifdef WISP_HAVE_HDF5
    REF_OK(f->ctx, wisp_moments_save(f->ctx, &f->m, f->h5));
#endif
}

static inline void close_fixture(fixture *f)
{
    wisp_moments_free(&f->m);
    wisp_blk_free(f->x);
    wisp_slot_free(f->slot);
    wisp_blk_free(f->y);
    wisp_blk_free(f->psi);
    wisp_mat_free(f->A);
    wisp_src_close(&f->src);
    unlink(f->mtx);
    unlink(f->h5);
    rmdir(f->folder);
    wisp_ctx_free(f->ctx);
}

/* One call each, argument number `null` of its pointers NULL (-1: none). What a query answers is a status, too. */
#define CALL(name) static wisp_status call_##name(fixture *f, int null)
#define P(i, pointer) (null == (i) ? NULL : (pointer))
#define ONE ((wisp_scalar){1, 0})
/* A function whose last line is the call itself. */
#define PLAIN(name, ...) \
    CALL(name) { return (void)f, name(__VA_ARGS__); }
/* A query that answers something else than nothing. */
#define QUERY(name, ...) \
    CALL(name) { return (void)f, name(__VA_ARGS__) != 0 ? WISP_OK : WISP_ERR_ARG; }
/* A procedure: nothing is told of what it refused. */
#define PROCEDURE(name, ...)                      \
    CALL(name)                                    \
    {                                             \
        (void)f, name(__VA_ARGS__);               \
        return null < 0 ? WISP_OK : WISP_ERR_ARG; \
    }
/* One that makes an object. */
#define MAKES(name, type, destroy, ...)               \
    CALL(name)                                        \
    {                                                 \
        type *made = null > 0 ? (void *)f : NULL;     \
        const wisp_status status = name(__VA_ARGS__); \
        if (status != WISP_OK) assert_null(made);     \
        destroy(made);                                \
        return status;                                \
    }
#define SOURCE(name, ...)                                         \
    CALL(name)                                                    \
    {                                                             \
        wisp_src src = {0};                                       \
        const wisp_status status = name(P(0, &src), __VA_ARGS__); \
        wisp_src_close(&src);                                     \
        return status;                                            \
    }

/* ---- the table ------------------------------------------------------------------------------- */

enum { ALL = ~0 };
/* allowed: bits of the pointers that may be NULL; silent: of those without which there is no context to keep words. */
typedef struct {
    const char *name;
    wisp_status (*fn)(fixture *f, int null);
    int pointers;
    int allowed, silent;
} argument_row;
#define ROW(name, ...)                  \
    {                                   \
#name, call_##name, __VA_ARGS__ \
    }

typedef struct {
    const argument_row *row;
    int rows;
    const char *const *other; /* those that take no pointer */
    int others;
} argument_table;

static inline int is_covered(const argument_table *t, const char *name)
{
    for (int i = 0; i < t->rows; i++)
        if (!strcmp(t->row[i].name, name)) return 1;
    for (int i = 0; i < t->others; i++)
        if (!strcmp(t->other[i], name)) return 1;
    return 0;
}

/* A function that is declared in one of the headers and not in the table would escape. */
static inline void every_declared(const argument_table *t, const char *const *header, int headers)
{
    static char text[1 << 17];
    int found = 0;
    for (int h = 0; h < headers; h++) {
        FILE *file = fopen(header[h], "r");
        assert_non_null(file);
        text[fread(text, 1, sizeof text - 1, file)] = '\0';
        fclose(file);
        for (char *p = text; (p = strstr(p, "\nWISP_")); found++) {
            if (strncmp(p + 1, "WISP_API ", 9) != 0 && strncmp(p + 1, "WISP_SIZED ", 11) != 0) {
                p++, found--;
                continue;
            }
            char name[64], *end = strchr(++p, '(');
            while (end[-1] == ' ') end--;
            const char *begin = end;
            while (strchr("abcdefghijklmnopqrstuvwxyz_0123456789", begin[-1])) begin--;
            snprintf(name, sizeof name, "%.*s", (int)(end - begin), begin);
            if (!is_covered(t, name)) fail_msg("%s is not in the table", name);
        }
    }
    assert_int_equal(found, t->rows + t->others);
}

static inline void each_null(const argument_table *t)
{
    fixture f;
    open_fixture(&f);
    for (int i = 0; i < t->rows; i++) {
        const wisp_status all_given = t->row[i].fn(&f, -1);
        if (all_given != WISP_OK) fail_msg("%s: %s", t->row[i].name, message_of(f.ctx));
        for (int null = 0; null < t->row[i].pointers; null++) {
            const int allowed = t->row[i].allowed >> null & 1, silent = t->row[i].silent >> null & 1;
            wisp_ctx_failf(f.ctx, WISP_OK, "nothing");
            const wisp_status status = t->row[i].fn(&f, null);
            const char *words = message_of(f.ctx);
            if (status != (allowed ? WISP_OK : WISP_ERR_ARG))
                fail_msg("%s without pointer %d: %s (%s)", t->row[i].name, null, wisp_status_string(status), words);
            if (!allowed && !silent && (!strstr(words, t->row[i].name) || !strstr(words, " is NULL")))
                fail_msg("%s without pointer %d says: %s", t->row[i].name, null, words);
        }
    }
    close_fixture(&f);
}

#endif
