/* Numbers in the memory of a device. Part of wisp.h, which says what holds for all calls. */
#ifndef WISP_H
#include "wisp.h" /* all of it: functions of one header are inline in another */
#endif
#ifndef WISP_PUBLIC_SLOT_H
#define WISP_PUBLIC_SLOT_H

#include "base.h"
#include "steps.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A slot: an array of complex numbers (wisp_scalar) in the device's memory. Ops put their dots there, and take factors
   of columns from there, so that the host need not wait for what only the next op needs. On the CPU it is an array like
   any other. */
typedef struct wisp_slot wisp_slot;
/* Some of its numbers, from `first` on: as many as the op that is given the place needs (WISP_ERR_ARG: the slot has not
   so many; WISP_ERR_MISMATCH: it is of another context). slot NULL: there is no place. The function of an operator
   leaves places alone that the op which calls it was given. */
typedef struct {
    wisp_slot *slot;
    int64_t first;
} wisp_place;

/* A new slot of so many numbers, all 0. WISP_ERR_ARG: there are none. */
WISP_API wisp_status wisp_slot_create(wisp_slot **slot, wisp_ctx *ctx, int64_t numbers);
WISP_API void wisp_slot_free(wisp_slot *slot);
/* Numbers first .. first + count - 1 become those of `from`, which is read at once, behind the ops that were called
   before; or come to the host, which waits for these ops. WISP_ERR_ARG: the slot has no such numbers. */
WISP_API wisp_status wisp_slot_write(wisp_slot *slot, int64_t first, int64_t count, const wisp_scalar *from);
WISP_API wisp_status wisp_slot_read(const wisp_slot *slot, int64_t first, int64_t count, wisp_scalar *to);
/* They become their sums over the ranks, which all make this call; with one rank nothing is done, nor waited for. */
WISP_API wisp_status wisp_slot_sum(wisp_slot *slot, int64_t first, int64_t count);

/* One step of scalars of `width` columns (steps.h): from dots that ops have put into its sets to factors that others
   take, without the host. numbers[WISP_NUMBERS]. WISP_ERR_ARG: the step is not known, or the slot has not WISP_SETS
   sets of so many numbers from its place on, those of the records, and that of <r, M^-1 r>. */
WISP_API wisp_status wisp_scalars(wisp_place sets, wisp_step step, int width, const double *numbers);

#ifdef __cplusplus
}
#endif

#endif
