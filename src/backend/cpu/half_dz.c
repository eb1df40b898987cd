#define TABLE dz
#define REAL_BYTES 8
#define MAT_BYTES 8
#define MAT_COMPLEX 0
#define PARTS 2
#include "half_table.h"
