/* Arrays in a zip archive, as numpy.savez and savez_compressed write them. */
#ifndef WISP_NPY_H
#define WISP_NPY_H
#include "io.h"
#include <zlib.h>

/* The archive's list of its files. */
typedef struct {
    wisp_ctx *ctx;
    const wisp__input *in;
    unsigned char *list;
    int64_t bytes;
} wisp__zip;

/* An array, which is read once, from its beginning on. */
typedef struct {
    const wisp__zip *zip;
    const char *name; /* without .npy */
    char kind;        /* of its numbers, as numpy has it: 'f', 'c', 'i', 'u', 'b', 'S', .. */
    int bytes;        /* of one */
    int dims;
    int64_t count;    /* of all dimensions together */
    int64_t at, size; /* the packed bytes that come next, and how many there are; */
    int64_t left;     /* bytes that come yet, unpacked */
    uint32_t crc, sum;
    bool deflated, inflating;
    z_stream z;
    unsigned char *raw;
} wisp__npy;

wisp_status wisp__zip_open(wisp__zip *zip, wisp_ctx *ctx, const wisp__input *in);
void wisp__zip_close(wisp__zip *zip);
/* Finds an array, and reads its head. It fails if there is none of this name, or if its numbers are of another byte
   order. */
wisp_status wisp__npy_open(wisp__npy *a, const wisp__zip *zip, const char *name);
/* The next `count` elements. */
wisp_status wisp__npy_read(wisp__npy *a, void *to, int64_t count);
/* Reads what is left, and compares the checksum. */
wisp_status wisp__npy_end(wisp__npy *a);
void wisp__npy_close(wisp__npy *a);
/* A failure in an array: "FILE: NAME.npy: ..." */
wisp_status wisp__npy_fail(const wisp__npy *a, wisp_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#endif
