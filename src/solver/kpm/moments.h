/* Whether moments that were read from a file can be moments at all. */
#ifndef WISP_MOMENTS_H
#define WISP_MOMENTS_H
#include "../solver.h"

/* Refuses moments from a file that no run can have made; `path` is for the message. */
wisp_status wisp__moments_check(wisp_ctx *ctx, const wisp_moments *m, const char *path);
/* moments_fields.c: the attributes, by name; the last one has none. */
/* int64, int, int that is 1 where it is missing, uint64, double, enum, string */
typedef enum { INTEGER, WHOLE, WHOLE_OR_1, UNSIGNED, NUMBER, WORD, TEXT } wisp__moments_kind;
typedef struct {
    const char *name;
    wisp__moments_kind kind;
    size_t offset;
    const char *const *words; /* of an enum, in its order; ends with NULL */
} wisp__moments_field;
extern const wisp__moments_field wisp__moments_fields[];
/* Those of the sample; they are in a file, with the marks, where any of these is known. */
extern const wisp__moments_field wisp__sample_fields[];
/* And of points of k, behind all of that. */
extern const wisp__moments_field wisp__points_fields[];
/* Or, without these, of realizations alone, where there are any. */
extern const wisp__moments_field wisp__realizations_field;
bool wisp__moments_has_sample(const wisp_moments *m);
uint32_t wisp__moments_checksum(const wisp_moments *m);
/* seal.c: a line at the end of the file, and whether the one that is there, if any, fits. */
enum { WISP__SEAL = 20 };
void wisp__seal_make(char seal[WISP__SEAL + 1], const void *image, size_t size);
wisp_status wisp__seal_check(wisp_ctx *ctx, int fd, const char *path);

#endif
