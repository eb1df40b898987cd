/* The fields of the public structs, of a list that is made of the headers as the library is built (fields.cmake). */
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <wisp/fields.h>
#include <wisp/task.h>

/* Texts one behind the other and short numbers, for a table of pointers would be several times as long in the file. */
#define STRUCT(type) #type "\0\0"
#define FIELD(type, field, of_type) #field "\0" of_type "\0"
static const char texts[] =
#include "fields.inc"
    ;
#undef STRUCT
#undef FIELD

enum { WHOLE = UINT16_MAX };
static const struct {
    uint16_t offset, size; /* the compiler refuses larger ones. WHOLE: a struct */
} places[] = {
#define STRUCT(type) {WHOLE, sizeof(type)},
#define FIELD(type, field, of_type) {offsetof(type, field), sizeof(((type *)0)->field)},
#include "fields.inc"
#undef STRUCT
#undef FIELD
};

enum { COUNT = sizeof places / sizeof *places };
static wisp_field_info infos[COUNT];

static void fill(void)
{
    const char *text = texts, *of = NULL;
    for (int i = 0; i < COUNT; i++) {
        const bool whole = places[i].offset == WHOLE;
        const char *const name = text, *const type = name + strlen(name) + 1;
        text = type + strlen(type) + 1;
        if (whole) of = name;
        infos[i] =
            (wisp_field_info){of, whole ? "" : name, whole ? of : type, whole ? 0 : places[i].offset, places[i].size};
    }
}

const wisp_field_info *wisp_field(int i)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, fill);
    return i >= 0 && i < COUNT ? &infos[i] : NULL;
}
