#define TABLE dd
#define REAL_BYTES 8
#define MAT_BYTES 8
#define MAT_COMPLEX 0
#include "half_table.h"
