/* Files as scipy.sparse.save_npz writes them, made naively, with all their freedoms and faults. */
#ifndef IO_NPZ_H
#define IO_NPZ_H
#include "io_naive.h"
#include <zlib.h>

enum { NPZ_ROOM = 1 << 19 };

typedef struct {
    unsigned char data[NPZ_ROOM], list[NPZ_ROOM];
    size_t size, listed;
    int files;
    bool packed, wide; /* deflated; sizes in fields of 64 bits */
} npz_file;

static inline void npz_bytes(unsigned char *to, size_t *at, const void *from, size_t n)
{
    assert_true(*at + n <= NPZ_ROOM);
    if (n > 0) memcpy(to + *at, from, n);
    *at += n;
}

static inline void npz_number(unsigned char *to, size_t *at, uint64_t x, int bytes)
{
    for (int i = 0; i < bytes; i++, x >>= 8) npz_bytes(to, at, &(unsigned char){(unsigned char)x}, 1);
}

/* What both records of a file have; `where` < 0: the one before its bytes. */
static inline void npz_record(npz_file *f, const char *name, uint64_t crc, size_t packed, size_t size, int64_t where)
{
    unsigned char *to = where < 0 ? f->data : f->list;
    size_t *at = where < 0 ? &f->size : &f->listed;
    const uint64_t hidden = UINT32_MAX;
    npz_bytes(to, at, where < 0 ? "PK\3\4" : "PK\1\2", 4);
    if (where >= 0) npz_number(to, at, 45, 2);
    npz_number(to, at, 45, 2);
    npz_number(to, at, 0, 2);
    npz_number(to, at, f->packed ? 8 : 0, 2);
    npz_number(to, at, 0, 4);
    npz_number(to, at, crc, 4);
    npz_number(to, at, f->wide ? hidden : packed, 4);
    npz_number(to, at, f->wide ? hidden : size, 4);
    npz_number(to, at, strlen(name) + 4, 2);
    npz_number(to, at, f->wide ? where < 0 ? 20 : 28 : 0, 2);
    if (where >= 0) {
        npz_number(to, at, 0, 2 + 2 + 2 + 4);
        npz_number(to, at, f->wide ? hidden : (uint64_t)where, 4);
    }
    npz_bytes(to, at, name, strlen(name));
    npz_bytes(to, at, ".npy", 4);
    if (!f->wide) return;
    npz_number(to, at, 1, 2);
    npz_number(to, at, where < 0 ? 16 : 24, 2);
    npz_number(to, at, size, 8);
    npz_number(to, at, packed, 8);
    if (where >= 0) npz_number(to, at, (uint64_t)where, 8);
}

/* An array: type and shape as numpy writes them, such as "'<f8'" and "(3,)". */
static inline void npz_add(npz_file *f, const char *name, const char *type, const char *shape, const void *data,
                           size_t bytes)
{
    static unsigned char whole[NPZ_ROOM], packed[NPZ_ROOM];
    size_t n = 0;
    char head[256];
    const int length =
        snprintf(head, sizeof head, "{'descr': %s, 'fortran_order': False, 'shape': %s, }\n", type, shape);
    npz_bytes(whole, &n, "\x93NUMPY\1\0", 8);
    npz_number(whole, &n, (uint64_t)length, 2);
    npz_bytes(whole, &n, head, (size_t)length);
    npz_bytes(whole, &n, data, bytes);
    z_stream z = {.next_in = whole, .avail_in = (uInt)n, .next_out = packed, .avail_out = sizeof packed};
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    const size_t size = f->packed ? z.total_out : n;
    deflateEnd(&z);
    const uint64_t crc = crc32(0, whole, (uInt)n);
    const size_t where = f->size;
    npz_record(f, name, crc, size, n, -1);
    npz_bytes(f->data, &f->size, f->packed ? packed : whole, size);
    npz_record(f, name, crc, size, n, (int64_t)where);
    f->files++;
}

/* The list of files, and where it is. */
static inline void npz_end(npz_file *f)
{
    const size_t at = f->size;
    npz_bytes(f->data, &f->size, f->list, f->listed);
    if (f->wide) {
        const size_t end = f->size;
        npz_bytes(f->data, &f->size, "PK\6\6", 4);
        npz_number(f->data, &f->size, 44, 8);
        npz_number(f->data, &f->size, 45 | 45 << 16, 4);
        npz_number(f->data, &f->size, 0, 8);
        npz_number(f->data, &f->size, (uint64_t)f->files, 8);
        npz_number(f->data, &f->size, (uint64_t)f->files, 8);
        npz_number(f->data, &f->size, f->listed, 8);
        npz_number(f->data, &f->size, at, 8);
        npz_bytes(f->data, &f->size, "PK\6\7", 4);
        npz_number(f->data, &f->size, 0, 4);
        npz_number(f->data, &f->size, end, 8);
        npz_number(f->data, &f->size, 1, 4);
    }
    npz_bytes(f->data, &f->size, "PK\5\6", 4);
    npz_number(f->data, &f->size, 0, 4);
    npz_number(f->data, &f->size, (uint64_t)f->files, 2);
    npz_number(f->data, &f->size, (uint64_t)f->files, 2);
    npz_number(f->data, &f->size, f->wide ? UINT32_MAX : f->listed, 4);
    npz_number(f->data, &f->size, f->wide ? UINT32_MAX : at, 4);
    npz_number(f->data, &f->size, 0, 2);
}

static inline void npz_put(const char *path, const void *data, size_t bytes)
{
    FILE *f = fopen(path, "wb");
    assert_int_equal(fwrite(data, 1, bytes, f), bytes);
    fclose(f);
}

/* ---- matrices ----------------------------------------------------------------------------------------- */

typedef struct {
    const char *format; /* "csr", "csc", "coo" */
    const char *type;   /* of the values: "'<f4'", "'|i1'", .. */
    int index;          /* bytes */
    bool packed, wide;
    int64_t rows, cols, n;
    const int64_t *row, *col; /* [n] in any order, some of them twice */
    const int *re, *im;       /* [n] */
} npz_matrix;

static inline void npz_ints(npz_file *f, const char *name, int bytes, int64_t count, const int64_t *x)
{
    static unsigned char data[NPZ_ROOM];
    char shape[32];
    size_t at = 0;
    for (int64_t i = 0; i < count; i++) npz_number(data, &at, (uint64_t)x[i], bytes);
    snprintf(shape, sizeof shape, "(%lld,)", (long long)count);
    npz_add(f, name, bytes == 4 ? "'<i4'" : "'<i8'", shape, data, at);
}

static inline void npz_value(unsigned char *to, size_t *at, const char *type, int x)
{
    const int bytes = (type[2] == 'c' ? 1 : 2) * atoi(type + 3) / 2;
    const float single = (float)x;
    const double full = x;
    if (type[2] != 'f' && type[2] != 'c')
        npz_number(to, at, (uint64_t)(int64_t)x, bytes);
    else
        npz_bytes(to, at, bytes == 4 ? (const void *)&single : &full, (size_t)bytes);
}

/* As scipy writes it: entries of a row (or column) stay in the order that they have here. */
static inline void npz_write(const char *path, const npz_matrix *m)
{
    npz_file *f = calloc(1, sizeof *f);
    static unsigned char values[NPZ_ROOM];
    static int64_t order[4096], major[4096], minor[4096], pointer[4096];
    const bool coo = !strcmp(m->format, "coo"), csc = !strcmp(m->format, "csc");
    const int64_t majors = coo ? 1 : csc ? m->cols : m->rows;
    int64_t n = 0;
    size_t at = 0;
    f->packed = m->packed, f->wide = m->wide;
    for (int64_t i = 0; i < majors; i++) {
        pointer[i] = n;
        for (int64_t k = 0; k < m->n; k++)
            if (coo || (csc ? m->col : m->row)[k] == i) order[n++] = k;
    }
    pointer[majors] = n;
    for (int64_t k = 0; k < n; k++) {
        major[k] = m->row[order[k]];
        minor[k] = (csc ? m->row : m->col)[order[k]];
        npz_value(values, &at, m->type, m->re[order[k]]);
        if (m->type[2] == 'c') npz_value(values, &at, m->type, m->im[order[k]]);
    }
    char shape[32];
    snprintf(shape, sizeof shape, "(%lld,)", (long long)n);
    npz_ints(f, coo ? "col" : "indices", m->index, n, minor);
    npz_ints(f, coo ? "row" : "indptr", m->index, coo ? n : majors + 1, coo ? major : pointer);
    npz_add(f, "format", "'|S3'", "()", m->format, 3);
    npz_ints(f, "shape", 8, 2, (int64_t[]){m->rows, m->cols});
    npz_add(f, "data", m->type, shape, values, at);
    npz_add(f, "_is_array", "'|b1'", "()", "\1", 1);
    npz_end(f);
    npz_put(path, f->data, f->size);
    free(f);
}
#endif
