/* The registry of the gallery. */
#include "gallery.h"
#include <stdio.h>
#include <string.h>

static const wisp__gal_entry *const entries[] = {
    &wisp__gal_topi,      &wisp__gal_graphene, &wisp__gal_haldane,    &wisp__gal_square,     &wisp__gal_honeycomb,
    &wisp__gal_kagome,    &wisp__gal_anderson, &wisp__gal_laplace,    &wisp__gal_hpcg,       &wisp__gal_band,
    &wisp__gal_spinchain, &wisp__gal_delaunay, &wisp__gal_tetrahedra, &wisp__gal_elasticity, &wisp__gal_matpde,
    &wisp__gal_hubbard,   &wisp__gal_wannier,  &wisp__gal_spinz,      &wisp__gal_hubbardq};
enum { ENTRIES = (int)(sizeof entries / sizeof *entries) };

const wisp_gallery_entry *wisp_gallery_list(int i) { return i >= 0 && i < ENTRIES ? &entries[i]->text : NULL; }

static wisp_status unknown_name(wisp_ctx *ctx, const char *spec, int length)
{
    const char *names[ENTRIES];
    char list[256] = "", word[32];
    size_t used = 0;
    for (int i = 0; i < ENTRIES; i++) {
        names[i] = entries[i]->text.name;
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", names[i]);
    }
    snprintf(word, sizeof word, "%.*s", length, spec);
    for (char *c = word; *c; c++) {
        if ((unsigned char)*c < ' ') *c = '?';
    }
    const char *near = wisp__gal_nearest(word, names, ENTRIES, sizeof *names);
    return wisp_ctx_failf(ctx, WISP_ERR_ARG, "unknown gallery matrix '%s'%s%s%s (there are: %s)", word,
                          near ? "; the nearest is '" : "", near ? near : "", near ? "'" : "", list);
}

/* The entry that a spec names, and the values of its keys. */
static wisp_status find_entry(wisp_ctx *ctx, const char *spec, const wisp__gal_entry **entry, wisp__gal_value *value)
{
    size_t length = strcspn(spec, ":");
    for (int i = 0; i < ENTRIES; i++) {
        const wisp__gal_entry *e = entries[i];
        if (strlen(e->text.name) != length || strncmp(e->text.name, spec, length) != 0) continue;
        *entry = e;
        return wisp__gal_parse(ctx, e, spec[length] ? spec + length + 1 : "", value);
    }
    return unknown_name(ctx, spec, (int)WISP__MIN(length, (size_t)1000));
}

wisp_status wisp_src_open_gallery(wisp_src *src, wisp_ctx *ctx, const char *spec)
{
    const wisp__gal_entry *e;
    wisp__gal_value value[WISP__GAL_MAX_KEYS] = {0};
    WISP_NEED(ctx, src);
    *src = (wisp_src){0};
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, spec);
    const wisp_status status = find_entry(ctx, spec, &e, value);
    return status == WISP_OK ? e->open(src, ctx, value) : status;
}

wisp_status wisp_positions_open_gallery(wisp_positions *positions, wisp_ctx *ctx, const char *spec)
{
    const wisp__gal_entry *e;
    wisp__gal_value value[WISP__GAL_MAX_KEYS] = {0};
    WISP_NEED(ctx, positions);
    *positions = (wisp_positions){0};
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, spec);
    const wisp_status status = find_entry(ctx, spec, &e, value);
    if (status == WISP_OK && !e->positions)
        return wisp_ctx_failf(ctx, WISP_ERR_UNSUPPORTED,
                              "%s: the rows of this matrix have no positions in the gallery; give a file of positions",
                              e->text.name);
    return status == WISP_OK ? e->positions(positions, ctx, value) : status;
}

void wisp_positions_close(wisp_positions *positions)
{
    if (!positions) return;
    if (positions->free_arg) positions->free_arg(positions->arg);
    *positions = (wisp_positions){0};
}
