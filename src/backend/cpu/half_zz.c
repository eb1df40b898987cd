#define TABLE zz
#define REAL_BYTES 8
#define MAT_BYTES 8
#define MAT_COMPLEX 1
#define PARTS 2
#include "half_table.h"
