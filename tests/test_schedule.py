"""Laws of plans: nothing counted twice, nothing left out, no group wider than the good counters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmlib.collect.schedule import make_plans, with_second_reading
from cmlib.io.events import needs_counter, second_readings
from cmlib.io.events.naming import SOFTWARE_NAMES

event_lists = st.permutations(range(60)).flatmap(
    lambda order: st.integers(1, 60).map(lambda n: [f"event_{i}" for i in order[:n]])
)
counters = st.integers(3, 9)
per_runs = st.integers(1, 30)


def plans_of_every_kind(events, n_counters, per_run):
    return [
        make_plans("ocoe", events, n_counters),
        make_plans("mlpx", events, n_counters, per_run=per_run),
        make_plans("ungrouped", events, n_counters),
    ]


@given(event_lists, counters, per_runs)
def test_every_event_is_counted_exactly_once_a_pass_in_the_order_given(events, n_counters, per_run):
    for plans in plans_of_every_kind(events, n_counters, per_run):
        assert [event for plan in plans for event in plan.events] == events
        assert [plan.part for plan in plans] == list(range(len(plans)))


@given(event_lists, counters, per_runs)
def test_no_group_needs_more_counters_than_the_pinned_events_leave(events, n_counters, per_run):
    for plans in plans_of_every_kind(events, n_counters, per_run):
        for plan in plans:
            assert all(1 <= len(group) <= n_counters - len(plan.pinned) for group in plan.groups)


@given(event_lists, counters)
def test_an_unmultiplexed_run_has_one_group_and_no_fewer_runs_would_do(events, n_counters):
    plans = make_plans("ocoe", events, n_counters)
    assert all(len(plan.groups) == 1 and plan.mode == "ocoe" for plan in plans)
    assert len(plans) == -(-len(events) // (n_counters - 2))


@given(event_lists, counters, per_runs)
def test_a_multiplexed_run_holds_at_most_the_events_asked_for(events, n_counters, per_run):
    plans = make_plans("mlpx", events, n_counters, per_run=per_run)
    assert all(len(plan.events) <= per_run and plan.mode == "mlpx" for plan in plans)
    assert {plan.set for plan in plans} == {f"mlpx{per_run}"}


@given(event_lists, st.lists(st.sampled_from(sorted(SOFTWARE_NAMES)), min_size=1, unique=True), counters)
def test_events_the_kernel_counts_take_no_counter(events, software, n_counters):
    (alone,) = make_plans("ocoe", software, 0, pinned=())
    assert alone.groups == (tuple(software),)
    beside = make_plans("ocoe", events, n_counters, pinned=software)
    assert max(len(group) for plan in beside for group in plan.groups) <= n_counters
    assert not any(map(needs_counter, software)) and all(map(needs_counter, events))
    assert not any(map(needs_counter, ["sched:sched_switch", "raw_syscalls:sys_enter", "page-faults:u"]))
    assert all(map(needs_counter, ["instructions:u", "r412e:uD", "L1-dcache-loads:P"]))


@given(event_lists, counters, per_runs)
def test_one_event_is_read_twice_half_a_rotation_apart_where_events_take_turns(events, n_counters, per_run):
    ungrouped = make_plans("ungrouped", events, n_counters)
    for plan in [*make_plans("mlpx", events, n_counters, per_run=per_run), *ungrouped]:
        judged = with_second_reading(plan, n_counters)
        again = second_readings(judged.events)
        assert [event for event in judged.events if event not in again] == list(plan.events)
        if len(plan.events) <= n_counters - 2:
            assert judged is plan
            continue
        (reading, event), n = *again.items(), len(judged.groups)
        places = [next(i for i, group in enumerate(judged.groups) if e in group) for e in (event, reading)]
        assert (places[1] - places[0]) % n in (n // 2, n - n // 2)
        assert max(map(len, judged.groups)) <= (1 if plan in ungrouped else n_counters - 2)


def test_software_events_are_never_read_twice():
    (plan,) = make_plans("mlpx", ["page-faults", "context-switches"], 0, pinned=("task-clock",))
    assert with_second_reading(plan, 0) is plan
    mixed = make_plans("ungrouped", ["branches", "page-faults", "branch-misses"], 4)[0]
    assert with_second_reading(mixed, 4) is mixed
    wide = make_plans("mlpx", ["wide", "narrow", "wider"], 4, counters_of={"wide": 2, "wider": 2})[0]
    assert with_second_reading(wide, 4, counters_of={"wide": 2, "wider": 2}).groups[-1] == ("narrow#2",)


def test_the_core_events_of_the_recordings_come_in_four_groups_of_three():
    events = [f"event_{i}" for i in range(12)]
    assert [len(plan.events) for plan in make_plans("ocoe", events, 5)] == [3, 3, 3, 3]
    (multiplexed,) = make_plans("mlpx", events, 5)
    assert multiplexed.set == "mlpx12" and [len(group) for group in multiplexed.groups] == [3, 3, 3, 3]


@pytest.mark.parametrize("n_counters", [0, 1, 2])
def test_without_a_counter_beside_the_pinned_events_there_is_no_plan(n_counters):
    with pytest.raises(ValueError, match=rf"{n_counters} counters are good and 2 events are pinned"):
        make_plans("ocoe", ["ex_ret_brn"], n_counters)


@pytest.mark.parametrize(
    "events, message",
    [
        (["a", "b", "a"], "more than once.*: a;"),
        (["cycles", "b"], "more than once.*: cycles;"),
        ([], "no events"),
    ],
)
def test_events_that_cannot_be_counted_once_are_refused(events, message):
    for mode in ("ocoe", "mlpx", "ungrouped"):
        with pytest.raises(ValueError, match=message):
            make_plans(mode, events, 5)


@given(event_lists, st.integers(4, 9), st.randoms(use_true_random=False))
def test_events_that_take_two_counters_leave_room_for_fewer(events, n_counters, random):
    counters_of = {event: random.choice([1, 2]) for event in events}
    plans = make_plans("mlpx", events, n_counters, counters_of=counters_of)
    groups = [group for plan in plans for group in plan.groups]
    assert [event for group in groups for event in group] == list(events)
    assert all(sum(counters_of[event] for event in group) <= n_counters - 2 for group in groups)


def test_an_event_that_takes_more_counters_than_there_are_is_named():
    with pytest.raises(ValueError, match="wide needs 2 and 1 are left"):
        make_plans("ocoe", ["narrow", "wide"], 3, counters_of={"wide": 2})
