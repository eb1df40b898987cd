#define TABLE z
#define REAL_BYTES 8
#define PARTS 2
#include "reference_table.h"
