/* The files of the Matrix Market reader share this: the head of a file, and its lines. */
#ifndef WISP_MTX_H
#define WISP_MTX_H
#include "../base/scan.h"
#include "io.h"
#include <locale.h>

/* What the head of the file says. */
typedef struct {
    const char *path;
    int64_t rows, cols;
    int64_t entries; /* that the file must hold */
    int64_t size_line;
    wisp_symmetry symmetry;
    int numbers; /* of one entry: 0 for a pattern, 1, 2 if complex */
    bool array, integer;
    locale_t c; /* the C locale, in which a point is a point */
} wisp__mtx;

/* The banner, and the line of sizes. */
wisp_status wisp__mtx_banner(wisp_ctx *ctx, wisp__mtx *m, const char *line);
wisp_status wisp__mtx_sizes(wisp_ctx *ctx, wisp__mtx *m, const char *line, int64_t number);

/* Collective: `range` becomes the bytes of the file, which begin behind its head, whose lines this rank parses. Lines
   belong to the range in which they begin; a range may have none. */
wisp_status wisp__mtx_range(wisp_ctx *ctx, const wisp__input *in, int64_t head, wisp__input *range);

/* Whole lines of entries, and what came of them. */
typedef struct {
    const char *begin, *end;
    wisp__run run;
    int64_t lines;
    const char *bad;   /* the first bad line, number `lines` of this stretch; or NULL */
    int64_t first;     /* entries before this stretch */
    int64_t bad_entry; /* array files: the first entry, counted in this stretch, that must not be there; or -1 */
    wisp_status status;
} wisp__stretch;

void wisp__mtx_parse(wisp_ctx *ctx, const wisp__mtx *m, wisp__stretch *stretch);
/* Array files: rows and columns from the place in the file; zeros are dropped. */
void wisp__mtx_place(const wisp__mtx *m, wisp__stretch *stretch);
/* The line of an entry of the stretch (both counted from 0); *number counts it from 1. */
const char *wisp__mtx_line_of(const wisp__stretch *stretch, int64_t entry, int64_t *number);
/* Says what is wrong with a line that wisp__mtx_parse or (then it is on the diagonal) wisp__mtx_place did not take. */
wisp_status wisp__mtx_explain(wisp_ctx *ctx, const wisp__mtx *m, const char *line, int64_t number, bool diagonal);
#endif
