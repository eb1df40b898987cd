/* Text from a file, a pipe or memory: plain bytes are passed on, gzip members are inflated one after the other. */
#include "feed.h"
#include "../base/system.h"
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { RAW = 1 << 18, STEP = 1 << 20 }; /* so many bytes at once: a call of the system is little beside them */

static wisp_status fail(wisp__feed *feed, wisp_status status, const char *what)
{
    snprintf(feed->what, sizeof feed->what, "%s", what);
    return status;
}

/* Up to `room` bytes as they are in the file; *got = 0 at its end. */
static wisp_status read_raw(wisp__feed *feed, void *to, size_t room, size_t *got)
{
    *got = 0;
    if (feed->in->range) room = WISP__MIN(room, (size_t)(feed->in->size - feed->taken));
    if (feed->in->fd < 0) {
        *got = WISP__MIN(room, (size_t)(feed->in->size - feed->taken));
        if (*got > 0) memcpy(to, (const char *)feed->in->data + feed->taken, *got);
    } else {
        ssize_t n;
        bool said = feed->taken > 0;
        for (;;) {
            /* A pipe whose writer had ended when it was opened never tells its end to poll(), but to read(). */
            const bool ready = feed->in->size >= 0 || wisp__fd_ready(feed->in->fd, POLLIN) || feed->taken > 0;
            n = ready ? read(feed->in->fd, to, WISP__MIN(room, (size_t)STEP)) : -1;
            if (n >= 0) break;
            char text[100];
            if (ready && errno != EINTR && errno != EAGAIN)
                return fail(feed, WISP_ERR_IO, wisp__error_text(errno, text, sizeof text));
            if (wisp__cancelled(feed->ctx->team)) return fail(feed, WISP_ERR_CANCELLED, "cancelled while reading");
            if (!said) wisp_ctx_logf(feed->ctx, WISP_LOG_INFO, "%s: waiting for its first bytes", feed->in->path);
            said = true;
        }
        *got = (size_t)n;
    }
    feed->taken += (int64_t)*got;
    return WISP_OK;
}

static wisp_status refill(wisp__feed *feed)
{
    feed->raw_pos = 0;
    return read_raw(feed, feed->raw, RAW, &feed->raw_size);
}

wisp_status wisp__feed_open(wisp__feed *feed, wisp_ctx *ctx, const wisp__input *in)
{
    *feed = (wisp__feed){.ctx = ctx, .in = in};
    wisp_status status;
    WISP_TRY(wisp__alloc_raw(ctx, &feed->raw, RAW, 1));
    /* A pipe may give its first byte alone. */
    while (feed->raw_size < 2) {
        size_t got;
        WISP_TRY(read_raw(feed, feed->raw + feed->raw_size, RAW - feed->raw_size, &got));
        if (got == 0) break;
        feed->raw_size += got;
    }
    feed->gzip = !in->range && feed->raw_size >= 2 && feed->raw[0] == 0x1f && feed->raw[1] == 0x8b;
    if (feed->gzip) {
        if (inflateInit2(&feed->z, 15 + 16) != Z_OK)
            return wisp_ctx_failf(ctx, WISP_ERR_NOMEM, "%s: out of memory for zlib", in->path);
        feed->inflating = true;
        feed->in_member = true;
    }
    return WISP_OK;
out:
    if (feed->what[0]) wisp_ctx_failf(ctx, status, "%s: cannot read: %s", in->path, feed->what);
    return status;
}

void wisp__feed_close(wisp__feed *feed)
{
    if (feed->inflating) inflateEnd(&feed->z);
    wisp_free(feed->ctx, feed->raw);
    memset(feed, 0, sizeof *feed);
}

size_t wisp__feed_most(const wisp__feed *feed)
{
    enum { DEFLATE_RATIO = 1032 }; /* its format allows no more */
    if (feed->in->size < 0 || feed->in->size > (int64_t)1 << 40) return SIZE_MAX;
    return (size_t)feed->in->size * (feed->gzip ? DEFLATE_RATIO : 1);
}

double wisp__feed_done(const wisp__feed *feed)
{
    return feed->in->size > 0 ? WISP__MIN(1.0, (double)feed->taken / (double)feed->in->size) : 0;
}

/* After a member: the next one, or zeros as tape padding, or the end. */
static wisp_status next_member(wisp__feed *feed)
{
    for (;;) {
        while (feed->raw_pos < feed->raw_size && feed->raw[feed->raw_pos] == 0) feed->raw_pos++;
        if (feed->raw_pos < feed->raw_size) break;
        wisp_status status = refill(feed);
        if (status != WISP_OK) return status;
        if (feed->raw_size == 0) {
            feed->ended = true;
            return WISP_OK;
        }
    }
    if (feed->raw[feed->raw_pos] != 0x1f) return fail(feed, WISP_ERR_FORMAT, "bytes follow the end of the gzip data");
    inflateReset(&feed->z);
    feed->in_member = true;
    return WISP_OK;
}

static wisp_status inflate_failed(wisp__feed *feed, int code)
{
    if (code == Z_MEM_ERROR) return fail(feed, WISP_ERR_NOMEM, "out of memory for zlib");
    long long at = (long long)feed->taken - (long long)(feed->raw_size - feed->raw_pos);
    snprintf(feed->what, sizeof feed->what, "the gzip data are corrupted near byte %lld: %s (fetch the file again)", at,
             feed->z.msg ? feed->z.msg : "a dictionary is asked for");
    return WISP_ERR_FORMAT;
}

static wisp_status fill_gzip(wisp__feed *feed, char *to, size_t room, size_t *got)
{
    while (*got < room && !feed->ended) {
        wisp_status status;
        if (!feed->in_member) {
            if ((status = next_member(feed)) != WISP_OK) return status;
            continue;
        }
        if (feed->raw_pos == feed->raw_size) {
            if ((status = refill(feed)) != WISP_OK) return status;
            if (feed->raw_size == 0)
                return fail(feed, WISP_ERR_FORMAT,
                            "the gzip data end too early (the file is truncated; fetch it again)");
        }
        feed->z.next_in = feed->raw + feed->raw_pos;
        feed->z.avail_in = (uInt)(feed->raw_size - feed->raw_pos);
        feed->z.next_out = (unsigned char *)to + *got;
        uInt out = (uInt)WISP__MIN(room - *got, (size_t)STEP);
        feed->z.avail_out = out;
        int code = inflate(&feed->z, Z_NO_FLUSH);
        feed->raw_pos = feed->raw_size - feed->z.avail_in;
        *got += out - feed->z.avail_out;
        if (code == Z_STREAM_END)
            feed->in_member = false;
        else if (code != Z_OK && code != Z_BUF_ERROR)
            return inflate_failed(feed, code);
        if (wisp__cancelled(feed->ctx->team)) return fail(feed, WISP_ERR_CANCELLED, "cancelled while reading");
    }
    return WISP_OK;
}

static wisp_status fill_plain(wisp__feed *feed, char *to, size_t room, size_t *got)
{
    size_t n = WISP__MIN(room, feed->raw_size - feed->raw_pos);
    memcpy(to, feed->raw + feed->raw_pos, n);
    feed->raw_pos += n;
    *got = n;
    while (*got < room && !feed->ended) {
        wisp_status status = read_raw(feed, to + *got, room - *got, &n);
        if (status != WISP_OK) return status;
        *got += n;
        if (n == 0) feed->ended = true;
        if (wisp__cancelled(feed->ctx->team)) return fail(feed, WISP_ERR_CANCELLED, "cancelled while reading");
    }
    return WISP_OK;
}

wisp_status wisp__feed_fill(wisp__feed *feed, char *to, size_t room, size_t *got)
{
    *got = 0;
    return feed->gzip ? fill_gzip(feed, to, room, got) : fill_plain(feed, to, room, got);
}
