/* A noisy signal smoothed by the median of five samples, found by comparing with branches (P) or by smaller and larger
 * values without (N). The same signal, comparisons and medians in both. One operation is one median. */
#include "../program.h"

#define LENGTH (1 << 15)
#define WINDOW 5

struct filter {
    uint32_t signal[LENGTH + WINDOW - 1], smooth[LENGTH];
    uint64_t sample;
    int pathological;
};

void *prepare(const struct options *options)
{
    struct filter *filter = allocate(sizeof *filter);
    uint64_t random = options->seed;

    for (int i = 0; i < LENGTH + WINDOW - 1; i++)
        filter->signal[i] = i + (uint32_t)random_below(&random, 1 << 20);
    filter->sample = 0;
    filter->pathological = options->pathological;
    return filter;
}

static inline void order_by_branch(uint32_t *a, uint32_t *b)
{
    uint32_t other = *a;

    if (*a > *b) {
        __asm__ volatile(""); /* keeps the compiler from doing without the branch */
        *a = *b;
        *b = other;
    }
}

static inline void order_by_selection(uint32_t *a, uint32_t *b)
{
    uint32_t smaller = *a < *b ? *a : *b, larger = *a < *b ? *b : *a;

    *a = smaller;
    *b = larger;
}

/* The fewest comparisons that put the median of five in the middle. */
static inline uint32_t median(const uint32_t *window, void (*order)(uint32_t *, uint32_t *))
{
    uint32_t a = window[0], b = window[1], c = window[2], d = window[3], e = window[4];

    order(&a, &b);
    order(&d, &e);
    order(&a, &d);
    order(&b, &e);
    order(&b, &c);
    order(&c, &d);
    order(&b, &c);
    return c;
}

uint64_t execute(void *state, uint64_t operations)
{
    struct filter *filter = state;
    uint64_t sample = filter->sample, sum = 0;

    for (uint64_t i = 0; i < operations; i++) {
        const uint32_t *window = filter->signal + sample;
        uint32_t value = filter->pathological ? median(window, order_by_branch) : median(window, order_by_selection);

        filter->smooth[sample] = value;
        sum += value;
        sample = sample + 1 < LENGTH ? sample + 1 : 0;
    }
    filter->sample = sample;
    return sum;
}
