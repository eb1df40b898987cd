/* Sources: a matrix given row by row, by a file, an array, or the gallery. Part of wisp.h, which says what holds for
   all calls. */
#ifndef WISP_H
#include "wisp.h" /* all of it: functions of one header are inline in another */
#endif
#ifndef WISP_PUBLIC_SOURCE_H
#define WISP_PUBLIC_SOURCE_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- matrix sources: a matrix given row by row ----------------------------------------------- */

/* Writes the entries of one row: columns to col, values of the source's type to val. Returns their number; a negative
   one is a failure (WISP_ERR_CALLBACK). With col = NULL (and val too) it only counts. Columns come in any order;
   duplicates are added. It is called from many threads at once, at least twice a row. It must answer the same each time
   (another number is WISP_ERR_CALLBACK), and return at most max_row entries with columns in range (WISP_ERR_ARG). */
typedef int (*wisp_row_fn)(void *arg, int64_t row, int64_t *col, void *val);
/* The same for many rows at once, where a call costs more than a row, as in Python: the rows first .. first + count -
   1, of which there is at least one. Writes rowptr[count + 1], from 0: the entries of row first + i are those from
   rowptr[i] to rowptr[i + 1] - 1. Returns their number, rowptr[count]; a negative one is a failure (WISP_ERR_CALLBACK).
   If there are at most `room` of them, it also writes columns to col and values to val. If there are more, it leaves
   both alone, and is called again, with more room or for fewer rows. With room = 0 col and val are NULL: it only
   counts. What is said of columns, duplicates, max_row and repeated calls holds as above. It must not call wisp with
   the context that reads the source. */
typedef int64_t (*wisp_many_fn)(void *arg, int64_t first, int64_t count, int64_t room, int64_t *rowptr, int64_t *col,
                                void *val);

/* A program gives row or many, not both (WISP_ERR_ARG); sources that the library opens have row. */
typedef struct {
    int64_t rows, cols;
    int64_t max_row;          /* the most entries of a row */
    wisp_type type;           /* of the values that are written */
    wisp_row_fn row;          /* one row; NULL: many() gives them */
    void *arg;                /* passed to row() or many() */
    void (*free_arg)(void *); /* called by wisp_src_close; may be NULL */
    int64_t own_rows;     /* 1: on several ranks it answers for the rank's own rows alone, those that wisp_map_local */
                          /* names of a map of so many rows with these weights, and fails for others. 0: for any row */
    wisp_many_fn many;    /* many rows; NULL: row() gives them */
    int64_t many_at_once; /* 0: of a context's threads one at a time calls many(), whichever it is. 1: several may */
    const int64_t *weights; /* [ranks], the same on all, as long as it is open: in these proportions they share the */
                            /* rows of what is made of it. NULL: in those of the context */
} wisp_src;

/* Opens NAME as a source, to be closed by wisp_src_close: a gallery spec ("topi:nx=10,ny=10,nz=4"), whose rows are
   computed (of "wannier:FILE" from the numbers in that file, which each rank reads), or a file (.mtx, .mtx.gz, .crs;
   .npz as scipy.sparse.save_npz writes it, as csr, csc or coo, and whole numbers become WISP_D), which is read into
   memory, by each rank its own rows. A file goes before a spec of the same name, if rank 0 sees it.
   WISP_ERR_IO: the file can't be read; WISP_ERR_FORMAT: it is malformed, and the message names the place; WISP_ERR_ARG:
   an unknown name or key. */
WISP_SIZED wisp_status wisp_src_open(wisp_src *src, wisp_ctx *ctx, const char *name);
WISP_SIZED wisp_status wisp_src_open_file(wisp_src *src, wisp_ctx *ctx, const char *path);
WISP_SIZED wisp_status wisp_src_open_gallery(wisp_src *src, wisp_ctx *ctx, const char *spec);
/* CRS arrays of the user: row pointers, and columns counted from 0, each of 64 or 32 bits (scipy: 32, or 64). */
typedef enum { WISP_INT64, WISP_INT32 } wisp_int;
typedef struct {
    int64_t rows, cols;
    wisp_type type;               /* of the values */
    wisp_int rowptr_int, col_int; /* of what rowptr and col point to */
    const void *rowptr;           /* [rows + 1], from 0 */
    const void *col, *val;        /* [rowptr[rows]]; NULL if there is none */
} wisp_crs;
/* Opens the arrays as a source. They are read in place and must stay until the source is closed; the struct need not.
   Columns come in any order. WISP_ERR_ARG: the arrays are no matrix, and the message names the place. */
WISP_SIZED wisp_status wisp_src_open_crs(wisp_src *src, wisp_ctx *ctx, const wisp_crs *crs);
/* Opens (A + A^H)/2 of a square source, which may be closed afterwards. The entries are held in memory, by each rank
   those of its own rows (wisp_src.own_rows). This makes a matrix exactly Hermitian that is so up to rounding. *change,
   which may be NULL, becomes the largest change of an entry over the largest |a_ij|; above 1e-10 (single precision:
   1e-6) the log has a warning. WISP_ERR_HERMITIAN: the source is not square. */
WISP_SIZED wisp_status wisp_src_hermitian_part(wisp_src *src, wisp_ctx *ctx, const wisp_src *other, double *change);
/* Opens one of the two parts of A = H - iW, a square source, which may be closed afterwards: HERMITIAN is H = (A +
   A^H)/2, as above but without a word in the log; ANTIHERMITIAN is W = i(A - A^H)/2, complex, without entries that are
   0. Both are Hermitian bit by bit, and are held in memory as above. WISP_ERR_HERMITIAN: the source is not square. */
typedef enum { WISP_PART_HERMITIAN, WISP_PART_ANTIHERMITIAN } wisp_matrix_part;
WISP_SIZED wisp_status wisp_src_part(wisp_src *src, wisp_ctx *ctx, const wisp_src *other, wisp_matrix_part which);
/* Opens A^H, the transposed source with conjugate numbers, of any shape, whose rows are the other's columns; that may
   be closed afterwards. The entries are held in memory, by each rank those of its own rows, and once more, in double
   precision, while it is made. So wisp_mat_create makes a matrix of A^H, whose products are as fast as those of A.
   WISP_ERR_OVERFLOW: a column has more than 2^31 - 1 entries. All ranks make this call together. */
WISP_SIZED wisp_status wisp_src_adjoint(wisp_src *src, wisp_ctx *ctx, const wisp_src *other);
/* Opens the Hermitian matrix B = [[0, A], [A^H, 0]] of a source A of any shape, which may be closed afterwards: rows
   and columns of B are first A's rows, then A's columns. Its eigenvalues are the singular values of A, with both signs,
   and zeros (Golub and Van Loan, Matrix Computations, section 8.6): for wisp_svd. The entries are held in memory, by
   each rank those of its own rows, and once more while it is made. WISP_ERR_ARG: A has no rows, or no columns;
   WISP_ERR_OVERFLOW: a row or a column of A has more than 2^31 - 1 entries. All ranks make this call together. */
WISP_SIZED wisp_status wisp_src_augmented(wisp_src *src, wisp_ctx *ctx, const wisp_src *other);
/* Partitions the rows of a square source anew, so that ranks have less to send each other: *src has the rows and
   columns of `other` in another order, and the entries are held in memory, by each rank those of its own rows
   (wisp_src.own_rows), and once more while they move; `other` may be closed afterwards. LEVELS: by the levels of a
   breadth-first search of the graph (Cuthill and McKee 1969), cut into as many consecutive parts as there are ranks.
   SCOTCH: parts that have few entries between them, by PT-SCOTCH (of ranks as threads by SCOTCH, whose parts are
   others); the pattern must be symmetric (WISP_ERR_ARG), and the build have it (WISP_ERR_UNSUPPORTED). A matrix from it
   has a map in that order; random vectors on it are as if rows had kept their places, while other vectors go by the new
   numbers, and so does what is told of a row. With one rank there is nothing to cut: *src is then `other`, which must
   stay open. WISP_ERR_ARG: the source is not square. All ranks make this call together. */
typedef enum { WISP_PARTITION_ROWS, WISP_PARTITION_LEVELS, WISP_PARTITION_SCOTCH } wisp_partition;
WISP_SIZED wisp_status wisp_src_partition(wisp_src *src, wisp_ctx *ctx, const wisp_src *other, wisp_partition how);
/* The numbers that the rank's rows had before that, as long as the source is open; NULL: they have them still. */
WISP_SIZED const int64_t *wisp_src_numbers(const wisp_src *src);
/* Opens the part of a square source that is near the given row[rows]: those rows and columns to which at most `steps`
   entries lead from one of them, level by level of a breadth-first search from there (duplicates among the given ones
   count once). place[rows] becomes which rows of *src they are. For vectors a and b on the given rows, <b|p(A)|a> is
   the same of both matrices for any polynomial p of degree 2 steps + 1 and less, if an entry leads back wherever one
   leads: a path from row to row of so many entries is nowhere further from both ends. So local densities and Green's
   functions of huge lattices need no more than that; and sweeps may leave out rows that are not reached yet
   (wisp_mpk_opts.near, wisp_mat_info.near_rows). The entries are held in memory, by each rank all of them; `other` may
   be closed afterwards. If more than `most` rows are reached on average over the steps, *src stays empty, and the
   status is WISP_OK. WISP_ERR_ARG: the source is not square, a given row is not there, or rows, steps or most are
   negative; WISP_ERR_UNSUPPORTED: a source that answers for a rank's own rows alone, of several ranks. All ranks make
   this call together, with the same arguments. */
WISP_SIZED wisp_status wisp_src_near(wisp_src *src, wisp_ctx *ctx, const wisp_src *other, const int64_t *row,
                                     int64_t rows, int64_t steps, int64_t most, int64_t *place);
/* Deals the rows of a source out by other weights: the same rows with the same numbers (and wisp_src_numbers), but each
   rank has those that it has on a map with these weights (wisp_map_create_weighted; NULL: those of the context).
   A source with own_rows sends its entries to the ranks that have their rows then; they are held in memory, twice
   meanwhile, and what *src was before is closed. A source that answers for any row is kept within the new one. Where
   the shares are the same already, *src stays as it is. Either way the result is closed by wisp_src_close. So weights
   that were found need nothing to be read anew: wisp_src_open_mat deals out the entries of a matrix. After a failure
   *src is what it was. WISP_ERR_ARG: weights are from 0 to 2^40, not all 0. All ranks make this call together. */
WISP_SIZED wisp_status wisp_src_deal(wisp_src *src, wisp_ctx *ctx, const int64_t *weights);
/* Calls free_arg, and empties the struct, which is the caller's. src may be NULL. */
WISP_SIZED void wisp_src_close(wisp_src *src);

typedef enum { WISP_SYM_GENERAL, WISP_SYM_SYMMETRIC, WISP_SYM_HERMITIAN, WISP_SYM_SKEW } wisp_symmetry;
typedef struct {
    wisp_symmetry symmetry; /* .mtx: store one half only; the matrix must have this symmetry exactly */
    int array;              /* .mtx: dense "array" format instead of "coordinate" */
    int pattern;            /* .mtx: "pattern" field, without values */
    const char *comment;    /* .mtx: written as a comment line; may be NULL */
} wisp_write_opts;
/* Writes a source to path (.mtx, .mtx.gz or .crs by its name). A temporary file is written, synced and renamed, so that
   an old file survives a failure. opts may be NULL. Where ranks have their own rows alone, rank 0 gets them from the
   others, some at a time. WISP_ERR_IO: the file can't be written; WISP_ERR_MISMATCH: the matrix has not the symmetry of
   opts; WISP_ERR_ARG: also if the name has another ending; WISP_ERR_UNSUPPORTED: an array of such rows. */
WISP_SIZED wisp_status wisp_src_write(const wisp_src *src, wisp_ctx *ctx, const char *path,
                                      const wisp_write_opts *opts);
/* Writes data[bytes] to path in the same way (WISP_ERR_IO). A symbolic link is followed, also to a file that is not
   there yet; a device or a pipe is written in place. */
WISP_API wisp_status wisp_file_write(wisp_ctx *ctx, const char *path, const void *data, size_t bytes);
/* WISP_OK if wisp_file_write could write there, else WISP_ERR_IO: to know before a long run. */
WISP_API wisp_status wisp_file_check(wisp_ctx *ctx, const char *path);
/* A file that is filled piece by piece by whatever writes to a name, and appears under `path` when it is whole.
   wisp_file_create makes an empty file beside it, of which wisp_file_temporary is the name, until it is committed or
   freed. wisp_file_commit syncs it and gives it its name, in the place of an old file; wisp_file_free removes it,
   unless it was committed. NULL is accepted by the last one, and by wisp_file_temporary, which then is NULL.
   WISP_ERR_IO: it can't be written there, or path is a device or a pipe; WISP_ERR_ARG: it is committed already. */
typedef struct wisp_file wisp_file;
WISP_API wisp_status wisp_file_create(wisp_file **file, wisp_ctx *ctx, const char *path);
WISP_API const char *wisp_file_temporary(const wisp_file *file);
WISP_API wisp_status wisp_file_commit(wisp_file *file);
WISP_API void wisp_file_free(wisp_file *file);
WISP_API int wisp_file_same(const char *a, const char *b); /* 1: both names stand for one file; it need not be there */

/* The gallery, for listings: entry number i, or NULL past the end. The texts are the library's. */
typedef struct {
    const char *name, *summary;
    const char
        *keys; /* one line per key: "key=default  meaning\n"; "FILE  meaning\n": a spec begins with a file's name */
} wisp_gallery_entry;
WISP_API const wisp_gallery_entry *wisp_gallery_list(int i);

/* The name of a matrix without folders, for titles and to compare: a part of the text that wisp_src_open takes. A name
   of the gallery stays whole: a slash there is a fraction's, or tells files apart. NULL for NULL. */
WISP_API const char *wisp_matrix_name(const char *name);

#ifdef __cplusplus
}
#endif

#endif
