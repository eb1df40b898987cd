/* HDF5, which brings some thirty libraries, and half the time of a start with them: opened when it is first needed
   (late.h). Included only where this build has it. */
#ifndef WISP_LATE_HDF5_H
#define WISP_LATE_HDF5_H
#include <hdf5.h>

/* What is called of it, without its H5; ..._g are its variables, which have their values from its first call on. The
   first is a function whose address hardly a program takes (late.c compares it). */
#define WISP__HDF5(X)             \
    X(dont_atexit)                \
    X(Aclose)                     \
    X(Acreate2)                   \
    X(Aexists)                    \
    X(Aget_space)                 \
    X(Aget_type)                  \
    X(Aopen)                      \
    X(Aread)                      \
    X(Awrite)                     \
    X(Dclose)                     \
    X(Dcreate2)                   \
    X(Dget_space)                 \
    X(Dget_storage_size)          \
    X(Dget_type)                  \
    X(Dopen2)                     \
    X(Dread)                      \
    X(Dset_extent)                \
    X(Dwrite)                     \
    X(Eclear2)                    \
    X(Eget_auto2)                 \
    X(Eset_auto2)                 \
    X(Fclose)                     \
    X(Fcreate)                    \
    X(Fflush)                     \
    X(Fget_file_image)            \
    X(Fget_filesize)              \
    X(Fis_hdf5)                   \
    X(Fopen)                      \
    X(Gclose)                     \
    X(Gcreate2)                   \
    X(Lexists)                    \
    X(Pclose)                     \
    X(Pcreate)                    \
    X(Pset_chunk)                 \
    X(Pset_fapl_core)             \
    X(Pset_libver_bounds)         \
    X(Sclose)                     \
    X(Screate)                    \
    X(Screate_simple)             \
    X(Sget_simple_extent_dims)    \
    X(Sget_simple_extent_ndims)   \
    X(Sget_simple_extent_npoints) \
    X(Sselect_hyperslab)          \
    X(Tclose)                     \
    X(Tcopy)                      \
    X(Tcreate)                    \
    X(Tget_class)                 \
    X(Tget_member_index)          \
    X(Tget_nmembers)              \
    X(Tget_size)                  \
    X(Tinsert)                    \
    X(Tis_variable_str)           \
    X(Tset_cset)                  \
    X(Tset_size)                  \
    X(free_memory)                \
    X(P_CLS_DATASET_CREATE_ID_g)  \
    X(P_CLS_FILE_ACCESS_ID_g)     \
    X(T_C_S1_g)                   \
    X(T_NATIVE_DOUBLE_g)          \
    X(T_NATIVE_FLOAT_g)           \
    X(T_NATIVE_INT_g)             \
    X(T_NATIVE_INT64_g)           \
    X(T_NATIVE_UINT32_g)          \
    X(T_NATIVE_UINT64_g)

typedef struct {
#define WISP__HDF5_MEMBER(name) __typeof__(H5##name) *name;
    WISP__HDF5(WISP__HDF5_MEMBER)
} wisp__hdf5_calls;
extern wisp__hdf5_calls wisp__hdf5;
static const wisp__hdf5_calls *const h5 = &wisp__hdf5;

/* Before all else; by any thread. NULL: h5 may be used; else why not, for a user to read. */
const char *wisp__hdf5_refusal(void);

/* Constants such as H5F_ACC_RDONLY make calls in HDF5's headers, of functions that are not linked. */
#undef H5CHECK
#define H5CHECK
#undef H5OPEN
#define H5OPEN

#endif
