/* Moments files: HDF5, /moments and /imaginary [vectors][n], /sites [vectors], /marks [3][3] and /points
   [points][6], all else as attributes of the root (moments_fields.c). */
#include "moments.h"
#include "config.h"

#ifndef WISP_HAVE_HDF5

static wisp_status without_hdf5(wisp_ctx *ctx)
{
    return wisp_ctx_failf(ctx, WISP_ERR_UNSUPPORTED,
                          "this wisp was built without HDF5: install libhdf5-dev and build again");
}

wisp_status wisp_moments_save(wisp_ctx *ctx, const wisp_moments *m, const char *path)
{
    (void)m, (void)path;
    return without_hdf5(ctx);
}

wisp_status wisp_moments_load(wisp_ctx *ctx, wisp_moments *m, const char *path)
{
    (void)path;
    WISP_NEED(ctx, m);
    *m = (wisp_moments){0};
    return without_hdf5(ctx);
}

#else

#include "moments_hdf5.h"
#include <pthread.h>
#include <string.h>

static int version_for(const wisp_moments *m)
{
    if (m->points) return POINTS;
    if (m->realizations) return REALIZATIONS;
    if (wisp__moments_has_sample(m)) return SAMPLE;
    if (m->square) return SQUARE;
    return m->imag || m->trace == WISP_TRACE_GIVEN ? WITH_SIDES : FORMAT_VERSION;
}
static const char units[] = "moments: <v|T_n((A - center)/halfwidth)|v>, without unit; center, halfwidth: the matrix's "
                            "own unit of energy; seconds: s; flops: floating-point operations";

/* ---- HDF5's messages -------------------------------------------------------------------------------- */

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

wisp_status wisp__hdf5_be_quiet(wisp_ctx *ctx, const char *path, wisp__quiet *q)
{
    const char *const refusal = wisp__hdf5_refusal();
    if (refusal) return wisp_ctx_failf(ctx, WISP_ERR_UNSUPPORTED, "%s: %s", path, refusal);
    pthread_mutex_lock(&one_at_a_time);
    h5->Eget_auto2(H5E_DEFAULT, &q->print, &q->arg);
    h5->Eset_auto2(H5E_DEFAULT, NULL, NULL);
    return WISP_OK;
}

void wisp__hdf5_be_loud(wisp__quiet q)
{
    h5->Eclear2(H5E_DEFAULT); /* a thread that ends would leak it */
    h5->Eset_auto2(H5E_DEFAULT, q.print, q.arg);
    pthread_mutex_unlock(&one_at_a_time);
}

/* ---- writing: a file image in memory, which then goes to disk like every other output -------------- */

static int write_attribute(hid_t file, const char *name, hid_t type, const void *value)
{
    hid_t space = h5->Screate(H5S_SCALAR);
    hid_t attribute = h5->Acreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    int ok = attribute >= 0 && h5->Awrite(attribute, type, value) >= 0;
    if (attribute >= 0) h5->Aclose(attribute);
    if (space >= 0) h5->Sclose(space);
    return ok;
}

static int write_text(hid_t file, const char *name, const char *text)
{
    hid_t type = h5->Tcopy(*h5->T_C_S1_g);
    int ok = type >= 0 && h5->Tset_size(type, strlen(text) + 1) >= 0 && h5->Tset_cset(type, H5T_CSET_UTF8) >= 0 &&
             write_attribute(file, name, type, text);
    if (type >= 0) h5->Tclose(type);
    return ok;
}

static int write_field(hid_t file, const wisp__moments_field *f, const wisp_moments *m)
{
    const void *p = (const char *)m + f->offset;
    const char *text;
    switch (f->kind) {
    case INTEGER: return write_attribute(file, f->name, *h5->T_NATIVE_INT64_g, p);
    case WHOLE:
    case WHOLE_OR_1: return write_attribute(file, f->name, *h5->T_NATIVE_INT_g, p);
    case UNSIGNED: return write_attribute(file, f->name, *h5->T_NATIVE_UINT64_g, p);
    case NUMBER: return write_attribute(file, f->name, *h5->T_NATIVE_DOUBLE_g, p);
    case WORD: return write_text(file, f->name, f->words[*(const int *)p]);
    case TEXT: text = *(char *const *)p; return !text || write_text(file, f->name, text);
    }
    return 0;
}

static int write_dataset(hid_t file, const char *name, hid_t type, int rank, const hsize_t *dims, const void *data)
{
    hid_t space = h5->Screate_simple(rank, dims, NULL);
    hid_t set = h5->Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    int ok = set >= 0 && h5->Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0;
    if (set >= 0) h5->Dclose(set);
    if (space >= 0) h5->Sclose(space);
    return ok;
}

static int write_sample(hid_t file, const wisp_moments *m)
{
    const hsize_t dims[2] = {3, 3};
    int ok = write_dataset(file, "marks", *h5->T_NATIVE_DOUBLE_g, 2, dims, m->mark);
    for (const wisp__moments_field *f = wisp__sample_fields; f->name && ok; f++) ok = write_field(file, f, m);
    return ok;
}

static int write_points(hid_t file, const wisp_moments *m)
{
    const hsize_t dims[2] = {(hsize_t)m->point_count, WISP_POINT};
    int ok = write_dataset(file, "points", *h5->T_NATIVE_DOUBLE_g, 2, dims, m->points);
    for (const wisp__moments_field *f = wisp__points_fields; f->name && ok; f++) ok = write_field(file, f, m);
    return ok;
}

static int fill_file(hid_t file, const wisp_moments *m)
{
    const int version = version_for(m);
    const uint32_t sum = wisp__moments_checksum(m);
    hsize_t dims[2] = {(hsize_t)m->vectors, (hsize_t)m->n};
    int ok = write_text(file, "format", WISP__MOMENTS_FORMAT) &&
             write_attribute(file, "format_version", *h5->T_NATIVE_INT_g, &version) &&
             write_text(file, "units", units) && write_text(file, "version", m->version) &&
             write_attribute(file, "checksum", *h5->T_NATIVE_UINT32_g, &sum);
    for (const wisp__moments_field *f = wisp__moments_fields; f->name && ok; f++) ok = write_field(file, f, m);
    if (m->square) ok = ok && write_attribute(file, "square", *h5->T_NATIVE_INT64_g, &m->square);
    if (version >= SAMPLE) ok = ok && write_sample(file, m);
    if (version == POINTS) ok = ok && write_points(file, m);
    if (version == REALIZATIONS) ok = ok && write_field(file, &wisp__realizations_field, m);
    ok = ok && write_dataset(file, "moments", *h5->T_NATIVE_DOUBLE_g, 2, dims, m->mu);
    if (m->imag) ok = ok && write_dataset(file, "imaginary", *h5->T_NATIVE_DOUBLE_g, 2, dims, m->imag);
    if (m->trace == WISP_TRACE_SITES) ok = ok && write_dataset(file, "sites", *h5->T_NATIVE_INT64_g, 1, dims, m->sites);
    return ok;
}

/* The whole file in memory, with room for the seal behind its *size bytes. */
static wisp_status make_image(wisp_ctx *ctx, const wisp_moments *m, const char *path, char **image, size_t *size)
{
    wisp_status status = WISP_OK;
    hid_t access = h5->Pcreate(*h5->P_CLS_FILE_ACCESS_ID_g), file = -1;
    if (access >= 0 && h5->Pset_fapl_core(access, 1 << 20, 0) >= 0)
        file = h5->Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    ssize_t bytes = -1;
    if (file >= 0 && fill_file(file, m) && h5->Fflush(file, H5F_SCOPE_GLOBAL) >= 0)
        bytes = h5->Fget_file_image(file, NULL, 0);
    if (bytes <= 0) {
        status = wisp_ctx_failf(ctx, WISP_ERR_IO, "%s: HDF5 could not make the file", path);
        goto out;
    }
    *size = (size_t)bytes;
    WISP_TRY(wisp_alloc(ctx, image, *size + WISP__SEAL, 1));
    if (h5->Fget_file_image(file, *image, *size) != bytes)
        status = wisp_ctx_failf(ctx, WISP_ERR_IO, "%s: HDF5 could not make the file", path);
out:
    if (file >= 0) h5->Fclose(file);
    if (access >= 0) h5->Pclose(access);
    return status;
}

static wisp_status save(wisp_ctx *ctx, const wisp_moments *m, const char *path)
{
    wisp_status status = WISP_OK;
    char *image = NULL;
    size_t size = 0;
    char seal[WISP__SEAL + 1];
    if (!m->mu || m->vectors < 1 || m->n < 1)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "%s: there are no moments to save: no vector was completed", path);
    wisp__quiet q;
    status = wisp__hdf5_be_quiet(ctx, path, &q);
    if (status != WISP_OK) return status;
    WISP_TRY(make_image(ctx, m, path, &image, &size));
    wisp__seal_make(seal, image, size);
    memcpy(image + size, seal, WISP__SEAL);
    WISP_TRY(wisp_file_write(ctx, path, image, size + WISP__SEAL));
out:
    wisp_free(ctx, image);
    wisp__hdf5_be_loud(q);
    return status;
}

wisp_status wisp_moments_save(wisp_ctx *ctx, const wisp_moments *m, const char *path)
{
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, m);
    WISP_NEED(ctx, path);
    wisp_ctx_enter(ctx);
    return wisp_ctx_leave(ctx, wisp_ctx_rank(ctx) == 0 ? save(ctx, m, path) : WISP_OK);
}

#endif
