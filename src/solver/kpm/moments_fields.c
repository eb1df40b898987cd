/* The attributes of a moments file, one table for both directions; the checksum of all that is in one. */
#include <stddef.h>
#include <string.h>
#include <zlib.h>
#include "moments.h"

static const char *const trace_words[] = {"random", "exact", "sites", "given", NULL};
static const char *const method_words[] = {"lanczos", "gershgorin", "given", NULL};
static const char *const variant_words[] = {"blocked", "fused", "naive", NULL};
static const char *const type_words[] = {"default", "single", "double", "complex single", "complex double", NULL};

#define AT(member) offsetof(wisp_moments, member)
const wisp__moments_field wisp__moments_fields[] = {
    {"rows", INTEGER, AT(rows), NULL},
    {"nnz", INTEGER, AT(nnz), NULL},
    {"trace", WORD, AT(trace), trace_words},
    {"center", NUMBER, AT(bounds.center), NULL},
    {"halfwidth", NUMBER, AT(bounds.halfwidth), NULL},
    {"failure_probability", NUMBER, AT(bounds.failure_probability), NULL},
    {"bounds_method", WORD, AT(bounds_method), method_words},
    {"bounds_seconds", NUMBER, AT(bounds_seconds), NULL},
    {"seed", UNSIGNED, AT(seed), NULL},
    {"first_vector", INTEGER, AT(first_vector), NULL},
    {"type", WORD, AT(type), type_words},
    {"variant", WORD, AT(variant), variant_words},
    {"width", WHOLE, AT(width), NULL},
    {"powers", WHOLE_OR_1, AT(depth), NULL}, /* the depth, by its name in files of format version 2 */
    {"threads", WHOLE, AT(threads), NULL},
    {"seconds", NUMBER, AT(seconds), NULL},
    {"flops", NUMBER, AT(flops), NULL},
    {"partial", INTEGER, AT(partial), NULL},
    {"matrix", TEXT, AT(matrix), NULL},
    {"command", TEXT, AT(command), NULL},
    {NULL, TEXT, 0, NULL},
};

static const char *const direction_words[] = {"unknown", "xx", "xy", "xz", "yx", "yy", "yz", "zx", "zy", "zz", NULL};
const wisp__moments_field wisp__sample_fields[] = {
    {"volume", NUMBER, AT(volume), NULL},
    {"dimensions", WHOLE, AT(dimensions), NULL},
    {"direction", WORD, AT(direction), direction_words},
    {NULL, TEXT, 0, NULL},
};
const wisp__moments_field wisp__points_fields[] = {
    {"columns", INTEGER, AT(columns), NULL},
    {"moved", NUMBER, AT(moved), NULL},
    {"orbitals", WHOLE, AT(orbitals), NULL},
    {"realizations", WHOLE, AT(realizations), NULL},
    {NULL, TEXT, 0, NULL},
};
const wisp__moments_field wisp__realizations_field = {"realizations", WHOLE, AT(realizations), NULL};
#undef AT

bool wisp__moments_has_sample(const wisp_moments *m)
{
    bool known = m->volume != 0 || m->dimensions != 0 || m->direction != 0;
    for (int i = 0; i < 3; i++) known = known || m->mark[i][0] != 0;
    return known;
}

/* ---- the checksum ----------------------------------------------------------------------------------- */

/* CRC-32 (zlib's) of all that is read, in one form for every machine and HDF5: of each attribute of the table its name,
   then its value; then version, vectors, n, moments, sites, imaginary parts, square; the attributes of the sample,
   marks; the attributes of points of k, and these, or realizations alone. Texts end with a zero byte, numbers are 8
   bytes, little endian: two's complement or IEEE double. A text that is missing is the byte 255. */
static uLong add_text(uLong crc, const char *text)
{
    return text ? crc32_z(crc, (const Bytef *)text, strlen(text) + 1) : crc32_z(crc, (const Bytef *)"\xff", 1);
}

static uLong add_numbers(uLong crc, const void *number, int64_t count)
{
    enum { AT_ONCE = 512 };
    uint64_t some[AT_ONCE];
    for (int64_t done = 0; done < count; done += AT_ONCE) {
        const size_t n = (size_t)(count - done < AT_ONCE ? count - done : AT_ONCE);
        memcpy(some, (const char *)number + done * 8, n * sizeof *some);
        for (size_t i = 0; i < n && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__; i++) some[i] = __builtin_bswap64(some[i]);
        crc = crc32_z(crc, (const Bytef *)some, n * sizeof *some);
    }
    return crc;
}

static uLong add_field(uLong crc, const wisp__moments_field *f, const wisp_moments *m)
{
    const void *p = (const char *)m + f->offset;
    crc = add_text(crc, f->name);
    switch (f->kind) {
    case INTEGER:
    case UNSIGNED:
    case NUMBER: return add_numbers(crc, p, 1);
    case WHOLE:
    case WHOLE_OR_1: return add_numbers(crc, &(int64_t){*(const int *)p}, 1);
    case WORD: return add_text(crc, f->words[*(const int *)p]);
    case TEXT: return add_text(crc, *(char *const *)p);
    }
    return crc;
}

uint32_t wisp__moments_checksum(const wisp_moments *m)
{
    uLong crc = crc32_z(0, NULL, 0);
    for (const wisp__moments_field *f = wisp__moments_fields; f->name; f++) crc = add_field(crc, f, m);
    crc = add_text(crc, m->version);
    crc = add_numbers(crc, &m->vectors, 1);
    crc = add_numbers(crc, &m->n, 1);
    crc = add_numbers(crc, m->mu, m->vectors * m->n);
    if (m->trace == WISP_TRACE_SITES) crc = add_numbers(crc, m->sites, m->vectors);
    if (m->imag) crc = add_numbers(crc, m->imag, m->vectors * m->n);
    if (m->square) crc = add_numbers(crc, &m->square, 1);
    if (!wisp__moments_has_sample(m) && !m->points && !m->realizations) return (uint32_t)crc;
    for (const wisp__moments_field *f = wisp__sample_fields; f->name; f++) crc = add_field(crc, f, m);
    crc = add_numbers(crc, m->mark, sizeof m->mark / sizeof(double));
    if (!m->points && m->realizations) crc = add_field(crc, &wisp__realizations_field, m);
    if (!m->points) return (uint32_t)crc;
    for (const wisp__moments_field *f = wisp__points_fields; f->name; f++) crc = add_field(crc, f, m);
    return (uint32_t)add_numbers(crc, m->points, m->point_count * WISP_POINT);
}
