/* wisp: very large sparse spectral problems at the hardware's limit.
 *
 * Words. Block: a block vector, rows times a few columns; their number is its width, and a block row is one of its
 * rows. Row block: a range of rows that one thread does at a time. Sweep: one pass over a matrix. Order: where rows lie
 * in memory. C and sigma: the height of a chunk and the length of a sorting window in SELL-C-sigma. Depth: the number
 * of steps of a recurrence that are interleaved, 1 for one sweep after the other. Rank: a process, or what stands for
 * it. The KPM paper is Kreutzer et al., "Performance engineering of the kernel polynomial method on large-scale CPU-GPU
 * systems"; the GHOST paper is Kreutzer et al., "GHOST: building blocks for high performance sparse linear algebra on
 * heterogeneous systems".
 *
 * Calls. No function aborts or prints. A function that can fail returns a wisp_status, and its context keeps a message
 * (wisp_ctx_message), which names fields of its options as opts.tolerance. A zeroed options struct means the defaults.
 * Free functions accept NULL; so do functions that return a number or a pointer, which answer 0 or NULL. Arrays,
 * structs and texts that are passed in stay the user's and are read during the call alone, unless the comment says
 * otherwise. After a failure a handle that the call would have made is NULL, and blocks and arrays that it writes hold
 * anything.
 *
 * Statuses. Any call may return WISP_ERR_ARG (a pointer is NULL that may not be, a number or an option is out of its
 * range, a size is negative) and WISP_ERR_NOMEM. Calls that take long return WISP_ERR_CANCELLED (wisp_ctx_cancel).
 * WISP_ERR_MISMATCH: blocks, maps and matrices do not fit together. WISP_ERR_OVERFLOW: there are more rows or columns
 * than the index limit. Calls that read a source return WISP_ERR_CALLBACK if its row function fails. Other statuses are
 * named with each call.
 *
 * Numbers. Rows and columns are counted from 0 in the natural order, that of the source. How wisp orders and stores
 * them is invisible. Complex numbers are (re, im) pairs, binary compatible with C99 and C++.
 *
 * Threads. Calls on different contexts never meet. Several threads may use one context: calls that compute (ops on
 * blocks, products, solvers, measuring) take turns, so that the second one waits; the message is that of whichever
 * failed last (wisp_ctx_message). Objects may be read by several threads at once. Who writes to an object, changes
 * or frees it must be alone with it: a block that is written, filled or lent, a matrix under wisp_mat_update, a
 * source that is closed. A call pins the calling thread at most until it returns, and then gives it its own mask back,
 * as it does while a progress or log function runs. But row functions and that of wisp_ctx_each run on pinned threads;
 * a thread that one of them starts inherits that core, and has to set a mask of its own.
 *
 * Fork. The child may use and free what its parent made (on a device of CUDA or OpenCL: free alone; and it can't
 * open one of CUDA, if its parent has looked for it). Threads are started anew there, and are not pinned. If another
 * thread was in a call that computes on a context just then, such calls on it are WISP_ERR_UNSUPPORTED in the child; a
 * new context works. A child that is forked in a callback must not return from it.
 */
#ifndef WISP_H
#define WISP_H

#include "base.h"
#include "source.h"
#include "matrix.h"
#include "positions.h"
#include "slot.h"
#include "ops.h"
#include "machine.h"
#include "state.h"
#include "solvers.h"
#include "evolve.h"
#include "solve.h"
#include "eig.h"
#include "transport.h"
#include "overlap.h"
#include "sized.h"
#include "sized_solvers.h"

#endif
