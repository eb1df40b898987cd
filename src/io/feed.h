/* Text from a file, a pipe or memory, plain or gzip, in full buffers. */
#ifndef WISP_FEED_H
#define WISP_FEED_H
#include "io.h"
#include <zlib.h>

/* Reads are copied rather than mapped: one way for files, pipes and gzip, it costs a few percent of the parsing, and
   a file that shrinks meanwhile is an error instead of a signal. */
typedef struct {
    wisp_ctx *ctx;
    const wisp__input *in;
    int64_t taken; /* input bytes so far */
    bool ended;    /* no text is left */
    bool gzip, inflating, in_member;
    z_stream z;
    unsigned char *raw; /* compressed input, or the first bytes of a plain file */
    size_t raw_pos, raw_size;
    char what[160]; /* after a failure: what went wrong, without the file's name */
} wisp__feed;

wisp_status wisp__feed_open(wisp__feed *feed, wisp_ctx *ctx, const wisp__input *in);
void wisp__feed_close(wisp__feed *feed);
/* Fills `to`, unless the text ends or fails before; *got bytes are good in any case. */
wisp_status wisp__feed_fill(wisp__feed *feed, char *to, size_t room, size_t *got);
/* The most text that can come, or SIZE_MAX if that is not known. */
size_t wisp__feed_most(const wisp__feed *feed);
/* Share of the input that was taken, in [0, 1]. */
double wisp__feed_done(const wisp__feed *feed);
#endif
