// An item cache in memory (memcached's case, from 1.4.4 to 1.4.10, without its network): threads serve nine gets to
// one set. A set takes an item from the free list and touches the list of recent use, as do_item_alloc does. Bad: one
// `cache_lock` guards them for all (true sharing). Good: locks are striped over the buckets.
#include "locked_table.hpp"

struct Item {
    uint64_t key = 0, value = 0, used = 0;
};
struct alignas(128) Lists {
    uint64_t free = 0, recent = 0;
};

static uint64_t value_of(uint64_t key) { return mix(key) & 0xffff; }

static int64_t serve(std::vector<Item> &items, const std::vector<uint32_t> &keys, const Settings &s) {
    BucketLocks locks(s);
    std::vector<Lists> lists(BucketLocks::LOCKS);
    Slots sums(good_form(s));
    CMLIB_REGION_BEGIN("do_item_alloc");
    parallel(s.threads, [&](int t) {
        for (long i = first_of(t, s.size, s); i < first_of(t + 1, s.size, s); i++) {
            uint64_t key = keys[i];
            Item &item = items[key];
            std::lock_guard<std::mutex> guard(locks.of(key));
            Lists &own = lists[key % BucketLocks::LOCKS];
            if (mix(i) % 10 == 0) {
                own.free++;
                own.recent = key;
                item.value = value_of(key);
            }
            item.used++;
            add(*sums.at(t, i), static_cast<int64_t>(item.value));
        }
    });
    CMLIB_REGION_END("do_item_alloc");
    return sums.total();
}

int main(int argc, char **argv) {
    Settings s = settings(argc, argv);
    std::vector<Item> items(1 << 14);
    for (uint64_t key = 0; key < items.size(); key++)
        items[key] = {key, value_of(key), 0};
    std::vector<uint32_t> keys(s.size);
    for (long i = 0; i < s.size; i++) { // small keys more often, about as Zipf has it
        uint64_t draw = mix(1000 + i);
        keys[i] = static_cast<uint32_t>((draw >> 32) % (1 + (draw & (items.size() - 1))));
    }
    return repeat(s, [&](int) { return serve(items, keys, s); });
}
