/* Which kind of storage a matrix gets. */
#include "store.h"

/* The first that suits is taken; SELL always does. */
#define CHOICE(KIND, name) &wisp__storage_##name,
static const wisp__storage *const choices[] = {WISP__KINDS(CHOICE)};

const wisp__storage *wisp__storage_for(const wisp__compression *c)
{
    int i = 0;
    while (!choices[i]->suits || !choices[i]->suits(c)) i++;
    return choices[i];
}
