"""The page's door: who gets in, what is refused, and what the page is told."""

import logging
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from discreet.errors import RefusedError
from discreet.screen.guard import HEADERS, MOST_BYTES, host_check, is_loopback
from discreet.screen.result import write_results
from discreet.screen.server import ASSETS, make_app
from discreet.screen.serving import browser_opened, serve

TOKEN = "t" * 43
ME = {"worker": "me-myself"}
ORIGIN = "http://127.0.0.1:8000"


@pytest.fixture
def client(notes, opened):
    screening = opened(notes, "digits", sample=3, seed=1)
    stopped = []

    def on_result():
        result, records_path, rate_path = write_results(screening)
        return result.as_dict() | {"files": [str(records_path), str(rate_path)]}

    app = make_app(
        screening,
        TOKEN,
        allowed=host_check(8000, "127.0.0.1", remote=False),
        on_result=on_result,
        on_stop=lambda: stopped.append(True),
    )
    client = TestClient(app, base_url=ORIGIN, follow_redirects=False)
    client.stopped = stopped  # type: ignore[attr-defined]
    return client


def ask(client, action, expect=200, **details):
    answer = client.post(f"/{TOKEN}/api/{action}", json=ME | details)
    assert answer.status_code == expect, answer.text
    return answer.json()


def on(state):
    return {"number": state["record"]["number"], "serial": state["record"]["serial"]}


def test_the_page_and_its_parts_are_served_with_safe_headers(client):
    for name in ["", *ASSETS]:
        answer = client.get(f"/{TOKEN}/{name}")
        assert answer.status_code == 200
        for header, value in HEADERS.items():
            assert answer.headers[header] == value
        assert "set-cookie" not in answer.headers
        assert "access-control-allow-origin" not in answer.headers


def test_nothing_on_the_page_comes_from_elsewhere_or_runs_inline():
    from discreet.screen.server import asset

    html = asset("index.html").decode()
    assert html.count("<script") == 1
    assert '<script type="module" src="page.js"></script>' in html
    for name in ASSETS:
        text = asset(name).decode().replace("http://www.w3.org/2000/svg", "")
        for bad in ("http:", "https:", "innerHTML", "outerHTML", "insertAdjacentHTML", "eval(", " style=", "onclick"):
            assert bad not in text, f"{bad} in {name}"


@pytest.mark.parametrize("token", ["", "x", TOKEN[:-1], TOKEN + "t", "t" * 42 + "u", "%00", "é"])
@pytest.mark.parametrize("rest", ["", "page.js", "api/next"])
def test_without_the_token_there_is_nothing(client, token, rest):
    path = f"/{token}/{rest}" if token else f"/{rest}"
    assert client.get(path).status_code == 403
    answer = client.post(path, json=ME)
    assert answer.status_code == 403
    assert "Zebulon" not in answer.text
    for header, value in HEADERS.items():
        assert answer.headers[header] == value


@pytest.mark.parametrize(
    "path",
    ["../pyproject.toml", "..%2f..%2fetc/passwd", "%2e%2e/%2e%2e/etc/passwd", "/etc/passwd", "page/index.html", "api"],
)
def test_a_path_outside_is_not_found(client, path):
    answer = client.get(f"/{TOKEN}/{path}")
    assert answer.status_code in (403, 404)
    assert "root:" not in answer.text


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1:9999"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, 403),
        ({"Host": "evil.example:8000"}, 421),
        ({"Host": "127.0.0.1:9999"}, 421),
        ({"Host": ""}, 421),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
        ({"Origin": ORIGIN, "Sec-Fetch-Site": "same-origin"}, 200),
        ({"Host": "localhost:8000"}, 200),
    ],
)
def test_requests_from_other_pages_and_under_other_names_are_refused(client, headers, status):
    headers = {"Content-Type": "application/json"} | headers
    answer = client.post(f"/{TOKEN}/api/next", content=b'{"worker": "me-myself"}', headers=headers)
    assert answer.status_code == status


def test_a_link_may_open_the_page_but_no_other_page_may_load_or_frame_it(client):
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert client.get(f"/{TOKEN}/", headers=link).status_code == 200
    assert client.get(f"/{TOKEN}/page.js", headers=link).status_code == 403
    for other in ({"Sec-Fetch-Dest": "iframe"}, {"Sec-Fetch-Mode": "no-cors"}):
        assert client.get(f"/{TOKEN}/", headers=link | other).status_code == 403


def test_a_huge_body_is_refused_whether_it_says_its_length_or_not(client):
    huge = b'{"worker": "' + b"a" * MOST_BYTES + b'"}'
    json_type = {"Content-Type": "application/json"}
    assert client.post(f"/{TOKEN}/api/next", content=huge, headers=json_type).status_code == 413
    pieces = (huge[at : at + 1000] for at in range(0, len(huge), 1000))
    assert client.post(f"/{TOKEN}/api/next", content=pieces, headers=json_type).status_code == 413


def test_wrong_methods_are_refused(client):
    assert client.get(f"/{TOKEN}/api/next").status_code == 405
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        headers = {"Content-Type": "application/json"}
        assert client.request(method, f"/{TOKEN}/page.js", headers=headers).status_code == 405
    assert client.options(f"/{TOKEN}/api/next").status_code == 405


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{",
        b'{"worker": "short"}',
        b'{"worker": "me-myself", "more": 1}',
        b'{"worker": "<script>alert"}',
        b'{"worker": 12345678}',
        b"\xff\xfe",
    ],
)
def test_what_is_not_a_request_is_refused_without_repeating_it(client, body):
    answer = client.post(f"/{TOKEN}/api/next", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    assert "script" not in answer.text


def test_from_the_first_record_to_the_result(client):
    state = ask(client, "next")
    for done in range(3):
        assert state["progress"] == {"done": done, "total": 3, "held": 1}
        (part,) = state["record"]["parts"]
        assert [mark["by"] for mark in part["marks"]] == ["policy"]
        at = part["text"].index("Zebulon")
        state = ask(client, "mark", **on(state), part=0, start=at - 1, end=at + 7, kind="OTHER")
        marks = state["record"]["parts"][0]["marks"]
        assert marks[0] == {"start": at, "end": at + 7, "kind": "OTHER", "by": "person"}
        assert state["record"]["undoable"]
        state = ask(client, "done", **on(state))
    assert state["record"] is None
    assert (state["result"]["miss_rate"]["count"], state["result"]["miss_rate"]["total"]) == (3, 6)
    assert len(state["result"]["files"]) == 2
    state = ask(client, "back")
    assert state["result"] is None
    assert state["progress"]["done"] == 2
    ask(client, "done", **on(state))
    ask(client, "stop")
    assert client.stopped == [True]


def test_a_mark_taken_away_stays_in_sight_until_it_is_brought_back(client):
    state = ask(client, "next")
    (found,) = state["record"]["parts"][0]["marks"]
    span = {"part": 0, "start": found["start"], "end": found["end"]}
    state = ask(client, "unmark", **on(state), **span)
    assert state["record"]["parts"][0]["marks"] == [found | {"by": "removed"}]
    state = ask(client, "mark", **on(state), **span, kind="NUMBER")
    assert state["record"]["parts"][0]["marks"] == [found]
    state = ask(client, "mark", **on(state), **span, kind="OTHER")
    assert state["record"]["parts"][0]["marks"] == [found | {"kind": "OTHER", "by": "person"}]
    for _ in range(3):
        state = ask(client, "undo", **on(state))
    assert state["record"]["parts"][0]["marks"] == [found]
    assert not state["record"]["undoable"]


def test_what_cannot_be_marked_is_refused_and_changes_nothing(client):
    state = ask(client, "next")
    whole = {"part": 0, "start": 0, "end": 4, "kind": "OTHER"}
    for wrong, status in (
        ({"kind": "NO-SUCH-KIND"}, 409),
        ({"part": 1}, 409),
        ({"part": 2}, 400),
        ({"end": 10**6}, 400),
        ({"start": 4}, 400),
        ({"start": -1}, 400),
        ({"number": 99}, 409),
        ({"serial": 99}, 409),
        ({"worker": "someone-else"}, 409),
    ):
        ask(client, "mark", status, **(on(state) | whole | wrong))
    assert ask(client, "next") == state


def test_positions_are_the_browsers(tmp_path, opened):
    path = tmp_path / "emoji.jsonl"
    path.write_text('{"text": "🙂 Ann 👩🏽‍⚕️ 42"}\n', encoding="utf-8")
    screening = opened(path, "digits")
    app = make_app(screening, TOKEN, allowed=lambda host: True, on_result=dict, on_stop=lambda: None)
    client = TestClient(app, base_url=ORIGIN)
    state = ask(client, "next")
    text = "🙂 Ann 👩🏽‍⚕️ 42"
    units = len(text.encode("utf-16-le")) // 2
    assert [(mark["start"], mark["end"]) for mark in state["record"]["parts"][0]["marks"]] == [(units - 2, units)]
    state = ask(client, "mark", **on(state), part=0, start=3, end=6, kind="OTHER")
    ask(client, "mark", 400, **on(state), part=0, start=1, end=6, kind="OTHER")  # half an emoji
    marks = screening.store.next("me-myself").marks
    assert [text[mark.start : mark.end] for mark in marks] == ["Ann", "42"]


def test_two_tabs_get_different_records_and_a_lost_one_is_told_so(client):
    mine, theirs = ask(client, "next"), client.post(f"/{TOKEN}/api/next", json={"worker": "someone-else"}).json()
    assert mine["record"]["number"] != theirs["record"]["number"]
    assert theirs["progress"]["held"] == 2
    ask(client, "done", 409, **on(theirs))
    assert ask(client, "beat", **on(mine))["progress"]["held"] == 2


def test_neither_records_nor_the_token_get_into_logs(client, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    state = ask(client, "next")
    ask(client, "mark", 400, **on(state), part=0, start=0, end=10**6, kind="OTHER")
    ask(client, "done", **on(state))
    client.get("/wrong/")
    out, err = capfd.readouterr()
    own = [record.getMessage() for record in caplog.records if not record.name.startswith("httpx")]
    for text in (out, err, *own):
        assert "Zebulon" not in text
        assert TOKEN not in text


def test_other_machines_are_let_in_only_when_asked_for(notes, opened):
    screening = opened(notes, "digits", sample=3)
    with pytest.raises(RefusedError, match="--allow-remote"):
        serve(screening, host="0.0.0.0", on_ready=print)
    assert [is_loopback(host) for host in ("127.0.0.1", "127.3.2.1", "::1", "localhost")] == [True] * 4
    assert [is_loopback(host) for host in ("0.0.0.0", "::", "192.168.1.4", "example.org")] == [False] * 4
    remote = host_check(80, "lab-machine", remote=True)
    assert [remote(host) for host in ("192.168.1.4:80", "[fe80::1]:80", "lab-machine:80", "localhost:80")] == [True] * 4
    assert not remote("evil.example:80")
    assert not host_check(80, "127.0.0.1", remote=False)("192.168.1.4:80")


def test_a_browser_is_opened_without_the_token_in_its_command_line(monkeypatch):
    seen: list[str] = []
    monkeypatch.setattr("webbrowser.open", seen.append)
    url = f"{ORIGIN}/{TOKEN}/"
    with browser_opened(url):
        page = Path(seen[0].removeprefix("file://"))
        assert TOKEN not in seen[0]
        assert page.stat().st_mode & 0o077 == 0
        assert url in page.read_text()
    assert not page.exists()
