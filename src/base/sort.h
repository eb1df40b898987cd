/* What qsort is given for numbers, ascending. */
#ifndef WISP_SORT_H
#define WISP_SORT_H
#include <stdint.h>

static inline int wisp__by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
static inline int wisp__by_number(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}
#endif
