/* Binary search in a sorted array, for keys in random order (P) or in ascending order (N). Without branches on the keys:
 * what goes wrong is in the caches alone. */
#include "../program.h"

struct search {
    uint64_t *sorted, n, random, key, step;
};

void *prepare(const struct options *options)
{
    struct search *search = allocate(sizeof *search);

    search->n = options->size / sizeof *search->sorted;
    search->sorted = allocate(search->n * sizeof *search->sorted);
    for (uint64_t i = 0; i < search->n; i++)
        search->sorted[i] = 7 * i;
    search->random = options->seed;
    search->key = 0;
    search->step = options->pathological ? 0 : 7;
    return search;
}

uint64_t execute(void *state, uint64_t operations)
{
    struct search *search = state;
    uint64_t sum = 0;

    for (uint64_t i = 0; i < operations; i++) {
        uint64_t random_key = random_below(&search->random, search->n) * 7, key;
        const uint64_t *base = search->sorted;

        search->key = search->key + search->step < 7 * search->n ? search->key + search->step : 0;
        key = search->step ? search->key : random_key;
        for (uint64_t left = search->n; left > 1; left -= left / 2)
            base = (const uint64_t *)((uintptr_t)base + (-(uint64_t)(base[left / 2] <= key) & left / 2) * sizeof *base);
        sum += *base;
    }
    return sum;
}
