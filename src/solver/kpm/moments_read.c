/* Moments files are read, damaged ones and those of other writers, too. (moments_hdf5.c writes them.) */
#include "moments.h"
#include "config.h"

#ifdef WISP_HAVE_HDF5

#include "moments_hdf5.h"
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_TEXT = 1 << 20 };

typedef struct {
    wisp_ctx *ctx;
    const char *path;
    hid_t file;
} reader;

static wisp_status bad(const reader *r, const char *what, const char *name)
{
    return wisp_ctx_failf(r->ctx, WISP_ERR_FORMAT, "%s: %s %s; is it a moments file of wisp?", r->path, name, what);
}

/* A scalar attribute as a number of the given HDF5 type. */
static wisp_status read_attribute(const reader *r, const char *name, hid_t type, void *value)
{
    wisp_status status = WISP_OK;
    hid_t attribute = -1, stored = -1, space = -1;
    if (h5->Aexists(r->file, name) <= 0) return bad(r, "is missing", name);
    attribute = h5->Aopen(r->file, name, H5P_DEFAULT);
    if (attribute >= 0) stored = h5->Aget_type(attribute), space = h5->Aget_space(attribute);
    if (space < 0 || stored < 0 || h5->Sget_simple_extent_npoints(space) != 1)
        status = bad(r, "is not a single value", name);
    else if (h5->Tget_class(stored) != h5->Tget_class(type) || h5->Aread(attribute, type, value) < 0)
        status = bad(r, "has the wrong type", name);
    if (space >= 0) h5->Sclose(space);
    if (stored >= 0) h5->Tclose(stored);
    if (attribute >= 0) h5->Aclose(attribute);
    return status;
}

/* A string attribute of fixed or of variable length (as h5py writes it) as a new string; not there: *text is NULL. */
static wisp_status read_text(const reader *r, const char *name, char **text)
{
    wisp_status status = WISP_OK;
    *text = NULL;
    if (h5->Aexists(r->file, name) <= 0) return WISP_OK;
    hid_t attribute = h5->Aopen(r->file, name, H5P_DEFAULT);
    hid_t type = attribute >= 0 ? h5->Aget_type(attribute) : -1,
          space = attribute >= 0 ? h5->Aget_space(attribute) : -1;
    if (type < 0 || space < 0 || h5->Tget_class(type) != H5T_STRING || h5->Sget_simple_extent_npoints(space) != 1) {
        status = bad(r, "is not a text", name);
    } else if (h5->Tis_variable_str(type) > 0) {
        char *value = NULL;
        if (h5->Aread(attribute, type, &value) < 0 || !value || !(*text = strdup(value)))
            status = bad(r, "cannot be read", name);
        if (value) h5->free_memory(value);
    } else {
        size_t size = h5->Tget_size(type);
        *text = size <= MOST_TEXT ? calloc(size + 1, 1) : NULL;
        if (!*text || h5->Aread(attribute, type, *text) < 0) status = bad(r, "cannot be read", name);
    }
    if (space >= 0) h5->Sclose(space);
    if (type >= 0) h5->Tclose(type);
    if (attribute >= 0) h5->Aclose(attribute);
    return status;
}

static wisp_status read_word(const reader *r, const wisp__moments_field *f, int *value)
{
    char *text = NULL;
    wisp_status status = read_text(r, f->name, &text);
    if (status == WISP_OK && !text) status = bad(r, "is missing", f->name);
    int i = 0;
    while (status == WISP_OK && f->words[i] && strcmp(f->words[i], text)) i++;
    if (status == WISP_OK && !f->words[i]) status = bad(r, "has an unknown value", f->name);
    *value = i;
    free(text);
    return status;
}

static wisp_status read_field(const reader *r, const wisp__moments_field *f, wisp_moments *m)
{
    void *p = (char *)m + f->offset;
    switch (f->kind) {
    case INTEGER: return read_attribute(r, f->name, *h5->T_NATIVE_INT64_g, p);
    case WHOLE_OR_1:
        *(int *)p = 1;
        if (h5->Aexists(r->file, f->name) <= 0) return WISP_OK;
        return read_attribute(r, f->name, *h5->T_NATIVE_INT_g, p);
    case WHOLE: return read_attribute(r, f->name, *h5->T_NATIVE_INT_g, p);
    case UNSIGNED: return read_attribute(r, f->name, *h5->T_NATIVE_UINT64_g, p);
    case NUMBER: return read_attribute(r, f->name, *h5->T_NATIVE_DOUBLE_g, p);
    case WORD: return read_word(r, f, p);
    case TEXT: return read_text(r, f->name, p);
    }
    return WISP_OK;
}

static wisp_status check_format(const reader *r, wisp_moments *m, int *number)
{
    wisp_status status = WISP_OK;
    char *text = NULL, *version = NULL;
    WISP_TRY(read_text(r, "format", &text));
    if (!text || strcmp(text, WISP__MOMENTS_FORMAT)) {
        status = wisp_ctx_failf(r->ctx, WISP_ERR_FORMAT, "%s: an HDF5 file, but not of moments (no format \"%s\")",
                                r->path, WISP__MOMENTS_FORMAT);
        goto out;
    }
    WISP_TRY(read_attribute(r, "format_version", *h5->T_NATIVE_INT_g, number));
    if (*number < WITHOUT_CHECKSUM || *number > REALIZATIONS) {
        status = wisp_ctx_failf(r->ctx, WISP_ERR_UNSUPPORTED,
                                "%s: moments file of format version %d; this wisp reads %d to %d", r->path, *number,
                                WITHOUT_CHECKSUM, REALIZATIONS);
        goto out;
    }
    WISP_TRY(read_text(r, "version", &version));
    if (version) snprintf(m->version, sizeof m->version, "%.31s", version);
out:
    free(text);
    free(version);
    return status;
}

/* Whether so many bytes can be in the file, compressed or not: of damaged dimensions no memory is asked for. */
static bool can_hold(hid_t file, size_t bytes)
{
    const size_t deflate_at_most = 1032;
    hsize_t size;
    return h5->Fget_filesize(file, &size) >= 0 && bytes / deflate_at_most <= size && bytes <= PTRDIFF_MAX;
}

/* A dataset of the given rank and class: its dimensions, and its data in new memory. */
static wisp_status read_dataset(const reader *r, const char *name, int rank, hid_t type, hsize_t *dims, void **data)
{
    wisp_status status = WISP_OK;
    hid_t set = -1, stored = -1, space = -1;
    size_t bytes = 0, size = h5->Tget_size(type);
    if (h5->Lexists(r->file, name, H5P_DEFAULT) <= 0) return bad(r, "(dataset) is missing", name);
    set = h5->Dopen2(r->file, name, H5P_DEFAULT);
    if (set >= 0) stored = h5->Dget_type(set), space = h5->Dget_space(set);
    if (stored < 0 || h5->Tget_class(stored) != h5->Tget_class(type)) {
        status = bad(r, "is not a dataset of the right type", name);
    } else if (h5->Sget_simple_extent_ndims(space) != rank || h5->Sget_simple_extent_dims(space, dims, NULL) != rank ||
               dims[0] < 1 || dims[rank - 1] < 1 || __builtin_mul_overflow(dims[0], rank > 1 ? dims[1] : 1, &bytes) ||
               __builtin_mul_overflow(bytes, size, &bytes) || !can_hold(r->file, bytes) ||
               h5->Dget_storage_size(set) == 0) {
        status = bad(r, "has the wrong shape", name);
    } else if (!(*data = malloc(bytes))) {
        status = wisp_ctx_failf(r->ctx, WISP_ERR_NOMEM, "%s: out of memory for %zu bytes of %s", r->path, bytes, name);
    } else if (h5->Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, *data) < 0) {
        status = bad(r, "cannot be read (the file is damaged)", name);
    }
    if (space >= 0) h5->Sclose(space);
    if (stored >= 0) h5->Tclose(stored);
    if (set >= 0) h5->Dclose(set);
    return status;
}

static wisp_status read_sample(const reader *r, wisp_moments *m)
{
    wisp_status status = WISP_OK;
    hsize_t dims[2];
    double *marks = NULL;
    for (const wisp__moments_field *f = wisp__sample_fields; f->name; f++) WISP_TRY(read_field(r, f, m));
    WISP_TRY(read_dataset(r, "marks", 2, *h5->T_NATIVE_DOUBLE_g, dims, (void **)&marks));
    if (dims[0] == 3 && dims[1] == 3)
        memcpy(m->mark, marks, sizeof m->mark);
    else
        status = bad(r, "has the wrong shape", "marks");
out:
    free(marks);
    return status;
}

static wisp_status read_points(const reader *r, wisp_moments *m)
{
    wisp_status status = WISP_OK;
    hsize_t dims[2];
    for (const wisp__moments_field *f = wisp__points_fields; f->name; f++) WISP_TRY(read_field(r, f, m));
    WISP_TRY(read_dataset(r, "points", 2, *h5->T_NATIVE_DOUBLE_g, dims, (void **)&m->points));
    if (dims[1] != WISP_POINT) return bad(r, "has the wrong shape", "points");
    m->point_count = (int64_t)dims[0];
out:
    return status;
}

static wisp_status read_moments(const reader *r, wisp_moments *m, int version)
{
    wisp_status status = WISP_OK;
    hsize_t dims[2];
    WISP_TRY(read_dataset(r, "moments", 2, *h5->T_NATIVE_DOUBLE_g, dims, (void **)&m->mu));
    m->vectors = (int64_t)dims[0];
    m->n = (int64_t)dims[1];
    if (m->n < 2) return bad(r, "has the wrong shape", "moments");
    const bool square = version == SQUARE || (version >= SAMPLE && h5->Aexists(r->file, "square") > 0);
    if (version >= SAMPLE) WISP_TRY(read_sample(r, m));
    if (version == POINTS) WISP_TRY(read_points(r, m));
    if (version == REALIZATIONS) WISP_TRY(read_field(r, &wisp__realizations_field, m));
    if (square) WISP_TRY(read_attribute(r, "square", *h5->T_NATIVE_INT64_g, &m->square));
    if (square && (m->square < 2 || m->square > m->n || m->square * m->square != m->n))
        return bad(r, "does not fit the moments", "square");
    if (version >= WITH_SIDES && h5->Lexists(r->file, "imaginary", H5P_DEFAULT) > 0) {
        WISP_TRY(read_dataset(r, "imaginary", 2, *h5->T_NATIVE_DOUBLE_g, dims, (void **)&m->imag));
        if ((int64_t)dims[0] != m->vectors || (int64_t)dims[1] != m->n)
            return bad(r, "and moments differ in their shape", "imaginary");
    }
    if (m->trace != WISP_TRACE_SITES) goto out;
    WISP_TRY(read_dataset(r, "sites", 1, *h5->T_NATIVE_INT64_g, dims, (void **)&m->sites));
    if ((int64_t)dims[0] != m->vectors) return bad(r, "and moments differ in their number of vectors", "sites");
out:
    return status;
}

static wisp_status check_sum(const reader *r, const wisp_moments *m, int version)
{
    uint32_t sum;
    if (version == WITHOUT_CHECKSUM && h5->Aexists(r->file, "checksum") <= 0) {
        wisp_ctx_logf(r->ctx, WISP_LOG_WARN,
                      "%s: this moments file of an older wisp has no checksum; its numbers are in range, but could be "
                      "damaged",
                      r->path);
        return WISP_OK;
    }
    const wisp_status status = read_attribute(r, "checksum", *h5->T_NATIVE_UINT32_g, &sum);
    if (status != WISP_OK || sum == wisp__moments_checksum(m)) return status;
    return wisp_ctx_failf(
        r->ctx, WISP_ERR_FORMAT,
        "%s: the checksum does not fit: the file is damaged, or was changed; compute the moments anew", r->path);
}

/* Says why a file cannot be opened, or opens it. */
static wisp_status open_reader(reader *r)
{
    const int fd = open(r->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe would wait for one that writes */
    struct stat st;
    wisp_status status;
    if (fd < 0) return wisp_ctx_failf(r->ctx, WISP_ERR_IO, "%s: %s", r->path, strerror(errno));
    if (!fstat(fd, &st) && S_ISFIFO(st.st_mode))
        status =
            wisp_ctx_failf(r->ctx, WISP_ERR_IO, "%s: moments can't be read from a pipe; keep them in a file", r->path);
    else
        status = wisp__seal_check(r->ctx, fd, r->path);
    close(fd);
    if (status != WISP_OK) return status;
    if (h5->Fis_hdf5(r->path) <= 0) return wisp_ctx_failf(r->ctx, WISP_ERR_FORMAT, "%s: not an HDF5 file", r->path);
    r->file = h5->Fopen(r->path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (r->file < 0)
        return wisp_ctx_failf(r->ctx, WISP_ERR_FORMAT, "%s: an HDF5 file that is truncated or damaged", r->path);
    return WISP_OK;
}

static void end_quietly(void) { h5->Eset_auto2(H5E_DEFAULT, NULL, NULL); }

/* What HDF5 could not close of a damaged file it prints when the process ends: unless that is the setting then. */
static void after_damage(void)
{
    static bool asked;
    if (!asked) asked = !atexit(end_quietly);
}

wisp_status wisp_moments_load(wisp_ctx *ctx, wisp_moments *m, const char *path)
{
    wisp_status status = WISP_OK;
    reader r = {ctx, path, -1};
    int version = 0;
    WISP_NEED(ctx, m);
    *m = (wisp_moments){0};
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, path);
    wisp__quiet q;
    status = wisp__hdf5_be_quiet(ctx, path, &q);
    if (status != WISP_OK) return status;
    WISP_TRY(open_reader(&r));
    WISP_TRY(check_format(&r, m, &version));
    for (const wisp__moments_field *f = wisp__moments_fields; f->name; f++) WISP_TRY(read_field(&r, f, m));
    WISP_TRY(read_moments(&r, m, version));
    WISP_TRY(wisp__moments_check(ctx, m, path));
    WISP_TRY(check_sum(&r, m, version));
out:
    if (r.file >= 0) h5->Fclose(r.file);
    if (status != WISP_OK) after_damage();
    wisp__hdf5_be_loud(q);
    if (status != WISP_OK) wisp_moments_free(m);
    return status;
}

#endif
