"""A notebook that is asked for a name that is not among its own stands aside, and says what there is."""

import pytest

from cmlib.errors import NothingRecordedError
from cmlib.experiments.requested import resolve_names
from cmlib.experiments.sample_streams import load_samples

FEW, MANY = ["gcc", "kmeans"], [f"kernel_{letter}" for letter in "abcdefg"]


def ask(wanted, known):
    return resolve_names(wanted, known, about="the programs of it", todo="`cmlib record NAME`")


def test_all_are_known_and_names_come_in_the_order_asked_for():
    assert ask("all", FEW) == FEW and ask(" kmeans ,gcc,", FEW) == ["kmeans", "gcc"]


@pytest.mark.parametrize(
    "name, known, told",
    [
        ("a;touch PWN", FEW, r"`cmlib record 'a;touch PWN'`"),
        ("a\x1b[2J", FEW, r"`cmlib record NAME`"),
        ("mine", FEW, r"'mine' is not among the programs of it \(gcc, kmeans\). `cmlib record mine`"),
        ("mine", [], r"\(none\)"),
        ("mine", MANY, r"\(kernel_a, kernel_b, kernel_c, kernel_d, kernel_e, …\)"),
        ("kernal_c", MANY, r"\(did you mean kernel_c or"),
    ],
)
def test_another_name_is_told_with_what_there_is_and_what_to_do(name, known, told):
    with pytest.raises(NothingRecordedError, match=told):
        ask(name, known)


def test_no_name_at_all_is_a_mistake():
    with pytest.raises(ValueError, match="contains no name"):
        ask(" , ", FEW)


def test_a_program_has_all_its_sampled_cases_and_others_none():
    assert list(load_samples(program="glpk")) == [f"glpk-{number}" for number in range(1, 5)]
    with pytest.raises(NothingRecordedError, match="'mine' is not among .*cmlib record mine --samples"):
        load_samples(program="mine")
