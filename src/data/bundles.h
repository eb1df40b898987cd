/* Rows that repeat in bundles that fill a register: kernel/params.h. */
#ifndef WISP_BUNDLES_H
#define WISP_BUNDLES_H
#include "data.h"

/* Makes local.bundles of a matrix with patterns that is else complete, where it pays for blocks of width 1; otherwise
   nothing. */
wisp_status wisp__bundles_find(wisp_mat *A);
#endif
