/* States in an HDF5 file: /states [n][rows], complex; /time, /norm, /off, /log_norm, /checksum [n]; what they belong to
   as attributes. Each state is a row that is added as it comes. */
#include "states.h"
#include "config.h"
#ifdef WISP_HAVE_HDF5
#include "../out/hdf5.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { VERSION = 1, NUMBERS = 4, SUM = NUMBERS, PSI, SETS };
static const char *const names[SETS] = {"time", "norm", "off", "log_norm", "checksum", "states"};
static const char format_name[] = "wisp-states";

struct states_set {
    tool *t;
    const char *path;
    states_kind kind;
    hid_t file, set[SETS], type; /* type: of psi; negative: not open */
    hsize_t count;
    bool broken; /* a call has failed: HDF5 may not bear another one, not even to close the file */
};

static int failed(states_set *s)
{
    s->broken = true;
    return tool_fail(s->t, "cannot write %s: %s", s->path, errno ? strerror(errno) : "HDF5 could not make the file");
}

/* Rows are added to it, one of `cols` numbers at a time. */
static hid_t make_set(hid_t file, const char *name, hid_t type, hsize_t cols, bool matrix)
{
    enum { CHUNK = 1 << 16, SOME = 1 << 10 }; /* numbers */
    const hsize_t size[2] = {0, cols}, most[2] = {H5S_UNLIMITED, cols},
                  chunk[2] = {matrix ? 1 : SOME, cols < CHUNK ? cols : CHUNK};
    const hid_t space = h5->Screate_simple(matrix ? 2 : 1, size, most),
                how = h5->Pcreate(*h5->P_CLS_DATASET_CREATE_ID_g);
    h5->Pset_chunk(how, matrix ? 2 : 1, chunk);
    const hid_t set = h5->Dcreate2(file, name, type, space, H5P_DEFAULT, how, H5P_DEFAULT);
    h5->Pclose(how);
    h5->Sclose(space);
    return set;
}

static bool write_head(const states_set *s)
{
    char hash[32], direction[64];
    snprintf(direction, sizeof direction, "%.17g %.17g", s->kind.direction.re, s->kind.direction.im);
    snprintf(hash, sizeof hash, "%016" PRIx64, s->kind.matrix);
    json_t *o =
        JSON_PUT(json_head(s->t, s->t->opt.arg[0]), J("format", format_name), J("format_version", VERSION),
                 J("matrix_hash", hash), J("rows", s->kind.rows), J("type", wisp_type_name(s->kind.type)),
                 J("direction", direction), J("units", "time: 1 / unit of the matrix; off: |psi - exact|, estimated"));
    const char *key;
    json_t *value;
    bool ok = o != NULL;
    json_object_foreach(o, key, value) if (!json_is_null(value)) ok = hdf5_attribute(s->file, key, value) && ok;
    json_decref(o);
    return ok;
}

#if H5_VERSION_GE(1, 10, 2)
#define FORMAT H5F_LIBVER_V110
#else
#define FORMAT H5F_LIBVER_LATEST
#endif
/* Of the format of HDF5 1.10, whose own tables have checksums: older ones that are damaged may crash a reader. */
static hid_t create(const char *name)
{
    const hid_t access = h5->Pcreate(*h5->P_CLS_FILE_ACCESS_ID_g);
    const hid_t file = h5->Pset_libver_bounds(access, FORMAT, FORMAT) < 0
                           ? H5I_INVALID_HID
                           : h5->Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    h5->Pclose(access);
    return file;
}

static int begin(tool *t, states_set **set, const char *name, const char *path, const states_kind *kind, int64_t times,
                 const double *time)
{
    (void)times, (void)time;
    if (hdf5_refusal()) return tool_fail(t, "%s: %s", path, hdf5_refusal());
    states_set *s = calloc(1, sizeof *s);
    if (!s) return tool_fail(t, "out of memory for %s", path);
    *set = s;
    *s = (states_set){.t = t, .path = path, .kind = *kind, .file = -1, .type = -1};
    for (int i = 0; i < SETS; i++) s->set[i] = -1;
    h5->dont_atexit(); /* where a file could not be written it would try again, and crash */
    h5->Eset_auto2(H5E_DEFAULT, NULL, NULL);
    errno = 0;
    s->type = hdf5_type(kind->type);
    s->file = create(name);
    bool ok = s->file >= 0 && s->type >= 0 && write_head(s);
    for (int i = 0; i < SETS && ok; i++) {
        const hid_t type = i == PSI ? s->type : i == SUM ? *h5->T_NATIVE_UINT64_g : *h5->T_NATIVE_DOUBLE_g;
        s->set[i] = make_set(s->file, names[i], type, i == PSI ? (hsize_t)kind->rows : 1, i == PSI);
        ok = s->set[i] >= 0;
    }
    return ok ? EXIT_FINE : failed(s);
}

/* One more row. */
static bool add_row(const states_set *s, int i, hid_t type, const void *data)
{
    const hsize_t cols = i == PSI ? (hsize_t)s->kind.rows : 1, size[2] = {s->count + 1, cols}, from[2] = {s->count, 0},
                  part[2] = {1, cols};
    const int rank = i == PSI ? 2 : 1;
    if (h5->Dset_extent(s->set[i], size) < 0) return false;
    const hid_t file = h5->Dget_space(s->set[i]), memory = h5->Screate_simple(rank, part, NULL);
    const bool ok = h5->Sselect_hyperslab(file, H5S_SELECT_SET, from, NULL, part, NULL) >= 0 &&
                    h5->Dwrite(s->set[i], type, memory, file, H5P_DEFAULT, data) >= 0;
    h5->Sclose(memory);
    h5->Sclose(file);
    return ok;
}

static int add(states_set *s, const states_at *at, const void *psi)
{
    const double number[NUMBERS] = {at->time, at->norm, at->off, at->log_norm};
    const uint64_t sum = states_sum(&s->kind, at, psi);
    errno = 0;
    bool ok = add_row(s, PSI, s->type, psi) && add_row(s, SUM, *h5->T_NATIVE_UINT64_g, &sum);
    for (int i = 0; i < NUMBERS && ok; i++) ok = add_row(s, i, *h5->T_NATIVE_DOUBLE_g, number + i);
    if (!ok || h5->Fflush(s->file, H5F_SCOPE_GLOBAL) < 0) return failed(s);
    s->count++;
    return EXIT_FINE;
}

/* Whatever is open; false: something could not be written. */
static bool close_all(states_set *s)
{
    bool ok = true;
    for (int i = 0; i < SETS && ok; i++)
        if (s->set[i] >= 0) ok = h5->Dclose(s->set[i]) >= 0, s->set[i] = -1;
    if (s->type >= 0 && ok) h5->Tclose(s->type), s->type = -1;
    if (s->file >= 0 && ok) ok = h5->Fclose(s->file) >= 0, s->file = -1;
    return ok;
}

static int end(states_set *s)
{
    errno = 0;
    return close_all(s) ? EXIT_FINE : failed(s);
}

static void drop(states_set *s)
{
    if (s && !s->broken) (void)close_all(s);
    free(s);
}

/* ---- the last state of a file ------------------------------------------------------------------------ */

static int damaged(tool *t, const char *path)
{
    return tool_fail(t, "%s is no file of states that wisp evolve --states has written, or a damaged one", path);
}

/* A text of a fixed length, which is below `size`. */
static bool read_text(hid_t file, const char *name, char *text, size_t size)
{
    if (h5->Aexists(file, name) <= 0) return false;
    const hid_t attribute = h5->Aopen(file, name, H5P_DEFAULT), type = attribute < 0 ? -1 : h5->Aget_type(attribute),
                space = attribute < 0 ? -1 : h5->Aget_space(attribute);
    memset(text, 0, size);
    const bool ok = type >= 0 && space >= 0 && h5->Tget_class(type) == H5T_STRING && !h5->Tis_variable_str(type) &&
                    h5->Tget_size(type) < size && h5->Sget_simple_extent_npoints(space) == 1 &&
                    h5->Aread(attribute, type, text) >= 0;
    if (space >= 0) h5->Sclose(space);
    if (type >= 0) h5->Tclose(type);
    if (attribute >= 0) h5->Aclose(attribute);
    return ok;
}

/* The number of row `at` of a data set of n of them. */
static bool read_number(hid_t file, const char *name, hsize_t n, hsize_t at, hid_t type, void *value)
{
    const hsize_t one = 1;
    hsize_t size = 0;
    const hid_t set = h5->Dopen2(file, name, H5P_DEFAULT), space = set < 0 ? -1 : h5->Dget_space(set),
                memory = h5->Screate_simple(1, &one, NULL);
    const bool ok = space >= 0 && h5->Sget_simple_extent_ndims(space) == 1 &&
                    h5->Sget_simple_extent_dims(space, &size, NULL) >= 0 && size == n &&
                    h5->Sselect_hyperslab(space, H5S_SELECT_SET, &at, NULL, &one, NULL) >= 0 &&
                    h5->Dread(set, type, memory, space, H5P_DEFAULT, value) >= 0;
    h5->Sclose(memory);
    if (space >= 0) h5->Sclose(space);
    if (set >= 0) h5->Dclose(set);
    return ok;
}

static bool read_shape(states_last *last)
{
    hsize_t size[2] = {0, 0};
    const hid_t set = (hid_t)last->set, space = h5->Dget_space(set), type = h5->Dget_type(set);
    const bool ok = h5->Sget_simple_extent_ndims(space) == 2 && h5->Sget_simple_extent_dims(space, size, NULL) >= 0 &&
                    size[0] >= 1 && size[1] >= 1 && size[1] < INT64_MAX;
    last->kind.type = hdf5_numbers(type);
    last->kind.rows = (int64_t)size[1];
    last->number = (int64_t)size[0] - 1;
    h5->Tclose(type);
    h5->Sclose(space);
    return ok && last->kind.type != WISP_DEFAULT && wisp_type_is_complex(last->kind.type);
}

static bool read_last(states_last *last)
{
    enum { BASE = 16 };
    double *const number[NUMBERS] = {&last->at.time, &last->at.norm, &last->at.off, &last->at.log_norm};
    const hid_t file = (hid_t)last->file;
    char text[64];
    if (!read_text(file, "format", text, sizeof text) || strcmp(text, format_name)) return false;
    if (!read_text(file, "matrix_hash", text, sizeof text)) return false;
    last->kind.matrix = strtoull(text, NULL, BASE);
    wisp_scalar *d = &last->kind.direction;
    if (!read_text(file, "direction", text, sizeof text) || sscanf(text, "%lf %lf", &d->re, &d->im) != 2) return false;
    const hid_t set = h5->Dopen2(file, names[PSI], H5P_DEFAULT);
    if (set < 0) return false;
    last->set = set;
    if (!read_shape(last)) return false;
    const hsize_t at = (hsize_t)last->number, n = at + 1;
    bool ok = read_number(file, names[SUM], n, at, *h5->T_NATIVE_UINT64_g, &last->sum);
    for (int i = 0; i < NUMBERS && ok; i++) ok = read_number(file, names[i], n, at, *h5->T_NATIVE_DOUBLE_g, number[i]);
    return ok;
}

int states_open(tool *t, states_last *last, const char *path)
{
    hid_t file;
    *last = (states_last){0};
    const int rc = hdf5_open(t, &file, path);
    if (rc) return rc;
    last->file = file;
    return read_last(last) ? EXIT_FINE : damaged(t, path);
}

static bool read_psi(const states_last *last, wisp_type as, void *psi)
{
    const hsize_t from[2] = {(hsize_t)last->number, 0}, part[2] = {1, (hsize_t)last->kind.rows};
    const hid_t set = (hid_t)last->set, space = h5->Dget_space(set), memory = h5->Screate_simple(2, part, NULL),
                type = hdf5_type(as);
    const bool ok = h5->Sselect_hyperslab(space, H5S_SELECT_SET, from, NULL, part, NULL) >= 0 &&
                    h5->Dread(set, type, memory, space, H5P_DEFAULT, psi) >= 0;
    h5->Tclose(type);
    h5->Sclose(memory);
    h5->Sclose(space);
    return ok;
}

/* Its sum is that of the numbers in the file, whatever the precision is here. */
int states_read(tool *t, states_last *last, const char *path, wisp_type type, void *psi)
{
    char *stored = NULL;
    const bool same = type == last->kind.type;
    if (!same && wisp_alloc(t->ctx, &stored, (size_t)last->kind.rows, wisp_type_size(last->kind.type)))
        return tool_fail_ctx(t);
    void *own = same ? psi : stored;
    const bool ok = read_psi(last, last->kind.type, own) && states_sum(&last->kind, &last->at, own) == last->sum;
    wisp_free(t->ctx, stored);
    return ok && (same || read_psi(last, type, psi)) ? EXIT_FINE : damaged(t, path);
}

void states_close_last(states_last *last)
{
    if (last->set) h5->Dclose((hid_t)last->set);
    if (last->file) h5->Fclose((hid_t)last->file);
    *last = (states_last){0};
}

#else
#include "../out/out.h"

static int without(tool *t, const char *path) { return tool_fail(t, "%s: %s", path, hdf5_refusal()); }

static int begin(tool *t, states_set **set, const char *name, const char *path, const states_kind *kind, int64_t times,
                 const double *time)
{
    (void)set, (void)name, (void)kind, (void)times, (void)time;
    return without(t, path);
}

static int add(states_set *s, const states_at *at, const void *psi)
{
    (void)s, (void)at, (void)psi;
    return EXIT_FAILED;
}

static int end(states_set *s) { return (void)s, EXIT_FAILED; }
static void drop(states_set *s) { (void)s; }

int states_open(tool *t, states_last *last, const char *path)
{
    *last = (states_last){0};
    return without(t, path);
}

int states_read(tool *t, states_last *last, const char *path, wisp_type type, void *psi)
{
    (void)last, (void)type, (void)psi;
    return without(t, path);
}

void states_close_last(states_last *last) { (void)last; }
#endif

const states_format states_hdf5 = {begin, add, end, drop};
