/* The parser of gallery specs: key=value,key=value against an entry's table of keys. */
#include "gallery.h"
#include "../base/system.h"
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOKEN = 64 }; /* longer ones are cut; no valid one is */

const char *wisp__gal_nearest(const char *word, const char *const *name, int count, size_t stride)
{
    const char *best = NULL;
    int least = INT32_MAX;
    for (int i = 0; i < count; i++) {
        const char *candidate = *(const char *const *)((const char *)name + (size_t)i * stride);
        const int d = wisp_word_distance(word, candidate), letters = (int)WISP__MAX(strlen(word), strlen(candidate));
        if (d < least && 2 * d <= letters) {
            least = d;
            best = candidate;
        }
    }
    return best;
}

/* Copies a token, with '?' for control characters so that messages stay on one line. */
static void copy_token(char token[TOKEN], const char *text, size_t length)
{
    size_t n = WISP__MIN(length, (size_t)TOKEN - 1);
    for (size_t i = 0; i < n; i++) token[i] = (unsigned char)text[i] < ' ' ? '?' : text[i];
    token[n] = 0;
}

static wisp_status bad_range(wisp_ctx *ctx, const char *name, const wisp__gal_key *key, const char *text)
{
    char lo[48] = "", hi[48] = "";
    if (key->lo != INT64_MIN) snprintf(lo, sizeof lo, " at least %lld", (long long)key->lo);
    if (key->hi != INT64_MAX) snprintf(hi, sizeof hi, "%s at most %lld", *lo ? " and" : "", (long long)key->hi);
    return wisp_ctx_failf(ctx, WISP_ERR_ARG, "%s: %s=%s is out of range; it must be%s%s", name, key->name, text, lo,
                          hi);
}

static wisp_status parse_integer(wisp_ctx *ctx, const char *name, const wisp__gal_key *key, const char *text,
                                 wisp__gal_value *value)
{
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (end == text || *end || *text == ' ') {
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "%s: %s=%s is not an integer", name, key->name, text);
    }
    if (errno == ERANGE) {
        return wisp_ctx_failf(ctx, WISP_ERR_OVERFLOW, "%s: %s=%s does not fit in 64 bits", name, key->name, text);
    }
    if (number < key->lo || number > key->hi) return bad_range(ctx, name, key, text);
    value->i = number;
    return WISP_OK;
}

/* "a" or "a/b"; the decimal point is a point, whatever the program's locale. */
static bool read_real(const char *text, double *real)
{
    locale_t c = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    if (c == (locale_t)0) return false;
    char *end;
    *real = strtod_l(text, &end, c);
    bool good = end != text && *text != ' ';
    if (good && *end == '/') {
        const char *below = end + 1;
        *real /= strtod_l(below, &end, c);
        good = end != below && *below != ' ';
    }
    freelocale(c);
    return good && !*end && isfinite(*real);
}

static wisp_status parse_real(wisp_ctx *ctx, const char *name, const wisp__gal_key *key, const char *text,
                              wisp__gal_value *value)
{
    if (!read_real(text, &value->real)) {
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "%s: %s=%s is not a number", name, key->name, text);
    }
    if ((key->lo != INT64_MIN && value->real < (double)key->lo) ||
        (key->hi != INT64_MAX && value->real > (double)key->hi)) {
        return bad_range(ctx, name, key, text);
    }
    return WISP_OK;
}

static wisp_status parse_word(wisp_ctx *ctx, const char *name, const wisp__gal_key *key, const char *text,
                              wisp__gal_value *value)
{
    size_t length = strlen(text);
    const char *word = key->choices;
    for (int i = 0; *word; i++) {
        size_t n = strcspn(word, " ");
        if (n == length && strncmp(word, text, n) == 0) {
            value->i = i;
            return WISP_OK;
        }
        word += n + (word[n] == ' ');
    }
    return wisp_ctx_failf(ctx, WISP_ERR_ARG, "%s: %s=%s is none of: %s", name, key->name, text, key->choices);
}

static wisp_status parse_letters(wisp_ctx *ctx, const char *name, const wisp__gal_key *key, const char *text,
                                 wisp__gal_value *value)
{
    value->i = 0;
    if (strcmp(text, "none") == 0) return WISP_OK;
    bool good = *text != 0;
    for (const char *c = text; *c && good; c++) {
        const char *found = strchr(key->choices, *c);
        int64_t bit = found ? (int64_t)1 << (found - key->choices) : 0;
        good = bit && !(value->i & bit);
        value->i |= bit;
    }
    if (good) return WISP_OK;
    return wisp_ctx_failf(ctx, WISP_ERR_ARG, "%s: %s=%s must be letters of '%s', each once, or none", name, key->name,
                          text, key->choices);
}

static wisp_status parse_value(wisp_ctx *ctx, const char *name, const wisp__gal_key *key, const char *text,
                               wisp__gal_value *value)
{
    switch (key->kind) {
    case WISP__GAL_INT: return parse_integer(ctx, name, key, text, value);
    case WISP__GAL_REAL: return parse_real(ctx, name, key, text, value);
    case WISP__GAL_WORD: return parse_word(ctx, name, key, text, value);
    case WISP__GAL_FILE: return WISP_OK; /* is there already */
    default: return parse_letters(ctx, name, key, text, value);
    }
}

static wisp_status unknown_key(wisp_ctx *ctx, const wisp__gal_entry *entry, const char *word)
{
    char list[512] = "";
    size_t used = 0;
    for (int i = 0; i < entry->key_count; i++) {
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", entry->keys[i].name);
    }
    const char *near = wisp__gal_nearest(word, &entry->keys->name, entry->key_count, sizeof *entry->keys);
    return wisp_ctx_failf(ctx, WISP_ERR_ARG, "%s: unknown key '%s'%s%s%s (there are: %s)", entry->text.name, word,
                          near ? "; the nearest is '" : "", near ? near : "", near ? "'" : "", list);
}

/* One "key=value". */
static wisp_status parse_item(wisp_ctx *ctx, const wisp__gal_entry *entry, const char *text, size_t length,
                              wisp__gal_value *value)
{
    const char *name = entry->text.name;
    char key[TOKEN], word[TOKEN];
    const char *equal = memchr(text, '=', length);
    size_t key_length = equal ? (size_t)(equal - text) : length;
    copy_token(key, text, key_length);
    if (!equal) return wisp_ctx_failf(ctx, WISP_ERR_ARG, "%s: '%s' has no '='; write key=value", name, key);
    copy_token(word, equal + 1, length - key_length - 1);
    for (int i = 0; i < entry->key_count; i++) {
        if (strcmp(entry->keys[i].name, key) != 0) continue;
        if (value[i].given) return wisp_ctx_failf(ctx, WISP_ERR_ARG, "%s: %s is given twice", name, key);
        value[i].given = true;
        return parse_value(ctx, name, &entry->keys[i], word, &value[i]);
    }
    return unknown_key(ctx, entry, key);
}

/* The name up to the first comma; *text moves behind that. */
static wisp_status take_file(wisp_ctx *ctx, const wisp__gal_entry *entry, const char **text, wisp__gal_value *value)
{
    const size_t length = strcspn(*text, ","), word = strcspn(*text, "=,");
    bool key = length == 0;
    for (int i = 1; i < entry->key_count && word < length; i++)
        key |= strlen(entry->keys[i].name) == word && strncmp(entry->keys[i].name, *text, word) == 0;
    if (key)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "%s: the name of a file must come first: %s:NAME,key=value",
                              entry->text.name, entry->text.name);
    *value = (wisp__gal_value){.given = true, .text = *text, .length = length};
    *text += length;
    if (**text == ',' && !*++*text)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "%s: nothing follows the last comma", entry->text.name);
    return WISP_OK;
}

wisp_status wisp__gal_parse(wisp_ctx *ctx, const wisp__gal_entry *entry, const char *text, wisp__gal_value *value)
{
    wisp_status status = WISP_OK;
    if (entry->keys[0].kind == WISP__GAL_FILE) WISP_TRY(take_file(ctx, entry, &text, value));
    while (*text) {
        size_t length = strcspn(text, ",");
        WISP_TRY(parse_item(ctx, entry, text, length, value));
        text += length;
        if (*text == ',' && !*++text) {
            return wisp_ctx_failf(ctx, WISP_ERR_ARG, "%s: nothing follows the last comma", entry->text.name);
        }
    }
    for (int i = 0; i < entry->key_count; i++) {
        const wisp__gal_key *key = &entry->keys[i];
        if (!value[i].given && !key->computed) {
            WISP_TRY(parse_value(ctx, entry->text.name, key, key->fallback, &value[i]));
        }
    }
out:
    return status;
}
