/* The memory of a device of CUDA, and copies to it and from it: by pinned memory, for only with that do they run beside
   the host's work. */
#include "cuda.h"
#include <stdlib.h>

/* ---- buffers ------------------------------------------------------------------------------------- */

/* To free memory waits for the device, so what is freed stays until a wait that began later is over. As all work goes
   by one queue, in order, it may become another buffer at once. */
void wisp__cuda_free(wisp__gpu *g, void *buffer)
{
    wisp__cuda_buffer *b = buffer;
    wisp__cuda *c = wisp__cuda_of(g);
    if (wisp__gpu_is_child(g)) return; /* it belongs to the parent's CUDA */
    pthread_mutex_lock(&c->lock);
    b->freed = c->waits;
    b->next = c->freed;
    c->freed = b;
    pthread_mutex_unlock(&c->lock);
}

/* Gives back what was freed before so many waits had begun. With the lock. */
static void give_back(wisp__cuda *c, int64_t waits)
{
    for (wisp__cuda_buffer **at = &c->freed, *b; (b = *at);)
        if (b->freed < waits) {
            *at = b->next;
            c->cu->cuMemFree_v2(b->at);
            free(b);
        } else {
            at = &b->next;
        }
}

/* A freed one of about this size; NULL: there is none. With the lock. */
static wisp__cuda_buffer *again(wisp__cuda *c, size_t bytes)
{
    wisp__cuda_buffer **best = NULL;
    for (wisp__cuda_buffer **at = &c->freed; *at; at = &(*at)->next)
        if ((*at)->bytes >= bytes && (*at)->bytes - bytes <= bytes / 8 && (!best || (*at)->bytes < (*best)->bytes))
            best = at;
    wisp__cuda_buffer *found = best ? *best : NULL;
    if (found) *best = found->next;
    return found;
}

/* Where there is no memory, all that was freed is given back first. With the lock. */
static CUresult new_memory(wisp__cuda *c, wisp__cuda_buffer *b)
{
    CUresult error = c->cu->cuMemAlloc_v2(&b->at, b->bytes);
    if (error != CUDA_ERROR_OUT_OF_MEMORY || !c->freed) return error;
    error = c->cu->cuStreamSynchronize(c->stream);
    if (error != CUDA_SUCCESS) return error;
    give_back(c, INT64_MAX);
    return c->cu->cuMemAlloc_v2(&b->at, b->bytes);
}

wisp_status wisp__cuda_alloc(wisp__gpu *g, size_t bytes, void **buffer)
{
    wisp__cuda *c = wisp__cuda_of(g);
    CUresult error = CUDA_SUCCESS;
    *buffer = NULL;
    wisp_status status = wisp__cuda_enter(g);
    if (status != WISP_OK) return status;
    pthread_mutex_lock(&c->lock);
    wisp__cuda_buffer *b = again(c, bytes);
    if (!b && (b = calloc(1, sizeof *b))) {
        b->bytes = bytes;
        error = new_memory(c, b);
    }
    pthread_mutex_unlock(&c->lock);
    wisp__cuda_leave(g);
    if (!b) return wisp_ctx_failf(g->ctx, WISP_ERR_NOMEM, "out of memory for a buffer of the device 'cuda'");
    status = wisp__cuda_status(g, "memory", error);
    if (status == WISP_OK)
        *buffer = b;
    else
        free(b);
    return status;
}

wisp_status wisp__cuda_clear(wisp__gpu *g, void *buffer, size_t bytes)
{
    const wisp__cuda *c = wisp__cuda_of(g);
    const wisp__cuda_buffer *b = buffer;
    wisp_status status = wisp__cuda_enter(g);
    if (status != WISP_OK) return status;
    status = wisp__cuda_status(g, "filling", c->cu->cuMemsetD32Async(b->at, 0, bytes / 4, c->stream));
    wisp__cuda_leave(g);
    return status;
}

/* ---- waits --------------------------------------------------------------------------------------- */

static int64_t wait_begins(wisp__cuda *c)
{
    pthread_mutex_lock(&c->lock);
    const int64_t number = c->waits++;
    pthread_mutex_unlock(&c->lock);
    return number;
}

/* What was freed since the wait before it stays for another one: who frees memory often wants as much again. */
static void wait_ends(wisp__cuda *c, int64_t number)
{
    pthread_mutex_lock(&c->lock);
    give_back(c, number);
    pthread_mutex_unlock(&c->lock);
}

wisp_status wisp__cuda_finish(wisp__gpu *g)
{
    wisp__cuda *c = wisp__cuda_of(g);
    wisp_status status = wisp__cuda_enter(g);
    if (status != WISP_OK) return status;
    const int64_t number = wait_begins(c);
    status = wisp__cuda_status(g, "its work", c->cu->cuStreamSynchronize(c->stream));
    if (status == WISP_OK) wait_ends(c, number);
    wisp__cuda_leave(g);
    return status;
}

/* ---- copies -------------------------------------------------------------------------------------- */

wisp_status wisp__cuda_copies_open(wisp__gpu *g)
{
    wisp__cuda *c = wisp__cuda_of(g);
    void *host = NULL;
    CUresult error = c->cu->cuMemHostAlloc(&host, (size_t)(CUDA_PIECES + 2) * CUDA_PIECE, CU_MEMHOSTALLOC_DEFAULT);
    if (error == CUDA_SUCCESS) c->pinned = host;
    for (int i = 0; i < CUDA_PIECES + 2 && error == CUDA_SUCCESS; i++) {
        wisp__cuda_piece *p = i < CUDA_PIECES ? c->to + i : c->from + (i - CUDA_PIECES);
        p->host = c->pinned + (size_t)i * CUDA_PIECE;
        error = c->cu->cuEventCreate(&p->copied, CU_EVENT_DISABLE_TIMING);
    }
    return wisp__cuda_status(g, "memory for copies", error);
}

void wisp__cuda_memory_close(wisp__gpu *g, bool entered)
{
    wisp__cuda *c = wisp__cuda_of(g);
    if (entered) give_back(c, INT64_MAX);
    for (wisp__cuda_buffer *b = c->freed, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    if (!entered) return;
    for (int i = 0; i < CUDA_PIECES + 2; i++) {
        wisp__cuda_piece *p = i < CUDA_PIECES ? c->to + i : c->from + (i - CUDA_PIECES);
        if (p->copied) c->cu->cuEventDestroy_v2(p->copied);
    }
    if (c->pinned) c->cu->cuMemFreeHost(c->pinned);
}

/* ---- pinned memory of a user's own ---------------------------------------------------------------- */

wisp_status wisp__cuda_new_stage(wisp__gpu *g, size_t bytes, void **host)
{
    wisp__cuda *c = wisp__cuda_of(g);
    wisp__cuda_stage *s = NULL;
    *host = NULL;
    wisp_status status = wisp__memory_book(g->ctx, bytes);
    if (status != WISP_OK) return status;
    status = wisp__cuda_enter(g);
    if (status == WISP_OK) {
        s = calloc(1, sizeof *s);
        if (!s) status = wisp_ctx_failf(g->ctx, WISP_ERR_NOMEM, "out of memory for copies of the device 'cuda'");
        if (s)
            status =
                wisp__cuda_status(g, "memory for copies", c->cu->cuMemHostAlloc(host, bytes, CU_MEMHOSTALLOC_DEFAULT));
        wisp__cuda_leave(g);
    }
    if (status != WISP_OK) {
        free(s);
        wisp__memory_unbook(g->ctx, bytes);
        return status;
    }
    wisp__memory_is_there(g->ctx);
    s->host = *host;
    s->bytes = bytes;
    pthread_mutex_lock(&c->lock);
    s->next = c->stage;
    c->stage = s;
    pthread_mutex_unlock(&c->lock);
    return status;
}

/* When no copy uses it any more. Without the device's context it goes with that. */
void wisp__cuda_free_stage(wisp__gpu *g, void *host)
{
    wisp__cuda *c = wisp__cuda_of(g);
    CUcontext own;
    pthread_mutex_lock(&c->lock);
    wisp__cuda_stage **at = &c->stage;
    while ((*at)->host != host) at = &(*at)->next;
    wisp__cuda_stage *s = *at;
    *at = s->next;
    pthread_mutex_unlock(&c->lock);
    if (!wisp__gpu_is_child(g) && c->cu->cuCtxPushCurrent_v2(c->context) == CUDA_SUCCESS) {
        c->cu->cuStreamSynchronize(c->stream);
        c->cu->cuMemFreeHost(host);
        c->cu->cuCtxPopCurrent_v2(&own);
    }
    wisp__memory_unbook(g->ctx, s->bytes);
    free(s);
}

/* Whether copies from there, or to there, go straight. */
static bool is_staged(wisp__cuda *c, const void *host, size_t bytes)
{
    const char *from = host;
    pthread_mutex_lock(&c->lock);
    const wisp__cuda_stage *s = c->stage;
    while (s && !(from >= s->host && from + bytes <= s->host + s->bytes)) s = s->next;
    pthread_mutex_unlock(&c->lock);
    return s;
}

/* ---- copies to the device, and from there --------------------------------------------------------- */

/* The next piece of the circle, when what it was last used for is done. */
static CUresult next_piece(wisp__cuda *c)
{
    CUresult error = c->cu->cuEventRecord(c->to[c->piece].copied, c->stream);
    if (error != CUDA_SUCCESS) return error;
    c->piece = (c->piece + 1) % CUDA_PIECES;
    c->filled = 0;
    return c->cu->cuEventSynchronize(c->to[c->piece].copied);
}

/* What is small finds room beside other copies, so that nobody waits; of what is large a piece is filled while those
   before it are copied. */
wisp_status wisp__cuda_write(wisp__gpu *g, void *buffer, size_t at, const void *host, size_t bytes)
{
    wisp__cuda *c = wisp__cuda_of(g);
    const wisp__cuda_buffer *b = buffer;
    const wisp_status status = wisp__cuda_enter(g);
    CUresult error = CUDA_SUCCESS;
    if (status != WISP_OK) return status;
    const bool straight = bytes > 0 && is_staged(c, host, bytes);
    pthread_mutex_lock(&c->writing);
    if (straight) error = c->cu->cuMemcpyHtoDAsync_v2(b->at + at, host, bytes, c->stream);
    for (size_t done = straight ? bytes : 0, some; done < bytes && error == CUDA_SUCCESS; done += some) {
        some = 0;
        if (c->filled == CUDA_PIECE) error = next_piece(c);
        if (error != CUDA_SUCCESS) break;
        char *from = c->to[c->piece].host + c->filled;
        some = WISP__MIN(bytes - done, CUDA_PIECE - c->filled);
        memcpy(from, (const char *)host + done, some);
        error = c->cu->cuMemcpyHtoDAsync_v2(b->at + at + done, from, some, c->stream);
        c->filled = WISP__MIN(c->filled + wisp__lines(some), (size_t)CUDA_PIECE);
    }
    pthread_mutex_unlock(&c->writing);
    wisp__cuda_leave(g);
    return wisp__cuda_status(g, "copying to it", error);
}

static CUresult read_straight(wisp__cuda *c, CUdeviceptr from, char *host, size_t bytes)
{
    CUresult error = c->cu->cuMemcpyDtoHAsync_v2(host, from, bytes, c->stream);
    if (error == CUDA_SUCCESS) error = c->cu->cuEventRecord(c->from->copied, c->stream);
    return error == CUDA_SUCCESS ? c->cu->cuEventSynchronize(c->from->copied) : error;
}

/* A piece is copied while the one before it goes to the host. */
static CUresult read_pieces(wisp__cuda *c, CUdeviceptr from, char *host, size_t bytes)
{
    CUresult error = CUDA_SUCCESS;
    const size_t pieces = (bytes + CUDA_PIECE - 1) / CUDA_PIECE;
    for (size_t i = 0; i <= pieces && error == CUDA_SUCCESS; i++) {
        const wisp__cuda_piece *now = c->from + i % 2, *before = c->from + (i + 1) % 2;
        if (i < pieces) {
            const size_t done = i * CUDA_PIECE, some = WISP__MIN(bytes - done, (size_t)CUDA_PIECE);
            error = c->cu->cuMemcpyDtoHAsync_v2(now->host, from + done, some, c->stream);
            if (error == CUDA_SUCCESS) error = c->cu->cuEventRecord(now->copied, c->stream);
        }
        if (i > 0 && error == CUDA_SUCCESS) error = c->cu->cuEventSynchronize(before->copied);
        if (i > 0 && error == CUDA_SUCCESS) {
            const size_t done = (i - 1) * CUDA_PIECE;
            memcpy(host + done, before->host, WISP__MIN(bytes - done, (size_t)CUDA_PIECE));
        }
    }
    return error;
}

wisp_status wisp__cuda_read(wisp__gpu *g, void *buffer, size_t at, void *host, size_t bytes)
{
    wisp__cuda *c = wisp__cuda_of(g);
    const wisp__cuda_buffer *b = buffer;
    const wisp_status status = wisp__cuda_enter(g);
    if (status != WISP_OK || bytes == 0) {
        if (status == WISP_OK) wisp__cuda_leave(g);
        return status;
    }
    pthread_mutex_lock(&c->reading);
    const int64_t number = wait_begins(c);
    const CUresult error = (is_staged(c, host, bytes) ? read_straight : read_pieces)(c, b->at + at, host, bytes);
    if (error == CUDA_SUCCESS) wait_ends(c, number);
    pthread_mutex_unlock(&c->reading);
    wisp__cuda_leave(g);
    return wisp__cuda_status(g, "copying from it", error);
}
