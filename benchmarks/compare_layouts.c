/* Ten programs for compare_layouts.py, each of about 50 ms on a processor of today: -D with the name of one. */
#include <stdlib.h>
#include <string.h>
#include <stdint.h>
#ifndef WORK
#define WORK 1000
#endif
#ifndef NOPS
#define NOPS 0
#endif
#define APART __attribute__((noinline))
#define TEXT(x) #x
#define NOPS_OF(n) __asm__ volatile(".rept " TEXT(n) "\n nop\n .endr")
APART void never_called(void) { NOPS_OF(NOPS); }
static uint32_t state = 1;
APART static uint32_t next(void) { return state = state * 1664525u + 1013904223u; }
#if defined queens_
#define TURNS 12000L
APART static int place(int n, unsigned columns, unsigned left, unsigned right) {
    unsigned all = (1u << n) - 1, free = all & ~(columns | left | right); int found = 0;
    if (columns == all) return 1;
    while (free) { unsigned bit = free & -free; free ^= bit;
        found += place(n, columns | bit, (left | bit) << 1, (right | bit) >> 1); }
    return found;
}
APART long work(long turn) { return place(7 + (turn & 1), 0, 0, 0); }
#elif defined interpreter_
#define TURNS 1600L
static unsigned char code[256];
APART static long execute(long steps) {
    long a = 1, b = 2; unsigned at = 0;
    while (steps--) switch (code[at++ & 255]) {
        case 0: a += b; break; case 1: a -= 3; break; case 2: b ^= a; break; case 3: b += 7; break;
        case 4: a = a * 5 + 1; break; case 5: b = a >> 3; break; case 6: if (a & 1) at += 3; break;
        case 7: a |= 1; break; case 8: b -= a & 15; break; default: a ^= steps; }
    return a + b;
}
APART long work(long turn) { if (!turn) for (int i = 0; i < 256; i++) code[i] = next() >> 28; return execute(20000); }
#elif defined tokens_
#define TURNS 2400L
static char text[8192];
APART static int is_word(int c) { return (c >= 'a' && c <= 'z') || c == '_'; }
APART static long scan(const char *p) {
    long n = 0;
    while (*p) switch (*p) {
        case ' ': case '\n': p++; break;
        case '0': case '1': case '2': case '3': case '4': case '5': n += 2; while (*p >= '0' && *p <= '9') p++; break;
        case '"': p++; while (*p && *p != '"') p++; if (*p) p++; n += 3; break;
        case '(': n++; p++; break; case ')': n--; p++; break; case '+': case '-': n += 5; p++; break;
        default: if (is_word(*p)) { while (is_word(*p)) p++; n++; } else p++; }
    return n;
}
APART long work(long turn) {
    if (!turn) for (int i = 0; i < 8191; i++) text[i] = "abcdefgh  ()+-0123\"\nxyz_ab"[(next() >> 16) % 26];
    return scan(text);
}
#elif defined sort_
#define TURNS 200L
static int numbers[4500];
APART static void sort(int *a, long low, long high) {
    while (low < high) { long i = low, j = high; int pivot = a[(low + high) / 2];
        while (i <= j) { while (a[i] < pivot) i++; while (a[j] > pivot) j--;
            if (i <= j) { int t = a[i]; a[i++] = a[j]; a[j--] = t; } }
        sort(a, low, j); low = i; }
}
APART long work(long turn) { for (int i = 0; i < 4500; i++) numbers[i] = next() >> 8; sort(numbers, 0, 4499); return numbers[9]; }
#elif defined hash_
#define TURNS 320L
static uint32_t keys[1 << 15], values[1 << 15];
APART static uint32_t mix(uint32_t x) { x ^= x >> 16; x *= 0x7feb352d; x ^= x >> 15; return x * 0x846ca68b; }
APART static uint32_t *look(uint32_t key) {
    uint32_t at = mix(key) >> 17;
    while (keys[at] && keys[at] != key) at = (at + 1) & 32767;
    keys[at] = key; return &values[at];
}
APART long work(long turn) { long sum = 0; for (int i = 0; i < 30000; i++) sum += ++*look((next() >> 19) + 1); return sum; }
#elif defined tree_
#define TURNS 400L
struct node { int key; struct node *child[2]; };
static struct node nodes[20000]; static int used;
APART static struct node *insert(struct node *root, int key) {
    struct node **at = &root;
    while (*at && (*at)->key != key) at = &(*at)->child[key > (*at)->key];
    if (!*at) { *at = &nodes[used++]; (*at)->key = key; (*at)->child[0] = (*at)->child[1] = 0; }
    return root;
}
APART static long depth(struct node *n) { if (!n) return 0; long a = depth(n->child[0]), b = depth(n->child[1]); return 1 + (a > b ? a : b); }
APART long work(long turn) { struct node *root = 0; used = 0; for (int i = 0; i < 2500; i++) root = insert(root, next() >> 12); return depth(root); }
#elif defined crc_
#define TURNS 300L
static uint32_t table[256]; static unsigned char bytes[65536];
APART static uint32_t crc(const unsigned char *p, long n) { uint32_t c = ~0u; while (n--) c = table[(c ^ *p++) & 255] ^ (c >> 8); return ~c; }
APART static void fill(void) { for (uint32_t i = 0; i < 256; i++) { uint32_t c = i; for (int k = 0; k < 8; k++) c = c & 1 ? 0xedb88320u ^ (c >> 1) : c >> 1; table[i] = c; }
    for (int i = 0; i < 65536; i++) bytes[i] = next() >> 24; }
APART long work(long turn) { if (!turn) fill(); return crc(bytes, 65536); }
#elif defined life_
#define TURNS 900L
static unsigned char field[2][130][130];
APART static void step(unsigned char (*from)[130], unsigned char (*to)[130]) {
    for (int y = 1; y < 129; y++) for (int x = 1; x < 129; x++) {
        int n = from[y-1][x-1] + from[y-1][x] + from[y-1][x+1] + from[y][x-1] + from[y][x+1] + from[y+1][x-1] + from[y+1][x] + from[y+1][x+1];
        if (n == 3) to[y][x] = 1; else if (n != 2) to[y][x] = 0; else to[y][x] = from[y][x]; }
}
APART long work(long turn) {
    if (!(turn % 100)) for (int y = 1; y < 129; y++) for (int x = 1; x < 129; x++) field[0][y][x] = next() >> 31;
    step(field[turn & 1], field[~turn & 1]); return field[0][60][60];
}
#elif defined matches_
#define TURNS 280L
static unsigned char text[32768]; static int heads[4096];
APART static long length(const unsigned char *a, const unsigned char *b, const unsigned char *end) { long n = 0; while (b < end && *a == *b) a++, b++, n++; return n; }
APART static long pack(void) {
    long saved = 0; memset(heads, 0, sizeof heads);
    for (long i = 1; i < 32760; i++) { unsigned h = (text[i] * 33u ^ text[i+1] * 7u ^ text[i+2]) & 4095;
        long n = heads[h] ? length(text + heads[h], text + i, text + 32768) : 0; heads[h] = i;
        if (n > 3) { saved += n - 3; i += n - 1; } }
    return saved;
}
APART long work(long turn) { if (!turn) for (int i = 0; i < 32768; i++) text[i] = "aabacdeb"[next() >> 29]; return pack(); }
#elif defined distance_
#define TURNS 400L
static char one[300], other[300];
APART static int least(int a, int b, int c) { int m = a < b ? a : b; return m < c ? m : c; }
APART static int distance(int n) {
    static int row[301]; for (int j = 0; j <= n; j++) row[j] = j;
    for (int i = 1; i <= n; i++) { int diagonal = row[0]; row[0] = i;
        for (int j = 1; j <= n; j++) { int cost = diagonal + (one[i-1] != other[j-1]); diagonal = row[j]; row[j] = least(cost, row[j] + 1, row[j-1] + 1); } }
    return row[n];
}
APART long work(long turn) { for (int i = 0; i < 300; i++) one[i] = next() >> 30, other[i] = next() >> 30; return distance(300); }
#endif
int main(int count, char **words) {
    long sum = 0;
    if (count > 5) never_called();
    for (long turn = 0; turn < TURNS * WORK / 1000; turn++) sum += work(turn);
    return sum == 42;
}
