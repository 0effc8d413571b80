"""One browser and one JupyterLab a test process, both gone when the last browser test of it has ended."""

import shutil

import pytest

from cmlib import places
from cmlib.io import store
from tests.browser.bench import Bench
from tests.browser.chromium import launched, open_context
from tests.browser.copies import copy_notebook, data_folder
from tests.browser.lab import jupyterlab


@pytest.fixture(scope="package")
def chromium(tmp_path_factory):
    with launched(tmp_path_factory.mktemp("home")) as browser:
        yield browser


@pytest.fixture(scope="package")
def data(tmp_path_factory):
    """A data folder with recordings of the program that notebooks are about, and a space in its path."""
    return data_folder(tmp_path_factory.mktemp("browser") / "data of tests", "wordcount")


@pytest.fixture(scope="package")
def lab(tmp_path_factory, data, smoke_folder):
    """What the smoke profile computes is not computed again: its notebooks leave it in their results."""
    root, private = tmp_path_factory.mktemp("notebooks"), tmp_path_factory.mktemp("server")
    with jupyterlab(root, private, {"CMLIB_DATA": data, "CMLIB_RESULTS": smoke_folder}) as server:
        yield server


@pytest.fixture
def new_page(chromium):
    """Opens pages, each in a context of its own, so that none knows what another has loaded."""
    contexts = []

    def open_page(**looks):
        contexts.append(open_context(chromium, **looks))
        return contexts[-1].new_page()

    yield open_page
    strangers = [url for context in contexts for url in context.strangers]
    for context in contexts:
        context.close()
    assert not strangers, "a page asked for something outside this machine"


@pytest.fixture(scope="module")
def pictures(request):
    """Folder for screenshots: `data/results/browser/<module>`, emptied first."""
    name = request.module.__name__.rpartition(".")[2].removeprefix("test_")
    folder = places.results_dir() / "browser" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


@pytest.fixture(autouse=True)
def told(request, record_property):
    """The summary says where the pictures are."""
    if "pictures" in request.fixturenames:
        record_property("pictures", str(request.getfixturevalue("pictures")))


@pytest.fixture(scope="module")
def database(data):
    """A store that all notebooks share."""
    return store.refresh(None, f"sqlite:///{data / 'store.sqlite'}")


@pytest.fixture(scope="module")
def bench(lab, chromium, pictures):
    context = open_context(chromium)
    yield Bench(lab, context, pictures)
    context.close()
    assert not context.strangers, "a page asked for something outside this machine"


@pytest.fixture
def copied(lab, data, database):
    """Copies a notebook into the lab's folder."""
    given = {
        "interactive": True,
        "jobs": 1,
        "results_folder": str(data / "results"),
        "database": database,
    }

    def copy(name):
        copy_notebook(places.notebooks_dir() / name, lab.root / name, given)
        return name

    return copy
