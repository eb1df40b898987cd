/* The steps by which a matrix is made, shared by its making, its renewal and its plan. */
#ifndef WISP_ASSEMBLE_H
#define WISP_ASSEMBLE_H
#include "../data/halo.h"
#include "../data/shape.h"
#include "../data/store/compress.h"

/* shape.c: the shape of a new matrix from the options: type, C, sigma (0: to be found from the row lengths), order,
   format. Its context, and whether it is square, are known. */
wisp_status wisp__mat_shape(const wisp_src *src, const wisp_mat_opts *o, wisp_mat *A);

/* The steps of a new matrix from its shape on. First the maps, by the lengths of rows, in the user's order. */
wisp_status wisp__make_maps(wisp_mat *A, const wisp__part *part, const wisp_mat_opts *o, const int32_t *len);
/* Then what of its rows repeats, and A->sigma if that is 0: by the rows that are looked at. len[] is over these: of all
   in the user's order. */
wisp_status wisp__choose_rows(wisp_mat *A, const wisp_src *src, const wisp_mat_opts *o, const wisp__look *look,
                              const int32_t *len, wisp__compression *c);
/* Without patterns, then what of its values and columns: nnz entries in all, `entries` of the rows looked at. */
wisp_status wisp__choose_values(const wisp_mat *A, const wisp_src *src, const wisp_mat_opts *o, const wisp__look *look,
                                int64_t nnz, int64_t entries, wisp__compression *c);
/* How work on its rows is cut, when they are complete. */
wisp_status wisp__make_grid(wisp_mat *A);
/* With a halo: the row blocks of the grid that need none of it are visited first, while it is on its way, each in the
   order of the map. */
wisp_status wisp__visit_halo_last(wisp_mat *A);
/* len[] comes into the order of the map. */
wisp_status wisp__order_lengths(const wisp_mat *A, int32_t **len);
/* Whether its rows may be compressed, and are sorted by length. */
bool wisp__may_compress(const wisp_mat_opts *o);
bool wisp__is_sorted(const wisp_mat *A, const wisp_mat_opts *o);
/* The window in which rows are sorted, where none is asked for: with much fill-in there is one. */
int64_t wisp__window_for(const wisp_ctx *ctx, int64_t entries, int64_t nnz, int log_c);

/* padding.c: entries with padding when the rows with these lengths, row user[i] at place i, form chunks of 1 << log_c;
   chunk[chunks + 1], if not NULL, takes the first entry of each. */
int64_t wisp__padded_entries(const int32_t *len, const int32_t *user, int64_t rows, int log_c, int64_t *chunk);
/* The same of rows that are sorted as wisp__map_sort does (sigma > 1) and cut into chunks of 1 << log_c. */
wisp_status wisp__padded_sorted(wisp_ctx *ctx, const int32_t *row_len, int64_t rows, int log_c, int64_t sigma,
                                int64_t *entries);
/* plan.c: what a matrix will take, about; and, if m is not NULL, how the model of time sees it, without an order that
   takes long to find. The sample is then the caller's to close, whatever the status. */
wisp_status wisp__mat_foresee(wisp_ctx *ctx, const wisp_src *whole, const wisp_mat_opts *o, wisp_mat_info *info,
                              wisp__sample *sample, wisp__shape *m);
/* By all ranks together. Refuses a single-precision matrix if all numbers of its double-precision source are 0 or too
   small for single precision: it would be another matrix, or 0. Ends at the first number that is not. */
wisp_status wisp__refuse_too_small(const wisp_mat *A, const wisp_src *src);

#endif
