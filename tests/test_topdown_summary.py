"""What is said of an account is what it holds."""

import re
import shlex
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from cmlib import experiments as study
from cmlib import topdown
from cmlib.errors import NothingRecordedError
from cmlib.experiments.topdown import (
    ProgramAccount,
    accounted,
    describe_account,
    describe_unaccounted,
    losses_by_part,
)
from cmlib.fingerprint.diagnosis import advice
from cmlib.topdown.answers import perf_line
from tests.small_runs import add_run
from tests.test_topdown import AMD, planted

DRAM = "ls_dmnd_fills_from_sys.dram_io_all"
FRONT = "de_no_dispatch_per_slot.no_ops_from_frontend"
ZEN5 = {"vendor": "AuthenticAMD", "family": 26, "model": 2}


def found(rates, table=AMD):
    ipc = pd.Series(1.5, index=rates.index)
    return ProgramAccount("gcc", topdown.account(rates, table), ipc, 7, np.nan)


def test_losses_are_told_from_the_largest_on_with_their_shares():
    rates, shares = planted()
    told = describe_account(found(rates))
    retired, bad, front, back = (f"{100 * share:.0f} %" for share in shares.mean(axis=0))
    assert told["limits"].startswith(f"**Of all slots, {front} are lost to the front end** (front-end ")
    others = (f"{back} to the back end (memory ", f"{bad} to bad speculation (", f"; {retired} retired")
    assert [told["limits"].find(text) > 0 for text in others] == [True] * 3
    assert told["sure"].startswith("counted in 7 runs, `de_src_op_disp.all` + ")
    assert "add up to 100.0 % of the slots" in told["sure"] and "`ex_ret_ops` cancels" in told["sure"]
    assert "sibling thread was not counted" in told["sure"]
    assert told["advice"].startswith("front-end") and told["lacking"] == ""


def test_waiting_for_memory_has_the_advice_of_the_diagnosis():
    rates, _ = planted()
    rates["de_no_dispatch_per_slot.backend_stalls"], rates[FRONT] = rates[FRONT], 0.0
    rates["ex_no_retire.load_not_complete"], rates[DRAM] = rates["ex_no_retire.not_complete"], 0.2
    told = describe_account(found(rates))["advice"]
    assert told.casefold().startswith(
        f"memory and other caches: {advice('P_Mem_M')[1]}".casefold().rstrip(".")
    )
    assert told.endswith(" % fewer cycles)")


@pytest.mark.parametrize(
    ("retired", "says"),
    [
        (8.0, "**Hardly any slots are lost**: 100 % retired"),
        (6.8, "**Little is lost: of all slots, 85 % retired**; 15 % are lost to the"),
    ],
)
def test_a_program_that_loses_little_is_told_to_do_less(retired, says):
    rates = 0.0 * planted()[0]
    rates["ex_ret_ops"] = rates["de_src_op_disp.all"] = retired
    rates[FRONT] = 8 - retired
    told = describe_account(found(rates.assign(**{"ex_no_retire.not_complete": 1.0})))
    assert told["limits"].startswith(says) and told["advice"].startswith("retired: do less")


def test_what_was_not_counted_is_told_with_the_command_that_records_it():
    told = describe_account(found(planted()[0].drop(columns=[FRONT, "ex_no_retire.not_complete"])))
    assert "front end was not counted" in told["sure"] and "front end, memory" in told["lacking"]
    assert f"`cmlib record gcc --events {FRONT},ex_no_retire.not_complete -- COMMAND`" in told["lacking"]


def test_a_program_without_any_of_its_events_is_told_which_its_processor_has(tmp_path):
    add_run(tmp_path, "app", "ocoe", 0, 0, [("cycles", 5), ("ls_stlf", 1)], machine=ZEN5)
    url = study.open_database(f"sqlite:///{tmp_path / 'store.sqlite'}", tmp_path)
    with pytest.raises(NothingRecordedError, match=f"cmlib record app --events ex_ret_ops,.*{FRONT}"):
        accounted(url, ["app"])
    assert describe_unaccounted(url, "app").startswith(
        "where its cycles go. Record them: `cmlib record app --events ex"
    )


def test_an_account_that_does_not_add_up_says_so_and_what_to_record_again():
    rates, _ = planted()
    told = describe_account(found(rates.assign(**{FRONT: 1.3 * rates[FRONT]})))
    assert "**it does not add up** within 2 %, and front end is likely counted wrongly" in told["sure"]
    assert (
        FRONT in told["lacking"]
        and "ex_ret_ops" in told["lacking"]
        and "`cmlib record gcc" in told["lacking"]
    )


def test_an_account_whose_sum_proves_nothing_says_so():
    rates = pd.DataFrame({"stalled-cycles-frontend": [0.5, 0.6], "stalled-cycles-backend": [0.1, 0.2]})
    told = describe_account(found(rates, topdown.read_table("generic")))
    assert told["limits"].startswith("**Of all cycles, 55 % are lost to the front end**")
    assert told["limits"].endswith("; 30 % are at work") and "whatever was counted" in told["sure"]


def test_the_picture_splits_losses_and_leaves_what_retired_whole():
    rates, shares = planted()
    account = topdown.account(rates, AMD)
    shown = losses_by_part(account)
    assert "retired" in shown and {"memory", "front-end latency"} <= set(shown) and "back end" not in shown
    np.testing.assert_allclose(shown.sum(axis=1), account.level().sum(axis=1), atol=0.01)
    whole = topdown.account(rates.drop(columns="ex_no_retire.not_complete"), AMD)
    assert "back end" in losses_by_part(whole)


def test_of_an_imported_program_perf_records_what_is_lacking_by_codes():
    """As given: each event in the spelling of its processor, with the modifier of the recording, then the import."""
    rates = planted()[0].drop(columns=[FRONT, "ex_no_retire.not_complete"])
    meta = {"program": "app", "imported": True, "modifier": "u", "interval_ms": 500}
    told = describe_account(replace(found(rates), meta=meta))["lacking"]
    line = re.search(
        "``perf stat -I 500 -x, (.*) -o next.csv -- COMMAND && cmlib import app next.csv``", told
    )[1]
    assert shlex.split(line) == ["-e", "instructions:u,cycles:u", "-e",
                                 f"cpu/event=0x1a0,umask=0x1,name={FRONT}/u", "-e",
                                 "cpu/event=0xd6,umask=0x2,name=ex_no_retire.not_complete/u"]  # fmt: skip
    assert "cmlib record" not in told
    assert "'{slots:u,x:u}'" in perf_line(["instructions:u", "cycles:u", "slots:u", "x:u"], 100)
