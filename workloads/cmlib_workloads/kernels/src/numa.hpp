// Memory on one node or spread over all of them.
#ifndef NUMA_HPP
#define NUMA_HPP

#include <sys/mman.h>

#include "kernel.hpp"

inline int numa_nodes() {
    int nodes = 0;
    char path[64];
    for (int node = 0; node < 64; node++) {
        std::snprintf(path, sizeof path, "/sys/devices/system/node/node%d", node);
        nodes += access(path, F_OK) == 0;
    }
    return nodes ? nodes : 1;
}

// Bad: all pages on the node of the thread that fills them, the first. Good: pages in turn on every node.
// SHARING is the share of the memory that is treated so; the rest is in turn in both forms.
inline double *numa_array(long n, const Settings &s) {
    constexpr int INTERLEAVE = 3;
    int nodes = numa_nodes();
    auto bytes = static_cast<size_t>(n) * sizeof(double);
    void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        std::perror("mmap");
        std::exit(1);
    }
    if (nodes < 2)
        std::fprintf(stderr, "one NUMA node: all memory is local, the bad form can't differ from the good one\n");
    unsigned long all = nodes >= 64 ? ~0ul : (1ul << nodes) - 1;
    auto kept = s.bad ? static_cast<size_t>(static_cast<double>(bytes) * s.sharing) / 4096 * 4096 : 0;
    if (nodes > 1 && kept < bytes)
        syscall(SYS_mbind, static_cast<char *>(memory) + kept, bytes - kept, INTERLEAVE, &all, 65ul, 0u);
    auto *values = static_cast<double *>(memory);
    for (long i = 0; i < n; i++)
        values[i] = static_cast<double>(mix(i) % 1000) / 1000 + 0.5;
    return values;
}

#endif
