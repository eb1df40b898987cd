/* Factors of columns, as kernels take them. */
#include "backend.h"

void wisp__spread(wisp_type type, const wisp_scalar *f, bool per_column, int width, int period, void *factor,
                  void *swapped)
{
    const int parts = wisp__reals(type);
    const wisp_type real_type = wisp__real_type(type);
    const size_t size = wisp_type_size(real_type);
    for (int l = 0; l < period; l++) {
        const wisp_scalar v = f[per_column ? l / parts % width : 0];
        wisp__store(real_type, (char *)factor + (size_t)l * size, (wisp_scalar){v.re, 0});
        /* (a + ib)(x + iy): re gets -b y, im gets +b x */
        wisp__store(real_type, (char *)swapped + (size_t)l * size, (wisp_scalar){l % 2 ? v.im : -v.im, 0});
    }
}

void wisp__spread_placed(const double *at, wisp_type type, int width, int period, const void *room)
{
    char *to = (char *)(uintptr_t)room;
    if (at)
        wisp__spread(type, (const wisp_scalar *)(const void *)at, true, width, period, to,
                     to + (size_t)period * wisp_type_size(wisp__real_type(type)));
}

void wisp__spread_factors(const wisp__spmmv_params *p)
{
    const wisp_type type = wisp__type_of(p->reals > p->width ? 2 : 1, p->real_bytes == sizeof(double));
    for (int i = 0; i < K_FACTOR_SETS; i++)
        wisp__spread_placed(p->factors_at[i], type, p->width, (int)p->reals, p->factors[i]);
}
