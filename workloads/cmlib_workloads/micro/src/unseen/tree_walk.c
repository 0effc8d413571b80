/* A walk over all nodes of a balanced search tree, which lie in memory as they were made, their keys having come in any
 * order (P), or in the order in which they are visited (N). The same tree and walk in both. One operation is one node.
 * Without branches on what a node has below it: what goes wrong is in the caches alone. */
#include "../program.h"

#define MAX_DEPTH 64

struct node {
    uint64_t key, value;
    struct node *left, *right;
};

struct walk {
    struct node *nodes, *root;
    struct node *stack[MAX_DEPTH + 2]; /* nodes to visit, the next one on top */
    uint32_t *places;                  /* where the nodes lie, in the order of the walk */
    uint64_t n_made, depth;
};

/* The subtree of the keys from first to before last. */
static struct node *grow(struct walk *walk, uint64_t first, uint64_t last)
{
    uint64_t middle = first + (last - first) / 2;
    struct node *node;

    if (first == last)
        return NULL;
    node = walk->nodes + walk->places[walk->n_made++];
    node->key = middle;
    node->value = 7 * middle;
    node->left = grow(walk, first, middle);
    node->right = grow(walk, middle + 1, last);
    return node;
}

void *prepare(const struct options *options)
{
    struct walk *walk = allocate(sizeof *walk);
    uint64_t n = options->size / sizeof *walk->nodes, random = options->seed;

    walk->nodes = allocate(n * sizeof *walk->nodes);
    walk->places = allocate(n * sizeof *walk->places);
    for (uint64_t i = 0; i < n; i++)
        walk->places[i] = (uint32_t)i;
    if (options->pathological)
        for (uint64_t i = n - 1; i > 0; i--) {
            uint64_t j = random_below(&random, i + 1);
            uint32_t place = walk->places[i];

            walk->places[i] = walk->places[j];
            walk->places[j] = place;
        }
    walk->n_made = 0;
    walk->root = grow(walk, 0, n);
    free(walk->places);
    walk->depth = 0;
    return walk;
}

uint64_t execute(void *state, uint64_t operations)
{
    struct walk *walk = state;
    struct node **stack = walk->stack;
    uint64_t depth = walk->depth, sum = 0;

    for (uint64_t i = 0; i < operations; i++) {
        const struct node *node = depth ? stack[--depth] : walk->root;

        stack[depth] = node->right;
        depth += node->right != NULL;
        stack[depth] = node->left;
        depth += node->left != NULL;
        sum += node->key ^ node->value;
    }
    walk->depth = depth;
    return sum;
}
