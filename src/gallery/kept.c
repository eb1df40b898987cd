/* A lattice from which some sites are taken out at random: which sites are left, and how they are numbered. */
#include "../topo/team.h"
#include "gallery.h"

enum { WORDS = 8, SITES = 64 * WORDS }; /* of a group, whose first row is kept */

static int64_t groups_of(int64_t sites) { return sites / SITES + 1; }

/* Behind the head: int64_t first[groups + 1], uint64_t bit[groups][WORDS]. */
static int64_t *firsts(const wisp__gal_kept *k) { return (int64_t *)(uintptr_t)(k + 1); }
static uint64_t *bits(const wisp__gal_kept *k) { return (uint64_t *)(firsts(k) + groups_of(k->sites) + 1); }

size_t wisp__gal_kept_bytes(int64_t sites)
{
    const size_t groups = (size_t)groups_of(sites);
    return sizeof(wisp__gal_kept) + (groups + 1) * sizeof(int64_t) + groups * WORDS * sizeof(uint64_t);
}

typedef struct {
    wisp__gal_kept *k;
    double vacancies;
    uint64_t seed;
} draw_run;

static void draw(void *arg, int64_t begin, int64_t end, int part)
{
    const draw_run *r = arg;
    const int64_t sites = r->k->sites;
    int64_t *first = firsts(r->k);
    uint64_t *bit = bits(r->k);
    (void)part;
    for (int64_t g = begin; g < end; g++) {
        int64_t count = 0;
        for (int w = 0; w < WORDS; w++) {
            uint64_t word = 0;
            for (int b = 0; b < 64; b++) {
                const int64_t site = g * SITES + w * 64 + b;
                if (site < sites && wisp__uniform(r->seed, site, WISP__GAL_STREAM_VACANCIES) >= r->vacancies)
                    word |= UINT64_C(1) << b;
            }
            bit[g * WORDS + w] = word;
            count += __builtin_popcountll(word);
        }
        first[g + 1] = count;
    }
}

void wisp__gal_kept_draw(wisp_ctx *ctx, wisp__gal_kept *k, int64_t sites, double vacancies, uint64_t seed)
{
    const int64_t groups = groups_of(sites);
    int64_t *first = firsts(k);
    k->sites = sites;
    wisp__team_each(ctx->team, groups, 64, draw, &(draw_run){k, vacancies, seed});
    first[0] = 0;
    for (int64_t g = 0; g < groups; g++) first[g + 1] += first[g];
    k->rows = first[groups];
}

int64_t wisp__gal_kept_row(const wisp__gal_kept *k, int64_t site)
{
    const uint64_t *word = bits(k) + site / SITES * WORDS;
    const int64_t in = site % SITES;
    if (!(word[in / 64] >> in % 64 & 1)) return -1;
    int64_t row = firsts(k)[site / SITES];
    for (int w = 0; w < in / 64; w++) row += __builtin_popcountll(word[w]);
    return row + __builtin_popcountll(word[in / 64] & ((UINT64_C(1) << in % 64) - 1));
}

int64_t wisp__gal_kept_site(const wisp__gal_kept *k, int64_t row)
{
    const int64_t *first = firsts(k);
    int64_t low = 0, high = groups_of(k->sites); /* first[low] <= row < first[high] */
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (first[middle] <= row)
            low = middle;
        else
            high = middle;
    }
    const uint64_t *word = bits(k) + low * WORDS;
    int64_t left = row - first[low];
    int w = 0;
    for (int n; (n = __builtin_popcountll(word[w])) <= left; w++) left -= n;
    uint64_t rest = word[w];
    for (; left > 0; left--) rest &= rest - 1;
    return low * SITES + w * 64 + __builtin_ctzll(rest);
}
