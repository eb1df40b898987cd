/* A run that survives: moments whose state is written every few seconds. Kill it, and call it again: it goes on.
   usage: checkpoint MATRIX STATE-FILE [SECONDS] */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <wisp/wisp.h>

int main(int argc, char **argv)
{
    const char *matrix = argc > 1 ? argv[1] : "topi:nx=40,ny=40,nz=20";
    const char *file = argc > 2 ? argv[2] : "checkpoint.state";
    wisp_ctx *ctx = NULL;
    wisp_mat *A = NULL;
    wisp_state *kept = NULL;
    wisp_checkpoint *writer = NULL;
    wisp_checkpoint_info info;
    wisp_moments m = {0};
    wisp_status status;
    if (wisp_ctx_create(&ctx, NULL)) return 1;
    /* Rows in natural order: the same layout on any number of threads, and so the same bits. */
    WISP_TRY(wisp_mat_open(&A, ctx, matrix, &(wisp_mat_opts){.width = 8, .order = WISP_ROWS_NATURAL}));
    if (access(file, F_OK) == 0) {
        WISP_TRY(wisp_state_open(&kept, ctx, file));
        printf("going on from %s\n", file);
    }
    WISP_TRY(wisp_checkpoint_create(
        &writer, ctx, &(wisp_checkpoint_opts){.path = file, .every = argc > 3 ? atof(argv[3]) : 5, .after = kept}));
    WISP_TRY(wisp_kpm(&m, A,
                      &(wisp_kpm_opts){.moments = 2000,
                                       .vectors = 16,
                                       .width = 8,
                                       .offer = wisp_checkpoint_offer, /* called between two steps */
                                       .offer_arg = writer,
                                       .resume = kept}));
    wisp_checkpoint_get_info(writer, &info);
    printf("moment 2: %.17g; %lld states were written\n", m.mu[2], (long long)info.written);
    wisp_checkpoint_remove(writer); /* the result is there */
out:
    if (status != WISP_OK) {
        char text[WISP_MESSAGE];
        fprintf(stderr, "checkpoint: %s\n", wisp_ctx_message(ctx, text, sizeof text));
    }
    wisp_moments_free(&m);
    wisp_checkpoint_free(writer);
    wisp_state_free(kept);
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
    return status != WISP_OK;
}
