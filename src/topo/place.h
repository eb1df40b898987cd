/* What the system is asked about processing units: which of them threads may use, and where threads are. place_linux.c
   has Linux's answers; place_other.c those of a system that does not let a program place its threads, such as macOS. */
#ifndef WISP_PLACE_H
#define WISP_PLACE_H
#include "../base/base.h"

/* Whether threads can be brought to units at all. */
bool wisp__place_can(void);
/* The unit on which the calling thread is; -1: not known. */
int wisp__place_here(void);
/* Those that the calling thread may use, or another thread; and it may use these alone from now on. False: refused. */
bool wisp__place_own(wisp__units *units);
bool wisp__place_set_own(const wisp__units *units);
bool wisp__place_of(pthread_t thread, wisp__units *units);
bool wisp__place_set(pthread_t thread, const wisp__units *units);
/* A thread that will be made with these attributes begins on these. */
void wisp__place_new(pthread_attr_t *attr, const wisp__units *units);
/* Those that any thread of this process may use; empty: not known. */
void wisp__place_process(wisp__units *units);
/* The clock of the time that a thread has run; false: the system has none. */
bool wisp__place_clock(pthread_t thread, clockid_t *clock);
/* Sleeps of the calling thread end within a microsecond of their time, if it can be had: it looks for messages again
   and again. */
void wisp__sleep_lightly(void);
#endif
