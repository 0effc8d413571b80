"""Programs of one process: those of SPEC CPU2006 that Debian ships, and bzip2 and gcc.

:func:`prepare` takes a program's name, and yields a LaunchSpec; each function in MAKERS takes `scale` (factor of
the work; at 1 some ten seconds) and `folder` (for what it writes), and gives the command as a list. A CmlibError if
a tool that makes an input fails.
"""

import random
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from cmlib.collect.record import LaunchSpec
from cmlib.collect.toolchain import run_tool
from cmlib_workloads.recipe import cached_input, scratch

_SEED = 1


@contextmanager
def prepare(name, scale, options):
    """Get a program ready: a context manager that yields a LaunchSpec with its command.

    `name` is a key of MAKERS, `scale` (float) the factor of its work; `options` are not used.
    """
    with scratch(name) as folder:
        yield LaunchSpec([str(part) for part in MAKERS[name](scale, folder)])


def _bzip2(scale, folder):
    """Compress a mixture of text and random bytes."""
    return _to_nothing("bzip2", "-9", "-k", "-c", _mixture(round(120 * scale)))


def _gcc(scale, folder):
    """Compile a generated C program with -O2."""
    functions = max(1, round(600 * scale))
    source = cached_input(
        "program.c", lambda path: _write_c(path, functions), functions=functions, seed=_SEED
    )
    return ["gcc", "-O2", "-w", "-x", "c", "-c", source, "-o", folder / "program.o"]


def _perl(scale, folder):
    """Count, reverse and replace words of a generated text."""
    program = (
        "my %n; while (<>) { for my $w (split) { $n{$w}++; $n{lc(reverse $w)} += length $w } s/w(\\d+)5/x$1/g } "
        'my $i; for (sort { $n{$b} <=> $n{$a} || $a cmp $b } keys %n) { print "$_ $n{$_}\\n" if $i++ < 10 }'
    )
    return ["perl", "-e", program, _text(round(80 * scale))]


def _gnugo(scale, folder):
    """Play Go against itself."""
    moves = max(1, round(40 * scale))
    commands = "".join(f"genmove {'black' if move % 2 == 0 else 'white'}\n" for move in range(moves))
    (folder / "game.gtp").write_text(f"boardsize 19\n{commands}quit\n")
    play = "exec /usr/games/gnugo --mode gtp --level 10 --seed 1 --gtp-input"
    return ["/bin/sh", "-c", f'{play} "$1" >/dev/null', "gnugo", folder / "game.gtp"]


def _x264(scale, folder):
    """Encode a generated film."""
    frames = max(1, round(160 * scale))

    def film(path):
        source = "testsrc2=size=640x360:rate=25,noise=alls=12:allf=t:all_seed=1"
        made = path.with_name(f"{path.name}.y4m")
        picture = ["-f", "lavfi", "-i", source, "-frames:v", frames, "-pix_fmt", "yuv420p", made]
        run_tool(["ffmpeg", "-v", "error", *picture], timeout=300)
        made.rename(path)

    film_file = cached_input("film", film, frames=frames, seed=_SEED)
    coding = ["--threads", "1", "--preset", "slow", "--quiet", "--demuxer", "y4m"]
    return ["x264", *coding, "-o", folder / "film.264", film_file]


def _glpk(scale, folder):
    """Solve a random linear program."""
    size = max(2, round(1800 * scale ** (1 / 3)))
    program = cached_input("random.lp", lambda path: _write_lp(path, size), size=size, seed=_SEED)
    return ["glpsol", "--lp", program]


def _povray(scale, folder):
    """Render a scene of random spheres."""
    scene = cached_input("scene.pov", _write_scene, seed=_SEED)
    width = max(16, round(1100 * scale**0.5))
    size = [f"+W{width}", f"+H{width * 3 // 4}", "+A0.3", "+WT1", "-D", "-GA"]
    return ["povray", f"+I{scene}", f"+O{folder}/scene.png", *size]


def _hmmer(scale, folder):
    """Search random protein sequences for a family's profile."""
    sequences = max(1, round(20_000 * scale))
    files = cached_input(
        "sequences", lambda path: _write_sequences(path, sequences), sequences=sequences, seed=_SEED
    )
    found, profile, searched = folder / "found", files / "family.hmm", files / "all.fasta"
    return ["hmmsearch", "--cpu", "0", "--max", "-o", found, profile, searched]


def _octave(scale, folder):
    """Decompose random matrices, and sum in a loop."""
    rounds = max(1, round(5 * scale))
    program = (
        f"randn('seed', 1); for i = 1:{rounds}; A = randn(700); [q, r] = qr(A); e = eig(A); s = svd(A); "
        "t = 0; for j = 1:300000; t = t + mod(j, 7) * 0.5; end; disp([sum(abs(e)), s(1), t]); end"
    )
    return ["env", "OMP_NUM_THREADS=1", "octave-cli", "--norc", "--eval", program]


def _to_nothing(*command):
    """A command whose output is thrown away."""
    return ["/bin/sh", "-c", 'exec "$@" >/dev/null', command[0], *command]


def _text(megabytes):
    """Path of a text of so many megabytes."""
    return cached_input(
        "text", lambda path: _write_text(path, megabytes, random_every=0), mb=megabytes, seed=_SEED
    )


def _mixture(megabytes):
    """Path of a text in which every fourth megabyte is random."""
    return cached_input(
        "mixture", lambda path: _write_text(path, megabytes, random_every=4), mb=megabytes, seed=_SEED
    )


def _write_text(path, megabytes, *, random_every):
    """Megabytes of ten words a line; every `random_every`-th of them is uniform random bytes, for 0 none."""
    drawn = np.random.default_rng(_SEED)
    words = np.array([b"w%d" % rank for rank in range(1, 20_001)], dtype=object)
    weights = 1 / np.arange(1, 20_001)
    with path.open("wb") as file:
        for number in range(max(1, megabytes)):
            if random_every and number % random_every == random_every - 1:
                file.write(drawn.bytes(1_000_000))
                continue
            line_ends = words[drawn.choice(len(words), 300_000, p=weights / weights.sum())].reshape(-1, 10)
            file.write(b"\n".join(map(b" ".join, line_ends))[:999_999] + b"\n")


def _write_c(path, functions):
    """Write a C program of so many random functions."""
    drawn = random.Random(_SEED)
    names = "abcdefgh"

    def expression(depth):
        if depth == 0:
            return drawn.choice(names) if drawn.random() < 0.7 else str(drawn.randint(1, 9999))
        return f"({expression(depth - 1)} {drawn.choice('+-*^&|')} {expression(depth - 1)})"

    with path.open("w") as file:
        for number in range(functions):
            body = "".join(
                f"  for (int i = 0; i < (a & {drawn.randint(15, 255)}); i++) {{ {drawn.choice(names)} += "
                f"{expression(3)}; if ({expression(1)} > i) {drawn.choice(names)} ^= {expression(2)}; }}\n"
                for _ in range(6)
            )
            arguments = ", ".join(f"unsigned {name}" for name in names)
            file.write(f"unsigned f{number}({arguments})\n{{\n{body}  return {' + '.join(names)};\n}}\n")


def _write_lp(path, size):
    """Write a linear program with random coefficients, as many constraints as variables."""
    drawn = np.random.default_rng(_SEED)
    with path.open("w") as file:
        file.write(f"Maximize\n obj: {_terms(drawn.uniform(1, 10, size))}\nSubject To\n")
        for row in range(size):
            file.write(f" c{row}: {_terms(drawn.uniform(0, 10, size))} <= {drawn.uniform(500, 1500):.4f}\n")
        file.write("End\n")


def _terms(coefficients):
    """A linear expression with these coefficients, as text."""
    return "\n ".join(f"+ {value:.4f} x{column}" for column, value in enumerate(coefficients))


def _write_scene(path):
    """Write a scene of 300 random spheres for POV-Ray."""
    drawn = random.Random(_SEED)
    spheres = "".join(
        f"sphere {{ <{drawn.uniform(-6, 6):.3f}, {drawn.uniform(0, 4):.3f}, {drawn.uniform(0, 12):.3f}>, 0.5 "
        f"pigment {{ rgb <{drawn.random():.3f}, {drawn.random():.3f}, {drawn.random():.3f}> }} "
        f"finish {{ reflection {0.5 * (number % 2)} phong 0.8 }} }}\n"
        for number in range(300)
    )
    path.write_text(
        "#version 3.7;\nglobal_settings { assumed_gamma 1.0 max_trace_level 8 }\n"
        "camera { location <0, 3, -9> look_at <0, 1.5, 4> }\n"
        "light_source { <10, 15, -10> rgb 1 area_light <2, 0, 0>, <0, 2, 0>, 4, 4 }\n"
        f"plane {{ y, -0.5 pigment {{ checker rgb 0.2, rgb 0.9 }} finish {{ reflection 0.2 }} }}\n{spheres}"
    )


def _write_sequences(path, sequences):
    """A family of 40 sequences, a fifth of each drawn anew, its profile, and uniform sequences to search."""
    drawn = np.random.default_rng(_SEED)
    letters = np.frombuffer(b"ACDEFGHIKLMNPQRSTVWY", dtype="S1")
    path.mkdir()
    ancestor = drawn.integers(20, size=200)
    family = np.where(drawn.random((40, 200)) < 0.2, drawn.integers(20, size=(40, 200)), ancestor)
    _write_fasta(path / "family.afa", letters[family])
    run_tool(["hmmbuild", "--cpu", "0", "--amino", path / "family.hmm", path / "family.afa"])
    _write_fasta(path / "all.fasta", letters[drawn.integers(20, size=(sequences, 400))])


def _write_fasta(path: Path, rows):
    """Write sequences (rows of letters) as FASTA."""
    path.write_text("".join(f">s{number}\n{row.tobytes().decode()}\n" for number, row in enumerate(rows)))


MAKERS = {
    make.__name__.removeprefix("_"): make
    for make in (_bzip2, _gcc, _perl, _gnugo, _x264, _glpk, _povray, _hmmer, _octave)
}
