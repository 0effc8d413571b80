/* The lines of an array in random order (P) or in order (N): their sum; with COPYING a copy of each to a second array; with
 * STRIDE n the sum of every n-th line; with SHORT_LOOP a loop over the words of a line, which is unrolled otherwise. One
 * operation is one line of 64 bytes. In order a prefetcher has each line before it is asked for, and with a stride too.
 */
#include "../program.h"

#include <string.h>

#ifndef STRIDE
#define STRIDE 1
#endif
#define WORDS 8 /* of a line */

struct stream {
    uint64_t *words, *copy;
    uint32_t *order;
    uint64_t n, line;
};

void *prepare(const struct options *options)
{
    struct stream *stream = allocate(sizeof *stream);
    uint64_t random = options->seed, n = options->size / (WORDS * sizeof *stream->words * STRIDE);

    stream->n = n = n ? n : 1;
    stream->words = allocate(n * STRIDE * WORDS * sizeof *stream->words);
    stream->copy = allocate(n * WORDS * sizeof *stream->copy);
    stream->order = allocate(n * sizeof *stream->order);
    for (uint64_t i = 0; i < n * STRIDE * WORDS; i++)
        stream->words[i] = i ^ options->seed;
    for (uint64_t i = 0; i < n; i++)
        stream->order[i] = (uint32_t)i;
    for (uint64_t i = n - 1; options->pathological && i > 0; i--) {
        uint64_t other = random_below(&random, i + 1);
        uint32_t kept = stream->order[i];

        stream->order[i] = stream->order[other];
        stream->order[other] = kept;
    }
    stream->line = 0;
    return stream;
}

uint64_t execute(void *state, uint64_t operations)
{
    struct stream *stream = state;
    uint64_t sum = 0;

    for (uint64_t i = 0; i < operations; i++) {
        uint64_t line = stream->order[stream->line];
        const uint64_t *word = stream->words + line * STRIDE * WORDS;

#ifdef COPYING
        uint64_t *copy = stream->copy + line * WORDS;

        memcpy(copy, word, WORDS * sizeof *word);
        sum += copy[0];
#else
#ifndef SHORT_LOOP
#pragma GCC unroll 8
#endif
        for (int j = 0; j < WORDS; j++)
            sum += word[j];
#endif
        stream->line = stream->line + 1 < stream->n ? stream->line + 1 : 0;
    }
    return sum;
}
