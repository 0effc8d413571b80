// Which chunks were seen before (the pattern of PARSEC dedup's ht_lock): threads look fingerprints up in one table and
// count them, each bucket under its lock. Bad: the choice of lock sends many buckets to the same one (true sharing).
#include "locked_table.hpp"

struct Entry {
    uint64_t fingerprint = 0;
    uint64_t seen = 0;
};

static int64_t deduplicate(const std::vector<uint64_t> &chunks, const Settings &s) {
    uint64_t n_buckets = 1;
    while (n_buckets < static_cast<uint64_t>(s.size) / 4)
        n_buckets *= 2;
    std::vector<std::vector<Entry>> table(n_buckets);
    for (auto &bucket : table)
        bucket.reserve(4);
    BucketLocks locks(s);
    CMLIB_REGION_BEGIN("sub_Deduplicate");
    parallel(s.threads, [&](int t) {
        for (long i = first_of(t, s.size, s); i < first_of(t + 1, s.size, s); i++) {
            uint64_t fingerprint = mix(mix(chunks[i])), place = fingerprint & (n_buckets - 1);
            std::lock_guard<std::mutex> guard(locks.of(place));
            Entry *found = nullptr;
            for (Entry &entry : table[place])
                if (entry.fingerprint == fingerprint)
                    found = &entry;
            if (!found)
                found = &table[place].emplace_back(Entry{fingerprint, 0});
            found->seen++;
        }
    });
    CMLIB_REGION_END("sub_Deduplicate");
    int64_t sum = 0;
    for (auto &bucket : table)
        for (Entry &entry : bucket)
            sum += static_cast<int64_t>(entry.seen * entry.seen + 1);
    return sum;
}

int main(int argc, char **argv) {
    Settings s = settings(argc, argv);
    auto chunks = numbers<uint64_t>(s.size, 11, static_cast<uint64_t>(s.size) / 4);
    return repeat(s, [&](int) { return deduplicate(chunks, s); });
}
