"""The work file: who holds what, undo, and nothing lost by a kill."""

import json
import subprocess
import sys

import pytest

from discreet.errors import InputError
from discreet.screen.marking import Mark, mark
from discreet.screen.store import HOLD_SECONDS, LostError, Store

FOUND = (Mark(0, 4, 8, "NUMBER"),)


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def store(tmp_path, clock):
    store = Store(tmp_path / "work.sqlite", clock)
    store.begin({"form": "test"}, [7, 2, 5], [FOUND, (), FOUND])
    yield store
    store.close()


def name_at(start):
    return lambda marks: mark(marks, Mark(0, start, start + 3, "PERSON"))


def test_two_people_never_hold_the_same_record(store):
    assert (store.next("anna").number, store.next("ben").number, store.next("cleo").number) == (0, 1, 2)
    assert store.next("dan") is None
    assert store.next("ben").number == 1
    assert store.progress().held == 3


def test_a_hold_that_is_not_renewed_runs_out(store, clock):
    first = store.next("anna")
    clock.now += HOLD_SECONDS - 1
    store.renew("anna", 0)
    clock.now += HOLD_SECONDS - 1
    assert store.next("ben").number == 1
    clock.now += 2
    assert store.next("cleo").number == 0
    for late in (
        lambda: store.change("anna", 0, first.serial, name_at(0)),
        lambda: store.finish("anna", 0, first.serial),
        lambda: store.renew("anna", 0),
    ):
        with pytest.raises(LostError):
            late()


def test_undo_goes_back_to_the_policys_answer_and_no_further(store):
    held = store.next("anna")
    one = store.change("anna", 0, held.serial, name_at(20))
    two = store.change("anna", 0, one.serial, lambda marks: marks[1:])
    assert [len(state.marks) for state in (held, one, two)] == [1, 2, 1]
    assert two.marks[0].kind == "PERSON"
    back = store.undo("anna", 0, two.serial)
    assert (back.marks, back.undoable) == (one.marks, True)
    back = store.undo("anna", 0, back.serial)
    assert (back.marks, back.undoable) == (FOUND, False)
    assert store.undo("anna", 0, back.serial).marks == FOUND


def test_a_change_must_name_the_state_it_saw(store):
    held = store.next("anna")
    changed = store.change("anna", 0, held.serial, name_at(20))
    with pytest.raises(LostError):
        store.change("anna", 0, held.serial, name_at(30))
    undone = store.undo("anna", 0, changed.serial)
    assert undone.serial not in (held.serial, changed.serial)  # the same marks again, but not the same state
    with pytest.raises(LostError):
        store.finish("ben", 0, undone.serial)


def test_a_change_that_changes_nothing_is_not_a_step_to_undo(store):
    held = store.next("anna")
    assert store.change("anna", 0, held.serial, lambda marks: marks) == held


def test_an_edit_that_fails_leaves_everything_as_it_was(store):
    held = store.next("anna")

    def fails(marks):
        raise InputError("no")

    with pytest.raises(InputError):
        store.change("anna", 0, held.serial, fails)
    assert store.next("anna") == held


def test_back_opens_the_last_record_again_and_then_returns_to_where_one_was(store):
    for _ in range(2):
        held = store.next("anna")
        store.finish("anna", held.number, held.serial)
    assert store.next("anna").number == 2
    assert store.back("ben") is None
    assert store.back("anna").number == 1
    again = store.back("anna")
    assert again.number == 0
    assert store.next("anna").number == 0
    assert store.progress().done == 0
    for expected in (1, 2):
        held = store.next("anna")
        store.finish("anna", held.number, held.serial)
        assert store.next("anna").number == expected


def test_a_second_server_on_the_same_file_shares_the_work(store, clock, tmp_path):
    other = Store(tmp_path / "work.sqlite", clock)
    mine, theirs = store.next("anna"), other.next("ben")
    other.close()
    assert mine is not None
    assert theirs is not None
    assert (mine.number, theirs.number) == (0, 1)


KILLED = """
import sys
from discreet.screen.marking import Mark, mark
from discreet.screen.store import Store
store = Store(__import__("pathlib").Path(sys.argv[1]))
for number in range(1000):
    held = store.next("anna-anna")
    new = Mark(0, 10 * number, 10 * number + 5, "PERSON")
    held = store.change("anna-anna", held.number, held.serial, lambda marks: mark(marks, new))
    print(len(held.marks), held.serial, flush=True)
"""


def test_every_answered_click_is_there_after_a_kill(tmp_path):
    path = tmp_path / "work.sqlite"
    store = Store(path)
    store.begin({"form": "test"}, [0], [()])
    store.close()
    with subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for _ in range(20):
            count, serial = map(int, process.stdout.readline().split())
        process.kill()
    store = Store(path)
    held = store.next("anna-anna")
    assert held is not None
    assert len(held.marks) >= count == 20
    assert held.serial >= serial
    assert {(m.end - m.start, m.start % 10) for m in held.marks} == {(5, 0)}
    store.close()


def test_each_commit_reaches_the_disk_before_it_is_answered(store):
    names = ("journal_mode", "synchronous")
    assert [store._database.execute(f"PRAGMA {name}").fetchone()[0] for name in names] == ["delete", 3]


def test_other_files_are_refused_with_their_name(tmp_path):
    (tmp_path / "text.sqlite").write_text("not a database, but long enough to be taken for the start of one " * 40)
    with pytest.raises(InputError, match=r"text\.sqlite"):
        Store(tmp_path / "text.sqlite").facts()


def test_the_work_file_holds_positions_and_kinds_only(store):
    assert json.dumps(FOUND) == '[[0, 4, 8, "NUMBER"]]'
    columns = [row[1] for row in store._database.execute("PRAGMA table_info(records)")]
    assert "text" not in columns
    assert "id" not in columns
