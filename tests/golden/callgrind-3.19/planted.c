#include <stdlib.h>
#include "mix.h"
static volatile long table[1 << 16];
__attribute__((noinline)) long sum(long n) {
    long s = 0;
    for (long i = 0; i < n; i++) s = mix(s, table[i & 0xffff]);
    return s;
}
__attribute__((noinline)) void fill(long n) {
    for (long i = 0; i < n; i++) table[(i * 64) & 0xffff] = i;
}
__attribute__((noinline)) long both(long n) { fill(n); return sum(n); }
int main(int argc, char **argv) {
    long n = argc > 1 ? atol(argv[1]) : 100000;
    return both(n) + both(n) == 1;
}
