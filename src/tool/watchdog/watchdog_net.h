/* The sockets of watchdogs: each pair of them has one connection, on which they send notes of one size. */
#ifndef WISP_TOOL_WATCHDOG_NET_H
#define WISP_TOOL_WATCHDOG_NET_H
#include "watchdog.h"

/* HELLO comes from who connects, and WELCOME is the answer. Of a peer that is up there come: */
typedef enum { NOTE_HELLO = 0x77697370, NOTE_WELCOME, NOTE_BEAT, NOTE_FAILURE, NOTE_BYE } note_kind;
/* How process `subject` has failed. SAID: it has said so itself. */
typedef enum { WHY_DIED, WHY_STOPPED, WHY_SILENT, WHY_GONE, WHY_LAUNCHER, WHY_SAID } why_kind;
typedef struct {
    int32_t kind, from, to;
    int32_t subject, why, detail; /* of a failure; detail: the status of waitpid, -1: not known; or seconds */
    int32_t speaker;              /* likewise: whose watchdog gives the message */
    int32_t stopped;              /* of a beat: is its process? */
    float timeout;                /* likewise: its own one, by which it sends beats */
    unsigned char key[WATCHDOG_KEY];
} note;

/* GREETED: who connects has sent HELLO, or the other one WELCOME, and nothing has come since. */
typedef enum { PEER_NONE, PEER_CONNECTING, PEER_GREETED, PEER_UP, PEER_CLOSED } peer_state;
typedef struct {
    peer_state state;
    int fd;
    int address;  /* that is tried: 0: this host's own, i: address[i - 1] of the place */
    double since; /* when that began */
    note in;      /* the first `got` bytes of the next one */
    size_t got;
    /* Kept by watchdog_run.c: */
    double heard, timeout;
    bool stopped;
    double running_since;
} peer;

/* A connection to here that has not said yet who it is. */
typedef struct {
    int fd;
    double since;
    note in;
    size_t got;
} caller;

typedef struct network network;
/* Something has come from peer r. NULL: the connection is lost. */
typedef void net_event_fn(void *arg, int r, const note *x);
struct network {
    int n, rank, listener;
    const unsigned char *key;
    const watchdog_place *place; /* [n] */
    peer *peer;                  /* [n] */
    caller *caller;              /* [callers] */
    int callers, most_callers;
    struct pollfd *poll;
    double began, now;
    net_event_fn *event;
    void *arg;
};

int net_listen(int *port); /* -1: failed, errno says why */
int net_addresses(watchdog_address *address, int most);
bool net_make(network *net);
/* Waits for up to so many seconds, and does what is due. Whether something has come through `control`. */
bool net_wait(network *net, int control, double seconds);
/* To all whose connection stands. */
void net_send_all(network *net, note x);
void net_send(network *net, int r, note x);
/* Nothing more will be sent to r, which need not answer. */
void net_shut(network *net, int r);
void net_close(network *net, int r);
bool net_pending(const network *net, int r); /* it is not up yet, but may come to be */
#endif
