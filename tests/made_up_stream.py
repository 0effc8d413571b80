"""Streams as `perf record -o -` writes them, made up of any samples, and what `perf script` would print of them."""

import struct

IP, TID, TIME, READ, ID, CPU, PERIOD, IDENTIFIER = 1, 2, 4, 16, 64, 128, 256, 1 << 16
TIMES, WITH_ID, GROUP, LOST = 3, 4, 8, 16
USUAL = IP | TID | TIME | READ | ID, WITH_ID | GROUP | LOST
BEGINNING = b"PERFILE2" + struct.pack("<Q", 16)
ROUND = struct.pack("<IHH", 68, 0, 8)


def record(kind, body):
    """One record."""
    return struct.pack("<IHH", kind, 2, 8 + len(body)) + body


def numbers(*values):
    """Unsigned numbers of 64 bits."""
    return struct.pack(f"<{len(values)}Q", *(value % 2**64 for value in values))


def attribute(ids, layout=USUAL, *, kind=1, config=1, flags=0, size=128):
    """The description of an event: ids, a counter a processor."""
    described = struct.pack("<II", kind, size) + numbers(config, 500_000, *layout, flags)
    return record(64, described.ljust(size, b"\0") + numbers(*ids))


def named(counter, name):
    """The name of a counter's event."""
    return record(78, numbers(2, counter) + name.encode() + b"\0")


def sample(time, task, shown, layout=USUAL):
    """One sample: shown is {counter: its count so far}, the first one the timer's."""
    first = next(iter(shown))
    task = task << 32 | task
    before = [
        *((IDENTIFIER, first), (IP, 77), (TID, task), (TIME, time), (ID, first), (CPU, 1), (PERIOD, 500_000))
    ]
    values = [value for bit, value in before if layout[0] & bit] + [len(shown)]
    values += [5, 6] if layout[1] & TIMES else []
    for counter, count in shown.items():
        values += [count, counter] + ([0] if layout[1] & LOST else [])
    return record(9, numbers(*values))


def counter(event, processor):
    """Number of an event's counter."""
    return 1000 + 2 * event + processor


def beginning(events, layout=USUAL):
    """All that comes before samples, with data of tracepoints among it, which no size counts."""
    told = [attribute([counter(e, 0), counter(e, 1)], layout) for e in range(len(events))]
    told += [record(66, struct.pack("<II", 24, 0)) + record(9, bytes(16))]
    told += [named(counter(e, 0), event) for e, event in enumerate(events)]
    return BEGINNING + b"".join(told)


def stream(events, samples, layout=USUAL, a_round=4):
    """Samples, each (time, task, processor, what each counter of that processor then shows), in rounds.

    A round holds those of the one processor before those of the other.
    """
    parts = [beginning(events, layout)]
    for at in range(0, len(samples), a_round):
        for time, task, processor, shown in sorted(samples[at : at + a_round], key=lambda s: s[2]):
            counts = {counter(e, processor): count for e, count in enumerate(shown)}
            parts.append(sample(time, task, counts, layout))
        parts.append(ROUND)
    return b"".join(parts)


def printed(events, samples):
    """What `perf script -F tid,time,period,event --ns` prints of them: each counter's growth, if it has grown."""
    last, lines = {}, []
    for time, task, processor, shown in samples:
        for event, count in zip(events, shown, strict=True):
            grown = (count - last.get((event, processor), 0)) % 2**64
            last[event, processor] = count
            if grown:
                lines.append(f"{task:>6} {time // 10**9}.{time % 10**9:09d}: {grown:>10} {event:>18}: \n")
    return "".join(lines).encode()
