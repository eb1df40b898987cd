/* The numbers in the header of GHOST's binary CRS file. */
#ifndef WISP_GHOST_H
#define WISP_GHOST_H
#include "io.h"

enum { GHOST_HEADER = 44 }; /* bytes: five int32 and three int64 */
enum { GHOST_GENERAL = 1, GHOST_SYMMETRIC = 2, GHOST_SKEW = 4, GHOST_HERMITIAN = 8 };
enum { GHOST_FLOAT = 1, GHOST_DOUBLE = 2, GHOST_REAL = 4, GHOST_COMPLEX = 8 };
#endif
