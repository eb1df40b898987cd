/* Output files: the library writes them whole, so that nothing old is lost when something fails. */
#include "out.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether path ends in a dot and one of the extensions, and has a name before it. */
bool has_extension(const char *path, const char *extensions)
{
    const char *base = strrchr(path, '/');
    base = base ? base + 1 : path;
    for (const char *e = extensions; e;) {
        const char *end = strchr(e, '|');
        size_t n = end ? (size_t)(end - e) : strlen(e), length = strlen(base);
        if (length > n + 1 && base[length - n - 1] == '.' && !strncmp(base + length - n, e, n)) return true;
        e = end ? end + 1 : NULL;
    }
    return false;
}

int outfile_check(tool *t, const char *path)
{
    const bool writes = wisp_ctx_rank(t->ctx) == 0;
    return tool_agree(t, writes && wisp_file_check(t->ctx, path) ? tool_fail_ctx(t) : EXIT_FINE);
}

int outfile_write(tool *t, const char *path, const void *data, size_t size)
{
    if (wisp_file_write(t->ctx, path, data, size)) return tool_fail_ctx(t);
    outfile_done(t, path);
    return EXIT_FINE;
}

void outfile_done(tool *t, const char *path)
{
    char *more;
    if (asprintf(&more, "%s%s%s", t->done ? t->done : "", t->done ? ", " : "", path) < 0) return;
    free(t->done);
    t->done = more;
}
