/* A team from within: its threads, its units, the run and the turn that are under way. */
#ifndef WISP_CREW_H
#define WISP_CREW_H
#include "place.h"
#include "team.h"

enum { PART_NONE, PART_OPEN, PART_TAKEN, PART_END }; /* END: the thread shall end */

/* A thread, and the state of the part that is its own. */
typedef struct {
    _Alignas(64) atomic_int part;
    atomic_bool waits; /* it sleeps: nobody need help it */
    atomic_bool away;  /* it was lent the core of another thread, and goes home when it has something to tell */
    atomic_bool guest; /* it may not be moved: it has no unit in this team */
    atomic_int cpu;    /* its home */
    _Atomic(pthread_t) thread;
    clockid_t clock; /* of the time that it has run */
    int64_t seen;    /* what the clock said, for the thread that looks */
    struct wisp__crew *crew;
    wisp__team_fn fn; /* of the run: each member has its own, so that they come with its part, in one cache line */
    void *arg;
} wisp__member;

/* Where the calling thread is, and where it may go when the call is over. */
typedef struct {
    bool known; /* `own` is its mask as it was before */
    bool set;   /* it has another one now */
    int unit;   /* which is this unit */
    wisp__units own;
} wisp__pin;

typedef struct wisp__crew {
    wisp__team team;           /* its face, at the same address */
    struct wisp__crew *next;   /* of this process (process.c) */
    wisp__units units;         /* that it holds */
    wisp__units allowed;       /* where threads run that are not pinned */
    bool pinned;               /* each thread to one of its units */
    bool held_known;           /* which units other processes hold; asked for if it could be pinned */
    bool one_node;             /* the threads share one memory node, as far as is known */
    int there;                 /* threads: fewer than team.threads where a child of fork can't start as many */
    bool gone;                 /* but for the calling one, by a fork: the next run starts others */
    bool lost;                 /* at that fork another thread was in its turn */
    int64_t spin;              /* nanoseconds for which a thread that has nothing to do waits for the next run, awake */
    int looks;                 /* times that a thread looks who is held up, before it sleeps */
    double began;              /* the run, by wisp_now */
    int brief;                 /* how many runs, one after the other, have been brief */
    int64_t put_off;           /* elements that the calling thread did alone because the others slept */
    wisp__pin *of_run;         /* the calling thread's pin */
    pthread_mutex_t turn;      /* of the calls that compute */
    _Atomic(pthread_t) holder; /* whose turn it is; 0: nobody's */
    int depth;                 /* of calls inside calls, in this turn */
    wisp__pin pin;             /* of the thread whose turn it is */
    _Alignas(64) atomic_bool busy; /* there is a run */
    _Alignas(64) atomic_uint news; /* what sleeping threads sleep on */
    atomic_int asleep, away;       /* how many are */
    atomic_bool looking; /* some thread looks who is held up, and moves it; or the calling thread ends its part */
    atomic_bool moved;   /* another thread moved the calling one in this run */
    wisp__member member[];
} wisp__crew;

static inline wisp__crew *wisp__crew_of(wisp__team *team) { return (wisp__crew *)(void *)team; }

/* Waits until it is ready. `me`: of the calling thread, if known; `idle`: it has nothing left to do in this run. */
void wisp__crew_wait(wisp__crew *crew, wisp__member *me, wisp__ready_fn ready, const void *arg, bool idle);
/* Sleeps until it is ready, or for about a millisecond at most if there is a run. */
void wisp__crew_sleep(wisp__crew *crew, wisp__member *me, wisp__ready_fn ready, const void *arg);
/* Whether it was ready within so many nanoseconds. */
bool wisp__crew_spin(int64_t nanoseconds, wisp__ready_fn ready, const void *arg);

/* Whether it knows the own mask of the thread, which it asks for if it does not. */
static inline bool wisp__pin_know(wisp__pin *pin, pthread_t thread)
{
    if (!pin->known) pin->known = wisp__place_of(thread, &pin->own);
    return pin->known;
}
/* turn.c: the pin of the calling thread's turn; NULL: it is not its turn. */
wisp__pin *wisp__turn_pin(wisp__crew *crew);
/* Brings the calling thread to its unit. False: it has none, for nobody is pinned, or its own mask leaves that out. */
bool wisp__pin_set(wisp__crew *crew, wisp__pin *pin, bool firmly);
/* Ends what others do to the first member, which they may move no longer: its part is over, or it is a guest. */
void wisp__pin_settle(wisp__crew *crew, wisp__pin *pin);
void wisp__pin_lift(wisp__pin *pin); /* the thread has its own mask again */
/* Runs are brief while several, one after the other, have been. */
void wisp__pin_learn(wisp__crew *crew);

/* hold.c, under the lock of process.c: whether it can be known which units processes of this user hold; holds one that
   no other process does, in the process's name; and no longer. */
bool wisp__holds_known(void);
bool wisp__hold(int unit);
void wisp__hold_end(const wisp__units *units);
/* process.c: a team becomes one of this process's. It holds as many of these n units, in their order, as it has
   threads, if others, and other processes, hold few enough of them: then it is pinned, and they are its members' homes.
   False: no memory. */
bool wisp__crew_join(wisp__crew *crew, const int *unit, int n);
void wisp__crew_leave(wisp__crew *crew); /* and gives them back */
#endif
