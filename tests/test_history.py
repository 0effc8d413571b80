"""Change points of histories: definition of the evidence, planted steps, laws, false alarms; files and the command."""

import gzip
import itertools
import json
import math
import xml.etree.ElementTree as ElementTree

import numpy as np
import numpy.testing as npt
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from cmlib.cli.compare import compare
from cmlib.compare.change_points import compute_evidence, find_groups
from cmlib.compare.histories import read_history
from cmlib.compare.kept import read_kept
from cmlib.compare.versions import format_heading
from cmlib.errors import CmlibError
from cmlib.io.regions import save_recording

seeds = st.integers(0, 10**6)


@st.composite
def stepped(draw, noise=0.004):
    """A series with a step of 2 to 20 % at a known position, and a few outliers."""
    rng = np.random.default_rng(draw(seeds))
    n = draw(st.integers(60, 120))
    at = draw(st.integers(20, n - 20))
    size = draw(st.floats(0.02, 0.2)) * draw(st.sampled_from([-1, 1]))
    values = 1000 * rng.lognormal(0, noise, n)
    values[at:] *= 1 + size
    values[rng.integers(0, n, 2)] *= 1.5
    return values, at, 1 + size


@pytest.mark.parametrize("n", [2, 5, 8])
@pytest.mark.parametrize("tied", [False, True])
def test_evidence_bounds_the_exact_probability_and_meets_it_where_all_values_are_lower(n, tied):
    values = np.array([0, 0, 1, 1, 1, 2, 3, 3])[:n] if tied else np.arange(n)
    for split, strength in enumerate(compute_evidence(values), 1):
        ranks = stats.rankdata(values)
        sums = [sum(chosen) for chosen in itertools.combinations(ranks, split)]
        exact = np.mean(np.array(sums) <= ranks[:split].sum() + 1e-9)
        assert exact <= math.exp(-strength) * 1.0001
        if not tied:
            npt.assert_allclose(strength, math.log(math.comb(n, split)), rtol=1e-3)


@settings(max_examples=20)
@given(stepped())
def test_a_planted_step_is_a_change_point_of_its_size(case):
    values, at, ratio = case
    (group,) = find_groups(pd.DataFrame({"metric": values}), smallest=0.01)
    assert abs(group.row - at) <= 5  # outliers may stand beside it
    assert group.first <= group.row <= group.last
    (step,) = group.steps.itertuples()
    npt.assert_allclose(step.ratio, ratio, rtol=0.01)
    assert step.p_value <= 0.05


@settings(max_examples=10)
@given(stepped(), stepped(), st.floats(1e-6, 1e6))
def test_reversing_mirrors_the_points_and_a_factor_changes_nothing(one, other, factor):
    values = np.concatenate([one[0], 1.3 * other[0]])
    rows = rows_of(values)
    assert rows_of(factor * values) == rows
    assert sorted(len(values) - row for row in rows_of(values[::-1])) == rows


def rows_of(values):
    """Where a history of one metric steps."""
    return [group.row for group in find_groups(pd.DataFrame({"metric": values}), smallest=0)]


def test_shuffled_histories_have_groups_as_rarely_as_promised():
    rng = np.random.default_rng(5)
    noisy = pd.DataFrame({"a": rng.standard_t(2, 60) + 100, "b": rng.integers(0, 3, 60), "c": rng.random(60)})
    groups = [find_groups(noisy.iloc[rng.permutation(60)], smallest=0) for _ in range(60)]
    assert sum(map(bool, groups)) <= 3


def machines(rng, at=40):
    """Three metrics, one of them measured at every third commit, that step at one commit; a fourth does not."""
    level = np.where(np.arange(90) < at, 1, 1.1)
    noise = rng.lognormal(0, 0.003, (4, 90))
    frame = pd.DataFrame(
        {"a": 5 * level * noise[0], "b": noise[1] / level, "c": noise[2] * level, "d": noise[3]}
    )
    frame.loc[np.arange(90) % 3 != 0, "c"] = np.nan
    frame.index = [f"{row:07x}" for row in range(90)]
    return frame.rename_axis("commit")


def test_metrics_that_step_at_one_commit_are_one_group():
    (group,) = find_groups(machines(np.random.default_rng(0)))
    assert (group.row, group.first, group.last) == (40, 40, 40)
    assert set(group.steps["metric"]) == {"a", "b", "c"}


def test_both_kinds_of_tables_are_one_history(tmp_path):
    history = machines(np.random.default_rng(0))
    history.to_csv(tmp_path / "wide.csv")
    rows = history.reset_index().melt("commit", var_name="benchmark").dropna()
    rows["date"] = [
        f"2026-01-01T{int(commit, 16) // 60:02}:{int(commit, 16) % 60:02}:00Z" for commit in rows["commit"]
    ]
    text = rows.sample(frac=1, random_state=0).assign(subject="x").to_csv(index=False)
    (tmp_path / "long.csv.gz").write_bytes(gzip.compress(text.encode()))
    wide, none = read_history(tmp_path / "wide.csv")
    long, subjects = read_history(tmp_path / "long.csv.gz")
    pd.testing.assert_frame_equal(wide, long, check_names=False)
    assert set(none) == {""}
    assert set(subjects) == {"x"}


@pytest.mark.parametrize(
    ("dates", "order"),
    [
        (["2026-03-01", "", "2026-01-01T12:00:00Z", "unknown"], "cabd"),
        (["March", "January", "February", "April"], "abcd"),
    ],
)
def test_commits_without_a_date_come_last_in_the_order_of_the_file(tmp_path, dates, order):
    file = tmp_path / "history.csv"
    rows = [
        f"{commit},{number},{date},{commit.upper()}"
        for number, (commit, date) in enumerate(zip("abcd", dates, strict=True))
    ]
    file.write_text("\n".join(["commit,seconds,date,subject", *rows]))
    history, subjects = read_history(file)
    assert "".join(history.index) == "".join(subjects).lower() == order
    assert list(history["seconds"]) == ["abcd".index(commit) for commit in order]


@pytest.mark.parametrize(
    "text",
    [
        f"commit,a\nx,{'9' * 400}\n",
        f"commit,benchmark,value\nx,b,{'9' * 400}\ny,b,z\n",
        "",
        "a,b\n1,2\n",
        "commit,a\n",
        "commit,a\nx,y\n",
        'commit,a\n"',
        "\0\xff",
    ],
)
def test_what_is_no_history_is_refused(tmp_path, text):
    file = tmp_path / "history.csv"
    file.write_text(text, encoding="latin-1")
    with pytest.raises(CmlibError, match="history.csv"):
        read_history(file)


def test_a_table_that_would_spread_beyond_memory_is_refused(tmp_path):
    file = tmp_path / "history.csv"
    file.write_text("commit,benchmark,value\n" + "".join(f"c{i},b{i},1\n" for i in range(2100)))
    with pytest.raises(CmlibError, match="too large"):
        read_history(file)


@pytest.mark.parametrize("heading", [",m" * 10_000, ',"' + "m" * 200_000 + '"'])
def test_a_heading_that_takes_pandas_minutes_is_refused(tmp_path, heading):
    file = tmp_path / "history.csv"
    file.write_text(f"commit{heading}\na,1\n")
    with pytest.raises(CmlibError, match=r"history.csv.*(10,001 columns|heading cannot be read|not a CSV)"):
        read_history(file)


def run(*words):
    return CliRunner().invoke(compare, [str(word) for word in words], catch_exceptions=False)


def test_command_json_and_page_agree(tmp_path):
    file, page = tmp_path / "<b>history.csv", tmp_path / "page.html"
    machines(np.random.default_rng(0)).rename(columns={"a": "<script>a"}).to_csv(file)
    done = run("--history", file, "--page", page, "--json", "--any-change")
    summary = json.loads(done.stdout)
    (group,) = summary["groups"]
    assert (done.exit_code, group["commit"], group["candidates"]) == (1, f"{40:07x}", 1)
    html = page.read_text(encoding="utf-8")
    assert group["commit"] in html
    assert "<script>" not in html
    pictures = [line for line in html.splitlines() if line.startswith("<polyline")]
    assert len(pictures) == summary["metrics"] == 4
    counts = [len(ElementTree.fromstring(line).get("points").split()) for line in pictures]
    assert sorted(counts) == [30, 90, 90, 90]
    text = run("--history", file)
    assert text.exit_code == 0
    assert group["commit"] in text.output


def test_folders_of_kept_comparisons_are_a_history(tmp_path, monkeypatch):
    rng = np.random.default_rng(1)
    header = "function,location,thread,threads,work,seconds,running,instructions,task-clock\n"
    for number in range(30):
        seconds = (1 if number < 15 else 1.05) * rng.lognormal(0, 0.002, 3)
        pieces = [format_heading(run, 0, second, second) + header for run, second in enumerate(seconds)]
        monkeypatch.setattr("cmlib.io.archive.now", lambda day=number: f"2026-01-01T00:00:{day:02}+00:00")
        about = {
            "program": "x",
            "form": "new",
            "regions": False,
            "per": "work",
            "events": [{}],
            "machine": {},
        }
        save_recording(tmp_path / f"{(number * 7) % 30:02}-commit" / "new.json", pieces, about)
    summary = json.loads(run("--history", tmp_path, "--json").stdout)
    (group,) = summary["groups"]
    assert group["commit"] == f"{(15 * 7) % 30:02}-commit"
    assert len(group["steps"]) == 2


@pytest.mark.parametrize("date", [None, 5, [], {}])
def test_a_kept_comparison_with_a_forged_date_is_left_out_by_name_and_one_without_is_the_oldest(
    tmp_path, date, capsys
):
    about = {"program": "x", "per": "work", "events": [{}], "machine": {}}
    header = "function,location,thread,threads,work,seconds,running,instructions\nf,x,0,1,1,1,1,\n"
    for commit in ("a", "b"):
        file = save_recording(tmp_path / commit / "new.json", [format_heading(0, 0, 1, 1) + header], about)
    meta = json.loads(file.read_text())
    file.write_text(json.dumps(meta | {"date": date}))
    assert list(read_kept(tmp_path)[0].index) == ["a"]
    assert "b/new.json is not a recording of regions: date is" in capsys.readouterr().err
    del meta["date"]
    file.write_text(json.dumps(meta))
    assert list(read_kept(tmp_path)[0].index) == ["b", "a"]


@pytest.mark.parametrize(
    ("sample", "noted", "reason"),
    [
        ("f,x,0,1,1,inf,1,", "", "column seconds has values"),
        ("f,x,0,1,1,1e308,1,", "", "column seconds has values"),
        ("f,x,0,1,0,1,1,", "", "the work of a function adds up to 0"),
        ("f,x", "", "threads, work or seconds of a sample are missing"),
        *(
            ("f,x,0,1,1,1,1,", f" elapsed_s={value}", f"a run took {value} s")
            for value in ("nan", "-5", "1e308")
        ),
        ("", None, "no line that begins with"),
    ],
)
def test_a_commit_with_times_that_no_clock_tells_is_left_out_by_name(tmp_path, sample, noted, reason, capsys):
    about = {"program": "x", "per": "work", "events": [{}], "machine": {}}
    header = "function,location,thread,threads,work,seconds,running,instructions\n"
    for commit, row, times in (("a", "f,x,0,1,1,1,1,", ""), ("b", sample, noted), ("c\udcff", sample, noted)):
        text = "" if times is None else f"# run=0 part=0{times}\n{header}{row}\n"
        save_recording(tmp_path / commit / "new.json", [text], about)
    done = run("--history", tmp_path, "--page", tmp_path / "page.html")
    assert done.exit_code == 0 and done.stderr.count("left out: ") == 2 and reason in done.stderr
    assert list(read_kept(tmp_path)[0].index) == ["a"]


def test_functions_without_a_name_and_many_functions_are_no_error_of_ours(tmp_path):
    about = {"program": "x", "per": "work", "events": [{}], "machine": {}}
    header = "function,location,thread,threads,work,seconds,running,instructions\n"
    rows = "".join(f"f{number},x,0,1,1,1,1,\n" for number in range(10_000))
    save_recording(tmp_path / "a" / "new.json", [f"# run=0 part=0\n{header},x,0,1,1,1,1,\n"], about)
    assert list(read_kept(tmp_path)[0].columns) == ["?, elapsed time"]
    save_recording(tmp_path / "b" / "new.json", [f"# run=0 part=0\n{header}{rows}"], about)
    with pytest.raises(CmlibError, match="10,001 metrics. .* 10,000 metrics"):
        read_kept(tmp_path)
    with pytest.raises(CmlibError, match="contains no folder"):
        read_kept(tmp_path / "nowhere")


@pytest.mark.parametrize("words", [("--page", "x.html", "a", "b"), (), ("--history", ".", "a", "b"),
                                   ("--history", ".", "--layouts", "10")])  # fmt: skip
def test_options_that_do_not_belong_together_are_refused(words):
    assert run(*words).exit_code == 2
