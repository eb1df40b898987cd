/* The last message of a context, as tests compare and print it. */
#ifndef MESSAGE_H
#define MESSAGE_H
#include <wisp/wisp.h>

/* Two of them may stand in one expression. */
static inline const char *message_of(const wisp_ctx *ctx)
{
    static _Thread_local char text[2][WISP_MESSAGE];
    static _Thread_local int at;
    at = !at;
    return wisp_ctx_message(ctx, text[at], sizeof text[at]);
}
#endif
