/* A hash join: rows look their keys up in a table, in the order in which they came (P) or sorted by where in the table
 * their keys lie (N), as after radix partitioning. The same rows, matches and sum in both. */
#include "../program.h"

struct entry {
    uint64_t key, value;
};

struct join {
    struct entry *table;
    uint64_t *rows, n_entries, n_rows, row;
    int bits;
};

static inline uint64_t slot_of(uint64_t key, int bits)
{
    return (key * 0x9E3779B97F4A7C15ULL) >> (64 - bits);
}

static int by_slot(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a * 0x9E3779B97F4A7C15ULL, y = *(const uint64_t *)b * 0x9E3779B97F4A7C15ULL;

    return (x > y) - (x < y);
}

void *prepare(const struct options *options)
{
    struct join *join = allocate(sizeof *join);
    uint64_t random = options->seed, mask;

    for (join->bits = 8; (2ULL << join->bits) * sizeof(struct entry) <= options->size; join->bits++)
        ;
    join->n_entries = 1ULL << join->bits;
    mask = join->n_entries - 1;
    join->table = allocate(join->n_entries * sizeof *join->table);
    for (uint64_t i = 0; i < join->n_entries; i++)
        join->table[i] = (struct entry){0, 0};
    for (uint64_t key = 1; key <= join->n_entries / 2; key++) { /* half full, by linear probing */
        uint64_t slot = slot_of(key, join->bits);

        while (join->table[slot].key)
            slot = (slot + 1) & mask;
        join->table[slot] = (struct entry){key, key ^ options->seed};
    }
    join->n_rows = join->n_entries / 2;
    join->rows = allocate(join->n_rows * sizeof *join->rows);
    for (uint64_t i = 0; i < join->n_rows; i++)
        join->rows[i] = 1 + random_below(&random, join->n_entries / 2);
    if (!options->pathological)
        qsort(join->rows, join->n_rows, sizeof *join->rows, by_slot);
    join->row = 0;
    return join;
}

uint64_t execute(void *state, uint64_t operations)
{
    struct join *join = state;
    const struct entry *table = join->table;
    const uint64_t mask = join->n_entries - 1;
    uint64_t row = join->row, sum = 0;

    for (uint64_t i = 0; i < operations; i++) {
        uint64_t key = join->rows[row], slot = slot_of(key, join->bits);

        while (table[slot].key != key)
            slot = (slot + 1) & mask;
        sum += table[slot].value;
        row = row + 1 < join->n_rows ? row + 1 : 0;
    }
    join->row = row;
    return sum;
}
