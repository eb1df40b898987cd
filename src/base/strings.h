/* Numbers byte strings, equal ones alike: rows or values that repeat are found so. */
#ifndef WISP_STRINGS_H
#define WISP_STRINGS_H
#include "base.h"
#include <pthread.h>

/* A set of byte strings, numbered as they come; reading it needs no lock. */
typedef struct {
    wisp_ctx *ctx;
    pthread_mutex_t lock;
    int64_t max_strings, max_bytes, slots;
    atomic_llong strings; /* so far; over max_strings: one more came than it can hold */
    int64_t *begin;       /* [max_strings + 1] of each string in bytes[] */
    char *bytes;
    atomic_int *slot; /* [slots] number + 1 */
} wisp__strings;

wisp_status wisp__strings_open(wisp__strings *s, wisp_ctx *ctx, int64_t max_strings, int64_t max_bytes);
/* Bytes that it holds then. */
int64_t wisp__strings_most(int64_t max_strings, int64_t max_bytes);
void wisp__strings_close(wisp__strings *s, wisp_ctx *ctx);
/* Whether more came than it can hold. */
bool wisp__strings_full(wisp__strings *s);
/* The number of a string of n bytes, a multiple of four, which is added if it is new; -1: there is no room. */
int wisp__strings_add(wisp__strings *s, const char *p, size_t n);
#endif
