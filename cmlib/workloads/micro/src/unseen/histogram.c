/* How often each key occurs: keys are counted in the order in which they came (P) or sorted (N). The same keys and
 * counts in both. One operation is one key. Half of the size is the table, half the keys. */
#include "../program.h"

struct histogram {
    uint32_t *keys, *counts;
    uint64_t n, key;
};

static void sort(struct histogram *histogram)
{
    uint32_t *sorted = histogram->keys, *counts = histogram->counts;

    for (uint64_t i = 0; i < histogram->n; i++)
        counts[histogram->keys[i]]++;
    for (uint64_t key = 0; key < histogram->n; key++)
        for (; counts[key]; counts[key]--)
            *sorted++ = (uint32_t)key;
}

void *prepare(const struct options *options)
{
    struct histogram *histogram = allocate(sizeof *histogram);
    uint64_t random = options->seed;

    histogram->n = options->size / (2 * sizeof *histogram->keys);
    histogram->keys = allocate(histogram->n * sizeof *histogram->keys);
    histogram->counts = allocate(histogram->n * sizeof *histogram->counts);
    for (uint64_t i = 0; i < histogram->n; i++) {
        histogram->keys[i] = (uint32_t)random_below(&random, histogram->n);
        histogram->counts[i] = 0;
    }
    if (!options->pathological)
        sort(histogram);
    histogram->key = 0;
    return histogram;
}

uint64_t execute(void *state, uint64_t operations)
{
    struct histogram *histogram = state;
    uint64_t key = histogram->key, sum = 0;

    for (uint64_t i = 0; i < operations; i++) {
        sum += ++histogram->counts[histogram->keys[key]];
        key = key + 1 < histogram->n ? key + 1 : 0;
    }
    histogram->key = key;
    return sum;
}
