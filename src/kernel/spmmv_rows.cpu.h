/* Where the entries of a row are, in each of the ways to store them (params.h). */
typedef struct {
    int64_t first, base; /* base is added to the columns */
    int len, log_step;
} row_entries;

/* What is coded. */
enum { SHORT_COLS = 1, CODES = 2 };

INLINE row_entries entries_of(const wisp__spmmv_params *p, int64_t row)
{
    if (p->pattern) {
        const int64_t *first = p->chunk + p->pattern[row];
        return (row_entries){first[0], row, (int)(first[1] - first[0]), 0};
    }
    return (row_entries){p->chunk[row >> p->log_c] + (row & ((1 << p->log_c) - 1)), p->short_col ? row : 0,
                         p->row_len[row], p->log_c};
}
