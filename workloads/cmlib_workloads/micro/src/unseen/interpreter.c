/* An interpreter of byte code in which any instruction may follow any other (P) or a loop of sixteen repeats (N). One
 * operation is one instruction; every kind is as frequent in both programs. */
#include "../program.h"

#define LENGTH (1 << 16)

struct machine {
    uint8_t code[LENGTH];
    uint64_t registers[4], counter;
};

void *prepare(const struct options *options)
{
    struct machine *machine = allocate(sizeof *machine);
    uint64_t random = options->seed;

    for (int i = 0; i < LENGTH; i++)
        machine->code[i] = i % 16;
    if (options->pathological)
        for (int i = LENGTH - 1; i > 0; i--) {
            uint64_t j = random_below(&random, i + 1);
            uint8_t code = machine->code[i];

            machine->code[i] = machine->code[j];
            machine->code[j] = code;
        }
    for (int i = 0; i < 4; i++)
        machine->registers[i] = options->seed + i;
    machine->counter = 0;
    return machine;
}

uint64_t execute(void *state, uint64_t operations)
{
    struct machine *machine = state;
    uint64_t a = machine->registers[0], b = machine->registers[1], c = machine->registers[2], d = machine->registers[3];
    uint64_t counter = machine->counter;

    for (uint64_t i = 0; i < operations; i++) {
        switch (machine->code[counter++ % LENGTH]) {
        case 0: a += b; break;
        case 1: b ^= c; break;
        case 2: c -= d; break;
        case 3: d += 7; break;
        case 4: a = a << 1 | a >> 63; break;
        case 5: b += a; break;
        case 6: c ^= a >> 3; break;
        case 7: d ^= b; break;
        case 8: a -= c; break;
        case 9: b = ~b; break;
        case 10: c += 13; break;
        case 11: d -= a; break;
        case 12: a ^= d << 2; break;
        case 13: b -= 5; break;
        case 14: c = c >> 1 | c << 63; break;
        case 15: d += c; break;
        }
    }
    machine->registers[0] = a, machine->registers[1] = b, machine->registers[2] = c, machine->registers[3] = d;
    machine->counter = counter;
    return a ^ b ^ c ^ d;
}
