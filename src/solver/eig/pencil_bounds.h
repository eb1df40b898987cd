/* Bounds of a pencil whose S can be factored, without its roots. */
#ifndef WISP_PENCIL_BOUNDS_H
#define WISP_PENCIL_BOUNDS_H
#include "eigen.h"

/* k->e->bounds of the inverse's pencil, as wisp_bounds_find has those of C, for so many products. *found: they are;
   else there are no factors, or the options say otherwise. WISP_ERR_NUMERIC: S is not positive definite, by its
   factors, whatever the options say. */
wisp_status wisp__pencil_bounds(wisp__eig *k, double products, bool *found);
#endif
