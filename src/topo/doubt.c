/* Whether figures of a machine can be true. Where other work kept it busy while they were measured, all threads
   together seem slower than one alone, and what is far away faster than what is near. */
#include "machine.h"
#include <stdio.h>

/* So many times as much is beyond what scatter explains. */
static const double far_off = 2;

static bool no_rate(double v) { return !(v >= 0); }

/* In GB/s; 0: not measured. */
static bool no_bandwidth(double v)
{
    const double least = 1e-3, most = 1e7;
    return !(v == 0 || (v >= least && v <= most));
}

static bool slower_together(const double v[2]) { return v[0] > 0 && v[1] > 0 && far_off * v[1] < v[0]; }

static bool faster(double a, double than) { return a > 0 && than > 0 && a > far_off * than; }

static bool doubt_streams(const wisp_machine *m, char *why, size_t size)
{
    static const char *const name[WISP_STREAMS] = {
        "loads", "copies", "copies past caches", "triads", "triads past caches", "updates"};
    for (int s = 0; s < WISP_STREAMS; s++)
        for (int l = 0; l < WISP_LEVELS; l++) {
            const double *v = m->gbs[s][l];
            if (no_bandwidth(v[0]) || no_bandwidth(v[1]))
                snprintf(why, size, "%s, %s: %g and %g are no rates", wisp_level_name(l), name[s], v[0], v[1]);
            else if (slower_together(v))
                snprintf(why, size, "%s, %s: all threads together have %.3g GB/s, and one alone %.3g",
                         wisp_level_name(l), name[s], v[1], v[0]);
            else
                continue;
            return true;
        }
    return false;
}

static bool doubt_fma(const wisp_machine *m, char *why, size_t size)
{
    for (int i = 0; i < 2; i++) {
        const double *v = m->fma_gflops[i];
        const char *precision = i ? "double" : "single";
        if (no_rate(v[0]) || no_rate(v[1]))
            snprintf(why, size, "multiply-adds, %s: %g and %g are no rates", precision, v[0], v[1]);
        else if (slower_together(v))
            snprintf(why, size, "multiply-adds, %s: all threads together have %.3g Gflop/s, and one alone %.3g",
                     precision, v[1], v[0]);
        else
            continue;
        return true;
    }
    return false;
}

static bool doubt_levels(const wisp_machine *m, char *why, size_t size)
{
    const double shared = m->exchange_gbs, near = m->gbs[WISP_LOAD][WISP_L2][1];
    for (int l = 1; l < WISP_LEVELS; l++)
        for (int k = 0; k < l; k++)
            for (int all = 0; all < 2; all++) {
                const double a = m->gbs[WISP_LOAD][l][all], b = m->gbs[WISP_LOAD][k][all];
                if (!faster(a, b)) continue;
                snprintf(why, size, "loads: %s has %.3g GB/s, and %s no more than %.3g", wisp_level_name(l), a,
                         wisp_level_name(k), b);
                return true;
            }
    if (!no_rate(shared) && !faster(shared, near)) return false;
    snprintf(why, size, "loads: what other threads have written comes at %.3g GB/s, and L2 has %.3g", shared, near);
    return true;
}

static bool doubt_kept(const wisp_machine *m, char *why, size_t size)
{
    const int64_t most = INT64_C(1) << 40;
    if (m->kept_bytes >= 0 && m->kept_bytes <= most) return false;
    snprintf(why, size, "%lld bytes of the last cache stay", (long long)m->kept_bytes);
    return true;
}

bool wisp__machine_doubt(const wisp_machine *m, char *why, size_t size)
{
    return doubt_kept(m, why, size) || doubt_streams(m, why, size) || doubt_fma(m, why, size) ||
           doubt_levels(m, why, size);
}
