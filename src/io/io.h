/* The readers and writers of matrix files share this: matrices in memory, entries as they come, the formats. */
#ifndef WISP_IO_H
#define WISP_IO_H
#include "../topo/team.h"

/* A matrix in compressed rows, in memory; what a file becomes. Duplicates stay, in the file's order. On several ranks
   each has its own rows of it. */
typedef struct {
    wisp_ctx *ctx;
    wisp_type type;
    int64_t rows, cols;   /* of the whole matrix */
    int64_t first, local; /* the rows that are here: first .. first + local - 1 */
    int64_t nnz, max_row; /* of these */
    int64_t listed;       /* rows that rowptr counts: the local ones, or only those in `list` */
    int64_t *list;   /* ascending; where nearly all local rows are empty, so that memory follows entries; else NULL */
    int64_t *rowptr; /* [listed + 1] */
    int32_t *col;
    void *val;
    int64_t *weights; /* [ranks] by which the ranks have their rows, if it is to be a source; NULL: the context's */
} wisp__crs;

/* Entries as they come, in runs that are kept in file order. */
typedef struct {
    int64_t count;
    int32_t *row, *col;
    void *val;
    void *memory; /* one allocation that holds them all */
} wisp__run;
typedef struct {
    wisp__run *run;
    int64_t runs, room, entries;
} wisp__coo;

enum { WISP__RUN_ROWS = 64 }; /* rows whose entries are a run, where a source is read */

enum { WISP__LITTLE = 20000 }; /* fewer entries, rows counted too, are the work of one thread */

/* Whether a path ends so. */
bool wisp__ends_in(const char *path, const char *ending);
/* The words of Matrix Market for each wisp_symmetry; NULL ends the list. */
extern const char *const wisp__mtx_symmetry[];

/* Refuses sizes that 32-bit local indices cannot count; `where` follows the path (":LINE", ": byte 20"). */
wisp_status wisp__check_size(wisp_ctx *ctx, const char *path, const char *where, int64_t rows, int64_t cols);
/* Room for `count` entries in one run; wisp__coo_add takes it over, also when it fails. */
wisp_status wisp__run_alloc(wisp_ctx *ctx, wisp__run *run, wisp_type type, int64_t count);
wisp_status wisp__coo_add(wisp_ctx *ctx, wisp__coo *coo, wisp__run run);
void wisp__coo_free(wisp_ctx *ctx, wisp__coo *coo);

/* An empty one, with the rows of this rank by these weights; rank 0 of 1 has all. */
wisp__crs wisp__crs_of_rank(wisp_ctx *ctx, const int64_t *weights, wisp_type type, int64_t rows, int64_t cols);
/* Sorts entries by row (in parallel, and stable, so the result does not depend on the threads), and keeps those of the
   rows that `shape` has. Unless symmetry is general, each entry off the diagonal also stands for its mirror image.
   `path` is for messages. */
wisp_status wisp__crs_build(wisp__crs **crs, const wisp__crs *shape, const wisp__coo *coo, wisp_symmetry symmetry,
                            const char *path);
void wisp__crs_free(wisp__crs *crs);
/* Where in rowptr a row is counted; -1 if it is not listed, or not here. */
int64_t wisp__crs_slot(const wisp__crs *crs, int64_t row);
/* The source takes the arrays over. */
void wisp__crs_source(wisp_src *src, wisp__crs *crs);
/* The same of the ranks' parts of one matrix, if there is no failure. Collective. */
wisp_status wisp__crs_source_of_ranks(wisp_src *src, wisp__crs *crs);

/* Entries on their way to the ranks that have their rows, on several ranks. What a rank got is in the order of the
   ranks that sent it, and then in which they sent it. */
typedef struct {
    wisp_ctx *ctx;
    wisp_type type;
    bool mirrored;   /* an entry goes to the rank that has the row of its mirror image, too */
    int64_t *begin;  /* [ranks + 1] the first row of each rank */
    wisp__coo *from; /* [ranks] what came from each */
} wisp__deal;

enum { WISP__DEAL_BYTES = 8 << 20 }; /* of entries that a rank gives away at a time; so memory is bounded */
wisp_status wisp__deal_open(wisp__deal *deal, wisp_ctx *ctx, const int64_t *weights, wisp_type type, int64_t rows,
                            bool mirrored);
/* Collective: each rank gives away the entries it has, some or none, and is left with none. */
wisp_status wisp__deal_round(wisp__deal *deal, wisp__coo *coo);
/* The same in as many rounds as it takes, a few runs at a time; what came is then in `coo`. */
wisp_status wisp__deal_all(wisp__deal *deal, wisp__coo *coo);
/* All that came goes to `coo`, which is empty. */
wisp_status wisp__deal_take(wisp__deal *deal, wisp__coo *coo);
void wisp__deal_close(wisp__deal *deal);

/* Readers by format, from an open file (closed by the caller) or, with fd = -1, from `size` bytes of memory. `path` is
   the name in messages. Collective. */
typedef struct {
    const char *path;
    int fd;
    const void *data;
    int64_t size; /* bytes of the file, or -1 if it has no size (a pipe) */
    bool range;   /* of plain text: `size` bytes from where the descriptor stands, and no more */
    bool dealt;   /* rank 0 alone reads it; the others have nothing open */
} wisp__input;
wisp_status wisp__read_mtx(wisp_src *src, wisp_ctx *ctx, const wisp__input *in); /* plain or gzip */
wisp_status wisp__read_crs(wisp_src *src, wisp_ctx *ctx, const wisp__input *in);
wisp_status wisp__read_npz(wisp_src *src, wisp_ctx *ctx, const wisp__input *in); /* of scipy */
/* Bytes from a place that the file has: 0, errno, or -1 if it became shorter. */
int wisp__read_at(const wisp__input *in, void *to, size_t bytes, int64_t at);

wisp_status wisp__write_mtx(const wisp_src *src, wisp_ctx *ctx, const char *path, const wisp_write_opts *opts,
                            bool gzip);
wisp_status wisp__write_crs(const wisp_src *src, wisp_ctx *ctx, const char *path);

#endif
