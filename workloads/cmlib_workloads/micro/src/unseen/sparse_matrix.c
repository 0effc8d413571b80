/* A sparse matrix times a vector, the nonzeros of a row anywhere (P) or near the diagonal (N). */
#include "../program.h"

#define NONZEROS 8
#define BAND 32

struct product {
    double *x, *y, *values;
    uint32_t *columns;
    uint64_t n, row;
};

void *prepare(const struct options *options)
{
    struct product *product = allocate(sizeof *product);
    uint64_t n = options->size / (2 * sizeof(double) + NONZEROS * (sizeof(double) + sizeof(uint32_t)));
    uint64_t random = options->seed;

    n = n > 2 * BAND ? n : 2 * BAND;
    product->x = allocate(n * sizeof *product->x);
    product->y = allocate(n * sizeof *product->y);
    product->values = allocate(n * NONZEROS * sizeof *product->values);
    product->columns = allocate(n * NONZEROS * sizeof *product->columns);
    for (uint64_t i = 0; i < n; i++) {
        product->x[i] = 1.0 / (1 + i);
        product->y[i] = 0.0;
        for (uint64_t j = i * NONZEROS; j < (i + 1) * NONZEROS; j++) {
            uint64_t anywhere = random_below(&random, n), near = i + random_below(&random, BAND);

            product->values[j] = 1.0;
            product->columns[j] = (uint32_t)(options->pathological ? anywhere : near < n ? near : near - BAND);
        }
    }
    product->n = n;
    product->row = 0;
    return product;
}

uint64_t execute(void *state, uint64_t operations)
{
    struct product *product = state;
    uint64_t row = product->row;
    double total = 0;

    for (uint64_t i = 0; i < operations; i++) {
        double sum = 0;

        for (uint64_t j = row * NONZEROS; j < (row + 1) * NONZEROS; j++)
            sum += product->values[j] * product->x[product->columns[j]];
        product->y[row] = sum;
        total += sum;
        row = row + 1 < product->n ? row + 1 : 0;
    }
    product->row = row;
    return (uint64_t)(1e3 * total);
}
