"""Changed functions between two source trees, in C, C++ and Python."""

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmlib.compare.source_changes import changed_functions, parse_functions, read_functions

OLD_C = """
static int total;
/* counts */ void count(int by) { total += by; }
int work(int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) { count(i); sum += i; }
    return sum;
}
int untouched(int a) { int b = a; b++; return b; }
int gone(void) { return 1; }
int main(void) { int n = 3; n = work(n); n += gone(); return n; }
"""
NEW_C = """
static int total, n_rows[8];
void count(int by) { total += 2 * by; }
static void tally(int k) { n_rows[k & 7]++; total--; n_rows[0] = 0; }
int work(int n)
{
    int sum = 0;   // the same as before, laid out anew
    for (int i = 0; i < n; i++) { count(i); sum += i; }
    return sum;
}
int untouched(int a) { int b = a; /* really */ b++; return b; }
int main(void) { int n = 3; n = work(n); tally(n); return n; }
"""


@pytest.fixture
def trees(tmp_path):
    def write(old, new):
        for name, files in (("old", old), ("new", new)):
            for path, text in files.items():
                (tmp_path / name / path).parent.mkdir(parents=True, exist_ok=True)
                (tmp_path / name / path).write_text(text)
        rows = changed_functions(tmp_path / "old", tmp_path / "new")
        return pd.DataFrame(rows, columns=["function", "change", "location", "targets"]).set_index("function")

    return write


def test_c_functions_and_where_regions_belong(trees):
    found = trees({"a.c": OLD_C}, {"a.c": NEW_C})
    assert found["change"].to_dict() == {
        "count": "changed",
        "tally": "added",
        "main": "changed",
        "gone": "removed",
    }
    assert found["targets"].to_dict() == {
        "count": ["work"],
        "tally": ["main"],
        "main": ["main"],
        "gone": [],
    }
    assert found["location"]["count"] == "a.c:3" and found["location"]["gone"] == "a.c:10"


def test_moving_a_function_to_another_file_changes_nothing(trees):
    half = OLD_C.index("int work")
    assert trees({"a.c": OLD_C}, {"sub/b.c": OLD_C[half:], "c.c": OLD_C[:half]}).empty


def test_cpp_methods_overloads_templates_and_operators(trees):
    old = """
namespace cache {
class Store {
  public:
    int get(int key) { int k = key; k += 1; k *= 2; return table[k]; }
    Store& operator+=(int x) { table[0] += x; table[1] += x; table[2] += x; return *this; }
    int table[10];
};
}
template <class T> T twice(T x) { T y = x; y += x; y -= 0; return y; }
int put(int a) { int b = a; b++; b++; return b; }
int put(int a, int c) { int b = a; b++; b += c; return b; }
int *cache_line() { static int line[16]; line[0] = 1; line[1] = 2; return line; }
"""
    new = old.replace("k *= 2", "k *= 3").replace("y -= 0", "y -= 1").replace("b += c", "b -= c")
    new = new.replace("table[2] += x", "table[2] -= x").replace("line[1] = 2", "line[1] = 3")
    new += "int put(double a) { int b = a; b++; b--; return b; }\n"
    new += "int outer(Store *s) { int a = s->get(1); a += twice<int>(a); a += put(a); return a; }\n"
    found = trees({"a.cpp": old}, {"a.cpp": new})
    assert list(found.loc["put", "change"]) == ["changed", "added"]
    found = found[found["change"] == "changed"]
    assert set(found.index) == {"cache::Store::get", "cache::Store::operator+=", "twice", "put", "cache_line"}
    calls = {function.name: function.calls for function in parse_functions(new, "a.cpp")}
    assert calls["outer"] >= {"get", "twice", "put"}


def test_python_methods_decorators_and_docstrings(trees):
    old = '''
class Table:
    def put(self, key):
        """Old words."""
        self.rows.append(key)
        self.rows.sort()
        return len(self.rows)

    @property
    def size(self):
        return len(self.rows)

def load(path):
    table = Table()
    for line in open(path):
        table.put(line)
    return table
'''
    new = old.replace("Old words.", "New words.  # and more").replace("@property", "@cached_property")
    found = trees({"a.py": old}, {"a.py": new})
    assert found["change"].to_dict() == {"Table.size": "changed"}
    new = new.replace("self.rows.sort()", "self.rows.sort(reverse=True)")
    new += "\n\nasync def fetch():\n    await load('x')\n"
    found = trees({"a.py": old}, {"a.py": new})
    assert found["targets"].to_dict() == {
        "Table.put": ["Table.put"], "Table.size": ["Table.size"], "fetch": ["fetch"],
    }  # fmt: skip


def test_wrappers_of_wrappers_lead_to_the_first_caller_of_substance(trees):
    text = """
inline int deepest(int a) { int b = a; b++; b++; return b; }
int middle(int a) { return deepest(a); }
int one(int a) { int b = middle(a); b++; b--; return b; }
int two(int a) { int b = middle(a); b--; b++; return b; }
int round_a(int a);
int round_b(int a) { return round_a(a); }
int round_a(int a) { return round_b(a); }
"""
    found = trees(
        {"a.c": text},
        {"a.c": text.replace("b++; b++;", "b += 3;").replace("return round_b(a)", "return round_b(a + 1)")},
    )
    assert set(found["targets"]["deepest"]) == {"one", "two"}
    # Nobody outside of their circle calls the two.
    assert found["targets"]["round_a"] == ["round_a"]


def test_a_static_function_is_called_from_its_own_file_only(trees):
    text = "static int f(int a) { return a; }\nint here(int a) { int b = f(a); b++; b--; return b; }"
    other = "int there(int a) { int b = f(a); b++; b--; return b; }"
    found = trees({"a.c": text, "b.c": other}, {"a.c": text.replace("return a", "return -a"), "b.c": other})
    assert found["targets"]["f"] == ["here"]


def test_broken_and_foreign_files_do_not_stop_it(trees):
    found = trees(
        {"a.c": "int f(int a) { a++; a--; return a; }", "notes.txt": "f", "b.c": "int broken( {{{"},
        {"a.c": "int f(int a) { a--; a++; return a; }", "notes.txt": "g", "b.c": "}} int broken"},
    )
    assert list(found.index) == ["f"]


def test_trees_without_source_are_refused(tmp_path):
    with pytest.raises(ValueError, match="no source file in C"):
        read_functions(tmp_path)


@given(
    st.lists(st.booleans(), min_size=1, max_size=8),
    st.sampled_from([" ", "\n", "  /* why */ "]),
    st.randoms(),
)
def test_exactly_the_edited_functions_differ(edited, gap, random):
    def source(edits, space):
        bodies = [
            f"int f{i}(int a) {{ a++; a--; {'a += 7;' if edit else ''} return a; }}" for i, edit in edits
        ]
        return "\n".join(bodies).replace(" ", space)

    order = list(enumerate(edited))
    old = {f.name: f.tokens for f in parse_functions(source([(i, False) for i, _ in order], " "), "a.c")}
    random.shuffle(order)
    new = {f.name: f.tokens for f in parse_functions(source(order, gap), "a.c")}
    assert set(old) == set(new)
    assert {name for name in old if old[name] != new[name]} == {f"f{i}" for i, edit in order if edit}
