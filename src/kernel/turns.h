/* Contexts that take turns on one thread, each on a stack of its own. Where the CPU is known that takes a few
   instructions; the C library's jumps do more, and at each a sanitizer clears all that it notes of the stack.
   Part of what is compiled at run time, for tests. */
#ifndef WISP_TURNS_H
#define WISP_TURNS_H
#include <stddef.h>
#include <stdint.h>

/* What stacks are longer than a power of two, so that their ends share no lines of a cache. */
enum { TURN_APART = 5 * 64 };

#ifdef __x86_64__
typedef void *turn_place; /* the top of a stack, where all lies that calls keep */

void turn_pass(turn_place *here, turn_place *there) __attribute__((visibility("hidden")));
__asm__(".text\n"
        ".p2align 4\n"
        ".hidden turn_pass\n"
        ".type turn_pass, @function\n"
        "turn_pass:\n"
        "\tpushq %rbp\n\tpushq %rbx\n\tpushq %r12\n\tpushq %r13\n\tpushq %r14\n\tpushq %r15\n"
        "\tmovq %rsp, (%rdi)\n"
        "\tmovq (%rsi), %rsp\n"
        "\tpopq %r15\n\tpopq %r14\n\tpopq %r13\n\tpopq %r12\n\tpopq %rbx\n\tpopq %rbp\n"
        "\tpopq %rcx\n\tjmpq *%rcx\n" /* not a return: the CPU expects it to go to the call before */
        ".size turn_pass, . - turn_pass\n");

/* A place where main() begins, which never returns; a stack ends at a multiple of 16. */
static inline void turn_begin(turn_place *place, char *stack, size_t bytes, void (*begin)(void))
{
    enum { KEPT = 6 };
    void **top = (void **)(void *)(stack + bytes - 16); /* as behind a call: 8 below a multiple of 16 */
    top[1] = NULL;
    *(void (**)(void))(void *)top = begin;
    for (int i = 1; i <= KEPT; i++) top[-i] = NULL;
    *place = top - KEPT;
}
#else
#include <setjmp.h>
#include <ucontext.h>
typedef struct {
    ucontext_t begin;
    jmp_buf at;
    int begun;
} turn_place;

static __attribute__((noinline, unused)) void turn_pass(turn_place *here, turn_place *there)
{
    here->begun = 1;
    if (_setjmp(here->at)) return;
    if (there->begun) _longjmp(there->at, 1);
    setcontext(&there->begin);
}

static inline void turn_begin(turn_place *place, char *stack, size_t bytes, void (*begin)(void))
{
    getcontext(&place->begin);
    place->begin.uc_stack.ss_sp = stack;
    place->begin.uc_stack.ss_size = bytes;
    place->begun = 0;
    makecontext(&place->begin, begin, 0);
}
#endif
#endif
