"""Find out whether a program computes, is off the CPU, or spends its time in the kernel.

:func:`measure_utilization` takes the levels of a recording (:func:`cmlib.topdown.run_levels.levels_of_runs`) and, where
they are known, the seconds in user mode and in the kernel. It returns a :class:`Utilization`.
"""

from dataclasses import dataclass

from cmlib.topdown.costs import common

OFF_CPU, IN_KERNEL, COMPUTES, UNKNOWN = "off CPU", "kernel", "computes", "unknown"
_OFF_CPU_BELOW = 0.5  # CPUs utilized below which a program is mostly off the CPU
_KERNEL_LEADS = 100 / 3  # percent of the CPU time from which on the kernel is looked at first
_KERNEL_IS_NAMED = 10  # percent of the CPU time from which on the kernel's share is printed
# System times come from a clock that ticks every few milliseconds: shorter runs do not limit the costs of the kernel.
_LONG_ENOUGH_S = 0.2
_NOTABLE = 1.0  # percent of the CPU time from which on a cost of the kernel is reported


@dataclass(frozen=True)
class KernelCost:
    """What the kernel needs for one kind of event: an upper and a lower bound of its share of the CPU time.

    Attributes
    ----------
    name : str
        ``page faults`` or ``context switches``.
    a_second : float
        How many there were in a second of CPU time.
    each_us : tuple of float
        Least and most that one of them takes [µs], from `data/topdown/costs/common.yaml`.
    low, high : float
        Share of the CPU time [%], a range over these times.
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
    state : {"off CPU", "kernel", "computes", "unknown"}
        ``off CPU``: less than half a CPU was used. The program slept or was preempted; counts do not show which.
        ``kernel``: a third of the CPU time or more is system time.
    seconds, cpu_seconds, cpus : float or None
        Elapsed time [s], CPU time [s], and their ratio: the CPUs utilized.
    kernel : float or None
        Share of the CPU time in the kernel [%].
    switches_a_second : float or None
        Context switches in a second of elapsed time.
    costs : tuple of KernelCost
        Page faults and context switches that take 1 % of the CPU time or more at most, the largest first.
    """

    state: str
    seconds: float | None
    cpu_seconds: float | None
    cpus: float | None
    kernel: float | None
    switches_a_second: float | None
    costs: tuple[KernelCost, ...]

    def describe(self):
        """Describe a low utilization or a notable share of the kernel in one sentence; "" if neither applies."""
        if self.state == OFF_CPU:
            return self._describe_off_cpu()
        if self.state == IN_KERNEL:
            return f"The kernel takes {self.kernel:.0f} % of the CPU time (sys)."
        if self.kernel is not None and self.kernel >= _KERNEL_IS_NAMED:
            return f"The kernel takes {self.kernel:.0f} % of the CPU time."
        return ""

    def _describe_off_cpu(self):
        sentence = f"Mostly off the CPU: the program used {self.cpus:.2g} CPUs"
        if self.seconds is not None:
            sentence += f" ({self.cpu_seconds:.2g} s of CPU time in {self.seconds:.3g} s)"
        if self.kernel is not None and self.kernel >= _KERNEL_IS_NAMED:
            sentence += f", {self.kernel:.0f} % of the CPU time in the kernel"
        if self.switches_a_second:
            sentence += f", with a context switch every {1000 / self.switches_a_second:.2g} ms"
        return f"{sentence}."

    def describe_costs(self):
        """Describe what page faults and context switches take, one sentence each (list of str)."""
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


def measure_utilization(level, *, user_s=None, system_s=None):
    """Measure how much of its time a program computed, and how much of that in the kernel.

    Parameters
    ----------
    level : dict of str to float
        Levels of the recording, as :func:`cmlib.topdown.run_levels.levels_of_runs` returns them.
    user_s, system_s : float, optional
        CPU time in user mode and in the kernel [s], as `perf stat` prints them below its table. Default: not known.

    Returns
    -------
    Utilization
        Its `state` is ``unknown`` if neither CPUs utilized nor the kernel's share are known.
    """
    seconds = level.get("seconds")
    by_mode_s = user_s + system_s if user_s is not None and system_s is not None else None
    cpus = level.get("CPUs")
    if cpus is None and by_mode_s is not None and seconds:
        cpus = by_mode_s / seconds
    cpu_seconds = level.get("CPU seconds")
    if cpu_seconds is None and cpus is not None and seconds:
        cpu_seconds = cpus * seconds
    kernel = 100 * system_s / by_mode_s if by_mode_s else level.get("kernel cycles")
    costs = _estimate_kernel_costs(level, cpus, cpu_seconds, kernel)
    return Utilization(
        state=_classify(cpus, kernel),
        seconds=seconds,
        cpu_seconds=cpu_seconds,
        cpus=cpus,
        kernel=kernel,
        switches_a_second=level.get("switches"),
        costs=costs,
    )


def _classify(cpus, kernel):
    if cpus is not None and cpus < _OFF_CPU_BELOW:
        return OFF_CPU
    if kernel is not None and kernel >= _KERNEL_LEADS:
        return IN_KERNEL
    return UNKNOWN if cpus is None else COMPUTES


def _estimate_kernel_costs(level, cpus, cpu_seconds, kernel):
    """Estimate the CPU time of page faults and context switches, limited to the CPU time of the kernel."""
    if not cpus:
        return ()
    is_limited = kernel is not None and cpu_seconds is not None and cpu_seconds >= _LONG_ENOUGH_S
    most = kernel if is_limited else 100.0
    costs = []
    for name, quantity in (("page faults", "faults"), ("context switches", "switches")):
        a_second = level.get(quantity, 0.0) / cpus
        least_us, most_us = common()["kernel"][name]
        high = min(most, 1e-4 * a_second * most_us)
        low = min(high, 1e-4 * a_second * least_us)
        if high >= _NOTABLE:
            costs.append(KernelCost(name, a_second, (least_us, most_us), low, high))
    return tuple(sorted(costs, key=lambda cost: -cost.high))
