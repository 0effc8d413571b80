/* Array: the elements of an array are added up in random order (P) or one after the other (N).
 *
 * Both forms turn the count into a position by the same steps, each one to one on k bits: times a, xor its own upper
 * half, times b. With large odd a and b every position is visited in an order that no prefetcher follows; with 1, 1 and
 * nothing to xor the positions are the count. No load waits for another.
 */
#include "program.h"

struct array {
    uint64_t *elements, n, count, mask, first, second, upper;
    int bits;
};

void *prepare(const struct options *options)
{
    struct array *array = allocate(sizeof *array);

    array->n = options->size / sizeof *array->elements;
    array->elements = allocate(array->n * sizeof *array->elements);
    for (uint64_t i = 0; i < array->n; i++)
        array->elements[i] = i * options->seed;
    for (array->bits = 1; 1ULL << array->bits < array->n; array->bits++)
        ;
    array->mask = (1ULL << array->bits) - 1;
    array->count = options->seed & array->mask;
    array->first = options->pathological ? 0xD1342543DE82EF95ULL : 1;
    array->second = options->pathological ? 0xAF251AF3B0F025B5ULL : 1;
    array->upper = options->pathological ? array->mask : 0;
    return array;
}

uint64_t execute(void *state, uint64_t operations)
{
    struct array *array = state;
    const uint64_t *elements = array->elements;
    const uint64_t n = array->n, mask = array->mask, first = array->first, second = array->second, upper = array->upper;
    const int bits = array->bits, half = (bits + 1) / 2;
    uint64_t count = array->count, sum = 0;

    for (uint64_t i = 0; i < operations; i++) {
        uint64_t position = count++ * first & mask;

        position = (position ^ (position >> half & upper)) * second & mask;
        sum += elements[position * n >> bits];
    }
    array->count = count;
    return sum;
}
