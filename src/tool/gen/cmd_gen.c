/* wisp gen: the gallery, as a list and as files: matrices, their velocities, positions of their rows. */
#include "../out/out.h"
#include "../positions.h"
#include <stdlib.h>
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

static int write_positions(tool *t, const wisp_positions *p, const char *path)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *f = NULL;
    int rc = EXIT_FINE;
    if (!(f = open_memstream(&text, &bytes))) rc = tool_fail(t, "out of memory for %s", path);
    for (int64_t row = 0; !rc && row < p->rows; row++) {
        double xyz[3];
        if (tool_is_stopped(t))
            rc = tool_stopped(t);
        else if (p->at(p->arg, row, xyz) || fprintf(f, "%.17g %.17g %.17g\n", xyz[0], xyz[1], xyz[2]) < 0)
            rc = tool_fail(t, "out of memory for %s", path);
    }
    if (f && fclose(f) && !rc) rc = tool_fail(t, "out of memory for %s", path);
    if (!rc && wisp_file_write(t->ctx, path, text, bytes)) rc = tool_fail_ctx(t);
    if (!rc) outfile_done(t, path);
    if (!rc && !t->opt.quiet) {
        monitor_clear(&t->monitor);
        printf("%s: positions of %lld rows, %d dimension%s\n", path, (long long)p->rows, p->dimensions,
               p->dimensions == 1 ? "" : "s");
    }
    free(text);
    return rc;
}

/* Positions that can't be had or written are told before a matrix is written. */
static int write_all(tool *t)
{
    const char *spec = t->opt.arg[0], *path = t->opt.positions_out;
    wisp_positions p = {0};
    int rc = EXIT_FINE;
    if (path) {
        rc = tool_start(t);
        if (!rc) rc = outfile_check(t, path);
        if (!rc && wisp_positions_open_gallery(&p, t->ctx, spec)) rc = tool_fail_ctx(t);
    }
    if (!rc && t->opt.output) rc = write_matrix(t, wisp_src_open_gallery, spec, t->opt.output);
    if (!rc && path) rc = write_positions(t, &p, path);
    wisp_positions_close(&p);
    return rc;
}

int cmd_gen(tool *t)
{
    if (t->opt.list) {
        if (t->opt.args || t->opt.output || t->opt.positions_out || option_seen(&t->opt, "velocity") ||
            option_seen(&t->opt, "peierls"))
            return tool_usage(t, "--list takes no SPEC, and writes no file");
        list_gallery();
        return EXIT_FINE;
    }
    if (!t->opt.args) return tool_usage(t, "SPEC is missing; wisp gen --list shows the gallery");
    const bool made = option_seen(&t->opt, "velocity") || option_seen(&t->opt, "peierls");
    if (!t->opt.output && (made || !t->opt.positions_out))
        return tool_usage(t, "-o FILE is missing; see wisp gen --help");
    if (t->opt.output && t->opt.positions_out && wisp_file_same(t->opt.output, t->opt.positions_out))
        return tool_usage(t, "-o and --positions-out name the same file");
    const int rc = positions_check(t, made);
    return rc ? rc : write_all(t);
}
