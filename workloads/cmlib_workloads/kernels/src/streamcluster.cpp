// Distances of points to a centre (the pattern of PARSEC's streamcluster): threads read the coordinates of `block`.
// Bad: the block lies on one NUMA node. Good: interleaved over all.
#include "numa.hpp"
#include <cmath>

constexpr int DIMENSIONS = 32;

static int64_t pgain(const double *block, long centre, std::vector<double> &distances, const Settings &s) {
    long points = s.size;
    CMLIB_REGION_BEGIN("pgain");
    parallel(s.threads, [&](int t) {
        for (long i = first_of(t, points, s); i < first_of(t + 1, points, s); i++) {
            double distance = 0;
            for (int d = 0; d < DIMENSIONS; d++) {
                double step = block[i * DIMENSIONS + d] - block[centre * DIMENSIONS + d];
                distance += step * step;
            }
            distances[i] = distance;
        }
    });
    CMLIB_REGION_END("pgain");
    int64_t sum = 0;
    for (double distance : distances)
        sum += std::llround(distance * 1e6);
    return sum;
}

int main(int argc, char **argv) {
    Settings s = settings(argc, argv);
    const double *block = numa_array(s.size * DIMENSIONS, s);
    std::vector<double> distances(s.size);
    return repeat(s, [&](int i) { return pgain(block, mix(i) % s.size, distances, s); });
}
