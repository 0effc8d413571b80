/* RS: multiplications that wait for each other fill the reservation station (P), or eight that don't (N).
 *
 * Of integers, or, built with -DFLOATING, of doubles: each side has a reservation station of its own. The same eight
 * registers, multiplications and additions in both; only whose result is multiplied differs. One operation is eight of
 * each.
 */
#include "program.h"

#ifdef FLOATING
typedef double value;
#define FIRST(seed, i) (1.0 + 1e-3 * (double)((seed) % 1000 + (i)))
#define FACTOR 0.999999
#define TERM 1e-6
#define WHOLE(x) ((uint64_t)(1e6 * (x)))
#else
typedef uint64_t value;
#define FIRST(seed, i) ((seed) + (i))
#define FACTOR 6364136223846793005ULL
#define TERM 1442695040888963407ULL
#define WHOLE(x) (x)
#endif

struct values {
    value x[8], factor, term;
    int pathological;
};

void *prepare(const struct options *options)
{
    struct values *values = allocate(sizeof *values);

    for (int i = 0; i < 8; i++)
        values->x[i] = FIRST(options->seed, i);
    values->factor = FACTOR;
    values->term = TERM;
    values->pathological = options->pathological;
    return values;
}

#define STEP(to, from) x[to] = x[from] * factor + term

uint64_t execute(void *state, uint64_t operations)
{
    struct values *values = state;
    const value factor = values->factor, term = values->term;
    uint64_t sum = 0;
    value x[8];

    for (int i = 0; i < 8; i++)
        x[i] = values->x[i];
    if (values->pathological) {
        for (uint64_t i = 0; i < operations; i++) {
            STEP(0, 7), STEP(1, 0), STEP(2, 1), STEP(3, 2);
            STEP(4, 3), STEP(5, 4), STEP(6, 5), STEP(7, 6);
        }
    } else {
        for (uint64_t i = 0; i < operations; i++) {
            STEP(0, 0), STEP(1, 1), STEP(2, 2), STEP(3, 3);
            STEP(4, 4), STEP(5, 5), STEP(6, 6), STEP(7, 7);
        }
    }
    for (int i = 0; i < 8; i++)
        sum += WHOLE(values->x[i] = x[i]);
    return sum;
}
