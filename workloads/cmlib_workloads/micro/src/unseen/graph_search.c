/* Breadth-first search over a mesh of triangles, its nodes numbered at random (P) or in the order in which the search
 * reaches them (N), as Cuthill and McKee number them. The same mesh, search and distances in both. One operation is one
 * node with its six neighbours; a search that has reached all starts over. Without branches on what was reached before:
 * what goes wrong is in the caches alone. */
#include "../program.h"

#define NEIGHBOURS 6

struct node {
    uint32_t neighbours[NEIGHBOURS], distance, search; /* the last search that reached it */
};

struct mesh {
    struct node *nodes;
    uint32_t *queue; /* of nodes reached; one more than there are nodes */
    uint32_t n, head, tail, search, source;
};

/* The nodes' neighbours in a square of cells, closed at its edges, each node connected along one diagonal too. */
static void link_neighbours(struct node *nodes, uint32_t side)
{
    const int x_step[NEIGHBOURS] = {1, 0, -1, -1, 0, 1}, y_step[NEIGHBOURS] = {0, 1, 1, 0, -1, -1};

    for (uint32_t i = 0; i < side * side; i++) {
        nodes[i].search = 0;
        for (int j = 0; j < NEIGHBOURS; j++) {
            uint32_t x = (i % side + side + x_step[j]) % side, y = (i / side + side + y_step[j]) % side;

            nodes[i].neighbours[j] = y * side + x;
        }
    }
}

/* All numbers in the order of the search, or shuffled. */
static uint32_t *order(const struct mesh *mesh, const struct options *options)
{
    uint32_t *number = allocate(mesh->n * sizeof *number);
    uint64_t random = options->seed;

    for (uint32_t i = 0; i < mesh->n; i++)
        number[mesh->queue[i]] = i;
    if (options->pathological)
        for (uint32_t i = mesh->n - 1; i > 0; i--) {
            uint64_t j = random_below(&random, i + 1);
            uint32_t other = number[i];

            number[i] = number[j];
            number[j] = other;
        }
    return number;
}

/* Give every node another number. */
static void renumber(struct mesh *mesh, const uint32_t *number)
{
    struct node *renumbered = allocate(mesh->n * sizeof *renumbered);

    for (uint32_t i = 0; i < mesh->n; i++) {
        renumbered[number[i]].search = 0;
        for (int j = 0; j < NEIGHBOURS; j++)
            renumbered[number[i]].neighbours[j] = number[mesh->nodes[i].neighbours[j]];
    }
    free(mesh->nodes);
    mesh->nodes = renumbered;
    mesh->source = number[mesh->source];
}

static void start(struct mesh *mesh)
{
    mesh->search++;
    mesh->queue[0] = mesh->source;
    mesh->head = 0;
    mesh->tail = 1;
    mesh->nodes[mesh->source].distance = 0;
    mesh->nodes[mesh->source].search = mesh->search;
}

/* Visit the next nodes in the queue, at most so many; return the sum of their distances. */
static uint64_t visit(struct mesh *mesh, uint64_t most)
{
    struct node *nodes = mesh->nodes;
    const uint32_t search = mesh->search, left = mesh->n - mesh->head, end = mesh->head + (left < most ? left : most);
    uint32_t *queue = mesh->queue, tail = mesh->tail;
    uint64_t sum = 0;

    for (uint32_t head = mesh->head; head < end; head++) {
        const struct node *node = nodes + queue[head];
        const uint32_t distance = node->distance;

        for (int j = 0; j < NEIGHBOURS; j++) {
            struct node *other = nodes + node->neighbours[j];
            uint32_t is_new = other->search != search;

            queue[tail] = node->neighbours[j];
            tail += is_new;
            other->distance += (distance + 1 - other->distance) & -is_new;
            other->search = search;
        }
        sum += distance;
    }
    mesh->head = end;
    mesh->tail = tail;
    return sum;
}

void *prepare(const struct options *options)
{
    struct mesh *mesh = allocate(sizeof *mesh);
    uint32_t side = 3, *number;

    while ((side + 1ULL) * (side + 1) * (sizeof *mesh->nodes + sizeof *mesh->queue) <= options->size)
        side++;
    *mesh = (struct mesh){.n = side * side};
    mesh->nodes = allocate(mesh->n * sizeof *mesh->nodes);
    mesh->queue = allocate((mesh->n + 1ULL) * sizeof *mesh->queue);
    link_neighbours(mesh->nodes, side);
    start(mesh);
    visit(mesh, mesh->n);
    number = order(mesh, options);
    renumber(mesh, number);
    free(number);
    start(mesh);
    return mesh;
}

uint64_t execute(void *state, uint64_t operations)
{
    struct mesh *mesh = state;
    uint64_t sum = 0;

    while (operations) {
        uint32_t before = mesh->head;

        sum += visit(mesh, operations);
        operations -= mesh->head - before;
        if (mesh->head == mesh->n)
            start(mesh);
    }
    return sum;
}
