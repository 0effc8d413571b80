"""Counts that can't be true, or not together: nothing is concluded from them, and a remark says so."""

import pytest

from cmlib.topdown import summarize
from tests.test_summarize import made


@pytest.mark.parametrize(
    ("rates", "gone", "account"),
    [
        ({"instructions": 11, "stalled-cycles-backend": 0.6}, {"cycles", "instructions"}, False),
        ({"instructions": 3, "stalled-cycles-frontend": 1.5}, {"cycles"}, False),
        ({"instructions": 3, "stalled-cycles-frontend": 0.01, "stalled-cycles-backend": 0.8}, set(), True),
        ({"instructions": 2.3, "stalled-cycles-frontend": 0.01, "stalled-cycles-backend": 0.77}, set(), True),
        ({"instructions": 0.01, "branches": 0.4, "branch-misses": 0.01}, {"instructions"}, False),
        ({"instructions": 3, "L1-dcache-loads": 2e-5, "L1-dcache-load-misses": 3e-6}, set(), True),
    ],
)
def test_nothing_is_concluded_from_counts_that_cannot_be_true(rates, gone, account):
    told = summarize("x", [made(**rates)], printed={"instructions a cycle": rates["instructions"]})
    assert {"cycles", "instructions"} - {*told["levels"]} == gone
    assert ("instructions a cycle" in told["levels"]) == account == bool(told["account"])
    assert not told["miss_ratios"] and told["limited_by"] is None
    assert "impossible" in told["remarks"][0]


def test_no_cycles_and_a_printed_ipc_above_all_processors_are_no_levels():
    counts, running = made(instructions=1.0)
    told = summarize("x", [(counts.assign(cycles=0.0), running)], printed={"instructions a cycle": 13.5})
    assert not {"cycles", "instructions a cycle", "GHz"} & {*told["levels"]} and told["account"] is None


def test_shares_of_a_tool_by_which_nothing_retired_are_not_taken():
    printed = {"retired": 0.0, "bad speculation": 0.0, "front end": 0.0, "back end": 1.0}
    told = summarize("x", [made(cycles=1.0)], printed=printed)
    assert told["limited_by"] is None and not told["conclusive"]
    printed |= {"front end": 0.002, "back end": 0.998}
    assert summarize("x", [made(cycles=1.0)], printed=printed)["limited_by"] == "back end"


@pytest.mark.parametrize(
    ("processor", "ipc", "account"), [("intel_skylake", 5.9, True), ("intel_skylake", 6.1, False)]
)
def test_a_known_processor_bounds_the_ipc(processor, ipc, account):
    assert bool(summarize("x", [made(instructions=ipc)], processor=processor)["account"]) == account


def test_advice_on_branches_saves_no_more_than_mispredicted_branches_may_cost():
    rates = {"slots": 5, "topdown-retiring": 1.0, "topdown-fe-bound": 0.5, "topdown-be-bound": 0.8}
    rates |= {"topdown-bad-spec": 2.7, "instructions": 1.0, "branches": 0.2, "branch-misses": 2e-4}
    account = summarize("x", [made(**rates)], processor="intel_icelake")["account"]
    most = {row["name"]: row["high"] for row in account["categories"]}
    (advised,) = account["advice"]
    assert account["limits"] == ["bad speculation"] and most["bad speculation"] > 50
    assert advised["at_most"] == most["mispredicted branches"] < 5


def test_a_kind_of_core_that_hardly_ran_has_no_verdict():
    shares = {"retired": 0.2, "bad speculation": 0.5, "front end": 0.2, "back end": 0.1}
    counts, running = made(n=1, instructions=0.5)
    ran, hardly_ran = (
        summarize("x", [(counts, running * share)], printed=shares, core="cpu_atom") for share in (0.5, 0.001)
    )
    assert ran["limited_by"] == "bad speculation" and ran["conclusive"]
    assert hardly_ran["account"] is None and not hardly_ran["conclusive"]
    assert len(hardly_ran["remarks"]) == len(ran["remarks"]) + 1
