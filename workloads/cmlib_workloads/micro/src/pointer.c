/* Pointer: nothing but a chain of pointers, each naming where the next is: anywhere (P), or beside it (N). */
#include "program.h"

void *prepare(const struct options *options)
{
    uint64_t n = options->size / sizeof(void *), random = options->seed;
    void **chain = allocate(n * sizeof *chain), ***position = allocate(sizeof *position);
    uint64_t *next = (uint64_t *)chain;

    if (options->pathological) {
        for (uint64_t i = 0; i < n; i++)
            next[i] = i;
        for (uint64_t i = n - 1; i > 0; i--) { /* Sattolo: a permutation of one cycle */
            uint64_t j = random_below(&random, i), number = next[i];

            next[i] = next[j];
            next[j] = number;
        }
    } else {
        for (uint64_t i = 0; i < n; i++)
            next[i] = i + 1 < n ? i + 1 : 0;
    }
    for (uint64_t i = 0; i < n; i++)
        chain[i] = chain + next[i];
    *position = chain;
    return position;
}

uint64_t execute(void *state, uint64_t operations)
{
    void ***position = state, **place = *position;

    for (uint64_t i = 0; i < operations; i++)
        place = *place;
    *position = place;
    return (uint64_t)((uintptr_t)place & 0xFFF);
}
