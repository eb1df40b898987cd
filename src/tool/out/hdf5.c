/* Results as an HDF5 file, made in memory from the JSON object: scalars become attributes (very
   long texts: data sets), arrays data sets, inner objects groups; what is null is left out. And the x of a linear
   system, there and back. */
#include "out.h"
#include "config.h"
#ifdef WISP_HAVE_HDF5
#include "hdf5.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *hdf5_refusal(void) { return wisp__hdf5_refusal(); }

/* A text that is too long for an attribute, which holds 64 KiB: a data set of one text, of the same name. */
static bool write_long_text(hid_t group, const char *key, hid_t type, hid_t space, const char *text)
{
    const hid_t set = h5->Dcreate2(group, key, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const bool ok = set >= 0 && h5->Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text) >= 0;
    if (set >= 0) h5->Dclose(set);
    return ok;
}

bool hdf5_attribute(hid_t group, const char *key, json_t *value)
{
    enum { LONG_TEXT = 60000 };
    double real = json_real_value(value);
    int64_t integer = json_is_boolean(value) ? json_is_true(value) : json_integer_value(value);
    const void *data = json_is_real(value) ? (const void *)&real : (const void *)&integer;
    hid_t type = h5->Tcopy(json_is_real(value) ? *h5->T_NATIVE_DOUBLE_g : *h5->T_NATIVE_INT64_g);
    if (json_is_string(value)) {
        h5->Tclose(type);
        type = h5->Tcopy(*h5->T_C_S1_g);
        h5->Tset_size(type, json_string_length(value) + 1);
        h5->Tset_cset(type, H5T_CSET_UTF8);
        data = json_string_value(value);
    }
    hid_t space = h5->Screate(H5S_SCALAR);
    const bool is_long = json_is_string(value) && json_string_length(value) > LONG_TEXT;
    hid_t attribute = is_long ? -1 : h5->Acreate2(group, key, type, space, H5P_DEFAULT, H5P_DEFAULT);
    bool ok = is_long ? write_long_text(group, key, type, space, json_string_value(value))
                      : attribute >= 0 && h5->Awrite(attribute, type, data) >= 0;
    if (attribute >= 0) h5->Aclose(attribute);
    h5->Sclose(space);
    h5->Tclose(type);
    return ok;
}

/* One or two dimensions of numbers; all rows are of one length. Whole numbers too large for JSON's own are texts. */
static bool write_array(hid_t group, const char *key, json_t *array)
{
    json_t *first = json_array_get(array, 0);
    bool matrix = json_is_array(first);
    hsize_t size[2] = {json_array_size(array), matrix ? json_array_size(first) : 1};
    json_t *one = matrix ? json_array_get(first, 0) : first;
    bool whole = json_is_integer(one) || json_is_string(one);
    double *data = calloc((size_t)(size[0] * size[1]) + 1, sizeof *data);
    if (!data) return false;
    uint64_t *numbers = (uint64_t *)(void *)data; /* the same place for whole numbers */
    bool large = false;
    for (size_t i = 0; i < size[0]; i++) {
        for (size_t j = 0; j < size[1]; j++) {
            json_t *row = json_array_get(array, i), *v = matrix ? json_array_get(row, j) : row;
            size_t k = i * (size_t)size[1] + j;
            if (json_is_string(v))
                numbers[k] = strtoull(json_string_value(v), NULL, 10), large = true;
            else if (whole)
                numbers[k] = (uint64_t)json_integer_value(v);
            else
                data[k] = json_is_null(v) ? NAN : json_number_value(v);
        }
    }
    hid_t type = large   ? *h5->T_NATIVE_UINT64_g
                 : whole ? *h5->T_NATIVE_INT64_g
                         : *h5->T_NATIVE_DOUBLE_g,
          space = h5->Screate_simple(matrix ? 2 : 1, size, NULL);
    hid_t set = h5->Dcreate2(group, key, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    bool ok = set >= 0 && h5->Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0;
    if (set >= 0) h5->Dclose(set);
    h5->Sclose(space);
    free(data);
    return ok;
}

static bool write_group(hid_t group, json_t *object)
{
    const char *key;
    json_t *value;
    bool ok = true;
    json_object_foreach(object, key, value)
    {
        if (json_is_object(value)) {
            hid_t inner = h5->Gcreate2(group, key, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
            ok = ok && inner >= 0 && write_group(inner, value);
            if (inner >= 0) h5->Gclose(inner);
        } else if (json_is_array(value)) {
            ok = ok && write_array(group, key, value);
        } else if (!json_is_null(value)) {
            ok = ok && hdf5_attribute(group, key, value);
        }
    }
    return ok;
}

hid_t hdf5_type(wisp_type type)
{
    const bool is_complex = wisp_type_is_complex(type);
    const size_t size = wisp_type_size(type) / (is_complex ? 2 : 1);
    const hid_t real = size == sizeof(double) ? *h5->T_NATIVE_DOUBLE_g : *h5->T_NATIVE_FLOAT_g;
    if (!is_complex) return h5->Tcopy(real);
    const hid_t pair = h5->Tcreate(H5T_COMPOUND, 2 * size);
    h5->Tinsert(pair, "r", 0, real);
    h5->Tinsert(pair, "i", size, real);
    return pair;
}

static bool write_columns(hid_t file, const columns *x)
{
    const hsize_t size[2] = {(hsize_t)x->rows, (hsize_t)x->width};
    const hid_t type = hdf5_type(x->type), space = h5->Screate_simple(2, size, NULL);
    const hid_t set = h5->Dcreate2(file, "x", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const bool ok = set >= 0 && h5->Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, x->data) >= 0;
    if (set >= 0) h5->Dclose(set);
    if (space >= 0) h5->Sclose(space);
    if (type >= 0) h5->Tclose(type);
    return ok;
}

wisp_type hdf5_numbers(hid_t type)
{
    if (h5->Tget_class(type) == H5T_FLOAT) return h5->Tget_size(type) <= sizeof(float) ? WISP_S : WISP_D;
    if (h5->Tget_class(type) != H5T_COMPOUND || h5->Tget_nmembers(type) != 2) return WISP_DEFAULT;
    if (h5->Tget_member_index(type, "r") < 0 || h5->Tget_member_index(type, "i") < 0) return WISP_DEFAULT;
    return h5->Tget_size(type) <= 2 * sizeof(float) ? WISP_C : WISP_Z;
}

static int read_columns(tool *t, columns *x, const char *path, hid_t set)
{
    hsize_t size[2] = {0, 1};
    const hid_t space = h5->Dget_space(set), stored = h5->Dget_type(set);
    const int dimensions = h5->Sget_simple_extent_ndims(space);
    x->type = hdf5_numbers(stored);
    bool ok = x->type != WISP_DEFAULT && dimensions >= 1 && dimensions <= 2 &&
              h5->Sget_simple_extent_dims(space, size, NULL) >= 0 && size[1] <= 4096;
    int rc = EXIT_FINE;
    *x = (columns){.rows = (int64_t)size[0], .blocks = 1, .width = (int)size[1], .type = x->type};
    if (!ok)
        rc = tool_fail(t, "%s: the data set \"x\" is not made of up to 4096 columns of real or complex numbers", path);
    else if (wisp_alloc(t->ctx, &x->data, (size_t)(size[0] * size[1]), wisp_type_size(x->type)))
        rc = tool_fail_ctx(t);
    const hid_t type = rc ? -1 : hdf5_type(x->type);
    if (!rc && h5->Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, x->data) < 0)
        rc = tool_fail(t, "%s: the data set \"x\" can't be read: the file is damaged", path);
    if (type >= 0) h5->Tclose(type);
    h5->Tclose(stored);
    h5->Sclose(space);
    if (rc) columns_free(x);
    return rc;
}

int hdf5_open(tool *t, hid_t *file, const char *path)
{
    *file = -1;
    if (hdf5_refusal()) return tool_fail(t, "%s: %s", path, hdf5_refusal());
    h5->Eset_auto2(H5E_DEFAULT, NULL, NULL);
    if (access(path, R_OK)) return tool_fail(t, "cannot read %s: %s", path, strerror(errno));
    if (file_reads_once(path))
        return tool_fail(t, "%s: an HDF5 file can't be read from a pipe; keep it in a file", path);
    *file = h5->Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    return *file < 0 ? tool_fail(t, "%s is no HDF5 file, or a damaged one", path) : EXIT_FINE;
}

int hdf5_read(tool *t, columns *x, const char *path)
{
    hid_t file;
    *x = (columns){0};
    int rc = hdf5_open(t, &file, path);
    if (rc) return rc;
    const hid_t set = h5->Dopen2(file, "x", H5P_DEFAULT);
    if (set < 0)
        rc = tool_fail(
            t, "%s has no data set \"x\"; take a file that wisp solve -o or wisp eig --vectors-out has written", path);
    else
        rc = read_columns(t, x, path, set);
    if (set >= 0) h5->Dclose(set);
    h5->Fclose(file);
    return rc;
}

/* Kept in memory by the library's "core" driver, so that the bytes reach the disk as those of all other outputs. */
int hdf5_make(tool *t, const json_t *object, const columns *x, char **data, size_t *size)
{
    *data = NULL;
    if (hdf5_refusal()) return tool_fail(t, "%s", hdf5_refusal());
    h5->Eset_auto2(H5E_DEFAULT, NULL, NULL);
    hid_t access = h5->Pcreate(*h5->P_CLS_FILE_ACCESS_ID_g), file = -1;
    bool ok = access >= 0 && h5->Pset_fapl_core(access, 1 << 20, false) >= 0;
    if (ok) file = h5->Fcreate("results.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access);
    ok = file >= 0 && write_group(file, (json_t *)(uintptr_t)object) && (!x || write_columns(file, x)) &&
         h5->Fflush(file, H5F_SCOPE_GLOBAL) >= 0;
    ssize_t bytes = ok ? h5->Fget_file_image(file, NULL, 0) : -1;
    if (bytes > 0) *data = malloc((size_t)bytes);
    ok = *data && h5->Fget_file_image(file, *data, (size_t)bytes) == bytes;
    *size = (size_t)(bytes > 0 ? bytes : 0);
    if (file >= 0) h5->Fclose(file);
    if (access >= 0) h5->Pclose(access);
    return ok ? EXIT_FINE : tool_fail(t, "the HDF5 library could not make the file of results");
}

#else
const char *hdf5_refusal(void) { return "this build of wisp has no HDF5"; }

int hdf5_make(tool *t, const json_t *object, const columns *x, char **data, size_t *size)
{
    (void)object, (void)x;
    *data = NULL, *size = 0;
    return tool_fail(t, "%s", hdf5_refusal());
}

int hdf5_read(tool *t, columns *x, const char *path)
{
    *x = (columns){0};
    return tool_fail(t, "%s: %s", path, hdf5_refusal());
}
#endif
