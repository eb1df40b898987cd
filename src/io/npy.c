/* Arrays in a zip archive: APPNOTE.TXT of PKWARE (6.3.10) for the archive, with its 64-bit fields, and numpy's NEP 1
   for the arrays. Numbers of the archive are little endian, at any place. */
#include "npy.h"
#include "../base/system.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
enum { RAW = 16 };
#else
enum { RAW = 1 << 16 };
#endif
enum { LIST_END = 22, LOCATOR = 20, LIST_END64 = 56, LISTED = 46, LOCAL = 30 }; /* bytes of these records */
enum { MOST_COMMENT = 65535, MOST_LIST = 1 << 20, MOST_HEAD = 1000 };

static uint64_t number(const unsigned char *p, int bytes)
{
    uint64_t x = 0;
    for (int i = bytes; i-- > 0;) x = x << 8 | p[i];
    return x;
}

static wisp_status broken(const wisp__zip *zip, const char *what)
{
    return wisp_ctx_failf(zip->ctx, WISP_ERR_FORMAT, "%s: %s; is it a whole .npz file? (write, or fetch, it again)",
                          zip->in->path, what);
}

/* Bytes from anywhere in the file. */
static wisp_status get(const wisp__zip *zip, void *to, int64_t bytes, uint64_t at)
{
    char text[128];
    const uint64_t size = (uint64_t)zip->in->size;
    if (at > size || (uint64_t)bytes > size - at) return broken(zip, "its parts reach beyond its end");
    const int error = wisp__read_at(zip->in, to, (size_t)bytes, (int64_t)at);
    if (!error) return WISP_OK;
    return wisp_ctx_failf(zip->ctx, WISP_ERR_IO, "%s: cannot read: %s", zip->in->path,
                          error < 0 ? "the file became shorter meanwhile" : wisp__error_text(error, text, sizeof text));
}

/* ---- the list of files -------------------------------------------------------------------------------- */

/* The record at the end of the file, before a comment. */
static wisp_status find_end(const wisp__zip *zip, unsigned char *end, int64_t *at)
{
    const int64_t size = zip->in->size, window = WISP__MIN(size, (int64_t)(LIST_END + MOST_COMMENT));
    unsigned char *tail;
    wisp_status status = wisp__alloc_raw(zip->ctx, &tail, (size_t)window + 1, 1);
    if (status != WISP_OK) return status;
    WISP_TRY(get(zip, tail, window, (uint64_t)(size - window)));
    for (int64_t i = window - LIST_END; i >= 0; i--)
        if (memcmp(tail + i, "PK\5\6", 4) == 0 && (int64_t)number(tail + i + 20, 2) == window - LIST_END - i) {
            memcpy(end, tail + i, LIST_END);
            *at = size - window + i;
            goto out;
        }
    status = broken(zip, "it has no list of its parts at its end");
out:
    wisp_free(zip->ctx, tail);
    return status;
}

static wisp_status find_list(const wisp__zip *zip, uint64_t *bytes, uint64_t *at)
{
    unsigned char end[LIST_END], where[LOCATOR], wide[LIST_END64];
    int64_t end_at = 0;
    wisp_status status;
    WISP_TRY(find_end(zip, end, &end_at));
    *bytes = number(end + 12, 4);
    *at = number(end + 16, 4);
    if ((*bytes != UINT32_MAX && *at != UINT32_MAX) || end_at < LOCATOR) goto out;
    WISP_TRY(get(zip, where, LOCATOR, (uint64_t)(end_at - LOCATOR)));
    if (memcmp(where, "PK\6\7", 4) != 0) goto out;
    WISP_TRY(get(zip, wide, LIST_END64, number(where + 8, 8)));
    if (memcmp(wide, "PK\6\6", 4) != 0) return broken(zip, "the record of its size is damaged");
    *bytes = number(wide + 40, 8);
    *at = number(wide + 48, 8);
out:
    return status;
}

wisp_status wisp__zip_open(wisp__zip *zip, wisp_ctx *ctx, const wisp__input *in)
{
    uint64_t bytes, at;
    wisp_status status;
    *zip = (wisp__zip){.ctx = ctx, .in = in};
    WISP_TRY(find_list(zip, &bytes, &at));
    if (bytes > MOST_LIST)
        return wisp_ctx_failf(ctx, WISP_ERR_FORMAT, "%s: it has more files in it than a matrix of scipy", in->path);
    WISP_TRY(wisp__alloc_raw(ctx, &zip->list, (size_t)bytes + 1, 1));
    zip->bytes = (int64_t)bytes;
    WISP_TRY(get(zip, zip->list, zip->bytes, at));
out:
    return status;
}

void wisp__zip_close(wisp__zip *zip)
{
    if (zip->ctx) wisp_free(zip->ctx, zip->list);
    *zip = (wisp__zip){0};
}

/* What the list has of a file. */
typedef struct {
    uint64_t flags, method, crc, packed, size, at;
} listed;

/* Fields that are too small for their numbers have these in a further field, in this order. */
static void widen(listed *f, const unsigned char *more, int64_t bytes)
{
    uint64_t *const field[] = {&f->size, &f->packed, &f->at};
    for (int64_t i = 0; i + 4 <= bytes; i += 4 + (int64_t)number(more + i + 2, 2)) {
        if (number(more + i, 2) != 1) continue;
        const int64_t end = WISP__MIN(bytes, i + 4 + (int64_t)number(more + i + 2, 2));
        int64_t p = i + 4;
        for (int k = 0; k < 3; k++)
            if (*field[k] == UINT32_MAX && p + 8 <= end) {
                *field[k] = number(more + p, 8);
                p += 8;
            }
        return;
    }
}

static bool find_listed(const wisp__zip *zip, const char *name, listed *f)
{
    char whole[32];
    const int length = snprintf(whole, sizeof whole, "%s.npy", name);
    for (int64_t i = 0; i + LISTED <= zip->bytes && memcmp(zip->list + i, "PK\1\2", 4) == 0;) {
        const unsigned char *p = zip->list + i;
        const int64_t named = (int64_t)number(p + 28, 2), more = (int64_t)number(p + 30, 2);
        if (i + LISTED + named + more > zip->bytes) return false;
        if (named == length && memcmp(p + LISTED, whole, (size_t)length) == 0) {
            *f = (listed){number(p + 8, 2),  number(p + 10, 2), number(p + 16, 4),
                          number(p + 20, 4), number(p + 24, 4), number(p + 42, 4)};
            widen(f, p + LISTED + named, more);
            return true;
        }
        i += LISTED + named + more + (int64_t)number(p + 32, 2);
    }
    return false;
}

/* ---- the bytes of an array ---------------------------------------------------------------------------- */

wisp_status wisp__npy_fail(const wisp__npy *a, wisp_status status, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return wisp_ctx_failf(a->zip->ctx, status, "%s: %s.npy: %s", a->zip->in->path, a->name, text);
}

static wisp_status damaged(const wisp__npy *a)
{
    return wisp__npy_fail(a, WISP_ERR_FORMAT, "its bytes are damaged (write, or fetch, the file again)");
}

static wisp_status inflate_some(wisp__npy *a, unsigned char *to, size_t bytes)
{
    while (bytes > 0) {
        /* zlib may have taken all bytes, and still have some to write. */
        if (a->z.avail_in == 0 && a->size > 0) {
            const int64_t some = WISP__MIN(a->size, (int64_t)RAW);
            const wisp_status status = get(a->zip, a->raw, some, (uint64_t)a->at);
            if (status != WISP_OK) return status;
            a->at += some;
            a->size -= some;
            a->z.next_in = a->raw;
            a->z.avail_in = (uInt)some;
        }
        const uInt out = (uInt)WISP__MIN(bytes, (size_t)RAW);
        a->z.next_out = to;
        a->z.avail_out = out;
        const int code = inflate(&a->z, Z_NO_FLUSH);
        const uInt given = out - a->z.avail_out;
        to += given;
        bytes -= given;
        if (code == Z_MEM_ERROR) return wisp__npy_fail(a, WISP_ERR_NOMEM, "out of memory for zlib");
        if (code != Z_OK && (code != Z_STREAM_END || bytes > 0)) return damaged(a);
        if (given == 0 && a->z.avail_in == 0 && a->size == 0) return damaged(a);
    }
    return WISP_OK;
}

static wisp_status take(wisp__npy *a, void *to, int64_t bytes)
{
    wisp_status status;
    if (bytes > a->left) return damaged(a);
    if (a->deflated) {
        WISP_TRY(inflate_some(a, to, (size_t)bytes));
    } else {
        WISP_TRY(get(a->zip, to, bytes, (uint64_t)a->at));
        a->at += bytes;
    }
    for (int64_t i = 0; i < bytes; i += RAW) /* zlib counts in 32 bits */
        a->sum = (uint32_t)crc32(a->sum, (const unsigned char *)to + i, (uInt)WISP__MIN(bytes - i, (int64_t)RAW));
    a->left -= bytes;
out:
    return status;
}

/* Where the bytes are: behind a record of their own, which has the name again. */
static wisp_status find_bytes(wisp__npy *a, const listed *f)
{
    unsigned char head[LOCAL];
    wisp_status status;
    enum { STORED = 0, DEFLATED = 8, ENCRYPTED = 1 };
    if (f->flags & ENCRYPTED) return wisp__npy_fail(a, WISP_ERR_UNSUPPORTED, "it is encrypted");
    if (f->method != STORED && f->method != DEFLATED)
        return wisp__npy_fail(a, WISP_ERR_UNSUPPORTED, "it is packed by method %d; stored and deflated files are read",
                              (int)f->method);
    WISP_TRY(get(a->zip, head, LOCAL, f->at));
    if (memcmp(head, "PK\3\4", 4) != 0) return damaged(a);
    const uint64_t at = f->at + LOCAL + number(head + 26, 2) + number(head + 28, 2), end = (uint64_t)a->zip->in->size;
    a->deflated = f->method == DEFLATED;
    if (at > end || f->packed > end - at || f->size > INT64_MAX || (!a->deflated && f->size != f->packed))
        return damaged(a);
    a->at = (int64_t)at;
    a->size = (int64_t)f->packed;
    a->left = (int64_t)f->size;
    a->crc = (uint32_t)f->crc;
    if (!a->deflated) return WISP_OK;
    WISP_TRY(wisp__alloc_raw(a->zip->ctx, &a->raw, RAW, 1));
    if (inflateInit2(&a->z, -MAX_WBITS) != Z_OK) return wisp__npy_fail(a, WISP_ERR_NOMEM, "out of memory for zlib");
    a->inflating = true;
out:
    return status;
}

/* ---- its head: {'descr': '<f8', 'fortran_order': False, 'shape': (3,), } ------------------------------ */

/* What follows a key. */
static const char *value_of(const char *head, const char *key)
{
    const char *p = strstr(head, key);
    if (!p) return NULL;
    p += strlen(key);
    return p + strspn(p, " ");
}

static bool read_shape(wisp__npy *a, const char *p)
{
    if (!p || *p++ != '(') return false;
    for (a->count = 1;; a->dims++) {
        p += strspn(p, " ,");
        if (*p == ')') return true;
        char *end;
        errno = 0;
        const long long n = strtoll(p, &end, 10);
        if (end == p || errno || n < 0) return false;
        p = end;
        if (__builtin_mul_overflow(a->count, n, &a->count)) return false;
    }
}

/* "<f8" */
static bool read_type(wisp__npy *a, const char *p, bool *foreign)
{
    if (!p || *p++ != '\'' || !*p || !strchr("<>|=", *p)) return false;
    const char other = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? '>' : '<';
    a->kind = p[1];
    char *end;
    const long n = a->kind ? strtol(p + 2, &end, 10) : 0;
    if (n < 1 || n > 64 || *end != '\'') return false;
    a->bytes = (int)n;
    *foreign = *p == other && n > 1;
    return true;
}

static wisp_status read_head(wisp__npy *a)
{
    unsigned char magic[12];
    char head[MOST_HEAD + 1];
    wisp_status status;
    bool foreign;
    WISP_TRY(take(a, magic, 10));
    if (memcmp(magic, "\x93NUMPY", 6) != 0 || magic[6] < 1 || magic[6] > 3)
        return wisp__npy_fail(a, WISP_ERR_FORMAT, "it is no array of numpy");
    if (magic[6] > 1) WISP_TRY(take(a, magic + 10, 2));
    const uint64_t length = number(magic + 8, magic[6] > 1 ? 4 : 2);
    if (length > MOST_HEAD) return wisp__npy_fail(a, WISP_ERR_UNSUPPORTED, "it has numbers of a composed type");
    WISP_TRY(take(a, head, (int64_t)length));
    head[length] = 0;
    if (!read_shape(a, value_of(head, "'shape':")) || !read_type(a, value_of(head, "'descr':"), &foreign))
        return wisp__npy_fail(a, WISP_ERR_FORMAT, "the type or the shape of the array can't be read");
    if (foreign)
        return wisp__npy_fail(a, WISP_ERR_UNSUPPORTED,
                              "its numbers have another byte order than this machine's (A.astype(...) changes it)");
    if (a->count != a->left / a->bytes || a->left % a->bytes != 0)
        return wisp__npy_fail(a, WISP_ERR_FORMAT, "%lld bytes are there for %lld numbers of %d bytes",
                              (long long)a->left, (long long)a->count, a->bytes);
out:
    return status;
}

wisp_status wisp__npy_open(wisp__npy *a, const wisp__zip *zip, const char *name)
{
    listed f;
    *a = (wisp__npy){.zip = zip, .name = name};
    if (!find_listed(zip, name, &f))
        return wisp_ctx_failf(zip->ctx, WISP_ERR_FORMAT,
                              "%s: it has no array %s.npy; is it a file of scipy.sparse.save_npz?", zip->in->path,
                              name);
    const wisp_status status = find_bytes(a, &f);
    return status == WISP_OK ? read_head(a) : status;
}

wisp_status wisp__npy_read(wisp__npy *a, void *to, int64_t count) { return take(a, to, count * a->bytes); }

wisp_status wisp__npy_end(wisp__npy *a)
{
    unsigned char rest[1024];
    wisp_status status = WISP_OK;
    while (a->left > 0) WISP_TRY(take(a, rest, WISP__MIN(a->left, (int64_t)sizeof rest)));
    if (a->sum != a->crc) return damaged(a);
out:
    return status;
}

void wisp__npy_close(wisp__npy *a)
{
    if (a->inflating) inflateEnd(&a->z);
    if (a->zip) wisp_free(a->zip->ctx, a->raw);
    *a = (wisp__npy){0};
}
