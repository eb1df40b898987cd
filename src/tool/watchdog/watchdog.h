/* Each process of a run by several has a watchdog: a small process on TCP sockets of its own, which ends it when others
   are gone. MPI can't be relied on for that: who waits in it for a process that is stopped, or behind a cut link, waits
   for ever. */
#ifndef WISP_TOOL_WATCHDOG_H
#define WISP_TOOL_WATCHDOG_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { WATCHDOG_KEY = 16, WATCHDOG_ADDRESSES = 8, WATCHDOG_HOST = 64 };
enum { WATCHDOG_OFF = -1, WATCHDOG_USUAL = 30 }; /* seconds of silence */

typedef struct {
    int32_t family; /* AF_INET or AF_INET6 */
    unsigned char bytes[16];
} watchdog_address;

/* Where a watchdog is: what the others must know. */
typedef struct {
    char host[WATCHDOG_HOST];
    int32_t port;  /* 0: there is none, */
    int32_t error; /* for this reason (errno) */
    int32_t addresses;
    watchdog_address address[WATCHDOG_ADDRESSES];
} watchdog_place;

/* What a process holds of its own one. */
typedef struct {
    pid_t pid; /* 0: there is none */
    int fd;
} watchdog;

/* Before MPI_Init, for a fork later is not safe with every network. place->port is 0 if it can't be done. */
void watchdog_make(watchdog *w, watchdog_place *place, int argc, char **argv);
/* It begins to watch, with the places of all n processes and a key that they share. */
void watchdog_start(watchdog *w, const watchdog_place *place, int n, int rank, const unsigned char key[WATCHDOG_KEY]);
/* After so many seconds of silence a process counts as lost; as_json: so is the message. WATCHDOG_OFF: as watchdog_end.
 */
void watchdog_set(watchdog *w, double seconds, bool as_json);
/* This process has said why it fails: if it ends now, nothing more is to be said. */
void watchdog_said(watchdog *w);
/* This process ends well. Waits until the watchdog has told the others, and is gone. */
void watchdog_end(watchdog *w);

/* watchdog_run.c: the watchdog itself, of the process that is its parent. What it is told comes through `control`. */
_Noreturn void watchdog_run(int control, int listener);
/* Kinds of messages through `control`; START is followed by the places. */
typedef enum { TELL_START, TELL_SET, TELL_SAID, TELL_END } tell_kind;
typedef struct {
    int32_t kind, n, rank, as_json;
    double seconds;
    unsigned char key[WATCHDOG_KEY];
} tell;
#endif
