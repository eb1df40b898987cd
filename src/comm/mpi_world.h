/* Ranks as processes: what the files of MPI share. (mpi.c says how rounds and exchanges go together.) */
#ifndef WISP_MPI_WORLD_H
#define WISP_MPI_WORLD_H
#include "comm.h"
#include <mpi.h>

enum {
    WISP__MPI_POST = 240, /* bytes of data in a post */
    WISP__MPI_PLANS = 16,
    WISP__MPI_NOTICE_TAG = 1,
    WISP__MPI_FIRST_TAG = 2,
    WISP__MPI_TAGS = 16384,
    WISP__MPI_SLEEP = 20, /* microseconds */
};

/* What a rank gives in a round. */
typedef struct {
    int16_t call, wish; /* to cancel, see wisp__held_wish */
    int32_t status;     /* not WISP_OK: it failed, and has nothing */
    uint64_t bytes;     /* of its data, which are here if they fit */
    char data[WISP__MPI_POST];
} wisp__mpi_post;

typedef struct {
    wisp__mpi_post mine, *all; /* [ranks] */
    MPI_Request request;
    bool under_way;
} wisp__mpi_round;

/* The persistent requests of an exchange; the lists by which it is known again. */
typedef struct {
    wisp__message *list; /* to, then from */
    int to_count, from_count;
    MPI_Request *request; /* receives, then sends */
    int receives, requests;
    int *message; /* [receives] whose part it is */
    int *left;    /* [from_count] parts that are still to come */
    int *index;   /* [receives] those that have come of late */
} wisp__mpi_plan;

typedef struct {
    MPI_Comm comm;
    unsigned epoch;                   /* the number of rounds that failed */
    unsigned notice;                  /* being sent: the epoch that a failure ends */
    bool failing;                     /* the next round will fail */
    wisp__mpi_round meeting, summing; /* the latter: of a sum that was started */
    double *sum;                      /* that is not waited for: [sum_n]; NULL: none */
    size_t sum_n;
    char *piece; /* [ranks][piece_bytes] */
    size_t piece_bytes;
    wisp__mpi_plan plan[WISP__MPI_PLANS], *active;
    int oldest; /* plan */
} wisp__mpi_world;

static inline int wisp__mpi_tag(const wisp__mpi_world *w)
{
    return WISP__MPI_FIRST_TAG + (int)(w->epoch % WISP__MPI_TAGS);
}

/* ---- mpi_round.c ---- */

/* What ranks call in a round. */
typedef enum {
    WISP__MPI_LEAVE,
    WISP__MPI_SUM,
    WISP__MPI_GATHER,
    WISP__MPI_EXCHANGE,
    WISP__MPI_SUM_START
} wisp__mpi_call;

/* Gives what this rank has to a round: data that fit its post are there. */
void wisp__mpi_begin(wisp_ctx *ctx, wisp__mpi_round *m, wisp__mpi_call call, wisp_status status, const void *data,
                     size_t bytes);
/* What all ranks make of it together. */
wisp_status wisp__mpi_end(wisp_ctx *ctx, wisp__mpi_round *m);
/* Both, behind a sum that was started. Who has failed tells the others, and gives an exchange up. */
wisp_status wisp__mpi_meet(wisp_ctx *ctx, wisp__mpi_call call, wisp_status status, const void *data, size_t bytes);
/* Whether a rank has failed since the last round. Notices of earlier failures are late. */
bool wisp__mpi_has_notice(wisp__mpi_world *w);
/* Gives the exchange up and joins the round of the rank that has failed. */
wisp_status wisp__mpi_join(wisp_ctx *ctx);
/* Waits for all of these. */
void wisp__mpi_finish(wisp__mpi_world *w, MPI_Request *request, int n);
/* The core is given up between two looks, for another rank, or MPI's own threads, may need it. Who has waited for long
   sleeps: where ranks share cores, each look takes the time of one that computes. */
void wisp__mpi_give_way(int *turns);
/* Takes a message that nobody wants any more, if there is one. */
bool wisp__mpi_drop(const wisp__mpi_world *w, int tag);
void wisp__mpi_free_plan(wisp__mpi_plan *p);
void wisp__mpi_free_plans(wisp__mpi_world *w);

/* ---- mpi_exchange.c ---- */

wisp_status wisp__mpi_start(wisp_ctx *ctx, const wisp__message *to, int to_count, const wisp__message *from,
                            int from_count);
wisp_status wisp__mpi_wait(wisp_ctx *ctx);
wisp_status wisp__mpi_some(wisp_ctx *ctx, bool *here);
#endif
