#define TABLE ss
#define REAL_BYTES 4
#define MAT_BYTES 4
#define MAT_COMPLEX 0
#include "spmmv_table.h"
