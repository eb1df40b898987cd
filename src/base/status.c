/* Statuses and types by name and size; the library's version; scalars of every type. */
#include "base.h"
#include "config.h"

const char *wisp_status_string(wisp_status status)
{
    static const char *const text[] = {
#define STATUS_TEXT(name, words) [WISP_##name] = (words),
        WISP_STATUS_LIST(STATUS_TEXT)
#undef STATUS_TEXT
    };
    size_t n = sizeof text / sizeof text[0];
    return (size_t)status < n ? text[status] : "unknown status";
}

const char *wisp_version(void) { return WISP_VERSION; }

const char *wisp_features(void)
{
    static const char text[] = ""
#ifdef WISP_HAVE_HDF5
                               " hdf5"
#endif
#ifdef WISP_HAVE_HWLOC
                               " hwloc"
#endif
#ifdef WISP_HAVE_HYPRE
                               " hypre"
#endif
#ifdef WISP_HAVE_MPI
                               " mpi"
#endif
#ifdef WISP_HAVE_MUMPS
                               " mumps"
#endif
#ifdef WISP_HAVE_OPENCL
                               " opencl"
#endif
#ifdef WISP_HAVE_SCOTCH
                               " scotch"
#endif
        ;
    return text + (text[0] == ' ');
}

size_t wisp_type_size(wisp_type type)
{
    static const size_t size[] = {0, 4, 8, 8, 16};
    return wisp__type_ok(type) ? size[type] : 0;
}

int wisp_type_is_complex(wisp_type type) { return type == WISP_C || type == WISP_Z; }

const char *wisp_type_name(wisp_type type)
{
    static const char *const name[] = {"default", "single", "double", "complex single", "complex double"};
    return wisp__type_ok(type) ? name[type] : name[0];
}

const char *wisp_rows_name(int kind)
{
    static const char *const names[WISP_ROW_KINDS] = {"stored", "uneven", "shared", "in turn", "alike"};
    return kind >= 0 && kind < WISP_ROW_KINDS ? names[kind] : NULL;
}

const char *wisp_level_name(int level)
{
    static const char *const name[WISP_LEVELS] = {"L1", "L2", "L3", "memory"};
    return level >= 0 && level < WISP_LEVELS ? name[level] : NULL;
}

wisp_scalar wisp__load(wisp_type type, const void *p)
{
    wisp_scalar v = {0, 0};
    switch (type) {
    case WISP_S: v.re = (double)*(const float *)p; break;
    case WISP_D: v.re = *(const double *)p; break;
    case WISP_C: v.re = (double)((const float *)p)[0], v.im = (double)((const float *)p)[1]; break;
    case WISP_Z: v.re = ((const double *)p)[0], v.im = ((const double *)p)[1]; break;
    case WISP_DEFAULT: break;
    }
    return v;
}

void wisp__store(wisp_type type, void *p, wisp_scalar v)
{
    switch (type) {
    case WISP_S: *(float *)p = (float)v.re; break;
    case WISP_D: *(double *)p = v.re; break;
    case WISP_C: ((float *)p)[0] = (float)v.re, ((float *)p)[1] = (float)v.im; break;
    case WISP_Z: ((double *)p)[0] = v.re, ((double *)p)[1] = v.im; break;
    case WISP_DEFAULT: break;
    }
}
