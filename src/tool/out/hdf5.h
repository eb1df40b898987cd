/* What the files that call HDF5 share; included only where this build has it. */
#ifndef WISP_TOOL_HDF5_H
#define WISP_TOOL_HDF5_H
#include "../../late/hdf5.h"
#include "out.h"

/* A file to be read. *file: negative, and a line says why, if it is none. */
int hdf5_open(tool *t, hid_t *file, const char *path);
/* A scalar attribute: a number, a whole one, true or false, or a text. */
bool hdf5_attribute(hid_t group, const char *key, json_t *value);
/* A type as it is in memory; complex numbers are the pairs (r, i) of h5py. Negative: there was no memory. */
hid_t hdf5_type(wisp_type type);
/* The type of the numbers in a data set; WISP_DEFAULT: they are none. */
wisp_type hdf5_numbers(hid_t type);
#endif
