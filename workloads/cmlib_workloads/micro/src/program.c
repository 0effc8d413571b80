/* Command line, clock and counters of every program here. */
#include "program.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cmlib_control.h"

#define MAX_PHASES 8
#define CHUNK_SECONDS 0.005

static struct {
    const char *name;
    double seconds;
} phases[MAX_PHASES];
static int n_phases;
static double started;

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

void *allocate(size_t bytes)
{
    void *memory;

    if (posix_memalign(&memory, 4096, bytes)) {
        fprintf(stderr, "no memory for %zu bytes\n", bytes);
        exit(2);
    }
    return memory;
}

void begin_phase(const char *name)
{
    if (n_phases < MAX_PHASES) {
        phases[n_phases].name = name;
        phases[n_phases++].seconds = now() - started;
    }
}

static void fail(const char *program)
{
    fprintf(stderr,
            "usage: %s --form P|N [--size BYTES] [--seed N] (--operations N | --seconds S)\n"
            "P shows the pathology, N doesn't. Prints operations, seconds, ns_per_operation and a checksum.\n",
            program);
    exit(2);
}

static double number(const char *text, const char *program)
{
    char *end;
    double value;

    errno = 0;
    value = strtod(text, &end);
    if (errno || *end || end == text || !(value > 0 && value < 1e18))
        fail(program);
    return value;
}

int main(int argc, char **argv)
{
    struct options options = {-1, 1 << 20, 1};
    uint64_t operations = 0, done = 0, chunk = 1024, checksum = 0;
    double seconds = 0, elapsed = 0;
    void *state;

    for (int i = 1; i < argc; i += 2) {
        if (i + 1 == argc)
            fail(argv[0]);
        if (!strcmp(argv[i], "--form") && (!strcmp(argv[i + 1], "P") || !strcmp(argv[i + 1], "N")))
            options.pathological = argv[i + 1][0] == 'P';
        else if (!strcmp(argv[i], "--size"))
            options.size = (size_t)number(argv[i + 1], argv[0]);
        else if (!strcmp(argv[i], "--seed"))
            options.seed = (uint64_t)number(argv[i + 1], argv[0]);
        else if (!strcmp(argv[i], "--operations"))
            operations = (uint64_t)number(argv[i + 1], argv[0]);
        else if (!strcmp(argv[i], "--seconds"))
            seconds = number(argv[i + 1], argv[0]);
        else
            fail(argv[0]);
    }
    if (options.pathological < 0 || !operations == !(seconds > 0))
        fail(argv[0]);
    if (options.size < 4096) {
        fprintf(stderr, "--size is %zu bytes; the smallest working set is 4096\n", options.size);
        return 2;
    }

    if (operations)
        chunk = operations; /* in one go, so that the checksum depends on nothing else */
    state = prepare(&options);
    cmlib_counting("enable");
    started = now();
    while (operations ? done < operations : elapsed < seconds) {
        double before = elapsed;

        checksum += execute(state, chunk);
        done += chunk;
        elapsed = now() - started;
        if (elapsed - before < CHUNK_SECONDS / 2)
            chunk *= 2;
    }
    cmlib_counting("disable");

    printf("operations=%llu\nseconds=%.6f\nns_per_operation=%.4f\nchecksum=%llu\n", (unsigned long long)done, elapsed,
           1e9 * elapsed / done, (unsigned long long)checksum);
    for (int i = 0; i < n_phases; i++)
        printf("phase_%s_s=%.6f\n", phases[i].name, phases[i].seconds);
    return 0;
}
