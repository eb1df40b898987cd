/* Sums of v_ia w_ib over a block of rows, a tile of them after the other; some groups may share the tiles of a block.
   Rows of V and W go to the group's own memory, some at a time; an item has ITEM_V x ITEM_W of the tile's sums, and if
   the tile takes fewer items than there are, so many rows go abreast. Compile-time: REAL, PARTS = 1, GROUP_SIZE,
   ITEM_V, ITEM_W; maybe COMPENSATED. */
INLINE void gram_load(GLOBAL const real *from, i64 ld, i64 rows, int width, i64 columns, IN_LOCAL real *to)
{
    for (int e = ITEM; e < rows * width; e += GROUP_SIZE) {
        const int column = e % width;
        to[e] = column < columns ? from[e / width * ld + column] : 0;
    }
}

KERNEL(gram, k_gram)
{
    LOCAL real tile[G_GRAM_REALS(GROUP_SIZE)];
    LOCAL double all[SUM_NUMBERS * ITEM_W * GROUP_SIZE];
    GLOBAL const real *v = PLACE(const real, T_V), *w = PLACE(const real, T_W);
    const i64 block = GROUP / p.shares, share = GROUP % p.shares;
    const i64 begin = block * p.rows_per_block, end = block_end(block, p.rows_per_block, p.rows);
    const int v_items = (int)p.v_items, w_items = (int)p.w_items, lanes = v_items * w_items;
    const int mine_v = ITEM % lanes / w_items, mine_w = ITEM % w_items, abreast = GROUP_SIZE / lanes;
    const int v_width = ITEM_V * v_items, w_width = ITEM_W * w_items;
    IN_LOCAL real *tile_w = tile + p.tile_rows * v_width;
    GLOBAL double *partial = PLACE(double, T_X) + SUM_NUMBERS * block * p.p * p.q;
    const i64 w_tiles = (p.q + w_width - 1) / w_width, tiles = (p.p + v_width - 1) / v_width * w_tiles;
    for (i64 t = share; t < tiles; t += p.shares) {
        const i64 at = t / w_tiles * v_width, bt = t % w_tiles * w_width;
        double s[ITEM_V][SUM_NUMBERS * ITEM_W];
        /* Of a Hermitian product, what is wholly below the diagonal's pairs is 0. */
        const i64 stop = p.same && at / 2 > (bt + w_width - 1) / 2 ? begin : end;
        for (int i = 0; i < ITEM_V; i++)
            for (int j = 0; j < SUM_NUMBERS * ITEM_W; j++) s[i][j] = 0;
        for (i64 first = begin; first < stop; first += p.tile_rows) {
            const i64 left = stop - first, rows = left < p.tile_rows ? left : p.tile_rows;
            BARRIER();
            gram_load(v + first * p.ld_v + at, p.ld_v, rows, v_width, p.p - at, tile);
            gram_load(w + first * p.ld_w + bt, p.ld_w, rows, w_width, p.q - bt, tile_w);
            BARRIER();
            for (int row = ITEM / lanes; row < rows; row += abreast) {
                double x[ITEM_V], y[ITEM_W];
                for (int i = 0; i < ITEM_V; i++) x[i] = (double)tile[row * v_width + i * v_items + mine_v];
                for (int j = 0; j < ITEM_W; j++) y[j] = (double)tile_w[row * w_width + j * w_items + mine_w];
                for (int i = 0; i < ITEM_V; i++)
                    for (int j = 0; j < ITEM_W; j++) ADD_PRODUCT(x[i], y[j], s[i] + j, ITEM_W);
            }
        }
        for (int i = 0; i < ITEM_V; i++) {
            const i64 a = at + i * v_items + mine_v;
            group_sums(s[i], ITEM_W, lanes, all);
            for (int j = 0; j < SUM_NUMBERS * ITEM_W && ITEM < lanes && a < p.p; j++) {
                const i64 b = bt + j % ITEM_W * w_items + mine_w;
                if (b < p.q) partial[(j / ITEM_W * p.p + a) * p.q + b] = all[j * GROUP_SIZE + ITEM];
            }
        }
    }
}
