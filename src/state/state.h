/* The inside of states, and the files that hold them. */
#ifndef WISP_STATE_INSIDE_H
#define WISP_STATE_INSIDE_H
#include "../data/data.h"
#include <limits.h>

typedef enum { WISP__DATA, WISP__SUMS, WISP__BLOCK, WISP__WORDS } wisp__item_kind;
enum { WISP__ITEM_NAME = 40, WISP__STATE_PARTS = 4 };

/* As in a file, where its bytes follow, up to a multiple of 8. */
typedef struct {
    char name[WISP__ITEM_NAME];
    uint32_t kind, type, width, reserved; /* type, width: of a block */
    uint64_t bytes;                       /* of this rank */
} wisp__item_head;

typedef struct {
    wisp__item_head head;
    void *data;      /* live: where it is, or a copy. Kept: words alone, a copy */
    bool owned;      /* it is a copy */
    uint64_t at;     /* kept: where it is in the file */
    wisp_blk *block; /* live */
} wisp__item;

/* A file begins with this. Rank 0's goes on with the first row of each rank, and the number of rows: begin[ranks + 1].
   If rows were partitioned anew, the numbers that they had before follow: [local]. Then the items, and the tail. Rank
   0's file alone has data and words. Numbers are little-endian. */
typedef struct {
    char magic[8];
    uint32_t version, order;    /* order: 0x01020304 as this machine writes it */
    uint64_t id, number;        /* id: the same for all files of a generation, and no other. number: it counts them */
    uint64_t bytes, items;      /* of the file, with its tail */
    uint32_t rank, ranks;       /* whose file it is, of how many */
    int64_t rows, first, local; /* of all ranks, and this one's; 0: there are no blocks */
    uint64_t renumbered;        /* 1: numbers follow */
    char wisp[32];              /* the version that wrote it */
} wisp__state_head;
typedef struct {
    uint64_t hash; /* XXH3 of all that comes before */
    char magic[8];
} wisp__state_tail;

/* One file. Blocks and numbers are read when they are given back, so that none is in memory twice. */
typedef struct {
    bool is_open;
    int fd;
    wisp__state_head head;
    int64_t *begin, *numbers; /* NULL: it has none */
    wisp__item *item;         /* [head.items] */
} wisp__state_file;

struct wisp_state {
    wisp_ctx *ctx;
    /* live: */
    struct {
        wisp_items_fn items;
        void *arg;
    } part[WISP__STATE_PARTS];
    int parts;
    bool whole;       /* it is offered as the last one */
    wisp__item *item; /* as they were listed last */
    int items, room;
    /* kept: */
    char *path;             /* NULL: it is live */
    bool is_before;         /* it is the generation before the last one, which is damaged */
    int ranks;              /* whose files they are */
    wisp__state_file *file; /* [ranks] those that were needed so far */
};

/* Lists the items of a live state anew. */
wisp_status wisp__state_list(wisp_state *state);

/* ---- files (state_file.c) ---------------------------------------------------------------------- */

/* The file of this rank, in memory, of items that have been listed: image->at[image->bytes], of wisp_alloc, kept for
 * the next one. All but the hash. */
typedef struct {
    char *at;
    size_t bytes, room;
} wisp__image;
wisp_status wisp__state_image(wisp_state *live, uint64_t id, uint64_t number, wisp__image *image);
/* The hash of all else is put into the tail. It takes as long as to read the image. */
void wisp__image_seal(wisp__image *image);
/* The names of a rank's file of a generation whose first file is `path` (to be freed), and of the first file of the
   generation before it. */
char *wisp__state_name(wisp_ctx *ctx, const char *path, uint64_t number, int rank);
const char *wisp__before_name(char name[PATH_MAX], const char *path);
/* Opens a file. Its hash is looked at if `whole`. The message of a failure names the file. */
wisp_status wisp__state_file_open(wisp__state_file *f, wisp_ctx *ctx, const char *path, bool whole);
void wisp__state_file_close(wisp__state_file *f, wisp_ctx *ctx);
/* Whether a file begins as one. */
bool wisp__state_is(const char *path);
/* Rank p's file of a kept state. Its hash is looked at if `whole`, as it was when the state was opened. */
wisp_status wisp__state_part(wisp_state *kept, int p, bool whole, const wisp__state_file **file);
const wisp__item *wisp__state_find(const wisp__state_file *f, const char *name);
/* Bytes of an item, from its byte number `from` on. */
wisp_status wisp__state_read(wisp_state *kept, const wisp__state_file *f, const wisp__item *item, size_t from, void *to,
                             size_t bytes);
#endif
