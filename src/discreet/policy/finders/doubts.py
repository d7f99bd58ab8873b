r"""What a careful reader would stop at: every number, every word that is not plainly ordinary, every capital inside a
sentence. For conservative policies only; the scores are low.

    >>> from discreet.policy.finders.page import Page
    >>> text = "Meet at the old Mill, 2nd door, ask for zork."
    >>> [text[s.start : s.end] for s in find(Page(text))]
    ['Mill', '2nd', 'zork']
"""

import re
from collections.abc import Iterator

from discreet.policy.finders.names import begins_sentence
from discreet.policy.finders.page import Page
from discreet.policy.lists import given, ordinary
from discreet.text.records import Secret

WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
HIGHEST = 0.2
"""No score here is higher."""


def find(page: Page) -> Iterator[Secret]:
    known, names = ordinary(), given()
    for match in WORD.finditer(page.text):
        word = match[0]
        low = word.lower()
        if low[0].isdigit() or any(map(str.isdigit, low)):
            yield Secret(*match.span(), "NUMBER", 0.15)
        elif low not in known and low.partition("'")[0] not in known:
            yield Secret(*match.span(), "WORD", 0.2)
        elif word[0].isupper() and word != "I" and not begins_sentence(page.text, match.start()):
            yield Secret(*match.span(), "WORD", 0.15)
        elif low in names and len(low) > 3:
            yield Secret(*match.span(), "WORD", 0.12)
