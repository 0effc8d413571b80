/* LL: the nodes of a linked list are read and updated, chained in random order (P) or in that of their addresses (N). */
#include "program.h"

struct node {
    union {
        struct node *next;
        uint64_t number;
    };
    uint64_t key, value, visits;
};

void *prepare(const struct options *options)
{
    uint64_t n = options->size / sizeof(struct node), random = options->seed;
    struct node *nodes = allocate(n * sizeof *nodes), **position = allocate(sizeof *position);

    for (uint64_t i = 0; i < n; i++)
        nodes[i] = (struct node){.number = i, .key = next_random(&random)};
    if (options->pathological) {
        for (uint64_t i = n - 1; i > 0; i--) { /* Sattolo: a permutation of one cycle */
            uint64_t j = random_below(&random, i), number = nodes[i].number;

            nodes[i].number = nodes[j].number;
            nodes[j].number = number;
        }
    } else {
        for (uint64_t i = 0; i < n; i++)
            nodes[i].number = i + 1 < n ? i + 1 : 0;
    }
    for (uint64_t i = 0; i < n; i++)
        nodes[i].next = nodes + nodes[i].number;
    *position = nodes;
    return position;
}

uint64_t execute(void *state, uint64_t operations)
{
    struct node **position = state, *node = *position;
    uint64_t sum = 0;

    for (uint64_t i = 0; i < operations; i++) {
        node->value += node->key >> 32;
        node->visits++;
        sum += node->key & 0xFFFF;
        node = node->next;
    }
    *position = node;
    return sum;
}
