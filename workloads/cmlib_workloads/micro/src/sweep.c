/* The latency of a load, by the size of the memory it walks through at random: one line a size, bytes and ns. */
#define _POSIX_C_SOURCE 200809L
#include "program.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define LINE 64
#define REPEATS 5

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e9 * time.tv_sec + time.tv_nsec;
}

/* The fastest of some walks of so many loads through the first lines, chained at random in one cycle [ns a load]. */
static double latency(char *memory, uint64_t lines, uint64_t loads, uint64_t *random)
{
    void **place = (void **)memory;
    double fastest = 1e300;

    for (uint64_t i = 0; i < lines; i++)
        *(uint64_t *)(memory + i * LINE) = i;
    for (uint64_t i = lines - 1; i > 0; i--) {
        uint64_t *a = (uint64_t *)(memory + i * LINE), *b = (uint64_t *)(memory + random_below(random, i) * LINE);
        uint64_t number = *a;

        *a = *b;
        *b = number;
    }
    for (uint64_t i = 0; i < lines; i++)
        *(char **)(memory + i * LINE) = memory + *(uint64_t *)(memory + i * LINE) * LINE;
    for (int repeat = 0; repeat < REPEATS; repeat++) {
        double start = now();

        for (uint64_t i = 0; i < loads; i++)
            place = *place;
        __asm__ volatile("" : : "r"(place));
        if (now() - start < fastest)
            fastest = now() - start;
    }
    return fastest / loads;
}

int main(int argc, char **argv)
{
    uint64_t smallest, largest, loads, random = 1;
    char *memory;

    if (argc != 4) {
        fprintf(stderr, "usage: %s SMALLEST LARGEST LOADS\n", argv[0]);
        return 2;
    }
    smallest = strtoull(argv[1], NULL, 10);
    largest = strtoull(argv[2], NULL, 10);
    loads = strtoull(argv[3], NULL, 10);
    if (smallest < 4 * LINE || largest < smallest || !loads) {
        fprintf(stderr, "sizes from %d bytes up, and at least one load\n", 4 * LINE);
        return 2;
    }
    if (posix_memalign((void **)&memory, 4096, largest)) {
        fprintf(stderr, "no memory for %llu bytes\n", (unsigned long long)largest);
        return 2;
    }
    memset(memory, 0, largest);
    for (uint64_t size = smallest; size <= largest; size *= 2)
        for (uint64_t quarters = 4; quarters < 8 && size * quarters / 4 <= largest; quarters++) {
            printf("%llu %.3f\n", (unsigned long long)(size * quarters / 4),
                   latency(memory, size * quarters / 4 / LINE, loads, &random));
            fflush(stdout);
        }
    return 0;
}
