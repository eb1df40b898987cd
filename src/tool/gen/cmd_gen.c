/* wisp gen: the gallery, as a list and as files. */
#include "../tool.h"
#include <string.h>

/* The keys of an entry, "key=default  meaning" a line, with the meanings below each other. */
static void list_keys(const char *keys)
{
    enum { WIDEST = 40 };
    int widest = 0;
    for (const char *k = keys; k && *k; k += strcspn(k, "\n"), k += *k == '\n') {
        const char *gap = strstr(k, "  ");
        int n = gap ? (int)(gap - k) : 0;
        if (n <= WIDEST && n > widest) widest = n;
    }
    for (const char *k = keys; k && *k; k += strcspn(k, "\n"), k += *k == '\n') {
        int length = (int)strcspn(k, "\n");
        const char *gap = strstr(k, "  ");
        int n = gap && gap - k < length ? (int)(gap - k) : length;
        const char *meaning = k + n;
        while (*meaning == ' ') meaning++;
        printf("    %-*.*s  %.*s\n", widest, n, k, (int)(k + length - meaning), meaning);
    }
}

static void list_gallery(void)
{
    const wisp_gallery_entry *e;
    for (int i = 0; (e = wisp_gallery_list(i)); i++) {
        printf("%s%s: %s\n", i ? "\n" : "", e->name, e->summary);
        list_keys(e->keys);
    }
    puts("\nA spec names some of the keys: topi:nx=20,ny=20,nz=10");
}

int cmd_gen(tool *t)
{
    if (t->opt.list) {
        if (t->opt.args || t->opt.output) return tool_usage(t, "--list takes no SPEC and no -o");
        list_gallery();
        return EXIT_FINE;
    }
    if (!t->opt.args) return tool_usage(t, "SPEC is missing; wisp gen --list shows the gallery");
    if (!t->opt.output) return tool_usage(t, "-o FILE is missing; see wisp gen --help");
    return write_matrix(t, wisp_src_open_gallery, t->opt.arg[0], t->opt.output);
}
