/* Trajectories of the logistic map, one to its end after the other (P) or eight in step (N). The same steps and points
 * in both: in one every step waits for the last. One operation is one step of eight trajectories. */
#include "../program.h"

#include <string.h>

#define TRAJECTORIES 8
#define STEPS 512

struct map {
    double points[TRAJECTORIES];
    int pathological;
};

void *prepare(const struct options *options)
{
    struct map *map = allocate(sizeof *map);
    uint64_t random = options->seed;

    for (int i = 0; i < TRAJECTORIES; i++)
        map->points[i] = (double)(1 + random_below(&random, 1000)) / 1002;
    map->pathological = options->pathological;
    return map;
}

static void follow(double *points, int n, uint64_t steps)
{
    double x[TRAJECTORIES];

    memcpy(x, points, n * sizeof *x);
    for (uint64_t step = 0; step < steps; step++)
        for (int i = 0; i < n; i++)
            x[i] = 3.99 * x[i] * (1 - x[i]);
    memcpy(points, x, n * sizeof *x);
}

uint64_t execute(void *state, uint64_t operations)
{
    struct map *map = state;
    double sum = 0;

    while (operations) {
        uint64_t steps = operations < STEPS ? operations : STEPS;

        if (map->pathological) {
            for (int i = 0; i < TRAJECTORIES; i++)
                follow(map->points + i, 1, steps);
        } else {
            follow(map->points, TRAJECTORIES, steps);
        }
        operations -= steps;
    }
    for (int i = 0; i < TRAJECTORIES; i++)
        sum += map->points[i];
    return (uint64_t)(1e12 * sum);
}
