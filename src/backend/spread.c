/* Factors of columns, and small matrices, as kernels take them. */
#include "backend.h"

void wisp__spread(wisp_type type, const wisp_scalar *f, bool per_column, int width, int period, void *factor,
                  void *swapped)
{
    const int reals = wisp__reals(type);
    const wisp_type real_type = wisp__real_type(type);
    const size_t size = wisp_type_size(real_type);
    for (int l = 0; l < period; l++) {
        const wisp_scalar v = f[per_column ? l / reals % width : 0];
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

void wisp__take_apart(bool is_double, const wisp__update_params *p, void *x)
{
    const wisp__apart *f = &p->x_from;
    const wisp_scalar alpha = {f->alpha[0], f->alpha[1]};
    const wisp_type type = wisp__type_of(1, is_double);
    const size_t size = wisp_type_size(type), row = (size_t)p->ld_x * size;
    const int reals = f->reals;
    for (int i = 0; i < p->p / reals; i++)
        for (int j = 0; j < p->q / reals; j++) {
            const wisp_scalar e = wisp__apart_element(f, i, j);
            wisp_scalar ae = {alpha.re * e.re, alpha.re * e.im};
            if (reals == 2 && alpha.im != 0) ae.re -= alpha.im * e.im, ae.im += alpha.im * e.re;
            char *to = (char *)x + (size_t)(i * reals) * row + (size_t)(j * reals) * size;
            wisp__store(type, to, (wisp_scalar){ae.re, 0});
            if (reals == 1) continue;
            wisp__store(type, to + size, (wisp_scalar){ae.im, 0});
            wisp__store(type, to + row, (wisp_scalar){-ae.im, 0});
            wisp__store(type, to + row + size, (wisp_scalar){ae.re, 0});
        }
}
