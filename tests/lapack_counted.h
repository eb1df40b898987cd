/* A program's LAPACK (wisp_set_lapack): the functions of the one that tests are linked with, each behind a counter. */
#ifndef LAPACK_COUNTED_H
#define LAPACK_COUNTED_H
#include <stdatomic.h>
#include <string.h>
#include "ref.h"

typedef struct {
    const char *name;
    void (*fn)(void);
    atomic_int calls;
} counted;

/* COUNTED(name, parameters, arguments): name_counted, and name_counter. */
#define COUNTED(name, parameters, arguments)        \
    static counted name##_counter;                  \
    static void name##_counted parameters           \
    {                                               \
        void(*fn) parameters;                       \
        atomic_fetch_add(&name##_counter.calls, 1); \
        memcpy(&fn, &name##_counter.fn, sizeof fn); \
        fn arguments;                               \
    }
COUNTED(dsyevd,
        (const char *a, const char *b, const int *c, double *d, const int *e, double *f, double *g, const int *h,
         int *i, const int *j, int *k, size_t l, size_t m),
        (a, b, c, d, e, f, g, h, i, j, k, l, m))
COUNTED(zheevd,
        (const char *a, const char *b, const int *c, double *d, const int *e, double *f, double *g, const int *h,
         double *i, const int *j, int *k, const int *l, int *m, size_t n, size_t o),
        (a, b, c, d, e, f, g, h, i, j, k, l, m, n, o))
#define POTRF (const char *a, const int *b, double *c, const int *d, int *e, size_t f), (a, b, c, d, e, f)
#define TRTRI                                                                                          \
    (const char *a, const char *b, const int *c, double *d, const int *e, int *f, size_t g, size_t h), \
        (a, b, c, d, e, f, g, h)
#define COUNTED_(name, ...) COUNTED(name, __VA_ARGS__)
COUNTED_(dpotrf, POTRF)
COUNTED_(zpotrf, POTRF)
COUNTED_(dtrtri, TRTRI)
COUNTED_(ztrtri, TRTRI)
COUNTED(dgees,
        (const char *a, const char *b, void *c, const int *d, double *e, const int *f, int *g, double *h, double *i,
         double *j, const int *k, double *l, const int *m, int *n, int *o, size_t p, size_t q),
        (a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q))
COUNTED(zgees,
        (const char *a, const char *b, void *c, const int *d, double *e, const int *f, int *g, double *h, double *i,
         const int *j, double *k, const int *l, double *m, int *n, int *o, size_t p, size_t q),
        (a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q))
COUNTED(dtrsen,
        (const char *a, const char *b, const int *c, const int *d, double *e, const int *f, double *g, const int *h,
         double *i, double *j, int *k, double *l, double *m, double *n, const int *o, int *p, const int *q, int *r,
         size_t s, size_t t),
        (a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t))
COUNTED(ztrsen,
        (const char *a, const char *b, const int *c, const int *d, double *e, const int *f, double *g, const int *h,
         double *i, int *j, double *k, double *l, double *m, const int *n, int *o, size_t p, size_t q),
        (a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q))
COUNTED(dtrevc,
        (const char *a, const char *b, int *c, const int *d, const double *e, const int *f, double *g, const int *h,
         double *i, const int *j, const int *k, int *l, double *m, int *n, size_t o, size_t p),
        (a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p))
COUNTED(ztrevc,
        (const char *a, const char *b, const int *c, const int *d, const double *e, const int *f, double *g,
         const int *h, double *i, const int *j, const int *k, int *l, double *m, double *n, int *o, size_t p, size_t q),
        (a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q))
COUNTED(dgesdd,
        (const char *a, const int *b, const int *c, double *d, const int *e, double *f, double *g, const int *h,
         double *i, const int *j, double *k, const int *l, int *m, int *n, size_t o),
        (a, b, c, d, e, f, g, h, i, j, k, l, m, n, o))
COUNTED(zgesdd,
        (const char *a, const int *b, const int *c, double *d, const int *e, double *f, double *g, const int *h,
         double *i, const int *j, double *k, const int *l, double *m, int *n, int *o, size_t p),
        (a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p))

#define COUNTED_LIST(X) \
    X(dsyevd)           \
    X(zheevd)           \
    X(dpotrf)           \
    X(zpotrf) X(dtrtri) X(ztrtri) X(dgees) X(zgees) X(dtrsen) X(ztrsen) X(dtrevc) X(ztrevc) X(dgesdd) X(zgesdd)
#define COUNTED_COUNTER(name) &name##_counter,
static counted *const counted_all[] = {COUNTED_LIST(COUNTED_COUNTER)};
enum { COUNTED_FUNCTIONS = sizeof counted_all / sizeof *counted_all };
static const char *counted_missing; /* the function that this LAPACK lacks; NULL: none */

#define COUNTED_FIND(function)                                       \
    if (!strcmp(name, #function)) {                                  \
        void (*const fn)(void) = (void (*)(void))function##_counted; \
        memcpy(&address, &fn, sizeof address);                       \
        return address;                                              \
    }
/* A wisp_find_fn. */
static void *counted_find(const char *name)
{
    void *address;
    if (counted_missing && !strcmp(name, counted_missing)) return NULL;
    COUNTED_LIST(COUNTED_FIND)
    if (strncmp(name, "openblas_", 9)) fail_msg("asked for %s", name);
    return NULL;
}

#define COUNTED_LINKED(function) void function##_(void); /* without its parameters: its address alone is taken */
COUNTED_LIST(COUNTED_LINKED)
#define COUNTED_OPEN(function) function##_counter.name = #function, function##_counter.fn = function##_;
static void counted_open(void)
{
    COUNTED_LIST(COUNTED_OPEN)
    for (int i = 0; i < COUNTED_FUNCTIONS; i++) atomic_store(&counted_all[i]->calls, 0);
}
#endif
