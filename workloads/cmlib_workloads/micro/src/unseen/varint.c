/* Numbers of one to five bytes decoded, each with seven bits a byte as in protocol buffers, in any order (P) or sorted
 * (N), so that those of one length follow each other. The same numbers and sum in both. One operation is one number. */
#include "../program.h"

#define NUMBERS (1 << 16)
#define MOST_BYTES 5

struct message {
    uint8_t bytes[NUMBERS * MOST_BYTES];
    const uint8_t *next;
    uint64_t number;
};

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

void *prepare(const struct options *options)
{
    struct message *message = allocate(sizeof *message);
    uint32_t *numbers = allocate(NUMBERS * sizeof *numbers);
    uint64_t random = options->seed;
    uint8_t *byte = message->bytes;

    for (int i = 0; i < NUMBERS; i++)
        numbers[i] = (uint32_t)(next_random(&random) >> 32) >> random_below(&random, 32);
    if (!options->pathological)
        qsort(numbers, NUMBERS, sizeof *numbers, by_value);
    for (int i = 0; i < NUMBERS; i++) {
        uint32_t rest = numbers[i];

        for (; rest > 0x7F; rest >>= 7)
            *byte++ = (uint8_t)(rest | 0x80);
        *byte++ = (uint8_t)rest;
    }
    free(numbers);
    message->next = message->bytes;
    message->number = 0;
    return message;
}

uint64_t execute(void *state, uint64_t operations)
{
    struct message *message = state;
    const uint8_t *next = message->next;
    uint64_t number = message->number, sum = 0;

    for (uint64_t i = 0; i < operations; i++) {
        uint64_t value = 0;
        int shift = 0;

        for (; *next & 0x80; shift += 7)
            value |= (uint64_t)(*next++ & 0x7F) << shift;
        sum += value | (uint64_t)*next++ << shift;
        if (++number == NUMBERS) {
            number = 0;
            next = message->bytes;
        }
    }
    message->next = next;
    message->number = number;
    return sum;
}
