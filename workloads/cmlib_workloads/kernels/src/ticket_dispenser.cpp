// Work handed out by tickets (the pattern of PARSEC bodytrack's TicketDispenser): every item takes the next number.
// Bad: all threads take numbers from one dispenser (true sharing). Good: each has its own, for its part of the items.
// SHARING is the share of items that are handed out by the one dispenser.
#include "kernel.hpp"

struct alignas(128) Dispenser {
    Word value{0};
    int64_t end = 0;
    // The next ticket, or -1 when there are no more.
    int64_t get_ticket() {
        int64_t ticket = value.fetch_add(1, std::memory_order_relaxed);
        return ticket < end ? ticket : -1;
    }
};

static int64_t body(int64_t item) {
    uint64_t x = static_cast<uint64_t>(item);
    for (int i = 0; i < 4; i++)
        x = mix(x);
    return static_cast<int64_t>(x & 1023);
}

static int64_t run_tickets(const Settings &s) {
    long shared_items = s.size * s.shared_of_1024() / 1024;
    std::vector<Dispenser> common(s.bad ? 1 : s.threads), own(s.threads);
    for (size_t d = 0; d < common.size(); d++) {
        common[d].value = s.bad ? 0 : first_of(static_cast<int>(d), shared_items, s);
        common[d].end = s.bad ? shared_items : first_of(static_cast<int>(d) + 1, shared_items, s);
    }
    for (int t = 0; t < s.threads; t++) {
        own[t].value = shared_items + first_of(t, s.size - shared_items, s);
        own[t].end = shared_items + first_of(t + 1, s.size - shared_items, s);
    }
    Slots sums(good_form(s));
    CMLIB_REGION_BEGIN("getTicket");
    parallel(s.threads, [&](int t) {
        Dispenser &first = common[s.bad ? 0 : t], &second = own[t];
        bool more_first = true, more_second = true;
        for (long i = 0; more_first || more_second; i++) {
            bool take_first = more_first && (!more_second || (i & 1023) < s.shared_of_1024());
            int64_t item = (take_first ? first : second).get_ticket();
            if (item < 0)
                (take_first ? more_first : more_second) = false;
            else
                add(*sums.at(t, i), body(item));
        }
    });
    CMLIB_REGION_END("getTicket");
    return sums.total();
}

int main(int argc, char **argv) {
    Settings s = settings(argc, argv);
    return repeat(s, [&](int) { return run_tickets(s); });
}
