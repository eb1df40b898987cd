/* Attributes of HDF5 files that tests change; included where this build has HDF5. */
#ifndef H5_ATTRIBUTE_H
#define H5_ATTRIBUTE_H
#include "ref.h"
#include <hdf5.h>

/* Of the root, with one value; one of that name gives way to it. */
static inline void h5_put(hid_t file, const char *name, hid_t type, const void *value)
{
    H5Adelete(file, name);
    const hid_t space = H5Screate(H5S_SCALAR), a = H5Acreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Awrite(a, type, value) >= 0);
    H5Aclose(a);
    H5Sclose(space);
}
#endif
