/* w_ib = the sum of v_ia x_ab, and beta w_ib; in complex blocks, whose numbers are pairs of real columns, beta may be
   complex. A group has a tile of rows and columns of W at a time, an item ITEM_ROWS x ITEM_COLUMNS of it, of which
   pairs of columns lie side by side. Some columns of V and the rows of X that they meet go to the group's own memory;
   X goes there once where it has room. A row's sum goes by a in order, whatever the tile. Compile-time: REAL,
   PARTS = 1, GROUP_SIZE, ITEM_ROWS, ITEM_COLUMNS. */
#define SIDE_BY_SIDE (ITEM_COLUMNS > 1 ? 2 : 1)
#define TALL_STEP 8 /* columns of V */

/* Rows of X, in columns from b on. */
INLINE void tall_load(GLOBAL const real *x, i64 ld, i64 first, i64 rows, int width, i64 columns, IN_LOCAL real *to)
{
    for (int e = ITEM; e < rows * width; e += GROUP_SIZE) {
        const int column = e % width;
        to[e] = column < columns ? x[(first + e / width) * ld + column] : 0;
    }
}

/* Of one row, n columns side by side. */
INLINE void tall_put(GLOBAL real *w, const real *s, int n, int reads_w, int pairs, double beta, double beta_im)
{
    real old[2], sum[2];
    for (int k = 0; k < SIDE_BY_SIDE; k++) old[k] = reads_w && k < n ? w[k] : 0;
    for (int k = 0; k < SIDE_BY_SIDE; k++) {
        sum[k] = reads_w ? FMA((real)beta, old[k], s[k]) : s[k];
        if (reads_w && pairs) sum[k] = FMA(k ? (real)beta_im : -(real)beta_im, old[1 - k], sum[k]);
    }
    for (int k = 0; k < SIDE_BY_SIDE; k++)
        if (k < n) w[k] = sum[k];
}

KERNEL(tall, k_tall)
{
    LOCAL real tile_v[(ITEM_ROWS < 2 ? 1 : 2) * GROUP_SIZE * (TALL_STEP + 1)], tile_x[G_TALL_REALS];
    GLOBAL const real *v = PLACE(const real, T_V), *x = PLACE(const real, T_X);
    GLOBAL real *w = PLACE(real, T_W);
    const int w_items = (int)p.w_items, width = ITEM_COLUMNS * w_items, mine = ITEM % w_items;
    const int v_items = GROUP_SIZE / w_items, tile_rows = ITEM_ROWS * v_items, own_row = ITEM / w_items;
    for (i64 bt = 0; bt < p.q; bt += width) {
        const i64 meets = (bt + width + 1) / 2 * 2, last = p.upper && meets < p.p ? meets : p.p;
        if (p.whole) {
            BARRIER();
            tall_load(x + bt, p.ld_x, 0, last, width, p.q - bt, tile_x);
        }
        for (i64 first = GROUP * tile_rows; first < p.rows; first += GROUPS * tile_rows) {
            real s[ITEM_ROWS][ITEM_COLUMNS];
            for (int i = 0; i < ITEM_ROWS; i++)
                for (int j = 0; j < ITEM_COLUMNS; j++) s[i][j] = 0;
            for (i64 at = 0; at < last; at += TALL_STEP) {
                const int step = last - at < TALL_STEP ? (int)(last - at) : TALL_STEP;
                BARRIER();
                for (int e = ITEM; e < tile_rows * TALL_STEP; e += GROUP_SIZE) {
                    const int row = e / TALL_STEP, k = e % TALL_STEP;
                    if (first + row < p.rows && k < step)
                        tile_v[row * (TALL_STEP + 1) + k] = v[(first + row) * p.ld_v + at + k];
                }
                if (!p.whole) tall_load(x + bt, p.ld_x, at, step, width, p.q - bt, tile_x);
                BARRIER();
                IN_LOCAL const real *xs = tile_x + (p.whole ? at * width : 0) + mine * SIDE_BY_SIDE;
                for (int k = 0; k < step; k++) {
                    real a[ITEM_ROWS];
                    for (int i = 0; i < ITEM_ROWS; i++) a[i] = tile_v[(own_row + i * v_items) * (TALL_STEP + 1) + k];
                    for (int j = 0; j < ITEM_COLUMNS; j++) {
                        const int column = j / 2 * 2 * w_items + j % 2;
                        const real y = xs[k * width + column];
                        /* What is not needed may be NaN. */
                        if (p.upper && at + k > ((bt + column + mine * SIDE_BY_SIDE) | 1)) continue;
                        for (int i = 0; i < ITEM_ROWS; i++) s[i][j] = FMA(a[i], y, s[i][j]);
                    }
                }
            }
            for (int i = 0; i < ITEM_ROWS; i++)
                for (int j = 0; j < ITEM_COLUMNS; j += 2) {
                    const i64 row = first + own_row + i * v_items, b = bt + j * w_items + mine * SIDE_BY_SIDE;
                    const i64 left = p.q - b;
                    if (row < p.rows && left > 0)
                        tall_put(w + row * p.ld_w + b, s[i] + j, left < SIDE_BY_SIDE ? (int)left : SIDE_BY_SIDE,
                                 p.reads_w != 0, p.pairs != 0, p.beta[0], p.beta[1]);
                }
        }
    }
}
