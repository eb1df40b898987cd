/* Sources that are another one, each of whose entries is changed by the bond that it stands for. */
#ifndef WISP_BONDS_H
#define WISP_BONDS_H
#include "image.h"

/* The first member of what a kind of such sources knows, in memory of wisp_alloc. */
typedef struct wisp__bonds wisp__bonds;
struct wisp__bonds {
    wisp_ctx *ctx;
    wisp_src h;
    wisp_type type; /* of what comes of it: as wide as that of h, or wider */
    wisp__image image;
    bool (*entry)(const wisp__bonds *b, int64_t row, int64_t col, wisp_scalar *x); /* x: of h; false: it can't be had */
};

/* *src becomes the rows of b->h with other entries; wisp_src_close frees b. */
void wisp__bonds_open(wisp_src *src, wisp__bonds *b);
#endif
