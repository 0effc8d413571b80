/* canneal's case: a netlist is loaded, and then elements are swapped.
 *
 * In the pathological form the loader looks every element that a line names up by its name in a map, and makes it if it
 * isn't there, and the swaps take any two elements. In the healthy form a line names its elements by number, they lie in
 * an array, and swaps take neighbours. One operation is one line of the netlist, or one swap. The size is that of the
 * elements and the map; the text comes on top.
 */
#define _GNU_SOURCE
#include "../program.h"

#include <search.h>
#include <stdio.h>
#include <string.h>

#define NETS 4
#define NAME 12
#define BYTES_AN_ELEMENT 128 /* with its node in the map */

struct element {
    char name[NAME];
    int32_t x, y;
    struct element *nets[NETS];
};

struct netlist {
    char (*text)[NETS + 1][NAME]; /* a line: an element, and those it is connected with */
    struct element *elements;
    struct element **placed;
    void *map;
    uint64_t n, lines_read, n_placed, random, place;
    int pathological;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct element *)a)->name, ((const struct element *)b)->name);
}

static struct element *place(struct netlist *netlist, struct element *element, const char *name)
{
    memcpy(element->name, name, NAME);
    element->x = (int32_t)(netlist->n_placed % 1000);
    element->y = (int32_t)(netlist->n_placed / 1000);
    netlist->placed[netlist->n_placed++] = element;
    return element;
}

static struct element *create_if_necessary(struct netlist *netlist, const char *name)
{
    struct element wanted, **found, *element;

    memcpy(wanted.name, name, NAME);
    found = tfind(&wanted, &netlist->map, by_name);
    if (found)
        return *found;
    element = place(netlist, calloc(1, sizeof *element), name);
    if (!tsearch(element, &netlist->map, by_name)) {
        fputs("no memory for the map\n", stderr);
        exit(2);
    }
    return element;
}

static struct element *by_number(struct netlist *netlist, const char *name)
{
    struct element *element = netlist->elements + strtoul(name + 1, NULL, 36);

    return element->name[0] ? element : place(netlist, element, name);
}

void *prepare(const struct options *options)
{
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    struct netlist *netlist = allocate(sizeof *netlist);
    uint64_t n = options->size / BYTES_AN_ELEMENT;

    *netlist = (struct netlist){.n = n, .random = options->seed, .pathological = options->pathological};
    netlist->text = allocate(n * sizeof *netlist->text);
    netlist->placed = allocate(n * sizeof *netlist->placed);
    netlist->elements = allocate(n * sizeof *netlist->elements);
    memset(netlist->elements, 0, n * sizeof *netlist->elements);
    for (uint64_t i = 0; i < n; i++)
        for (int j = 0; j <= NETS; j++) {
            uint64_t anywhere = random_below(&netlist->random, n), near = i + j < n ? i + j : i + j - n;
            uint64_t number = j && options->pathological ? anywhere : near;
            char *name = netlist->text[i][j];

            name[0] = 'e';
            for (int k = NAME - 2; k > 0; k--, number /= 36)
                name[k] = digits[number % 36];
            name[NAME - 1] = 0;
        }
    return netlist;
}

static uint64_t read_line(struct netlist *netlist)
{
    char(*line)[NAME] = netlist->text[netlist->lines_read++];
    struct element *(*find)(struct netlist *, const char *) = netlist->pathological ? create_if_necessary : by_number;
    struct element *element = find(netlist, line[0]);

    for (int i = 0; i < NETS; i++)
        element->nets[i] = find(netlist, line[i + 1]);
    return netlist->lines_read;
}

static int32_t wire_length(const struct element *element)
{
    int32_t length = 0;

    for (int i = 0; i < NETS; i++)
        length += abs(element->x - element->nets[i]->x) + abs(element->y - element->nets[i]->y);
    return length;
}

static uint64_t swap(struct netlist *netlist)
{
    uint64_t anywhere = random_below(&netlist->random, netlist->n), other = random_below(&netlist->random, netlist->n);
    uint64_t next = netlist->place + 1 < netlist->n ? netlist->place + 1 : 0;
    struct element *a = netlist->placed[netlist->pathological ? anywhere : netlist->place];
    struct element *b = netlist->placed[netlist->pathological ? other : next];
    int32_t before = wire_length(a) + wire_length(b), x = a->x, y = a->y;

    netlist->place = next;
    a->x = b->x, a->y = b->y;
    b->x = x, b->y = y;
    if (wire_length(a) + wire_length(b) > before) {
        b->x = a->x, b->y = a->y;
        a->x = x, a->y = y;
        return 0;
    }
    return 1;
}

uint64_t execute(void *state, uint64_t operations)
{
    struct netlist *netlist = state;
    uint64_t sum = 0;

    for (; operations && netlist->lines_read < netlist->n; operations--)
        if (read_line(netlist) == netlist->n)
            begin_phase("swap");
    for (; operations; operations--)
        sum += swap(netlist);
    return sum;
}
