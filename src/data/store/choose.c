/* Which kind of storage a matrix gets. */
#include "store.h"

/* The first that suits is taken; SELL always does. */
static const wisp__storage *const choices[] = {&wisp__storage_patterns, &wisp__storage_lists, &wisp__storage_coded,
                                               &wisp__storage_sell};

const wisp__storage *wisp__storage_for(const wisp__compression *c)
{
    int i = 0;
    while (!choices[i]->suits(c)) i++;
    return choices[i];
}
