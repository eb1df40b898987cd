/* full_bars.c for every number of vectors. */
#define BARS_STEP 2
#include "../full_bars.c"
