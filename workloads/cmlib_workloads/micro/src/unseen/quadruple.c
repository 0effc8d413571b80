/* A weighted sum in quadruple precision, which the compiler's library computes by software (P), or in double precision (N).
 * All values are whole numbers below 2^53, so that the sums are the same. One operation is one product and one sum. */
#include "../program.h"

#define VALUES 512 /* in the first-level cache in both forms */

struct sums {
    __float128 precise[VALUES];
    double usual[VALUES];
    uint64_t value;
    int pathological;
};

void *prepare(const struct options *options)
{
    struct sums *sums = allocate(sizeof *sums);
    uint64_t random = options->seed;

    for (int i = 0; i < VALUES; i++)
        sums->precise[i] = sums->usual[i] = (double)random_below(&random, 1 << 10);
    sums->value = 0;
    sums->pathological = options->pathological;
    return sums;
}

uint64_t execute(void *state, uint64_t operations)
{
    struct sums *sums = state;
    uint64_t value = sums->value;
    __float128 precise = 0;
    double usual = 0;

    if (sums->pathological)
        for (uint64_t i = 0; i < operations; i++, value++)
            precise += sums->precise[value % VALUES] * (__float128)(i % 3);
    else
        for (uint64_t i = 0; i < operations; i++, value++)
            usual += sums->usual[value % VALUES] * (double)(i % 3);
    sums->value = value;
    return (uint64_t)(double)precise + (uint64_t)usual;
}
