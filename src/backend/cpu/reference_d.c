#define TABLE d
#define REAL_BYTES 8
#define PARTS 1
#include "reference_table.h"
