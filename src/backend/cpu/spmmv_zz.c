#define TABLE zz
#define REAL_BYTES 8
#define MAT_BYTES 8
#define MAT_COMPLEX 1
#include "spmmv_table.h"
