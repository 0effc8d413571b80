/* What every program here is made of: it prepares, uncounted, and then executes operations, counted. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <stdint.h>
#include <stdlib.h>

struct options {
    int pathological; /* --form P or N */
    size_t size;      /* --size, working set [bytes] */
    uint64_t seed;    /* --seed */
};

/* Return the state of a run. Not counted. */
void *prepare(const struct options *options);

/* Execute so many operations, going on from the state; return a checksum of what they computed. */
uint64_t execute(void *state, uint64_t operations);

/* Remember how far execution has come when a phase begins; printed at the end. */
void begin_phase(const char *name);

/* Page-aligned memory, or the end of the program. */
void *allocate(size_t bytes);

/* xorshift64*: the next of a sequence of pseudo-random numbers; the state must not be 0. */
static inline uint64_t next_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545F4914F6CDD1DULL;
}

/* A pseudo-random number below n (< 2^32). */
static inline uint64_t random_below(uint64_t *state, uint64_t n)
{
    return ((next_random(state) >> 32) * n) >> 32;
}

#endif
