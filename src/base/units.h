/* Sets of processing units, by the numbers that the system has for them. topo/place.h asks the system about them. */
#ifndef WISP_UNITS_H
#define WISP_UNITS_H
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { WISP__UNITS = 1024 }; /* numbers from 0 that a set can hold; others are in none */

typedef struct {
    uint64_t word[WISP__UNITS / 64];
} wisp__units;

static inline bool wisp__units_has(const wisp__units *set, int unit)
{
    return (unsigned)unit < WISP__UNITS && (set->word[unit / 64] >> unit % 64 & 1);
}
static inline void wisp__units_add(wisp__units *set, int unit)
{
    if ((unsigned)unit < WISP__UNITS) set->word[unit / 64] |= (uint64_t)1 << unit % 64;
}
static inline wisp__units wisp__units_one(int unit)
{
    wisp__units set = {0};
    wisp__units_add(&set, unit);
    return set;
}
static inline int wisp__units_count(const wisp__units *set)
{
    int n = 0;
    for (int i = 0; i < WISP__UNITS / 64; i++) n += __builtin_popcountll(set->word[i]);
    return n;
}
static inline bool wisp__units_equal(const wisp__units *a, const wisp__units *b)
{
    return !memcmp(a->word, b->word, sizeof a->word);
}
static inline bool wisp__units_meet(const wisp__units *a, const wisp__units *b)
{
    uint64_t both = 0;
    for (int i = 0; i < WISP__UNITS / 64; i++) both |= a->word[i] & b->word[i];
    return both != 0;
}
/* The set gets those of another one, or has them no longer. */
static inline void wisp__units_join(wisp__units *set, const wisp__units *more)
{
    for (int i = 0; i < WISP__UNITS / 64; i++) set->word[i] |= more->word[i];
}
static inline void wisp__units_leave(wisp__units *set, const wisp__units *less)
{
    for (int i = 0; i < WISP__UNITS / 64; i++) set->word[i] &= ~less->word[i];
}
#endif
