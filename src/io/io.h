/* The readers and writers of matrix files share this: matrices in memory, entries as they come, the formats. */
#ifndef WISP_IO_H
#define WISP_IO_H
#include "../topo/team.h"

/* A matrix in compressed rows, in memory; what a file becomes. Duplicates stay, in the file's order. */
typedef struct {
    wisp_ctx *ctx;
    wisp_type type;
    int64_t rows, cols, nnz, max_row;
    int64_t listed;  /* rows that rowptr counts: all of them, or only those in `list` */
    int64_t *list;   /* ascending; where nearly all rows are empty, so that memory follows entries; else NULL */
    int64_t *rowptr; /* [listed + 1] */
    int32_t *col;
    void *val;
} wisp__crs;

/* Entries as they come, in pieces that are kept in file order. */
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

/* Whether a path ends so. */
bool wisp__ends_in(const char *path, const char *ending);
/* The words of Matrix Market for each wisp_symmetry; NULL ends the list. */
extern const char *const wisp__mtx_symmetry[];

/* Room for `count` entries in one run; wisp__coo_add takes it over, also when it fails. */
wisp_status wisp__run_alloc(wisp_ctx *ctx, wisp__run *run, wisp_type type, int64_t count);
wisp_status wisp__coo_add(wisp_ctx *ctx, wisp__coo *coo, wisp__run run);
void wisp__coo_free(wisp_ctx *ctx, wisp__coo *coo);

/* Sorts entries by row (in parallel, and stable, so the result does not depend on the threads). Unless symmetry is
   general, each entry off the diagonal also stands for its mirror image. `path` is for messages. */
wisp_status wisp__crs_build(wisp__crs **crs, wisp_ctx *ctx, const wisp__coo *coo, wisp_type type, int64_t rows,
                            int64_t cols, wisp_symmetry symmetry, const char *path);
void wisp__crs_free(wisp__crs *crs);
/* Where in rowptr a row is counted; -1 if it is not listed. */
int64_t wisp__crs_slot(const wisp__crs *crs, int64_t row);
/* The source takes the arrays over. */
void wisp__crs_source(wisp_src *src, wisp__crs *crs);

/* Readers by format, from an open file (closed by the caller) or, with fd = -1, from `size` bytes of memory. `path` is
   the name in messages. */
typedef struct {
    const char *path;
    int fd;
    const void *data;
    int64_t size; /* bytes of the file, or -1 if it has no size (a pipe) */
} wisp__input;
wisp_status wisp__read_mtx(wisp_src *src, wisp_ctx *ctx, const wisp__input *in); /* plain or gzip */
wisp_status wisp__read_crs(wisp_src *src, wisp_ctx *ctx, const wisp__input *in);

wisp_status wisp__write_mtx(const wisp_src *src, wisp_ctx *ctx, const char *path, const wisp_write_opts *opts,
                            bool gzip);
wisp_status wisp__write_crs(const wisp_src *src, wisp_ctx *ctx, const char *path);

/* Refuses sizes that 32-bit local indices cannot count; `where` follows the path (":LINE", ": byte 20"). */
wisp_status wisp__check_size(wisp_ctx *ctx, const char *path, const char *where, int64_t rows, int64_t cols);

#endif
