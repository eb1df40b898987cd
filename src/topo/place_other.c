/* Processing units of a system that tells how many there are, and places threads itself. */
#include "../base/system.h"
#ifndef WISP__LINUX
#include "place.h"
#include <unistd.h>

bool wisp__place_can(void) { return false; }

int wisp__place_here(void) { return -1; }

bool wisp__place_own(wisp__units *units) { return (void)units, false; }

bool wisp__place_set_own(const wisp__units *units) { return (void)units, false; }

bool wisp__place_of(pthread_t thread, wisp__units *units) { return (void)thread, (void)units, false; }

bool wisp__place_set(pthread_t thread, const wisp__units *units) { return (void)thread, (void)units, false; }

void wisp__place_new(pthread_attr_t *attr, const wisp__units *units) { (void)attr, (void)units; }

void wisp__place_process(wisp__units *units)
{
    const long n = sysconf(_SC_NPROCESSORS_ONLN);
    *units = (wisp__units){0};
    for (int i = 0; i < n && i < WISP__UNITS; i++) wisp__units_add(units, i);
}

bool wisp__place_clock(pthread_t thread, clockid_t *clock) { return (void)thread, (void)clock, false; }

void wisp__sleep_lightly(void) {}
#else
typedef int wisp__linux_has_its_own;
#endif
