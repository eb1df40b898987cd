/* How long rates are measured, for the command and for wisp-blas, which it starts. */
#ifndef WISP_MEASURE_LIMIT_H
#define WISP_MEASURE_LIMIT_H
#include <stdlib.h>

/* Seconds that a measurement takes: `usual`, or $WISP_MEASURE_LIMIT, in microseconds, if that is less. */
static inline double measure_limit(double usual)
{
    const char *limit = getenv("WISP_MEASURE_LIMIT");
    const double seconds = limit ? 1e-6 * atof(limit) : 0;
    return seconds > 0 && seconds < usual ? seconds : usual;
}

#endif
