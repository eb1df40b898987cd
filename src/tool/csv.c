/* Results as comma-separated values, with all that belongs to them in comment lines before. */
#include "tool.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Every scalar of the object as a comment "# key: value", those of inner objects as "key.inner"; and the seeds of
   several runs. */
static void write_comments(FILE *f, const char *prefix, json_t *object)
{
    const char *key;
    json_t *value;
    char name[128];
    json_object_foreach(object, key, value)
    {
        snprintf(name, sizeof name, "%s%s%s", prefix, *prefix ? "." : "", key);
        if (json_is_object(value)) {
            write_comments(f, name, value);
        } else if (json_is_string(value)) {
            fprintf(f, "# %s: %s\n", name, json_string_value(value));
        } else if ((!json_is_array(value) || !strcmp(key, "seeds")) && !json_is_null(value)) {
            fprintf(f, "# %s: ", name);
            json_dumpf(value, f, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(17));
            fputc('\n', f);
        }
    }
}

/* A number that reads back as the same one; nothing for what is none. */
void csv_field(FILE *f, const char *before, double v)
{
    fputs(before, f);
    if (isfinite(v)) fprintf(f, "%.17g", v);
}

void results_table(const tool *t, const void *arg, FILE *f)
{
    const results *r = arg;
    if (t->cmd->bit == CMD_COUNT) {
        fputs("from,to,count,count_error,count_95,count_low,count_high,count_smearing\n", f);
        csv_field(f, "", r->interval[0]);
        csv_field(f, ",", r->interval[1]);
        csv_field(f, ",", r->count);
        csv_field(f, ",", r->has_error ? r->count_error : NAN);
        csv_field(f, ",", longer_half(r->count, r->count_low, r->count_high));
        csv_field(f, ",", r->count_low);
        csv_field(f, ",", r->count_high);
        csv_field(f, ",", r->count_smearing);
        fputc('\n', f);
        return;
    }
    fputs("energy", f);
    if (r->site)
        for (int64_t c = 0; c < r->curves; c++) fprintf(f, ",dos_%lld", (long long)r->site[c]);
    else
        fputs(",dos,dos_error,dos_95,dos_low,dos_high", f);
    fputc('\n', f);
    for (int64_t i = 0; i < r->points; i++) {
        csv_field(f, "", r->energy[i]);
        for (int64_t c = 0; c < r->curves; c++) csv_field(f, ",", r->dos[c * r->points + i]);
        if (!r->site) {
            csv_field(f, ",", r->has_error ? r->error[i] : NAN);
            csv_field(f, ",", longer_half(r->dos[i], r->low[i], r->high[i]));
            csv_field(f, ",", r->low[i]);
            csv_field(f, ",", r->high[i]);
        }
        fputc('\n', f);
    }
}

int csv_make_table(tool *t, csv_table_fn *table, const void *arg, const json_t *object, char **data, size_t *size)
{
    *data = NULL;
    FILE *f = open_memstream(data, size);
    if (!f) return tool_fail(t, "out of memory for the results");
    write_comments(f, "", (json_t *)(uintptr_t)object);
    table(t, arg, f);
    int failed = ferror(f);
    if (fclose(f) || failed) return tool_fail(t, "out of memory for the results");
    return EXIT_FINE;
}
