/* program GROUP-SIZE KERNEL [DEFINITION...]: the program of a kernel of GPUs, as devices compile it. */
#include "backend/gpu/gpu.h"
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    char defines[2048] = "";
    size_t length = 0;
    if (argc < 3) return 2;
    for (int i = 3; i < argc; i++) {
        const int more = snprintf(defines + length, sizeof defines - length, "#define %s\n", argv[i]);
        length += (size_t)more;
        if (length >= sizeof defines) return 2;
    }
    char *text = wisp__gpu_program(atoi(argv[1]), argv[2], defines);
    if (!text) return 1;
    fputs(text, stdout);
    free(text);
    return fflush(stdout) != 0;
}
