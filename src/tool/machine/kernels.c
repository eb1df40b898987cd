/* What the kernels of sweeps take of a core, as `wisp machine` measures it: kept, read, and shown. */
#include "../out/out.h"
#include "../out/text.h"
#include "machine.h"
#include <math.h>

/* {kind: {type: [[of an entry, of a row], ..]}}, by widths 1, 2, 4 .. */
json_t *kernels_json(const wisp_machine *m)
{
    json_t *all = json_object();
    for (int k = 0; k < WISP_ROW_KINDS; k++) {
        json_t *types = json_object();
        for (int t = 0; t < WISP_KERNEL_TYPES; t++) {
            json_t *list = json_array();
            for (int w = 0; w < WISP_KERNEL_WIDTHS; w++)
                json_array_append_new(list, json_numbers(m->kernel_ns[k][t][w], 2));
            JSON_PUT(types, J(wisp_type_name((wisp_type)(WISP_S + t)), list));
        }
        JSON_PUT(all, J(wisp_rows_name(k), types));
    }
    return all;
}

void kernels_read(const json_t *o, wisp_machine *m)
{
    for (int k = 0; k < WISP_ROW_KINDS; k++)
        for (int t = 0; t < WISP_KERNEL_TYPES; t++)
            for (int w = 0; w < WISP_KERNEL_WIDTHS; w++) {
                const json_t *list =
                    json_object_get(json_object_get(o, wisp_rows_name(k)), wisp_type_name((wisp_type)(WISP_S + t)));
                for (size_t i = 0; i < 2; i++)
                    m->kernel_ns[k][t][w][i] = json_number_value(json_array_get(json_array_get(list, (size_t)w), i));
            }
}

/* Rows of seven entries. */
void kernels_print(const wisp_machine *m)
{
    enum { ENTRIES = 7 };
    if (!(m->kernel_ns[0][0][0][0] > 0)) return;
    printf("\n%-20s", "ns of a core, a row");
    for (int w = 0; w < WISP_KERNEL_WIDTHS; w++) printf("%7d%s", 1 << w, w ? "" : " col.");
    printf("   (of %d entries)\n", ENTRIES);
    for (int k = 0; k < WISP_ROW_KINDS; k++)
        for (int t = WISP_D; t <= WISP_Z; t += WISP_Z - WISP_D) {
            char name[TEXT];
            snprintf(name, sizeof name, "%s, %s", wisp_rows_name(k), t == WISP_D ? "real" : "complex");
            printf("%-20s", name);
            for (int w = 0; w < WISP_KERNEL_WIDTHS; w++) {
                const double *ns = m->kernel_ns[k][t - WISP_S][w];
                text_number(w ? 7 : 12, NULL, "%.1f", ns[0] > 0 ? ENTRIES * ns[0] + ns[1] : NAN);
            }
            putchar('\n');
        }
}
