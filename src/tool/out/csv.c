/* Results as comma-separated values, with all that belongs to them in comment lines before. */
#include "out.h"
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

/* Numbers that read back as the same ones; nothing for what is none. */
void csv_numbers(FILE *f, const char *before, const double *v, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        fputs(i ? "," : before, f);
        if (isfinite(v[i])) fprintf(f, "%.17g", v[i]);
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
