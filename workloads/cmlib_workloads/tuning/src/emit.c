/*
 * Makes kernel events beside a program, each kind at a rate of its own: emit EVENT=RATE... [events a second]
 *
 * In bursts of 25 a second, so that its own sleeping and waking are few: 25 system calls and context switches a second,
 * and as many for each thread that it takes for migrations, whatever their rate.
 * Says "ready" once all it needs is there; ends with its parent. It stays on one processor, and preempts nobody.
 * Beside each kind: what else it moves. Every system call is also one of raw_syscalls:sys_enter.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PAUSE_NS 40000000L
#define FAULT_BYTES (1UL << 30)
#define POPULATED_PAGES 1024L
#define WALKERS 2
#define SLEEPERS 32
#define STACKS 32
#define STACK_BYTES 16384

static int zero, null, itself, polled, receiver, sender, looped, listener, home;
static char *page, *guarded, *untouched;
static long page_bytes;
static struct timespec begun;

static void need(int good, const char *what)
{
    if (!good) {
        fprintf(stderr, "emit: %s: %s\n", what, strerror(errno));
        exit(1);
    }
}

static void *mapped(size_t bytes, int protection, int flags, void *at)
{
    void *memory = mmap(at, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);

    need(memory != MAP_FAILED, "mmap");
    return memory;
}

static void sleep_until(struct timespec *next, long later)
{
    next->tv_nsec += later;
    next->tv_sec += next->tv_nsec / 1000000000L;
    next->tv_nsec %= 1000000000L;
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, next, NULL) == EINTR) {
    }
}

static void stay_on(pid_t thread, int processor)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    need(sched_setaffinity(thread, sizeof set, &set) == 0, "sched_setaffinity");
}

/* One system call each, that does as little as the kernel lets it. */

static void make_any(void) { syscall(SYS_getppid); }

static void make_futex(void)
{
    static int nobody_waits;

    syscall(SYS_futex, &nobody_waits, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void make_read(void) { need(read(zero, page, 1) == 1, "read"); }
static void make_write(void) { need(write(null, page, 1) == 1, "write"); }
static void make_openat(void) { syscall(SYS_openat, AT_FDCWD, "/dev/null/none", O_RDONLY); }
static void make_close(void) { syscall(SYS_close, -1); }
static void make_lseek(void) { lseek(itself, 0, SEEK_CUR); }
static void make_mmap(void) { mapped(page_bytes, PROT_READ, MAP_FIXED, untouched); }
static void make_munmap(void) { need(munmap(untouched + 2 * page_bytes, page_bytes) == 0, "munmap"); }
static void make_madvise(void) { madvise(untouched, page_bytes, MADV_NORMAL); }

static void make_mprotect(void)
{
    static int writable;

    writable = !writable;
    need(mprotect(guarded, page_bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ) == 0, "mprotect");
}

static void make_epoll_wait(void)
{
    struct epoll_event event;

    epoll_wait(polled, &event, 1, 0);
}

static void make_sendfile(void)
{
    off_t start = 0;

    need(sendfile(null, itself, &start, 1) == 1, "sendfile");
}

/* A read fault of a page that holds zeros: nothing is allocated, but a page table for every 512; no system call. */
static void make_fault(void)
{
    static size_t at = FAULT_BYTES;
    static volatile char *fresh;

    if (at == FAULT_BYTES) {
        fresh = mapped(FAULT_BYTES, PROT_READ, fresh ? MAP_FIXED : 0, (void *)fresh);
        at = 0;
    }
    (void)fresh[at];
    at += page_bytes;
}

/* Pages filled by the kernel without a fault, a thousand at once, which frees those before: also kmem:mm_page_free;
   one mmap for each thousand. */
static void make_page(void)
{
    static long due;
    static void *before;

    if (++due < POPULATED_PAGES)
        return;
    before = mapped(due * page_bytes, PROT_READ | PROT_WRITE, MAP_POPULATE | (before ? MAP_FIXED : 0), before);
    due = 0;
}

/* A datagram to a socket that takes none: sendto; received at once by a software interrupt, irq:softirq_entry. */
static void make_datagram(void) { need(send(sender, "", 1, 0) == 1, "send"); }

/* A datagram that may not leave this host (TTL 0), to all hosts, of which this is one: it comes back by a software
   interrupt without having been queued for a device, and nobody takes it; sendto. */
static void make_softirq(void) { need(send(looped, "", 1, 0) == 1, "send to a group"); }

/* Two changes of state: a TCP socket that listens, and no longer; listen, shutdown. */
static void make_states(void)
{
    need(listen(listener, 1) == 0, "listen");
    need(shutdown(listener, SHUT_RDWR) == 0, "shutdown");
}

/* A thread that waits for a signal gets it; then it waits again. Two system calls (tgkill, rt_sigtimedwait) and a context
   switch for each. All stay on one processor, where the waking is counted as the waker's; and each thread is woken at
   most once in a burst, since one that isn't asleep again can't be woken. */
static sigset_t signals;
static pid_t process;
static pid_t sleepers[SLEEPERS];

static void *sleep_again(void *ready)
{
    static int n;

    stay_on(0, home);
    sleepers[__atomic_fetch_add(&n, 1, __ATOMIC_SEQ_CST)] = gettid();
    pthread_barrier_wait(ready);
    for (;;)
        sigwaitinfo(&signals, NULL);
    return NULL;
}

static void make_wakeup(void)
{
    static int turn;

    turn = (turn + 1) % SLEEPERS;
    need(syscall(SYS_tgkill, process, sleepers[turn], SIGUSR1) == 0, "tgkill");
}

/* A thread that sleeps is told to go on elsewhere; no context switch or wake-up that it wouldn't have had anyway, 25
   times a second. One system call (sched_setaffinity). At most one for each thread and pause. */
static pid_t walkers[WALKERS];
static int processors[2];

static void *walk(void *ready)
{
    static int n;
    struct timespec next = begun;

    sleep_until(&next, PAUSE_NS / 2); /* halfway between the bursts, so that it is woken once between any two */
    walkers[__atomic_fetch_add(&n, 1, __ATOMIC_SEQ_CST)] = gettid();
    pthread_barrier_wait(ready);
    for (;;)
        sleep_until(&next, PAUSE_NS);
    return NULL;
}

static void make_migration(void)
{
    static int turn, where[WALKERS];

    turn = (turn + 1) % WALKERS;
    where[turn] = !where[turn];
    stay_on(walkers[turn], processors[where[turn]]);
}

/* A thread that ends at once: clone and exit, a context switch, and what starting it takes (no futex, no mapping). */
static int end_at_once(void *nothing) { return nothing != NULL; }

static void make_thread(void)
{
    static int in_use[STACKS], turn;
    static _Alignas(16) char stacks[STACKS][STACK_BYTES];
    const int shared = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;

    turn = (turn + 1) % STACKS;
    while (__atomic_load_n(&in_use[turn], __ATOMIC_ACQUIRE))
        sched_yield();
    in_use[turn] = 1;
    need(clone(end_at_once, stacks[turn] + STACK_BYTES, shared | CLONE_CHILD_CLEARTID, NULL, NULL, NULL,
               &in_use[turn]) > 0,
         "clone");
}

static struct {
    const char *event;
    void (*make)(void);
    int at_once; /* events that it makes */
    double rate, due;
} kinds[] = {
    {"raw_syscalls:sys_enter", make_any, 1, 0, 0},
    {"syscalls:sys_enter_futex", make_futex, 1, 0, 0},
    {"syscalls:sys_enter_read", make_read, 1, 0, 0},
    {"syscalls:sys_enter_write", make_write, 1, 0, 0},
    {"syscalls:sys_enter_openat", make_openat, 1, 0, 0},
    {"syscalls:sys_enter_close", make_close, 1, 0, 0},
    {"syscalls:sys_enter_lseek", make_lseek, 1, 0, 0},
    {"syscalls:sys_enter_mmap", make_mmap, 1, 0, 0},
    {"syscalls:sys_enter_munmap", make_munmap, 1, 0, 0},
    {"syscalls:sys_enter_madvise", make_madvise, 1, 0, 0},
    {"syscalls:sys_enter_mprotect", make_mprotect, 1, 0, 0},
    {"syscalls:sys_enter_epoll_wait", make_epoll_wait, 1, 0, 0},
    {"syscalls:sys_enter_sendfile64", make_sendfile, 1, 0, 0},
    {"page-faults", make_fault, 1, 0, 0},
    {"kmem:mm_page_alloc", make_page, 1, 0, 0},
    {"net:net_dev_queue", make_datagram, 1, 0, 0},
    {"irq:softirq_entry", make_softirq, 1, 0, 0},
    {"sock:inet_sock_set_state", make_states, 2, 0, 0},
    {"sched:sched_wakeup", make_wakeup, 1, 0, 0},
    {"sched:sched_process_fork", make_thread, 1, 0, 0},
    {"cpu-migrations", make_migration, 1, 0, 0},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static int wanted(const char *event)
{
    for (int kind = 0; kind < KINDS; kind++)
        if (!strcmp(kinds[kind].event, event))
            return kinds[kind].rate >= 0;
    return 0;
}

static void read_rate(const char *given)
{
    const char *sign = strchr(given, '=');
    char *end = NULL;

    for (int kind = 0; sign && kind < KINDS; kind++)
        if (strlen(kinds[kind].event) == (size_t)(sign - given) &&
            !strncmp(kinds[kind].event, given, sign - given)) {
            kinds[kind].rate = strtod(sign + 1, &end);
            if (end > sign + 1 && !*end && kinds[kind].rate >= 0 && kinds[kind].rate < 1e7)
                return;
        }
    fprintf(stderr, "emit: %s is not EVENT=RATE, a rate from 0 to 1e7 a second, with EVENT one of", given);
    for (int kind = 0; kind < KINDS; kind++)
        fprintf(stderr, " %s", kinds[kind].event);
    fprintf(stderr, "\n");
    exit(2);
}

static void start(void *(*run)(void *), int threads)
{
    pthread_barrier_t ready;
    pthread_t thread;

    need((errno = pthread_barrier_init(&ready, NULL, threads + 1)) == 0, "pthread_barrier_init");
    for (int number = 0; number < threads; number++)
        need((errno = pthread_create(&thread, NULL, run, &ready)) == 0, "pthread_create");
    pthread_barrier_wait(&ready);
    pthread_barrier_destroy(&ready); /* waits until they have left it */
}

static void open_sockets(void)
{
    struct sockaddr_in local = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sock_filter nothing = {BPF_RET | BPF_K, 0, 0, 0};
    struct sock_fprog filter = {1, &nothing};
    socklen_t length = sizeof local;

    need((receiver = socket(AF_INET, SOCK_DGRAM, 0)) >= 0, "socket");
    need(setsockopt(receiver, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter) == 0, "SO_ATTACH_FILTER");
    need(bind(receiver, (struct sockaddr *)&local, sizeof local) == 0, "bind");
    need(getsockname(receiver, (struct sockaddr *)&local, &length) == 0, "getsockname");
    need((sender = socket(AF_INET, SOCK_DGRAM, 0)) >= 0, "socket");
    need(connect(sender, (struct sockaddr *)&local, sizeof local) == 0, "connect");
    local.sin_port = 0;
    need((listener = socket(AF_INET, SOCK_STREAM, 0)) >= 0, "socket");
    need(bind(listener, (struct sockaddr *)&local, sizeof local) == 0, "bind");
}

/* The loopback device won't do: what it sends is queued there. */
static int network_device(void)
{
    const unsigned good = IFF_UP | IFF_MULTICAST;
    struct ifaddrs *first_address;
    int found = 0;

    need(getifaddrs(&first_address) == 0, "getifaddrs");
    for (struct ifaddrs *one = first_address; one && !found; one = one->ifa_next)
        if (one->ifa_addr && one->ifa_addr->sa_family == AF_INET && !(one->ifa_flags & IFF_LOOPBACK) &&
            (one->ifa_flags & good) == good)
            found = if_nametoindex(one->ifa_name);
    freeifaddrs(first_address);
    return found;
}

static void open_group(void)
{
    struct sockaddr_in group = {.sin_family = AF_INET, .sin_port = htons(9)};
    struct ip_mreqn through = {.imr_ifindex = network_device()};
    int ttl = 0;

    if (!through.imr_ifindex) {
        fprintf(stderr, "emit: irq:softirq_entry needs a network device, besides loopback, that is up\n");
        exit(1);
    }
    group.sin_addr.s_addr = htonl(INADDR_ALLHOSTS_GROUP);
    need((looped = socket(AF_INET, SOCK_DGRAM, 0)) >= 0, "socket");
    need(setsockopt(looped, IPPROTO_IP, IP_MULTICAST_TTL, &ttl, sizeof ttl) == 0, "IP_MULTICAST_TTL");
    need(setsockopt(looped, IPPROTO_IP, IP_MULTICAST_IF, &through, sizeof through) == 0, "IP_MULTICAST_IF");
    need(connect(looped, (struct sockaddr *)&group, sizeof group) == 0, "connect to all hosts");
}

static void find_processors(void)
{
    cpu_set_t allowed;
    int found = 0;

    home = sched_getcpu();
    need(sched_getaffinity(0, sizeof allowed, &allowed) == 0, "sched_getaffinity");
    for (int processor = 0; processor < CPU_SETSIZE && found < 2; processor++)
        if (CPU_ISSET(processor, &allowed))
            processors[found++] = processor;
    if (found < 2 && wanted("cpu-migrations")) {
        fprintf(stderr, "emit: cpu-migrations need two processors\n");
        exit(1);
    }
}

static void prepare(void)
{
    struct sched_param none = {0};

    need(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0, "prctl");
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    page_bytes = sysconf(_SC_PAGESIZE);
    page = mapped(page_bytes, PROT_READ | PROT_WRITE, 0, NULL);
    *page = 1;
    guarded = mapped(3 * page_bytes, PROT_NONE, 0, NULL);
    guarded += page_bytes; /* its neighbours stay what they are: it is never joined with them */
    untouched = mapped(3 * page_bytes, PROT_READ, 0, NULL);
    munmap(untouched + page_bytes, 2 * page_bytes);
    need((zero = open("/dev/zero", O_RDONLY)) >= 0 && (null = open("/dev/null", O_WRONLY)) >= 0, "/dev");
    need((itself = open("/proc/self/exe", O_RDONLY)) >= 0, "/proc/self/exe");
    need((polled = epoll_create1(0)) >= 0, "epoll_create1");
    open_sockets();
    if (wanted("irq:softirq_entry"))
        open_group();
    find_processors();
    process = getpid();
    need(sched_setscheduler(0, SCHED_BATCH, &none) == 0, "SCHED_BATCH");
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    if (wanted("cpu-migrations")) {
        start(walk, WALKERS);
        for (int walker = 0; walker < WALKERS; walker++)
            stay_on(walkers[walker], processors[0]);
    }
    if (wanted("sched:sched_wakeup"))
        start(sleep_again, SLEEPERS);
    stay_on(0, home);
}

int main(int argc, char **argv)
{
    struct timespec next, now, last;

    clock_gettime(CLOCK_MONOTONIC, &begun);
    for (int kind = 0; kind < KINDS; kind++)
        kinds[kind].rate = -1;
    for (int number = 1; number < argc; number++)
        read_rate(argv[number]);
    prepare();
    puts("ready");
    fflush(stdout);
    next = begun;
    for (last = next;; last = now) {
        sleep_until(&next, PAUSE_NS);
        clock_gettime(CLOCK_MONOTONIC, &now);
        double seconds = now.tv_sec - last.tv_sec + 1e-9 * (now.tv_nsec - last.tv_nsec);

        for (int kind = 0; kind < KINDS; kind++) {
            if (kinds[kind].rate <= 0)
                continue;
            for (kinds[kind].due += kinds[kind].rate * seconds; kinds[kind].due >= kinds[kind].at_once;
                 kinds[kind].due -= kinds[kind].at_once)
                kinds[kind].make();
        }
    }
}
