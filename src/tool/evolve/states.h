/* The states of an evolution in a file, each as it comes: --states; and the last one of such a file: --from. */
#ifndef WISP_TOOL_STATES_H
#define WISP_TOOL_STATES_H
#include "../tool.h"

/* What all states of a file share. */
typedef struct {
    uint64_t matrix; /* wisp_src_hash */
    int64_t rows;
    wisp_type type;        /* complex */
    wisp_scalar direction; /* of time */
} states_kind;

/* Of one state: psi has this norm; off: |psi - exact|, estimated; log_norm: of exp(-i d H t) psi(0). */
typedef struct {
    double time, norm, off, log_norm;
} states_at;

typedef struct states_set states_set;
/* states_hdf5.c, states_mtx.c: files of one format. A failure has been told. */
typedef struct {
    /* Fills the file `name`, which stands for `path` in messages; time[times] are those that are planned. */
    int (*begin)(tool *t, states_set **s, const char *name, const char *path, const states_kind *kind, int64_t times,
                 const double *time);
    int (*add)(states_set *s, const states_at *at, const void *psi); /* psi[rows], by the user's rows */
    int (*end)(states_set *s);                                       /* all that was added is in the file */
    void (*drop)(states_set *s);                                     /* in any case, also after end; NULL is accepted */
} states_format;
extern const states_format states_mtx, states_hdf5;

/* states.c: a file that is written. */
typedef struct {
    tool *t;
    const states_format *format;
    states_set *set;
    wisp_file *file;
    int64_t count; /* of states that are in it */
    int64_t room;  /* bytes of one, about and at most, with what the end of the file takes */
    bool broken;   /* a state was written in part, so that the file is lost */
} states_out;
int states_begin(tool *t, states_out *s, const states_kind *kind, int64_t times, const double *time);
int states_add(states_out *s, const states_at *at, const void *psi);
int states_end(states_out *s); /* the file is there, if it has a state */
/* When a state could not be added: the file is there with those before it, if it can be; how many these are. */
int64_t states_cut(states_out *s);
void states_close(states_out *s);
int64_t states_bytes(const tool *t, const states_kind *kind, int64_t times); /* of the file, about; 0: there is none */
/* Whether the options of states go together. */
int states_check(tool *t);

/* The last state of a file of --states FILE.h5. */
typedef struct {
    int64_t file, set; /* of HDF5; 0: it is not open */
    int64_t number;    /* of the state */
    states_kind kind;
    states_at at;
    uint64_t sum; /* of it and its numbers */
} states_last;
int states_open(tool *t, states_last *last, const char *path);
/* psi[rows] in this type. */
int states_read(tool *t, states_last *last, const char *path, wisp_type type, void *psi);
void states_close_last(states_last *last);
/* A number that all of a state makes. */
uint64_t states_sum(const states_kind *kind, const states_at *at, const void *psi);
#endif
