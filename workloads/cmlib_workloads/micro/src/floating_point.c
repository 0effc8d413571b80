/* FPU: sums of products by software, from integer instructions (P), or by the floating-point unit (N).
 *
 * The software adds and multiplies positive normal binary64 numbers and rounds to nearest, ties to even, as IEEE 754
 * has it: both forms compute the same bits. One operation is a multiplication and an addition.
 */
#include "program.h"

#include <string.h>

#define N_VALUES 1024
#define FRACTION ((1ULL << 52) - 1)

struct values {
    double values[N_VALUES], sum;
    uint64_t position;
    int pathological;
};

static uint64_t bits_of(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static double value_of(uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Round a significand with three extra bits below its last, the lowest of them sticky. */
static uint64_t rounded(uint64_t exponent, uint64_t significand)
{
    uint64_t extra = significand & 7, result = (exponent << 52) + ((significand >> 3) & FRACTION);

    return result + (extra > 4 || (extra == 4 && (result & 1)));
}

static __attribute__((noinline)) uint64_t soft_multiply(uint64_t a, uint64_t b)
{
    uint64_t exponent = (a >> 52) + (b >> 52) - 1023;
    unsigned __int128 product = (unsigned __int128)((a & FRACTION) | 1ULL << 52) * ((b & FRACTION) | 1ULL << 52);
    int shift = product >> 105 ? 50 : 49;
    unsigned __int128 lost = product & (((unsigned __int128)1 << shift) - 1);

    return rounded(exponent + (shift == 50), (uint64_t)(product >> shift) | (lost != 0));
}

static __attribute__((noinline)) uint64_t soft_add(uint64_t a, uint64_t b)
{
    uint64_t large = a > b ? a : b, small = a > b ? b : a, exponent = large >> 52, shift = exponent - (small >> 52);
    uint64_t x = ((large & FRACTION) | 1ULL << 52) << 3, y = ((small & FRACTION) | 1ULL << 52) << 3;

    y = shift > 60 ? 1 : y >> shift | ((y & ((1ULL << shift) - 1)) != 0);
    x += y;
    if (x >> 56) {
        x = x >> 1 | (x & 1);
        exponent++;
    }
    return rounded(exponent, x);
}

void *prepare(const struct options *options)
{
    struct values *values = allocate(sizeof *values);
    uint64_t random = options->seed;

    for (int i = 0; i < N_VALUES; i++)
        values->values[i] = 1.0 + (double)(next_random(&random) >> 11) * 0x1p-53;
    values->sum = 1.0;
    values->position = 0;
    values->pathological = options->pathological;
    return values;
}

uint64_t execute(void *state, uint64_t operations)
{
    struct values *values = state;
    uint64_t position = values->position;
    double sum = values->sum;

    for (uint64_t i = 0; i < operations; i++) {
        double value = values->values[position++ % N_VALUES];

        if (values->pathological)
            sum = value_of(soft_add(soft_multiply(bits_of(sum), bits_of(0.7)), bits_of(value)));
        else
            sum = sum * 0.7 + value;
    }
    values->sum = sum;
    values->position = position;
    return bits_of(sum);
}
