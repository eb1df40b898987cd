/* Slots, for ops. */
#ifndef WISP_SLOT_H
#define WISP_SLOT_H
#include "../backend/backend.h"

struct wisp_slot {
    wisp_ctx *ctx;
    double *at; /* [2 numbers], in the device's memory */
    int64_t numbers;
};

/* *at becomes where `count` numbers of a place are in the device's memory; NULL if there is no place. */
wisp_status wisp__place_at(wisp_ctx *ctx, const char *op, wisp_place place, int64_t count, double **at);
/* wisp__reduce of numbers in the device's memory. */
wisp_status wisp__reduce_there(wisp_ctx *ctx, double *at, size_t n);
#endif
