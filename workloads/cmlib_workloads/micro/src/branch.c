/* BranchMis: a branch decided by the last bit of a pseudo-random number (P) or of the loop's counter (N).
 *
 * Both forms compute both bits and mask one away; either way half of the branches are taken.
 */
#include "program.h"

struct branch {
    uint64_t random, random_bit, counter_bit;
};

void *prepare(const struct options *options)
{
    struct branch *branch = allocate(sizeof *branch);

    *branch = (struct branch){options->seed, options->pathological, !options->pathological};
    return branch;
}

uint64_t execute(void *state, uint64_t operations)
{
    struct branch *branch = state;
    const uint64_t random_bit = branch->random_bit, counter_bit = branch->counter_bit;
    uint64_t random = branch->random, sum = 0;

    for (uint64_t i = 0; i < operations; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        if ((random & random_bit) | (i & counter_bit)) {
            __asm__ volatile(""); /* keeps the compiler from doing without the branch */
            sum += 3;
        } else {
            __asm__ volatile("");
            sum ^= 5;
        }
    }
    branch->random = random;
    return sum;
}
