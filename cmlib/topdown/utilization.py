"""Measure how many CPUs a program used, and how much of its time was in the kernel.

:func:`measure_utilization` returns a :class:`Utilization`. It decides whether the program computes, is mostly off the
CPU, or is mostly in the kernel.
"""

from dataclasses import dataclass

from cmlib.topdown.costs import common

OFF_CPU, IN_KERNEL, COMPUTES, UNKNOWN = "off CPU", "kernel", "computes", "unknown"
_OFF_CPU_BELOW = 0.5  # a program that uses fewer CPUs is mostly off the CPU
_KERNEL_LEADS = 100 / 3  # share of the CPU time [%] from which on the first advice is about the kernel
_KERNEL_IS_NAMED = 10  # share of the CPU time [%] from which on the kernel is mentioned
_NOTABLE = 1.0  # cost of page faults or context switches [% of the CPU time] from which on it is reported
# The kernel measures system time with a clock that ticks every few milliseconds. In shorter runs the system time is too
# uncertain to limit the cost of page faults and context switches.
_LONG_ENOUGH_S = 0.2


@dataclass(frozen=True)
class KernelCost:
    """CPU time that the kernel needs for page faults or for context switches.

    Attributes
    ----------
    name : str
        ``page faults`` or ``context switches``.
    a_second : float
        Page faults or context switches per second of CPU time.
    each_us : tuple of float
        Shortest and longest duration of one page fault or context switch [µs].
    low, high : float
        Share of the CPU time [%] at the shortest and at the longest duration.
    """

    name: str
    a_second: float
    each_us: tuple[float, float]
    low: float
    high: float


@dataclass(frozen=True)
class Utilization:
    """Whether a program computes, is off the CPU, or spends its time in the kernel.

    Attributes
    ----------
    state : str
        There are four values:

        - ``off CPU``: the program used less than half a CPU. It slept or was preempted; counts do not show which.
        - ``kernel``: a third of the CPU time or more is system time.
        - ``computes``: neither of the two.
        - ``unknown``: neither the CPUs used nor the system time is known.
    seconds : float or None
        Elapsed time [s].
    cpu_seconds : float or None
        CPU time [s].
    cpus : float or None
        CPUs used: CPU time divided by elapsed time.
    kernel : float or None
        Share of the CPU time in the kernel [%].
    switches_a_second : float or None
        Context switches per second of elapsed time.
    costs : tuple of KernelCost
        Page faults and context switches, the larger cost first. Costs below 1 % of the CPU time are left out.
    """

    state: str
    seconds: float | None
    cpu_seconds: float | None
    cpus: float | None
    kernel: float | None
    switches_a_second: float | None
    costs: tuple[KernelCost, ...]

    def describe(self):
        """Describe a low utilization or a large share of the kernel in one sentence.

        Returns "" if neither applies.
        """
        if self.state == OFF_CPU:
            return self._describe_off_cpu()
        if self.state == IN_KERNEL:
            return f"The kernel takes {self.kernel:.0f} % of the CPU time (sys)."
        if self.kernel is not None and self.kernel >= _KERNEL_IS_NAMED:
            return f"The kernel takes {self.kernel:.0f} % of the CPU time."
        return ""

    def _describe_off_cpu(self):
        """Describe in one sentence how much CPU time the program used."""
        sentence = f"Mostly off the CPU: the program used {self.cpus:.2g} CPUs"
        if self.seconds is not None:
            sentence += f" ({self.cpu_seconds:.2g} s of CPU time in {self.seconds:.3g} s)"
        if self.kernel is not None and self.kernel >= _KERNEL_IS_NAMED:
            sentence += f", {self.kernel:.0f} % of the CPU time in the kernel"
        if self.switches_a_second:
            sentence += f", with a context switch every {1000 / self.switches_a_second:.2g} ms"
        return f"{sentence}."

    def describe_costs(self):
        """Describe the cost of page faults and of context switches, in one sentence each."""
        sentences = []
        for cost in self.costs:
            share = (
                f"{cost.low:.0f} to {cost.high:.0f} %" if cost.low >= 0.5 else f"at most {cost.high:.0f} %"
            )
            sentences.append(
                f"{cost.name.capitalize()} take {share} of the CPU time ({cost.a_second:,.0f} per second of CPU time, "
                f"{cost.each_us[0]:g} to {cost.each_us[1]:g} µs each)."
            )
        return sentences


def measure_utilization(levels, *, user_s=None, system_s=None):
    """Measure how many CPUs a program used, and how much of its time was in the kernel.

    Parameters
    ----------
    levels : dict of str to float
        Figures of the run, from :func:`cmlib.topdown.run_levels.levels_of_runs`. For example, ``seconds`` and
        ``CPUs``.
    user_s, system_s : float, optional
        CPU time in user mode and in the kernel [s]. `perf stat` prints both below its table. Default: not known.

    Returns
    -------
    Utilization
    """
    seconds = levels.get("seconds")
    user_and_system_s = None
    if user_s is not None and system_s is not None:
        user_and_system_s = user_s + system_s
    cpus = levels.get("CPUs")
    if cpus is None and user_and_system_s is not None and seconds:
        cpus = user_and_system_s / seconds
    cpu_seconds = levels.get("CPU seconds")
    if cpu_seconds is None and cpus is not None and seconds:
        cpu_seconds = cpus * seconds
    kernel_percent = levels.get("kernel cycles")
    if user_and_system_s:
        kernel_percent = 100 * system_s / user_and_system_s
    is_limited = kernel_percent is not None and cpu_seconds is not None and cpu_seconds >= _LONG_ENOUGH_S
    return Utilization(
        state=_classify(cpus, kernel_percent),
        seconds=seconds,
        cpu_seconds=cpu_seconds,
        cpus=cpus,
        kernel=kernel_percent,
        switches_a_second=levels.get("switches"),
        costs=_estimate_kernel_costs(levels, cpus, kernel_percent if is_limited else 100.0),
    )


def _classify(cpus, kernel_percent):
    """Return the state of a program, as :class:`Utilization` lists them."""
    if cpus is not None and cpus < _OFF_CPU_BELOW:
        return OFF_CPU
    if kernel_percent is not None and kernel_percent >= _KERNEL_LEADS:
        return IN_KERNEL
    return UNKNOWN if cpus is None else COMPUTES


def _estimate_kernel_costs(levels, cpus, limit):
    """Estimate the cost of page faults and of context switches.

    `limit` is the most that each can cost [% of the CPU time]. The result is empty if `cpus` is not known.
    """
    if not cpus:
        return ()
    costs = []
    for name, level in (("page faults", "faults"), ("context switches", "switches")):
        per_cpu_second = levels.get(level, 0.0) / cpus
        shortest_us, longest_us = common()["kernel"][name]
        high = min(limit, 1e-4 * per_cpu_second * longest_us)
        low = min(high, 1e-4 * per_cpu_second * shortest_us)
        if high >= _NOTABLE:
            costs.append(KernelCost(name, per_cpu_second, (shortest_us, longest_us), low, high))
    return tuple(sorted(costs, key=lambda cost: -cost.high))
