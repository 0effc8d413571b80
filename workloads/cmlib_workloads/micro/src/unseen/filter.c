/* The total of the orders above a limit, in the order in which they came (P) or sorted by amount (N). The same orders and
 * total in both; half of them are above the limit. */
#include "../program.h"

#define ORDERS (1 << 16)

struct orders {
    uint32_t amounts[ORDERS];
    uint64_t order;
};

static int by_amount(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

void *prepare(const struct options *options)
{
    struct orders *orders = allocate(sizeof *orders);
    uint64_t random = options->seed;

    for (int i = 0; i < ORDERS; i++)
        orders->amounts[i] = (uint32_t)random_below(&random, 1 << 20);
    if (!options->pathological)
        qsort(orders->amounts, ORDERS, sizeof *orders->amounts, by_amount);
    orders->order = 0;
    return orders;
}

uint64_t execute(void *state, uint64_t operations)
{
    struct orders *orders = state;
    uint64_t order = orders->order, total = 0, count = 0;

    for (uint64_t i = 0; i < operations; i++) {
        uint32_t amount = orders->amounts[order++ % ORDERS];

        if (amount >= 1 << 19) {
            __asm__ volatile(""); /* keeps the compiler from doing without the branch */
            total += amount;
            count++;
        }
    }
    orders->order = order;
    return total + count;
}
