/* The structs of wisp's headers, for languages that can't read these: which fields each has, and where. Not part of
   wisp.h. */
#ifndef WISP_FIELDS_H
#define WISP_FIELDS_H

#include "wisp.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    const char *of;       /* the struct, such as "wisp_src" */
    const char *name;     /* the field; "": the whole struct, which comes before its fields */
    const char *type;     /* as the header has it, such as "const double *", "char[32]" or "void (*)(void *)" */
    int64_t offset, size; /* in bytes */
} wisp_field_info;

/* Entry number i, of all structs of wisp.h, task.h and this header, by rising offset in each; NULL past the end. They
   are those of this library: a program that lays its structs out by them passes their sizes to the functions whose
   names end with _sized. The texts are the library's. */
WISP_API const wisp_field_info *wisp_field(int i);

#ifdef __cplusplus
}
#endif
#endif
