/* The plain fused KPM step of all widths, for PARTS. */
#define WIDTH 1
#include "reference.cpu.h"
#define WIDTH 2
#include "reference.cpu.h"
#define WIDTH 4
#include "reference.cpu.h"
#define WIDTH 8
#include "reference.cpu.h"
#define WIDTH 16
#include "reference.cpu.h"
#define WIDTH 32
#include "reference.cpu.h"
