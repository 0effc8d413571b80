/* How often each key occurs: keys are counted in the order in which they came (P) or sorted (N). The same keys and
 * counts in both. One operation is one key. Half of the size is the table, half the keys. */
#include "../program.h"

struct counting {
    uint32_t *keys, *counts;
    uint64_t n, key;
};

static void sort(struct counting *counting)
{
    uint32_t *sorted = counting->keys, *counts = counting->counts;

    for (uint64_t i = 0; i < counting->n; i++)
        counts[counting->keys[i]]++;
    for (uint64_t key = 0; key < counting->n; key++)
        for (; counts[key]; counts[key]--)
            *sorted++ = (uint32_t)key;
}

void *prepare(const struct options *options)
{
    struct counting *counting = allocate(sizeof *counting);
    uint64_t random = options->seed;

    counting->n = options->size / (2 * sizeof *counting->keys);
    counting->keys = allocate(counting->n * sizeof *counting->keys);
    counting->counts = allocate(counting->n * sizeof *counting->counts);
    for (uint64_t i = 0; i < counting->n; i++) {
        counting->keys[i] = (uint32_t)random_below(&random, counting->n);
        counting->counts[i] = 0;
    }
    if (!options->pathological)
        sort(counting);
    counting->key = 0;
    return counting;
}

uint64_t execute(void *state, uint64_t operations)
{
    struct counting *counting = state;
    uint64_t key = counting->key, sum = 0;

    for (uint64_t i = 0; i < operations; i++) {
        sum += ++counting->counts[counting->keys[key]];
        key = key + 1 < counting->n ? key + 1 : 0;
    }
    counting->key = key;
    return sum;
}
