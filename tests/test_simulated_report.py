"""The whole way of a simulated program, from its recording to the first page, without any parameter but its name."""

import html
import json
import os
import re
import subprocess
import sys

import pytest

from cmlib import places

pytestmark = pytest.mark.full

NAME = "simulated-bzip2"
SHOWN = ("01_collection", "00_first_look", "03_ranking")


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    """Folder of the results of `cmlib run live -p program=simulated-bzip2`."""
    data = tmp_path_factory.mktemp("simulated")
    (data / "recordings").mkdir()
    (data / "recordings" / NAME).symlink_to(places.recordings_dir() / NAME)
    command = [sys.executable, "-c", "from cmlib.cli import main; main()", "run", "live"]
    done = subprocess.run(
        [*command, *SHOWN, "-p", f"program={NAME}", "--jobs", "1"],
        env=os.environ | {"CMLIB_DATA": str(data), "CMLIB_RESULTS": str(data / "results")},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    return data / "results/live" / NAME


@pytest.fixture(scope="module")
def manifests(live):
    return {name: json.loads((live / name / "manifest.json").read_text(encoding="utf-8")) for name in SHOWN}


def test_the_first_page_says_what_is_simulated_modelled_and_exact(live):
    page = html.unescape((live / "index.html").read_text(encoding="utf-8")).replace("\xa0", " ")
    (card,) = re.findall(r"<article.*?</article>", page, re.S)
    assert f'<h1>{NAME} <span class="soft">simulated</span>' in page
    assert re.search(
        r"By estimate, \d+ % of the cycles go to [a-z -]+, the largest loss; no cycles were counted", card
    )
    assert f"<code>cmlib record {NAME} -- bzip2 -k -c words.txt</code>" in card
    assert "<code>cmlib diagnose --simulate -- bzip2 -k -c words.txt</code>" in card
    assert "What to try" in card and "% of all estimated cycles" in card
    assert "misses and mispredictions come from a model" in card and "per second" not in card


def test_every_caption_and_record_says_simulated_and_none_has_seconds(live, manifests):
    for name, manifest in manifests.items():
        assert manifest["origin"].startswith("Simulated by Valgrind")
        kept = [*manifest["figures"], *manifest["tables"]]
        assert all("**Simulated**" in one["caption"] for one in kept if one["name"] != "example")
        assert all("**Simulated**" in finding["text"] for finding in manifest["findings"])
        drawn = "".join(file.read_text(encoding="utf-8") for file in (live / name).glob("*.svg"))
        assert "instructions" in drawn or name != "03_ranking"
        assert "time [s]" not in drawn and "per second" not in drawn


def test_its_summary_is_in_the_answers_and_its_shares_add_up(live, manifests):
    answers = json.loads((live / "answers.json").read_text(encoding="utf-8"))
    summary = answers["programs"][NAME]
    assert summary["simulated"] and summary["first"]["advice"] and summary["limited_by"]
    assert sum(row["high"] for row in summary["cycles"]) == pytest.approx(100, abs=1)
    assert "needs measured instructions and cycles" in manifests["00_first_look"]["findings"][0]["text"]
    # Misses are told apart from what was executed wherever a figure names them.
    ranked = (live / "03_ranking/importances.csv").read_text(encoding="utf-8")
    assert "(modelled)" in ranked and "sim.loads (modelled)" not in ranked
