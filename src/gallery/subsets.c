#include "subsets.h"

void wisp__gal_subsets_fill(wisp__gal_subsets *s)
{
    for (int n = 0; n <= WISP__GAL_MOST_SITES; n++) {
        s->choose[0][n] = 1;
        for (int k = 1; k <= n; k++) s->choose[k][n] = s->choose[k - 1][n - 1] + s->choose[k][n - 1];
    }
}

wisp_status wisp__gal_subsets_read(wisp_ctx *ctx, const char *entry, const char *name, const wisp__gal_value *sites,
                                   const wisp__gal_value *count, int *out)
{
    const int64_t n = count->given ? count->i : sites->i / 2;
    if (!count->given && sites->i % 2) {
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "%s: odd number of sites: give %s=... (such as %s=%lld)", entry, name,
                              name, (long long)n);
    }
    if (n > sites->i) {
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "%s: %s=%lld is more than sites=%lld", entry, name, (long long)n,
                              (long long)sites->i);
    }
    if (sites->i > WISP__GAL_MOST_SITES) {
        return wisp_ctx_failf(ctx, WISP_ERR_OVERFLOW, "%s: sites=%lld is too large for 64 bits; at most %d", entry,
                              (long long)sites->i, WISP__GAL_MOST_SITES);
    }
    *out = (int)n;
    return WISP_OK;
}
