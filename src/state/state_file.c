/* Files of states: how they are laid out in memory, and opened again. */
#include "state.h"
#include "../base/system.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

enum { VERSION = 1, ORDER = 0x01020304 };
static const char head_magic[8] = "wispstat", tail_magic[8] = "wispend.";

static size_t padded(size_t bytes) { return (bytes + 7) & ~(size_t)7; }

/* ---- making one -------------------------------------------------------------------------------- */

static bool has(const wisp_state *s, const wisp__item *item)
{
    return s->ctx->rank == 0 || item->head.kind == WISP__SUMS || item->head.kind == WISP__BLOCK;
}

static wisp_status copy_item(const wisp__item *item, char *at)
{
    wisp__item_head head = item->head;
    const wisp_blk *x = item->block;
    if (x) head.type = x->type, head.width = (uint32_t)x->width;
    memcpy(at, &head, sizeof head);
    at += sizeof head;
    memset(at + head.bytes, 0, padded(head.bytes) - head.bytes);
    if (x) return x->nrows ? wisp_blk_get(x, WISP_ROW_MAJOR, at, x->width) : WISP_OK;
    if (head.bytes) memcpy(at, item->data, head.bytes);
    return WISP_OK;
}

static wisp_status make_room(wisp_ctx *ctx, wisp__image *image, size_t bytes)
{
    if (bytes > image->room) {
        wisp_free(ctx, image->at);
        image->at = NULL;
        image->room = 0;
        const wisp_status status = wisp__alloc_raw(ctx, &image->at, bytes, 1);
        if (status != WISP_OK) return status;
        image->room = bytes;
    }
    image->bytes = bytes;
    return WISP_OK;
}

wisp_status wisp__state_image(wisp_state *live, uint64_t id, uint64_t number, wisp__image *image)
{
    const wisp_ctx *ctx = live->ctx;
    const wisp_map *map = NULL;
    wisp__state_head head = {.version = VERSION, .order = ORDER, .id = id, .number = number};
    wisp_status status;
    snprintf(head.wisp, sizeof head.wisp, "%s", wisp_version());
    size_t bytes = sizeof head + (ctx->rank == 0 ? ((size_t)ctx->ranks + 1) * sizeof(int64_t) : 0);
    for (int i = 0; i < live->items; i++) {
        if (!has(live, &live->item[i])) continue;
        head.items++;
        bytes += sizeof(wisp__item_head) + padded(live->item[i].head.bytes);
        if (live->item[i].block) map = live->item[i].block->map;
    }
    if (map) head.rows = map->rows, head.first = map->first, head.local = map->local;
    head.renumbered = map && map->number;
    if (head.renumbered) bytes += (size_t)map->local * sizeof *map->number;
    bytes += sizeof(wisp__state_tail);
    memcpy(head.magic, head_magic, sizeof head.magic);
    head.bytes = bytes, head.rank = (uint32_t)ctx->rank, head.ranks = (uint32_t)ctx->ranks;
    WISP_TRY(make_room(live->ctx, image, bytes));
    memcpy(image->at, &head, sizeof head);
    char *at = image->at + sizeof head;
    for (int r = 0; r <= ctx->ranks && ctx->rank == 0; r++, at += sizeof(int64_t)) {
        const int64_t begin = wisp__share_begin(ctx, map ? map->weights : NULL, head.rows, r);
        memcpy(at, &begin, sizeof begin);
    }
    if (head.renumbered) {
        memcpy(at, map->number, (size_t)map->local * sizeof *map->number);
        at += (size_t)map->local * sizeof *map->number;
    }
    for (int i = 0; i < live->items; i++) {
        if (!has(live, &live->item[i])) continue;
        WISP_TRY(copy_item(&live->item[i], at));
        at += sizeof(wisp__item_head) + padded(live->item[i].head.bytes);
    }
out:
    return status;
}

void wisp__image_seal(wisp__image *image)
{
    wisp__state_tail tail = {0};
    const size_t bytes = image->bytes - sizeof tail;
    memcpy(tail.magic, tail_magic, sizeof tail.magic);
    tail.hash = XXH3_64bits(image->at, bytes);
    memcpy(image->at + bytes, &tail, sizeof tail);
}

char *wisp__state_name(wisp_ctx *ctx, const char *path, uint64_t number, int rank)
{
    const size_t room = strlen(path) + 40;
    char *name;
    if (rank == 0) return wisp__strdup(ctx, path);
    if (wisp_alloc(ctx, &name, room, 1)) return NULL;
    snprintf(name, room, "%s.%llu.%d", path, (unsigned long long)number, rank);
    return name;
}

const char *wisp__before_name(char name[PATH_MAX], const char *path)
{
    snprintf(name, PATH_MAX, "%.*s.before", PATH_MAX - 16, path);
    return name;
}

/* ---- opening one ------------------------------------------------------------------------------- */

static wisp_status damaged(wisp_ctx *ctx, const char *path, const char *why)
{
    return wisp_ctx_failf(ctx, WISP_ERR_FORMAT, "%s: %s", path, why);
}

static wisp_status unread(wisp_ctx *ctx, const char *path, int error)
{
    char text[128];
    return wisp_ctx_failf(ctx, WISP_ERR_IO, "cannot read %s: %s", path, wisp__error_text(error, text, sizeof text));
}

/* All of them, else an errno; EPIPE: the file ends before. */
static int read_at(int fd, void *to, size_t bytes, uint64_t at)
{
    char *p = to;
    while (bytes > 0) {
        const ssize_t n = pread(fd, p, bytes, (off_t)at);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return n < 0 ? errno : EPIPE;
        p += n, at += (size_t)n, bytes -= (size_t)n;
    }
    return 0;
}

/* The same of a file with its right length. */
static wisp_status read_from(const wisp__state_file *f, wisp_ctx *ctx, const char *path, void *to, size_t bytes,
                             uint64_t at)
{
    const int error = read_at(f->fd, to, bytes, at);
    return error == EPIPE ? damaged(ctx, path, "the checkpoint became shorter while it was read")
           : error        ? unread(ctx, path, error)
                          : WISP_OK;
}

static wisp_status check_head(const wisp__state_file *f, wisp_ctx *ctx, const char *path, size_t bytes)
{
    const wisp__state_head *h = &f->head;
    if (memcmp(h->magic, head_magic, sizeof h->magic)) return damaged(ctx, path, "this is no checkpoint of wisp");
    if (h->order != ORDER) return damaged(ctx, path, "a checkpoint of a machine with another order of bytes");
    if (h->version != VERSION)
        return wisp_ctx_failf(ctx, WISP_ERR_UNSUPPORTED, "%s: version %u of checkpoints; this wisp reads version %d",
                              path, h->version, VERSION);
    if (strncmp(h->wisp, wisp_version(), sizeof h->wisp)) /* what items mean may be another thing there */
        return wisp_ctx_failf(ctx, WISP_ERR_UNSUPPORTED, "%s: a checkpoint of wisp %.*s; this is wisp %s", path,
                              (int)sizeof h->wisp, h->wisp, wisp_version());
    if (h->bytes != bytes)
        return wisp_ctx_failf(ctx, WISP_ERR_FORMAT, "%s: the checkpoint is damaged: %llu bytes of %llu are there", path,
                              (unsigned long long)bytes, (unsigned long long)h->bytes);
    if (bytes < sizeof *h + sizeof(wisp__state_tail))
        return damaged(ctx, path, "the checkpoint is damaged: it has no end");
    return WISP_OK;
}

static wisp_status check_tail(const wisp__state_file *f, wisp_ctx *ctx, const char *path, bool whole)
{
    enum { PIECE = 1 << 20 }; /* a call of the system is little beside it, and it is little memory */
    wisp__state_tail tail;
    XXH3_state_t sum;
    char *piece = NULL;
    wisp_status status;
    const uint64_t end = f->head.bytes - sizeof tail;
    WISP_TRY(read_from(f, ctx, path, &tail, sizeof tail, end));
    bool good = !memcmp(tail.magic, tail_magic, sizeof tail.magic);
    if (whole && good) {
        WISP_TRY(wisp__alloc_raw(ctx, &piece, PIECE, 1));
        XXH3_64bits_reset(&sum);
        for (uint64_t at = 0, n; at < end; at += n) {
            n = WISP__MIN((uint64_t)PIECE, end - at);
            WISP_TRY(read_from(f, ctx, path, piece, n, at));
            XXH3_64bits_update(&sum, piece, n);
        }
        good = XXH3_64bits_digest(&sum) == tail.hash;
    }
    if (!good) status = damaged(ctx, path, "the checkpoint is damaged: its checksum is another one");
out:
    wisp_free(ctx, piece);
    return status;
}

static wisp_status take_array(wisp__state_file *f, wisp_ctx *ctx, const char *path, int64_t **array, size_t n,
                              uint64_t *at, uint64_t end)
{
    if (*at > end || n > (end - *at) / sizeof **array)
        return damaged(ctx, path, "the checkpoint is damaged: its parts do not fit");
    wisp_status status = wisp__alloc_raw(ctx, array, n + 1, sizeof **array);
    if (status == WISP_OK) status = read_from(f, ctx, path, *array, n * sizeof **array, *at);
    *at += n * sizeof **array;
    return status;
}

/* Where its parts are. A file with the right hash has them; others are not trusted. */
static wisp_status find_items(wisp__state_file *f, wisp_ctx *ctx, const char *path)
{
    const wisp__state_head *h = &f->head;
    const uint64_t end = h->bytes - sizeof(wisp__state_tail);
    uint64_t at = sizeof *h;
    const char *const bad = "the checkpoint is damaged: its parts do not fit";
    wisp_status status = WISP_OK;
    if (h->ranks < 1 || h->ranks > 1 << 24 || h->rank >= h->ranks || h->local < 0 || h->first < 0 ||
        h->rows < h->first || h->local > h->rows - h->first || h->items > end / sizeof(wisp__item_head))
        return damaged(ctx, path, bad);
    if (h->rank == 0) WISP_TRY(take_array(f, ctx, path, &f->begin, (size_t)h->ranks + 1, &at, end));
    if (h->renumbered) WISP_TRY(take_array(f, ctx, path, &f->numbers, (size_t)h->local, &at, end));
    WISP_TRY(wisp_alloc(ctx, &f->item, (size_t)h->items + 1, sizeof *f->item));
    for (uint64_t i = 0; i < h->items; i++) {
        wisp__item *item = &f->item[i];
        if (end - at < sizeof item->head) return damaged(ctx, path, bad);
        WISP_TRY(read_from(f, ctx, path, &item->head, sizeof item->head, at));
        item->at = at += sizeof item->head;
        item->head.name[WISP__ITEM_NAME - 1] = '\0';
        const uint64_t bytes = item->head.bytes;
        const size_t row = (size_t)item->head.width * wisp_type_size((wisp_type)item->head.type);
        if (bytes > end - at || padded(bytes) > end - at ||
            (item->head.kind == WISP__BLOCK && bytes != (size_t)h->local * row))
            return damaged(ctx, path, bad);
        at += padded(bytes);
        if (item->head.kind != WISP__WORDS) continue;
        item->owned = true;
        WISP_TRY(wisp_alloc(ctx, &item->data, bytes + 1, 1)); /* with an end, whatever the file has */
        WISP_TRY(read_from(f, ctx, path, item->data, bytes, item->at));
    }
out:
    return status;
}

wisp_status wisp__state_file_open(wisp__state_file *f, wisp_ctx *ctx, const char *path, bool whole)
{
    struct stat st;
    wisp_status status = WISP_OK;
    *f = (wisp__state_file){.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)}; /* a pipe is no file to wait for */
    if (f->fd < 0) return unread(ctx, path, errno);
    f->is_open = true;
    if (fstat(f->fd, &st))
        status = unread(ctx, path, errno);
    else if (!S_ISREG(st.st_mode) || (size_t)st.st_size < sizeof f->head.magic)
        status = damaged(ctx, path, "this is no checkpoint of wisp");
    if (status == WISP_OK) status = read_from(f, ctx, path, &f->head, WISP__MIN((size_t)st.st_size, sizeof f->head), 0);
    if (status == WISP_OK) status = check_head(f, ctx, path, (size_t)st.st_size);
    if (status == WISP_OK) status = check_tail(f, ctx, path, whole);
    if (status == WISP_OK) status = find_items(f, ctx, path);
    if (status != WISP_OK) wisp__state_file_close(f, ctx);
    return status;
}

void wisp__state_file_close(wisp__state_file *f, wisp_ctx *ctx)
{
    if (f->is_open) close(f->fd);
    for (uint64_t i = 0; f->item && i < f->head.items; i++)
        if (f->item[i].owned) wisp_free(ctx, f->item[i].data);
    wisp_free(ctx, f->item);
    wisp_free(ctx, f->begin);
    wisp_free(ctx, f->numbers);
    *f = (wisp__state_file){0};
}

wisp_status wisp__state_part(wisp_state *kept, int p, bool whole, const wisp__state_file **file)
{
    wisp__state_file *f = &kept->file[p];
    const wisp__state_head *first = &kept->file[0].head;
    wisp_status status = WISP_OK;
    *file = f;
    if (f->is_open) return WISP_OK;
    char *name = wisp__state_name(kept->ctx, kept->path, first->number, p);
    if (!name) return WISP_ERR_NOMEM;
    WISP_TRY(wisp__state_file_open(f, kept->ctx, name, whole));
    const int64_t *begin = kept->file[0].begin;
    if (f->head.id != first->id || f->head.rank != (uint32_t)p || f->head.first != begin[p] ||
        f->head.local != begin[p + 1] - begin[p] || f->head.renumbered != first->renumbered) {
        wisp__state_file_close(f, kept->ctx);
        status = wisp_ctx_failf(kept->ctx, WISP_ERR_FORMAT, "%s: this file is of another checkpoint than %s", name,
                                kept->path);
    }
out:
    wisp_free(kept->ctx, name);
    return status;
}

wisp_status wisp__state_read(wisp_state *kept, const wisp__state_file *f, const wisp__item *item, size_t from, void *to,
                             size_t bytes)
{
    return read_from(f, kept->ctx, kept->path, to, bytes, item->at + from);
}

bool wisp__state_is(const char *path)
{
    char magic[sizeof head_magic];
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const bool is = fd >= 0 && read_at(fd, magic, sizeof magic, 0) == 0 && !memcmp(magic, head_magic, sizeof magic);
    if (fd >= 0) close(fd);
    return is;
}

const wisp__item *wisp__state_find(const wisp__state_file *f, const char *name)
{
    for (uint64_t i = 0; i < f->head.items; i++)
        if (!strcmp(f->item[i].head.name, name)) return &f->item[i];
    return NULL;
}
