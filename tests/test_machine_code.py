"""Machine code of two links: the same wherever it lies, and different where it is; string instructions; layouts."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cmlib.collect.simulate import read_functions
from cmlib.collect.simulate.valgrind import EACH_INSTRUCTION, simulate
from cmlib.compare.code import compare_code
from cmlib.compare.layouts import check_layouts, put_back, time_layouts
from cmlib.compare.machine_code import MachineCodeError, find_differences, read_code
from cmlib.compare.versions import VersionCommand
from cmlib.errors import CmlibError
from cmlib.io.archive import locked
from cmlib.io.string_instructions import is_string_instruction
from tests.processes import processes, wait_until

pytestmark = pytest.mark.needs("cc")
# A table of jumps, constants without names, pointers to strings, an array's end, and a function that is not called.
PARTS = {
    "main": """
long work(long), ends(void); const char *name(long); void never(void);
int main(int count, char **words) { if (count > 9) never(); return (work(200000) + ends() + *name(count)) == 42; }""",
    "work": """
double share = 1.5;
long work(long n) {
    long sum = 0; double x = 1;
    for (long i = 0; i < n; i++) {
        switch (sum & 15) {
            case 0: sum += 3; break; case 1: sum ^= i; break; case 2: sum -= 5; break; case 3: sum *= 7; break;
            case 4: sum += i; break; case 5: sum |= 8; break; case 6: sum >>= 1; break; default: sum += 11; }
        x = x * CONSTANT + share; }
    return sum + (long)x;
}""",
    "names": """
static int numbers[100], others[100];
static const char *const known[] = {"zero", "one", "two"};
const char *name(long n) { return known[n % 3]; }
long ends(void) { long sum = 0; for (int *p = numbers; p < numbers + 100; p++) sum += *p + others[*p]; return sum; }""",
    "never": 'void never(void) { __asm__ volatile(".rept NOPS\\n nop\\n .endr"); }',
}


def link(
    folder, *, order=("main", "work", "names", "never"), nops=1, constant="1.25", options=("-pie",), **changed
):
    """Compile the parts and link them in an order; the program's path."""
    folder.mkdir(parents=True)
    for part in order:
        text = changed.get(part, PARTS[part]).replace("NOPS", str(nops)).replace("CONSTANT", constant)
        (folder / f"{part}.c").write_text(text)
    sources = [f"{part}.c" for part in order]
    subprocess.run(["cc", "-O2", *options, "-o", "app", *sources], cwd=folder, check=True)
    return folder / "app"


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return link(tmp_path_factory.mktemp("program") / "old")


@pytest.mark.slow
@pytest.mark.parametrize("options", [("-fpie", "-pie"), ("-fno-pie", "-no-pie"), ("-static",)])
def test_the_same_code_reads_the_same_in_any_order(tmp_path, options):
    old = read_code(link(tmp_path / "old", options=options))
    new = read_code(link(tmp_path / "new", order=("work", "never", "main", "names"), options=options))
    assert find_differences(old, new) == (set(), set())


@pytest.mark.parametrize(
    ("changed", "functions"),
    [
        ({"nops": 40}, {"never"}),
        ({"constant": "1.375"}, {"work"}),
        ({"work": PARTS["work"].replace("1.5", "1.75")}, {"work"}),
        ({"work": PARTS["work"].replace("sum ^= i", "sum ^= 2 * i")}, {"work"}),
        ({"work": PARTS["work"].replace("case 0", "case 9").replace("case 2", "case 0")}, {"work"}),
        ({"names": PARTS["names"].replace("numbers + 100", "numbers + 99")}, {"ends"}),
        ({"names": PARTS["names"].replace('"two"', '"due"')}, {"name"}),
        ({"main": PARTS["main"].replace("work(200000) + ends()", "ends() + work(200000)")}, {"main"}),
    ],
)  # fmt: skip
def test_what_changed_is_named(program, tmp_path, changed, functions):
    found, objects = find_differences(read_code(program), read_code(link(tmp_path / "new", **changed)))
    assert found == functions and not objects


def test_what_has_no_functions_is_refused(program, tmp_path):
    stripped = shutil.copy(program, tmp_path / "stripped")
    subprocess.run(["strip", stripped], check=True)
    for content in (stripped.read_bytes(), b"#!/bin/sh\n", program.read_bytes()[:4000], b""):
        (tmp_path / "file").write_bytes(content)
        with pytest.raises(MachineCodeError, match="symbols|ELF"):
            read_code(tmp_path / "file")


@pytest.mark.parametrize("order", [("app", "lib"), ("lib", "app")])
def test_a_renamed_program_with_a_library_has_its_partner_in_any_order(program, tmp_path, monkeypatch, order):
    files = {}
    for version in ("old", "new"):
        folder = tmp_path / version
        folder.mkdir()
        paths = {"app": folder / f"app-{version}", "lib": folder / "libwork.so"}
        for path in paths.values():
            shutil.copy(program, path)
        files[str(paths["app"])] = [paths[name] for name in order]
    monkeypatch.setattr("cmlib.compare.code._list_mapped_files", lambda version: files[version.command])
    assert compare_code(*map(VersionCommand, files)).same


@pytest.mark.slow
@pytest.mark.needs("perf", "valgrind")
def test_functions_that_did_not_run_do_not_count(program, tmp_path):
    moved = link(tmp_path / "moved", nops=40, order=("never", "names", "work", "main"))
    same = compare_code(VersionCommand(f"{program}"), VersionCommand(f"{moved}"), notify=lambda text: None)
    assert same.same and same.instructions == pytest.approx(1, abs=5e-4) and not same.functions
    more = link(tmp_path / "more", nops=40, main=PARTS["main"].replace("200000", "210000"))
    other = compare_code(VersionCommand(f"{program}"), VersionCommand(f"{more}"), notify=lambda text: None)
    assert other.same is False and other.functions == ("main",) and 1.03 < other.instructions < 1.05
    for words in ("1", "1 2"):
        assert (
            compare_code(VersionCommand(f"{program}"), VersionCommand(f"{moved} {words}"), notify=None).same
            is None
        )


@pytest.mark.slow
@pytest.mark.needs("perf", "valgrind")
def test_functions_are_named_as_they_are_written(tmp_path):
    options = "-pie", "-Dwork=_Z4workl"
    old = link(tmp_path / "old", options=options)
    new = link(tmp_path / "new", options=options, constant="1.375")
    compared = compare_code(VersionCommand(str(old)), VersionCommand(str(new)), notify=lambda text: None)
    assert compared.same is False and compared.functions == ("work(long)",)


@pytest.mark.needs("perf")
def test_what_changed_is_named_where_valgrind_fails(program, tmp_path, monkeypatch):
    def fails(*_, **__):
        raise CmlibError("Valgrind can't run it\nfor many reasons")

    monkeypatch.setattr("cmlib.compare.code.simulate", fails)
    new = link(tmp_path / "new", constant="1.375")
    compared = compare_code(VersionCommand(str(program)), VersionCommand(str(new)), notify=lambda text: None)
    assert compared.same is None and "work changed" in compared.reason and "\n" not in compared.reason


STRINGS = {
    "copy": ("lea source(%rip), %rsi; lea target(%rip), %rdi; mov $1000, %ecx; rep movsb", 4),
    "copy_words": ("lea source(%rip), %rsi; lea target(%rip), %rdi; mov $100, %ecx; rep movsq", 4),
    "fill": ("lea target(%rip), %rdi; mov $777, %ecx; rep stosb", 3),
    "fill_words": ("lea target(%rip), %rdi; mov $77, %ecx; rep stosl", 3),
    "none": ("lea target(%rip), %rdi; xor %ecx, %ecx; rep stosq", 3),
    "search": ("lea source(%rip), %rdi; mov $900, %ecx; mov $1, %al; repne scasb", 4),
    "equal": ("lea source(%rip), %rsi; lea target(%rip), %rdi; mov $500, %ecx; repe cmpsb", 4),
    "loaded": ("lea source(%rip), %rsi; mov $300, %ecx; rep lodsb", 3),
    "ten": ("mov $10, %edx; 1: lea target(%rip), %rdi; mov $64, %ecx; rep stosb; dec %edx; jnz 1b", 51),
    "looped": ("mov $50, %ecx; 1: loop 1b", 51),  # jumps to itself, and is none
}


@pytest.mark.slow
@pytest.mark.needs("valgrind")
def test_string_instructions_count_once_each(tmp_path):
    """Ten functions whose instructions are known by construction; each returns besides."""
    body = "".join(
        f".globl {name}\n.type {name}, @function\n{name}: {code}; ret\n.size {name}, .-{name}\n"
        for name, (code, _) in STRINGS.items()
    )
    data = ".data\nsource: .skip 4096\ntarget: .skip 4096\n.section .note.GNU-stack\n"
    (tmp_path / "strings.s").write_text(body + data)
    calls = "".join(f"void {name}(void); " for name in STRINGS)
    main = calls + "int main(void) {" + "".join(f"{name}();" for name in STRINGS) + "}"
    (tmp_path / "main.c").write_text(main)
    subprocess.run(["cc", "-o", "app", "main.c", "strings.s"], cwd=tmp_path, check=True)
    (tmp_path / "out").mkdir()
    raw = simulate([str(tmp_path / "app")], tmp_path / "out", options=EACH_INSTRUCTION).raw.decode()
    counts = read_functions(raw, strings_once=True).groupby("function")["Ir"].sum()
    assert {name: counts[name] for name in STRINGS} == {name: n + 1 for name, (_, n) in STRINGS.items()}
    repeated = read_functions(raw).groupby("function")["Ir"].sum()
    assert repeated["copy"] == 1000 + 5 and repeated["looped"] == counts["looped"]
    assert not is_string_instruction(tmp_path / "app", 0) and not is_string_instruction("/dev/null", 4096)


@pytest.mark.slow
@pytest.mark.needs("perf", "lld")
def test_layouts_are_linked_timed_and_taken_back(program, tmp_path):
    versions = []
    for name in ("old", "new"):
        shutil.copytree(program.parent, tmp_path / name)
        versions.append(VersionCommand(str(tmp_path / name / "app")))
    before = program.read_bytes()
    build = 'cc -O2 -ffunction-sections $LDFLAGS -o app *.c; echo "$CMLIB_LAYOUT" >> seeds'
    build = build.replace("*.c", "main.c work.c names.c never.c")
    old, new = time_layouts(versions, 2, build, notify=lambda text: None)
    assert old.shape == new.shape == (2, 2) and (old > 0).all(axis=None)
    assert all((tmp_path / name / "app").read_bytes() == before for name in ("old", "new"))
    seeds = [(tmp_path / name / "seeds").read_text().split() for name in ("old", "new")]
    assert seeds[0] == seeds[1] and len(set(seeds[0])) == 2
    check_layouts(versions, build)
    with pytest.raises(CmlibError, match="LDFLAGS"):
        check_layouts(versions, "true")
    assert all((tmp_path / name / "app").read_bytes() == before for name in ("old", "new"))


@pytest.mark.needs("lld")
def test_a_program_with_few_orders_has_layouts(program, tmp_path):
    """Some of its layouts are equal, which is no sign that it was not linked."""
    app = shutil.copy(program, tmp_path)
    build = 'seed=$((CMLIB_LAYOUT / 3)); printf "%d" $seed > app'
    check_layouts([VersionCommand(app)] * 2, build)
    assert Path(app).read_bytes() == program.read_bytes()


# Checks layouts of a program in its folder; a build writes another one, says so, and takes long if a file is there.
LINKER = """
import sys
from cmlib.cli import _signals_as_interrupts
from cmlib.compare.layouts import check_layouts
from cmlib.compare.versions import VersionCommand
with _signals_as_interrupts():
    check_layouts([VersionCommand("./app")] * 2, sys.argv[1])
"""
BUILD = (
    'echo "$CMLIB_LAYOUT" > app; touch linked-anew; test ! -e slow || (sleep 61.25; echo late > app) # an end'
)


@pytest.fixture
def linking(tmp_path):
    """A process in the middle of a build that has linked the program `app` anew and goes on for a minute."""
    (tmp_path / "app").write_text("original")
    (tmp_path / "app").chmod(0o755)
    (tmp_path / "slow").touch()
    with subprocess.Popen(
        [sys.executable, "-c", LINKER, BUILD], cwd=tmp_path, stderr=subprocess.DEVNULL
    ) as process:
        assert wait_until(lambda: (tmp_path / "linked-anew").exists())
        yield process
        process.kill()
    for pid in processes("sleep\00061.25"):
        os.kill(pid, signal.SIGKILL)


@pytest.mark.needs("lld")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_interrupted_build_is_ended_and_the_program_put_back(linking, tmp_path, number):
    linking.send_signal(number)
    assert linking.wait() != 0
    assert not processes("sleep\00061.25")
    assert (tmp_path / "app").read_text() == "original"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["app", "linked-anew", "slow"]


@pytest.mark.needs("lld")
def test_what_a_killed_comparison_had_linked_is_put_back_by_the_next(linking, tmp_path):
    linking.kill()
    linking.wait()
    version, said = VersionCommand(str(tmp_path / "app")), []
    for pid in processes("sleep\00061.25"):
        os.kill(pid, signal.SIGKILL)  # the build goes on, and ends
    put_back(version, said.append)
    assert (tmp_path / "app").read_text() == "original" and (tmp_path / "app").stat().st_mode & 0o777 == 0o755
    assert any("killed" in text for text in said)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["app", "linked-anew", "slow"]
    put_back(version, said.append)
    assert (tmp_path / "app").read_text() == "original"


@pytest.mark.needs("lld")
def test_a_program_that_was_built_after_a_comparison_was_killed_is_not_replaced(linking, tmp_path):
    linking.kill()
    linking.wait()
    for pid in processes("sleep\00061.25"):
        os.kill(pid, signal.SIGKILL)
    with locked(tmp_path / "app.before-layouts"):
        (tmp_path / "app").write_text("of the user's own")
    with pytest.raises(CmlibError, match=r"app\.before-layouts/app"):
        put_back(VersionCommand(str(tmp_path / "app")))
    assert (tmp_path / "app").read_text() == "of the user's own"
    assert (tmp_path / "app.before-layouts/app").read_text() == "original"
