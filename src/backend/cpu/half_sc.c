#define TABLE sc
#define REAL_BYTES 4
#define MAT_BYTES 4
#define MAT_COMPLEX 0
#define PARTS 2
#include "half_table.h"
