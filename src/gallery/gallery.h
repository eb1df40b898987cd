/* The gallery's inside: what an entry declares, and what its row callback uses. */
#ifndef WISP_GALLERY_H
#define WISP_GALLERY_H
#include "../base/rng.h"

/* What may stand behind a key. A real may be a fraction ("1/3"); a word is one of `choices`, separated by
   spaces; letters are any of the characters of `choices`, each once, or "none". A file's name is the first key alone,
   and stands in the spec without it. */
typedef enum { WISP__GAL_INT, WISP__GAL_REAL, WISP__GAL_WORD, WISP__GAL_LETTERS, WISP__GAL_FILE } wisp__gal_kind;

typedef struct {
    const char *name, *fallback; /* the default, as one would write it */
    wisp__gal_kind kind;
    int64_t lo, hi; /* range of a number, both included; INT64_MIN and INT64_MAX: none */
    const char *choices;
    bool computed; /* the default follows from other keys: the entry looks at `given` */
} wisp__gal_key;

typedef struct {
    bool given;
    int64_t i;        /* integer, number of the word, or one bit per letter */
    double real;      /* real */
    const char *text; /* file: its name in the spec, of so many bytes */
    size_t length;
} wisp__gal_value;

/* An entry opens a source from its values, in the order of its keys. */
typedef struct {
    wisp_gallery_entry text;
    const wisp__gal_key *keys;
    int key_count;
    wisp_status (*open)(wisp_src *src, wisp_ctx *ctx, const wisp__gal_value *value);
    /* the same of its rows' positions; NULL: they have none */
    wisp_status (*positions)(wisp_positions *positions, wisp_ctx *ctx, const wisp__gal_value *value);
} wisp__gal_entry;

enum { WISP__GAL_MAX_KEYS = 16 };

/* An entry lists its keys once, as X(name, default, kind, meaning); the enum of their numbers, the parser's table
   and the help text all come from that list. */
#define WISP__GAL_INTEGER(min, max) .kind = WISP__GAL_INT, .lo = (min), .hi = (max)
#define WISP__GAL_REAL_FROM(min) .kind = WISP__GAL_REAL, .lo = (min), .hi = INT64_MAX
#define WISP__GAL_REAL_BETWEEN(min, max) .kind = WISP__GAL_REAL, .lo = (min), .hi = (max)
#define WISP__GAL_INTEGER_COMPUTED(min, max) WISP__GAL_INTEGER(min, max), .computed = true
#define WISP__GAL_WORDS(list) .kind = WISP__GAL_WORD, .choices = (list)
#define WISP__GAL_LETTERS_OF(list) .kind = WISP__GAL_LETTERS, .choices = (list)
#define WISP__GAL_ENUM(name, fallback, spec, meaning) KEY_##name,
#define WISP__GAL_ROW(key, def, spec, meaning) {.name = #key, .fallback = def, spec},
#define WISP__GAL_HELP(name, fallback, spec, meaning) #name "=" fallback "  " meaning "\n"
#define WISP__GAL_SIZE WISP__GAL_INTEGER(1, INT64_MAX)
#define WISP__GAL_SEED WISP__GAL_INTEGER(0, INT64_MAX)

extern const wisp__gal_entry wisp__gal_topi, wisp__gal_graphene, wisp__gal_honeycomb, wisp__gal_haldane,
    wisp__gal_square, wisp__gal_kagome, wisp__gal_anderson, wisp__gal_laplace, wisp__gal_hpcg, wisp__gal_band,
    wisp__gal_spinchain, wisp__gal_delaunay, wisp__gal_tetrahedra, wisp__gal_elasticity, wisp__gal_matpde,
    wisp__gal_hubbard, wisp__gal_wannier, wisp__gal_spinz, wisp__gal_hubbardq;

/* Reads "key=value,key=value" (what stands after "name:", perhaps nothing) into value[key_count]. */
wisp_status wisp__gal_parse(wisp_ctx *ctx, const wisp__gal_entry *entry, const char *text, wisp__gal_value *value);
/* Of count names, `stride` bytes apart, the one that takes the fewest edits to get from `word`, if these are no more
   than half of its letters; else NULL. */
const char *wisp__gal_nearest(const char *word, const char *const *name, int count, size_t stride);

/* The product of count sizes; WISP_ERR_OVERFLOW with a message if it does not fit. */
wisp_status wisp__gal_product(wisp_ctx *ctx, const char *name, const int64_t *size, int count, int64_t *product);
/* Fills src, with its own copy of `size` bytes of parameters. rows * max_row must fit in 64 bits. */
wisp_status wisp__gal_source(wisp_src *src, wisp_ctx *ctx, const char *name, const wisp_src *shape, const void *params,
                             size_t size);

/* Uniform in [-width/2, width/2) for a site. The streams are the gallery's own, so that disorder and random
   vectors of equal seeds have nothing in common. */
enum { WISP__GAL_STREAM = 0x67616c, WISP__GAL_STREAM_VACANCIES = 0x766163, WISP__GAL_STREAM_BAND = 0x40000000 };
static inline double wisp__gal_disorder(double width, uint64_t seed, int64_t site)
{
    return width * (wisp__uniform(seed, site, WISP__GAL_STREAM) - 0.5);
}

/* The sites of a lattice that are left when some are taken out at random, each with the chance `vacancies`: a bit for
   each site, so that a site's row and a row's site take one look-up. The head of a block of wisp__gal_kept_bytes. */
typedef struct {
    int64_t sites, rows; /* before; left */
} wisp__gal_kept;
size_t wisp__gal_kept_bytes(int64_t sites);
void wisp__gal_kept_draw(wisp_ctx *ctx, wisp__gal_kept *k, int64_t sites, double vacancies, uint64_t seed);
int64_t wisp__gal_kept_row(const wisp__gal_kept *k, int64_t site); /* -1: it was taken out */
int64_t wisp__gal_kept_site(const wisp__gal_kept *k, int64_t row);

/* a / b and a % b of numbers >= 0; the 32-bit division is several times faster on many CPUs. */
static inline int64_t wisp__gal_divide(int64_t a, int64_t b, int64_t *rest)
{
    if (((a | b) >> 32) == 0) {
        *rest = (int64_t)((uint32_t)a % (uint32_t)b);
        return (int64_t)((uint32_t)a / (uint32_t)b);
    }
    *rest = a % b;
    return a / b;
}

/* A box of sites, numbered (x n[1] + y) n[2] + z. */
typedef struct {
    int64_t n[3], stride[3]; /* stride: distance of neighbours in the numbering */
    unsigned periodic;       /* bit d: direction d */
} wisp__gal_box;

static inline void wisp__gal_where(const wisp__gal_box *b, int64_t site, int64_t at[3])
{
    int64_t rest = wisp__gal_divide(site, b->n[2], &at[2]);
    at[0] = wisp__gal_divide(rest, b->n[1], &at[1]);
}
/* Distance in the numbering to the neighbour one step down or up; 0 in *exists if there is none. */
static inline int64_t wisp__gal_below(const wisp__gal_box *b, const int64_t at[3], int d, bool *exists)
{
    *exists = at[d] > 0 || (b->periodic >> d & 1);
    return at[d] > 0 ? -b->stride[d] : (b->n[d] - 1) * b->stride[d];
}
static inline int64_t wisp__gal_above(const wisp__gal_box *b, const int64_t at[3], int d, bool *exists)
{
    bool inside = at[d] < b->n[d] - 1;
    *exists = inside || (b->periodic >> d & 1);
    return inside ? b->stride[d] : -(b->n[d] - 1) * b->stride[d];
}
/* A row of nearest neighbours with equal values, the diagonal in front; its length. */
static inline int wisp__gal_star(const wisp__gal_box *b, int64_t site, double diagonal, double neighbour, int64_t *col,
                                 double *val)
{
    int64_t at[3];
    int n = 1;
    wisp__gal_where(b, site, at);
    if (col) {
        col[0] = site;
        val[0] = diagonal;
    }
    for (int d = 0; d < 3; d++) {
        bool exists[2];
        int64_t step[2] = {wisp__gal_below(b, at, d, &exists[0]), wisp__gal_above(b, at, d, &exists[1])};
        for (int i = 0; i < 2; i++) {
            if (!exists[i]) continue;
            if (col) {
                col[n] = site + step[i];
                val[n] = neighbour;
            }
            n++;
        }
    }
    return n;
}
/* A row of the whole 3 x 3 x 3 cube of neighbours. A point that meets itself by periodicity has its neighbour's value
   beside the diagonal. */
int wisp__gal_cube(const wisp__gal_box *b, int64_t site, double diagonal, double neighbour, int64_t *col, double *val);
/* Makes a box of nx x ny x nz sites and counts them. */
wisp_status wisp__gal_box_make(wisp__gal_box *box, wisp_ctx *ctx, const char *name, int64_t nx, int64_t ny, int64_t nz,
                               int64_t periodic, int64_t *sites);
/* Positions of the sites of a box, 1 apart, of each of which so many rows follow each other; its neighbours are at most
   `reach` away. Directions of one site are left out, unless they are periodic. */
wisp_status wisp__gal_box_positions(wisp_positions *positions, wisp_ctx *ctx, const char *name,
                                    const wisp__gal_box *box, int64_t rows_of_site, double reach);
/* positions->volume, of its cell. */
void wisp__gal_positions_span(wisp_positions *positions);
#endif
