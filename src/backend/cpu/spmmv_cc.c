#define TABLE cc
#define REAL_BYTES 4
#define MAT_BYTES 4
#define MAT_COMPLEX 1
#include "spmmv_table.h"
