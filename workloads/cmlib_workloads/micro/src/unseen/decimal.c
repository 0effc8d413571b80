/* Interest on accounts, in decimal arithmetic digit by digit (P) or in binary integers (N): balance = balance·1.05 + 100,
 * in hundredths, cut off, modulo 10^16. The same balances in both. One operation is one account's interest. */
#include "../program.h"

#include <string.h>

#define DIGITS 16
#define ACCOUNTS 256
#define MODULUS 10000000000000000ULL

struct bank {
    uint8_t digits[ACCOUNTS][DIGITS]; /* the lowest first */
    uint64_t binary[ACCOUNTS], account;
    int pathological;
};

void *prepare(const struct options *options)
{
    struct bank *bank = allocate(sizeof *bank);
    uint64_t random = options->seed;

    for (int i = 0; i < ACCOUNTS; i++) {
        uint64_t rest = bank->binary[i] = next_random(&random) % 1000000;

        for (int j = 0; j < DIGITS; j++, rest /= 10)
            bank->digits[i][j] = rest % 10;
    }
    bank->account = 0;
    bank->pathological = options->pathological;
    return bank;
}

static __attribute__((noinline)) void add_interest(uint8_t *balance)
{
    uint8_t product[DIGITS + 2];
    unsigned carry = 0;

    for (int i = 0; i < DIGITS; i++) { /* times 105 */
        carry += balance[i] * 105u;
        product[i] = carry % 10;
        carry /= 10;
    }
    product[DIGITS] = carry % 10;
    product[DIGITS + 1] = carry / 10 % 10;
    carry = 0;
    for (int i = 0; i < DIGITS; i++) { /* over 100, plus 100 */
        carry += product[i + 2] + (i == 2);
        balance[i] = carry % 10;
        carry /= 10;
    }
}

uint64_t execute(void *state, uint64_t operations)
{
    struct bank *bank = state;
    uint64_t account = bank->account, sum = 0;

    for (uint64_t i = 0; i < operations; i++, account++) {
        if (bank->pathological) {
            uint8_t *balance = bank->digits[account % ACCOUNTS];

            add_interest(balance);
            sum += balance[0] + 10 * balance[1];
        } else {
            uint64_t *balance = &bank->binary[account % ACCOUNTS];

            *balance = (uint64_t)(((unsigned __int128)*balance * 105 / 100 + 100) % MODULUS);
            sum += *balance % 100;
        }
    }
    bank->account = account;
    return sum;
}
