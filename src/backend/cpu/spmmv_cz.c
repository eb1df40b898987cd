#define TABLE cz
#define REAL_BYTES 8
#define MAT_BYTES 4
#define MAT_COMPLEX 1
#include "spmmv_table.h"
