"""Files appear whole or not at all."""

import os

import pytest

from discreet.files import bare_suffix, canonical_json, open_binary, whole_binary, whole_text


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.txt.xz", "a.txt.bz2"])
def test_what_is_written_is_read_through_its_compression(tmp_path, name):
    with whole_text(tmp_path / name) as out:
        out.write("grüße\n")
    with open_binary(tmp_path / name) as stream:
        assert stream.read() == "grüße\n".encode()
    assert (tmp_path / name).read_bytes() != "grüße\n".encode() or name == "a.txt"


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def fail_half_way() -> None:
        with whole_binary(path) as out:
            out.write(b"half of the new")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_half_way()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_new_file_has_the_permissions_the_user_is_used_to(tmp_path):
    (tmp_path / "ordinary").write_text("")
    with whole_binary(tmp_path / "whole"):
        pass
    assert (tmp_path / "whole").stat().st_mode == (tmp_path / "ordinary").stat().st_mode


def test_bare_suffix_looks_below_compression(tmp_path):
    assert bare_suffix(tmp_path / "Mail.JSONL.gz") == ".jsonl"
    assert bare_suffix(tmp_path / "mail.csv") == ".csv"


def test_canonical_json_does_not_depend_on_the_order_of_keys():
    assert canonical_json({"b": 1, "a": [2]}) == canonical_json({"a": [2], "b": 1})
