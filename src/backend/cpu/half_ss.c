#define TABLE ss
#define REAL_BYTES 4
#define MAT_BYTES 4
#define MAT_COMPLEX 0
#include "half_table.h"
