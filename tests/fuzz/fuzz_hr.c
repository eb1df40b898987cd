/* The reader of Wannier90's files, which gives no source: what it read is looked at here. */
#include "gallery/hr.h"
#include "fuzz_read.h"

static wisp_status read_hr(wisp_src *src, wisp_ctx *ctx, const wisp__input *in)
{
    const size_t size = (size_t)in->size;
    char *text = calloc(size + 1 + WISP__HR_SLACK, 1);
    wisp__hr hr;
    memset(src, 0, sizeof *src);
    memcpy(text, in->data, size);
    if (size > 0) text[size] = '\n';
    const wisp_status status = wisp__hr_read(&hr, ctx, in->path, text, size + (size > 0));
    const int64_t n = hr.orbitals;
    for (int64_t i = 0; status == WISP_OK && i < hr.cells; i++)
        for (int64_t k = 0; k < n * n; k++) {
            const wisp_scalar v = hr.value[i * n * n + k];
            if (!(v.re - v.re == 0 && v.im - v.im == 0)) fuzz_fail("an entry that is no number");
        }
    wisp__hr_free(ctx, &hr);
    free(text);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return fuzz_one(read_hr, data, size); }
