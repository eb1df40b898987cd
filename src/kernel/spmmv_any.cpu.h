/* The augmented SpMMV for any width: each row in tiles of 16, 8, 4, 2 and 1 columns, made by spmmv.cpu.h. Wider
   blocks go in panels, one after the other over the kernel's rows, which are still in cache then. */
enum { PANEL = 64 };

/* Room for the sums of all tiles of a panel. */
typedef struct {
    tile_sums_w16 w16[PANEL / 16];
    tile_sums_w8 w8;
    tile_sums_w4 w4;
    tile_sums_w2 w2;
    tile_sums_w1 w1;
} panel_sums;

/* Calls STEP(width, column, sums) for each tile of columns first .. last - 1. */
#define FOR_TILES(first, last, s, STEP)                               \
    do {                                                              \
        int j = first, t = 0;                                         \
        for (; last - j >= 16; j += 16, t++) STEP(16, j, (s).w16[t]); \
        if (last - j >= 8) {                                          \
            STEP(8, j, (s).w8);                                       \
            j += 8;                                                   \
        }                                                             \
        if (last - j >= 4) {                                          \
            STEP(4, j, (s).w4);                                       \
            j += 4;                                                   \
        }                                                             \
        if (last - j >= 2) {                                          \
            STEP(2, j, (s).w2);                                       \
            j += 2;                                                   \
        }                                                             \
        if (last - j >= 1) STEP(1, j, (s).w1);                        \
    } while (0)

static void any_width(const wisp__spmmv_params *p, int64_t begin, int64_t end, double *dot)
{
    const unsigned terms = p->terms;
    const int64_t row_end = (end << p->log_c) < p->rows ? end << p->log_c : p->rows;
    for (int first = 0; first < p->width; first += PANEL) {
        const int last = first + PANEL < p->width ? first + PANEL : p->width;
        for (int64_t strip = begin << p->log_c; strip < row_end; strip += K_STRIP) {
            panel_sums s;
            if (terms & K_DOTS) __builtin_memset(&s, 0, sizeof s);
            const int64_t strip_end = strip + K_STRIP < row_end ? strip + K_STRIP : row_end;
            for (int64_t row = strip; row < strip_end; row++) {
                const row_entries r = entries_of(p, ROWS_ANY, row);
#define TILE(w, j, sums) tile_w##w(p, terms, ROWS_ANY, row, r, (int64_t)(j)*PARTS, sums)
                FOR_TILES(first, last, s, TILE);
#undef TILE
            }
#define FLUSH(w, j, sums) flush_w##w(sums, terms, p->width, j, dot)
            if (terms & K_DOTS) FOR_TILES(first, last, s, FLUSH);
#undef FLUSH
        }
    }
    if (p->past) simd_fence();
}
#undef FOR_TILES
