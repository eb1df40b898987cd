/* Whether figures of a machine can be true. Where other work kept it busy while they were measured, all threads
   together seem slower than one alone, what is far away faster than what is near, and a launch that is not waited for
   slower than one that is. */
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

static bool far_more(double a, double than) { return a > 0 && than > 0 && a > far_off * than; }

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
                if (!far_more(a, b)) continue;
                snprintf(why, size, "loads: %s has %.3g GB/s, and %s no more than %.3g", wisp_level_name(l), a,
                         wisp_level_name(k), b);
                return true;
            }
    if (!no_rate(shared) && !far_more(shared, near)) return false;
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

/* Of a launch among many, and of one that is waited for; 0: not measured. */
static bool no_wait(double v)
{
    const double most = 1;
    return !(v >= 0 && v < most);
}

static bool doubt_waits(const wisp_machine *m, char *why, size_t size)
{
    const double launch = m->launch_seconds, trip = m->round_trip_seconds;
    if (no_wait(launch) || no_wait(trip))
        snprintf(why, size, "launches: %g and, waited for, %g s are no times", launch, trip);
    else if (far_more(launch, trip))
        snprintf(why, size, "launches: one among many takes %.3g s, and one that is waited for %.3g", launch, trip);
    else
        return false;
    return true;
}

static bool doubt_kernels(const wisp_machine *m, char *why, size_t size)
{
    const double *ns = &m->kernel_ns[0][0][0][0], most = 1e6;
    for (size_t i = 0; i < sizeof m->kernel_ns / sizeof *ns; i++)
        if (!(ns[i] >= 0 && ns[i] < most)) {
            snprintf(why, size, "kernels: %g ns for an entry or a row", ns[i]);
            return true;
        }
    return false;
}

bool wisp__machine_doubt(const wisp_machine *m, char *why, size_t size)
{
    return doubt_kept(m, why, size) || doubt_streams(m, why, size) || doubt_fma(m, why, size) ||
           doubt_levels(m, why, size) || doubt_waits(m, why, size) || doubt_kernels(m, why, size);
}
