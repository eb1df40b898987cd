/* The nearest image of a row in a periodic cell. */
#ifndef WISP_IMAGE_H
#define WISP_IMAGE_H
#include "../base/base.h"

typedef struct {
    wisp_positions p;
    int vectors;
    double v[3][3], dual[3][3]; /* along which the lattice repeats, as short as they can be made; dual to them */
    int number[3];              /* of the vectors that they are made of, as the cell has them; */
    double given[3][3];         /* dual to these */
    double direction[3];        /* 0: all count */
    double half;                /* of the shortest way around that leads along the direction; infinity: none */
} wisp__image;
void wisp__image_make(wisp__image *m, const wisp_positions *p, const double direction[3]);

typedef enum { WISP__IMAGE_FOUND, WISP__IMAGE_AMBIGUOUS, WISP__IMAGE_FAILED } wisp__image_result;
/* step[3]: from one row to the nearest image of another one. Ambiguous: another image is as near, and is elsewhere
   along the direction. */
wisp__image_result wisp__image_step(const wisp__image *m, int64_t from, int64_t to, double step[3]);

/* Refuses positions that are not those of the rows of a square source, and sources whose rows have other numbers. */
wisp_status wisp__image_fits(wisp_ctx *ctx, const wisp_src *h, const wisp_positions *p);
/* Collective, over the rank's own rows: refuses bonds that are ambiguous, or join images of the same place; of
   positions that are listed (no reach) those that extend over more than a cell, too, and it warns of a cell far larger
   than they are. */
wisp_status wisp__image_look(wisp_ctx *ctx, const wisp__image *m, const wisp_src *h);
#endif
