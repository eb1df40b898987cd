/* Opens the MATRIX of a command that needs a Hermitian one: as it is, or its Hermitian part. */
#include "tool.h"
#include <math.h>
#include <sys/stat.h>

int source_open(tool *t, wisp_src *src)
{
    wisp_src whole;
    t->hermitian_change = NAN;
    if (!t->opt.hermitian_part) return wisp_src_open(src, t->ctx, t->opt.arg[0]) ? tool_fail_ctx(t) : EXIT_FINE;
    if (wisp_src_open(&whole, t->ctx, t->opt.arg[0])) return tool_fail_ctx(t);
    const wisp_status status = wisp_src_hermitian_part(src, t->ctx, &whole, &t->hermitian_change);
    wisp_src_close(&whole);
    if (status == WISP_ERR_HERMITIAN) return tool_fail(t, "%s: %s", t->opt.arg[0], wisp_ctx_message(t->ctx));
    return status ? tool_fail_ctx(t) : EXIT_FINE;
}

void source_summary(const tool *t)
{
    if (!t->opt.hermitian_part) return;
    text_line("Hermitian", "part is taken: entries change by at most %.2g of the largest one", t->hermitian_change);
}

bool source_reads_once(const tool *t)
{
    struct stat s;
    return stat(t->opt.arg[0], &s) == 0 && !S_ISREG(s.st_mode);
}
