/* Counts hardware events between two points of a C or C++ program, once for each time they are passed.
 *
 *     #include "cmlib_region.h"
 *     CMLIB_REGION_BEGIN("calc_hist");           C++: { cmlib::Region region("calc_hist"); ... }
 *     ...
 *     CMLIB_REGION_END("calc_hist");
 *
 * Environment
 *   CMLIB_REGIONS  file to append to; without it the regions do nothing at all.
 *   CMLIB_EVENTS   NAME=CONFIG,NAME=CONFIG,...: CONFIG is the raw number the processor's manual gives (0x443), or
 *                  TYPE:CONFIG with a perf_event_open type (1:2 = software, page faults; 2:ID = tracepoint).
 *                  As many as the machine has good counters, less one: instructions are always counted with them.
 *
 * What is counted
 *   User space only, in one pinned group led by `instructions`, so that all counts are of the same moments.
 *   Software events and tracepoints happen in the kernel, a context switch always, and so are counted there too
 *   where that is permitted (root, or kernel.perf_event_paranoid at 1 or less); elsewhere only page faults are left.
 *   Each thread that begins a region opens its own group (perf_event_open on itself) with `inherit` set: it
 *   counts that thread and every thread it starts afterwards. Around a parallel section, in the thread that
 *   starts the workers, a sample is therefore the sum over the workers; inside a worker it is the worker alone.
 *   Do not do both in one program: a worker would need two groups at once and the pinned one would fail.
 *   Threads that run before the first BEGIN aren't counted: call cmlib_region_start() at the top of main then.
 *   cmlib_region_threads(n) says how many threads the samples from here on are sums of, cmlib_region_work(n) how
 *   much work each of them does, in units of your own (items, requests): what counts are divided by where there
 *   are no instructions to divide them by. Unsaid, an invocation is one unit.
 *
 * Output: CSV, a row each time a region ends: function, location, thread, threads, work, seconds, running (share
 * of the time the group was on counters; below 1 the row is worthless), instructions, the events. A field is
 * empty where nothing was counted. No PMU or no permission: the program runs on, rows have empty counts, and
 * one line on stderr says so.
 *
 * Linux only; needs the GNU dialect (the default of cc and c++) and -pthread.
 */
#ifndef CMLIB_REGION_H
#define CMLIB_REGION_H

#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CMLIB_SHARED_DEFINITION __attribute__((weak)) /* one copy, however many files include this */
#define CMLIB_MAX_EVENTS 17
#define CMLIB_MAX_DEPTH 16
#define CMLIB_REGION_BEGIN(id) cmlib_region_begin((id), __FILE__, __LINE__)
#define CMLIB_REGION_END(id) cmlib_region_end(id)

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    char name[64];
    uint32_t type;
    uint64_t config;
} cmlib_event;

typedef struct {
    pthread_once_t once;
    pthread_mutex_t lock;
    pthread_key_t at_thread_exit;
    FILE *out; /* NULL: regions do nothing */
    int warned;
    int threads;
    uint64_t work;
    int n_events;
    cmlib_event events[CMLIB_MAX_EVENTS];
} cmlib_process;

typedef struct {
    const char *id, *file;
    int line;
    struct timespec time;
    uint64_t enabled, running, counts[CMLIB_MAX_EVENTS];
    int counted;
} cmlib_frame;

typedef struct {
    int opened, leader, n_open, depth;
    int fd[CMLIB_MAX_EVENTS];   /* -1: not counted */
    int slot[CMLIB_MAX_EVENTS]; /* place in the group's reading */
    cmlib_frame frames[CMLIB_MAX_DEPTH];
} cmlib_thread;

CMLIB_SHARED_DEFINITION cmlib_process cmlib_the_process = {
    PTHREAD_ONCE_INIT, PTHREAD_MUTEX_INITIALIZER, 0, NULL, 0, 1, 1, 0, {{"", 0, 0}}};
CMLIB_SHARED_DEFINITION __thread cmlib_thread cmlib_the_thread;

CMLIB_SHARED_DEFINITION void cmlib_warn_once(const char *what, const char *detail) {
    pthread_mutex_lock(&cmlib_the_process.lock);
    if (!cmlib_the_process.warned++)
        fprintf(stderr, "cmlib_region: %s (%s)\n", what, detail);
    pthread_mutex_unlock(&cmlib_the_process.lock);
}

CMLIB_SHARED_DEFINITION const char *cmlib_reason(int error) {
    switch (error) {
    case EACCES:
    case EPERM:
        return "no permission: sysctl kernel.perf_event_paranoid must be 2 or less";
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
        return "this machine has no such counter; `perf stat -e instructions true` tells whether it has any";
    case EINVAL:
        return "the kernel refuses this event or so many of them in one group";
    default:
        return strerror(error);
    }
}

CMLIB_SHARED_DEFINITION void cmlib_close_thread(void *thread) {
    cmlib_thread *own = (cmlib_thread *)thread;
    for (int i = 0; i < cmlib_the_process.n_events; i++)
        if (own->fd[i] >= 0)
            close(own->fd[i]);
}

/* Where the number at the beginning of `text` ends; NULL if there is none. */
CMLIB_SHARED_DEFINITION const char *cmlib_read_number(const char *text, uint64_t *number) {
    char *end;
    errno = 0;
    *number = strtoull(text, &end, 0);
    return *text >= '0' && *text <= '9' && !errno ? end : NULL;
}

CMLIB_SHARED_DEFINITION void cmlib_parse_events(const char *text) {
    cmlib_process *process = &cmlib_the_process;
    cmlib_event instructions = {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS};
    process->events[process->n_events++] = instructions;
    while (text && *text) {
        size_t length = strcspn(text, ",");
        const char *equals = (const char *)memchr(text, '=', length);
        uint64_t type = PERF_TYPE_RAW, config = 0;
        const char *end = equals ? cmlib_read_number(equals + 1, &config) : NULL;
        if (end && *end == ':') {
            type = config;
            end = cmlib_read_number(end + 1, &config);
        }
        if (end != text + length || equals - text >= 64 || process->n_events == CMLIB_MAX_EVENTS) {
            cmlib_warn_once("CMLIB_EVENTS must be up to 16 of NAME=CONFIG; the rest isn't counted, from", text);
            return;
        }
        cmlib_event *event = &process->events[process->n_events++];
        memcpy(event->name, text, (size_t)(equals - text));
        event->name[equals - text] = 0;
        event->type = (uint32_t)type;
        event->config = config;
        text += length + (text[length] == ',');
    }
}

CMLIB_SHARED_DEFINITION void cmlib_open_output(void) {
    cmlib_process *process = &cmlib_the_process;
    const char *path = getenv("CMLIB_REGIONS");
    if (!path || !*path)
        return;
    pthread_key_create(&process->at_thread_exit, cmlib_close_thread);
    process->out = fopen(path, "a");
    if (!process->out) {
        cmlib_warn_once("nothing is written: CMLIB_REGIONS can't be opened", strerror(errno));
        return;
    }
    setvbuf(process->out, NULL, _IOLBF, 1 << 14);
    cmlib_parse_events(getenv("CMLIB_EVENTS"));
    fprintf(process->out, "function,location,thread,threads,work,seconds,running");
    for (int i = 0; i < process->n_events; i++)
        fprintf(process->out, ",%s", process->events[i].name);
    fputc('\n', process->out);
}

/* Opens an event on the calling thread: in user space, what happens in the kernel there as well where permitted. */
CMLIB_SHARED_DEFINITION int cmlib_open_event(const cmlib_event *event, int leader) {
    struct perf_event_attr attr;
    int fd = -1;
    memset(&attr, 0, sizeof attr);
    attr.size = sizeof attr;
    attr.type = event->type;
    attr.config = event->config;
    attr.inherit = 1;
    attr.exclude_hv = 1;
    attr.pinned = leader < 0;
    attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    if (event->type == PERF_TYPE_SOFTWARE || event->type == PERF_TYPE_TRACEPOINT)
        fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, leader, PERF_FLAG_FD_CLOEXEC);
    attr.exclude_kernel = 1;
    return fd >= 0 ? fd : (int)syscall(SYS_perf_event_open, &attr, 0, -1, leader, PERF_FLAG_FD_CLOEXEC);
}

/* Opens the calling thread's group; events that can't be counted keep fd -1. */
CMLIB_SHARED_DEFINITION void cmlib_open_thread(void) {
    cmlib_process *process = &cmlib_the_process;
    cmlib_thread *own = &cmlib_the_thread;
    int error = 0;
    own->opened = 1;
    own->leader = -1;
    for (int i = 0; i < process->n_events; i++) {
        own->fd[i] = cmlib_open_event(&process->events[i], own->leader);
        if (own->fd[i] < 0) {
            error = errno;
            continue;
        }
        if (own->leader < 0)
            own->leader = own->fd[i];
        own->slot[i] = own->n_open++;
    }
    pthread_setspecific(process->at_thread_exit, own);
    if (!own->n_open)
        cmlib_warn_once("nothing was counted", cmlib_reason(error));
    else if (own->fd[0] < 0)
        cmlib_warn_once("instructions were not counted, so nothing can be compared", cmlib_reason(error));
    else if (error)
        cmlib_warn_once("some events were not counted", cmlib_reason(error));
}

CMLIB_SHARED_DEFINITION void cmlib_read(cmlib_frame *frame) {
    cmlib_thread *own = &cmlib_the_thread;
    uint64_t reading[3 + CMLIB_MAX_EVENTS]; /* number of events, ns enabled, ns running, counts */
    ssize_t expected = (ssize_t)(sizeof(uint64_t) * (size_t)(3 + own->n_open));
    frame->counted = own->n_open && read(own->leader, reading, sizeof reading) == expected;
    if (own->n_open && !frame->counted)
        cmlib_warn_once("the events don't fit on the counters at once, nothing was counted",
                        "give fewer in CMLIB_EVENTS, and let no other perf run");
    if (!frame->counted)
        return;
    frame->enabled = reading[1];
    frame->running = reading[2];
    memcpy(frame->counts, reading + 3, sizeof(uint64_t) * (size_t)own->n_open);
}

CMLIB_SHARED_DEFINITION void cmlib_write_text(FILE *out, const char *text) {
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

CMLIB_SHARED_DEFINITION void cmlib_write_row(const cmlib_frame *begin, const cmlib_frame *end) {
    cmlib_process *process = &cmlib_the_process;
    cmlib_thread *own = &cmlib_the_thread;
    const char *slash = strrchr(begin->file, '/');
    double seconds = (double)(end->time.tv_sec - begin->time.tv_sec) +
                     1e-9 * (double)(end->time.tv_nsec - begin->time.tv_nsec);
    int counted = begin->counted && end->counted && end->enabled > begin->enabled;
    pthread_mutex_lock(&process->lock);
    cmlib_write_text(process->out, begin->id);
    fprintf(process->out, ",\"%s:%d\",%ld,%d,%llu,%.9f,", slash ? slash + 1 : begin->file, begin->line,
            syscall(SYS_gettid), process->threads, (unsigned long long)process->work, seconds);
    if (counted)
        fprintf(process->out, "%.4f",
                (double)(end->running - begin->running) / (double)(end->enabled - begin->enabled));
    for (int i = 0; i < process->n_events; i++) {
        fputc(',', process->out);
        if (counted && own->fd[i] >= 0)
            fprintf(process->out, "%llu",
                    (unsigned long long)(end->counts[own->slot[i]] - begin->counts[own->slot[i]]));
    }
    fputc('\n', process->out);
    pthread_mutex_unlock(&process->lock);
}

/* Opens the calling thread's counters now, for programs that start their threads before the first region. */
CMLIB_SHARED_DEFINITION void cmlib_region_start(void) {
    pthread_once(&cmlib_the_process.once, cmlib_open_output);
    if (cmlib_the_process.out && !cmlib_the_thread.opened)
        cmlib_open_thread();
}

CMLIB_SHARED_DEFINITION void cmlib_region_threads(int n) { cmlib_the_process.threads = n; }

CMLIB_SHARED_DEFINITION void cmlib_region_work(uint64_t units) { cmlib_the_process.work = units; }

CMLIB_SHARED_DEFINITION void cmlib_region_begin(const char *id, const char *file, int line) {
    cmlib_thread *own = &cmlib_the_thread;
    cmlib_region_start();
    if (!cmlib_the_process.out)
        return;
    if (own->depth++ >= CMLIB_MAX_DEPTH) {
        cmlib_warn_once("regions nested deeper than 16 aren't counted", id);
        return;
    }
    cmlib_frame *frame = &own->frames[own->depth - 1];
    frame->id = id;
    frame->file = file;
    frame->line = line;
    clock_gettime(CLOCK_MONOTONIC, &frame->time);
    cmlib_read(frame);
}

CMLIB_SHARED_DEFINITION void cmlib_region_end(const char *id) {
    cmlib_thread *own = &cmlib_the_thread;
    cmlib_frame end;
    if (!cmlib_the_process.out)
        return;
    cmlib_read(&end);
    clock_gettime(CLOCK_MONOTONIC, &end.time);
    if (own->depth < 1 || (own->depth <= CMLIB_MAX_DEPTH && strcmp(own->frames[own->depth - 1].id, id))) {
        cmlib_warn_once("a region ends that isn't the last one begun in this thread; it isn't written", id);
        return;
    }
    if (--own->depth < CMLIB_MAX_DEPTH)
        cmlib_write_row(&own->frames[own->depth], &end);
}

#ifdef __cplusplus
} /* extern "C" */

namespace cmlib {
/* Ends with its scope, also by an exception. */
class Region {
  public:
    explicit Region(const char *id, const char *file = __builtin_FILE(), int line = __builtin_LINE()) : id_(id) {
        cmlib_region_begin(id, file, line);
    }
    ~Region() { cmlib_region_end(id_); }
    Region(const Region &) = delete;
    Region &operator=(const Region &) = delete;

  private:
    const char *id_;
};
} /* namespace cmlib */
#endif

#endif
