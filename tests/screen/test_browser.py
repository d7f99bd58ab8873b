"""The page in a real browser: Debian's chromium, driven by playwright (docs/screening.md says how to install both)."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.chromium import PATIENCE, chromium, playwright
from tests.screen.served import served

__all__ = ["chromium"]

expect = playwright.expect
NOTE = "Dear Zebulon, your code is {}."


@pytest.fixture
def window(chromium: Any) -> Iterator[Any]:
    """A browser window that tolerates no error, no dialog and no request to anywhere else."""
    context = chromium.new_context(viewport={"width": 1100, "height": 800})
    context.set_default_timeout(PATIENCE)
    problems: list[str] = []

    def refused(dialog: Any) -> None:
        problems.append("dialog")
        dialog.dismiss()

    context.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    context.on("weberror", lambda error: problems.append(str(error.error)))
    context.on("dialog", refused)
    context.on("request", lambda r: None if r.url.startswith("http://127.0.0.1:") else problems.append(r.url))
    yield context
    context.close()
    assert problems == []


def opened(window: Any, url: str) -> Any:
    page = window.new_page()
    page.goto(url)
    page.locator("#record, #result, #waiting").locator("visible=true").first.wait_for()
    return page


def box_of(page: Any, words: str) -> dict[str, float]:
    """Where words stand on the screen; scrolls to them first."""
    found: dict[str, float] = page.evaluate(
        """(words) => {
            const walker = document.createTreeWalker(document.getElementById("parts"), NodeFilter.SHOW_TEXT);
            for (let node = walker.nextNode(); node; node = walker.nextNode()) {
                const at = node.data.lastIndexOf(words);
                if (at < 0) continue;
                const range = document.createRange();
                range.setStart(node, at);
                range.setEnd(node, at + words.length);
                scrollBy(0, range.getBoundingClientRect().top - 300);
                const { left, right, top, bottom } = range.getBoundingClientRect();
                return { left, right, middle: (top + bottom) / 2 };
            }
            throw new Error("not on the page");
        }""",
        words,
    )
    return found


def drag(page: Any, words: str) -> None:
    """Selects words with the mouse."""
    box = box_of(page, words)
    page.mouse.move(box["left"] + 0.5, box["middle"])
    page.mouse.down()
    page.mouse.move(box["right"] - 0.5, box["middle"], steps=4)
    page.mouse.up()


def chip(page: Any, kind: str) -> Any:
    return page.locator("#kinds button", has_text=kind)


def hand_in(page: Any) -> None:
    """Goes on to the next record and waits until something else is shown."""
    before = page.locator("#record-id").inner_text()
    page.locator("#next").click()
    page.wait_for_function(
        "(id) => document.getElementById('record').hidden || document.getElementById('record-id').textContent !== id",
        arg=before,
    )


def test_twenty_records_from_the_first_to_the_result_with_a_reload_in_the_middle(window, tmp_path):
    with served(tmp_path, [NOTE.format(1000 + n) for n in range(20)], sample=20) as here:
        page = opened(window, here.url)
        for number in range(20):
            box = box_of(page, "Zebulon")
            page.mouse.dblclick((box["left"] + box["right"]) / 2, box["middle"])
            chip(page, "OTHER").click()
            expect(page.locator("#parts mark.person")).to_have_text("Zebulon")
            if number == 10:
                shown = page.locator("#record-id").inner_text()
                page.reload()
                expect(page.locator("#record-id")).to_have_text(shown)
                expect(page.locator("#parts mark.person")).to_have_text("Zebulon")
                expect(page.locator("#count")).to_have_text("10 of 20 done")
                page.locator("#parts mark.policy").click()
                page.locator("#remove").click()
                expect(page.locator("#parts mark.removed")).to_have_count(1)
                page.locator("#undo").click()
                expect(page.locator("#parts mark.policy")).to_have_count(1)
            hand_in(page)
        expect(page.locator("#result h2")).to_have_text("All 20 records are screened")
        expect(page.locator(".headline")).to_contain_text("missed 20 of 40 secrets")
        page.locator("#stop").click()
        expect(page.locator("#result")).to_contain_text("The screening is closed")
        assert all(words[0] == "Zebulon" and words[1].isdecimal() for words in here.marked().values())
    assert len((tmp_path / "texts.screened.jsonl").read_text().splitlines()) == 20
    assert (tmp_path / "texts.miss-rate.json").exists()


def test_two_tabs_share_the_work(window, tmp_path):
    with served(tmp_path, [NOTE.format(n) for n in range(5)], sample=5) as here:
        tabs = [opened(window, here.url), opened(window, here.url)]
        seen: list[str] = []
        for turn in range(4):
            tab = tabs[turn % 2]
            seen.append(tab.locator("#record-id").inner_text())
            hand_in(tab)
        expect(tabs[0].locator("#record")).to_be_visible()
        expect(tabs[1].locator("#waiting")).to_be_visible()  # the fifth is open in the first tab
        seen.append(tabs[0].locator("#record-id").inner_text())
        hand_in(tabs[0])
        for tab in tabs:
            expect(tab.locator("#result h2")).to_have_text("All 5 records are screened")
        assert sorted(seen) == [f"t{n}" for n in range(5)]


def test_html_is_shown_as_text_and_does_nothing(window, tmp_path):
    bad = '<script>window.bad=true</script><img src=x onerror="window.bad=true"> & <b>Zebulon</b> 42 </div>'
    with served(tmp_path, [bad]) as here:
        page = opened(window, here.url)
        assert page.locator(".text").evaluate("(element) => element.textContent") == bad
        assert page.locator("#parts script, #parts img, #parts b").count() == 0
        drag(page, "<b>Zebulon</b>")
        chip(page, "OTHER").click()
        expect(page.locator("#parts mark.person")).to_have_text("<b>Zebulon</b>")
        hand_in(page)
        assert page.evaluate("window.bad") is None
        assert here.marked() == {"t0": ["<b>Zebulon</b>", "42"]}


def test_right_to_left_text_and_emoji_are_marked_where_they_stand(window, tmp_path):
    texts = ["שלום דוד כהן, הקוד שלך 4711", "🙂🙂 Hi 👩🏽‍⚕️ Zoë 🎉 and 99 bye"]
    with served(tmp_path, texts, sample=2) as here:
        page = opened(window, here.url)
        for _ in texts:
            if page.locator("#record-id").inner_text() == "t0":
                page.keyboard.press("ArrowRight")  # nothing was chosen yet: the first word, whichever the key
                page.keyboard.press("ArrowLeft")  # onwards, since it reads from right to left
                page.keyboard.press("Shift+ArrowLeft")
                expect(page.locator("#selection q")).to_have_text("דוד כהן")
                page.keyboard.press("Enter")
                expect(page.locator("#parts mark.person")).to_have_text("דוד כהן")
            else:
                drag(page, "👩🏽‍⚕️ Zoë")
                chip(page, "OTHER").click()
                expect(page.locator("#parts mark.person")).to_have_text("👩🏽‍⚕️ Zoë")
            hand_in(page)
        assert here.marked() == {"t0": ["דוד כהן", "4711"], "t1": ["👩🏽‍⚕️ Zoë", "99"]}


def test_records_of_five_thousand_characters(window, tmp_path):
    filler = "All of this is of no interest to anybody, and goes on. "
    long = (filler * 100)[:4960] + "\nYours truly,\nZebulon Quux, room 12"
    with served(tmp_path, [long]) as here:
        page = opened(window, here.url)
        assert page.locator(".text").evaluate("(element) => element.textContent") == long
        page.keyboard.press("Space")
        page.wait_for_function("scrollY > 0")
        expect(page.locator("#record")).to_be_visible()  # there is more to read, so it is not handed in
        drag(page, "Zebulon Quux")
        chip(page, "OTHER").click()
        expect(page.locator("#parts mark.person")).to_have_text("Zebulon Quux")
        page.keyboard.press("n")
        expect(page.locator("#result")).to_be_visible()
        assert here.marked() == {"t0": ["Zebulon Quux", "12"]}


def test_keys_alone_are_enough(window, tmp_path):
    with served(tmp_path, [NOTE.format(f"{n} or so, Ann Lee") for n in range(3)], sample=3, kinds=["PERSON"]) as here:
        page = opened(window, here.url)
        press = page.keyboard.press
        press("?")
        expect(page.locator("#help")).to_be_visible()
        press("Escape")
        expect(page.locator("#help")).to_be_hidden()
        for number in range(3):
            press("ArrowRight")
            press("l")
            expect(page.locator("#selection q")).to_have_text("Zebulon")
            press("2")
            expect(page.locator("#parts mark.person")).to_have_attribute("data-label", "+ PERSON")
            press("j")
            expect(page.locator("#selection")).to_contain_text("NUMBER, found by the policy")
            press("x")
            expect(page.locator("#parts mark.removed")).to_have_count(1)
            press("u")
            expect(page.locator("#parts mark.policy")).to_have_count(1)
            for _ in range(3):
                press("ArrowRight")
            press("Shift+ArrowRight")
            expect(page.locator("#selection q")).to_have_text("Ann Lee")
            press("Shift+E")
            expect(page.locator("#selection q")).to_have_text("Ann Le")
            press("e")
            press("m")
            expect(page.locator("#parts mark.person")).to_have_text(["Zebulon", "Ann Lee"])
            if number == 1:  # back to the record before, and on again
                before = page.locator("#record-id").inner_text()
                press("b")
                expect(page.locator("#record-id")).not_to_have_text(before)
                press("n")
                expect(page.locator("#record-id")).to_have_text(before)
            expect(page.locator("#count")).to_have_text(f"{number} of 3 done")
            press("Space" if number else "n")
            expect(page.locator("#count")).to_have_text(f"{number + 1} of 3 done")
        expect(page.locator("#result")).to_be_visible()
        assert list(here.marked().values()) == [
            ["Zebulon", str(n), "Ann Lee"] for n in (int(i[1:]) for i in here.marked())
        ]


def test_a_wrong_address_shows_nothing_of_the_records(chromium, tmp_path):
    with served(tmp_path, [NOTE.format(1)]) as here:
        context = chromium.new_context()
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        answer = page.goto(here.url[:-5] + "wrong/")
        assert answer is not None
        assert answer.status == 403
        assert "Zebulon" not in page.content()
        context.close()
