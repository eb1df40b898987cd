/* The inside of a team. */
#ifndef WISP_CREW_H
#define WISP_CREW_H
#include "team.h"

enum { PART_NONE, PART_OPEN, PART_TAKEN, PART_END }; /* END: the thread shall end */

/* A thread, and the state of the part that is its own. */
typedef struct {
    _Alignas(64) atomic_int part;
    atomic_bool waits; /* it sleeps: nobody need help it */
    atomic_bool away;  /* it was lent the core of another thread, and goes home when it has something to tell */
    atomic_bool guest; /* it did not make the context: it is not moved, for nobody would move it back */
    atomic_int cpu;    /* its home */
    pthread_t thread;
    clockid_t clock; /* of the time that it has run */
    int64_t seen;    /* what the clock said, for the thread that looks */
    wisp_ctx *ctx;
} wisp__member;

typedef struct wisp__team {
    int threads;
    pthread_t owner;  /* who made the context */
    int64_t spin;     /* nanoseconds for which a thread that has nothing to do waits for the next run, awake */
    int looks;        /* times that a thread looks who is held up, before it sleeps */
    wisp__team_fn fn; /* of the run */
    void *arg;
    _Alignas(64) atomic_bool busy; /* there is a run */
    _Alignas(64) atomic_uint news; /* what sleeping threads sleep on */
    atomic_int asleep, away;       /* how many are */
    atomic_bool looking; /* some thread looks who is held up, and moves it; or the calling thread ends its part */
    wisp__member member[];
} wisp__team;

/* Waits until it is ready. `idle`: the thread has nothing left to do in this run. */
void wisp__crew_wait(wisp_ctx *ctx, wisp__ready_fn ready, const void *arg, bool idle);
/* Sleeps until it is ready, or for about a millisecond at most if there is a run. */
void wisp__crew_sleep(wisp__team *team, wisp__member *me, wisp__ready_fn ready, const void *arg);
/* Whether it was ready within so many nanoseconds. */
bool wisp__crew_spin(int64_t nanoseconds, wisp__ready_fn ready, const void *arg);
#endif
