"""What customer and assistant say, in which order, and where the secrets stand.

A wording names its secrets in braces by their kind: `Please call {PHONE}.` The steps, and how many wordings each has,
follow the CustomerSim of Shi et al. 2022 (Selective Differential Privacy for Language Modeling); the words are ours.
"""

import random
import re
import string
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

from discreet.text.customersim.customers import Customer
from discreet.text.records import Record, Secret, Turn

VOLUNTEERS = 0.01
"""Share of dialogs where the customer tells the next thing before being asked."""
CORRECTS = 0.01
"""Share of dialogs where the customer first gives a wrong value; the wrong value is a secret too."""

OPENINGS = (
    "Welcome, this is the parcel desk. What can we look up?",
    "Welcome, this is the parcel desk. How may we be of use?",
    "Welcome, this is the parcel desk. What is the matter?",
)
GREETINGS = ("Good morning.", "Hey there.", "Greetings, machine.")
REQUESTS = (
    "The {product} from last week has still not arrived.",
    "I paid for a {product} and nobody tells me where it is.",
    "My new {product} should have been here on Monday.",
    "I am still waiting for the {product} that I bought.",
    "When is my delivery coming?",
    "My parcel seems to be lost, can someone look for it?",
    "There is no news about my purchase since I paid.",
    "I would like to know how far my shipment is.",
)
PRODUCTS = ("kettle", "bookcase", "raincoat", "desk fan", "yoga mat", "camera", "toaster", "guitar")
ASK = {
    "PERSON": (
        "Which full name is it under?",
        "Tell me your full name, please.",
        "Who am I speaking with? Your full name?",
    ),
    "PHONE": (
        "Thanks. Which phone number did you leave us?",
        "And the phone number on the account?",
    ),
    "ORDER": (
        "Thanks. What does your order number say?",
        "I also have to see your order number.",
        "And the order number on your receipt?",
    ),
    "ADDRESS": (
        "Thanks. To which address should it go?",
        "I also have to check your delivery address.",
    ),
}
TELL = {
    "PERSON": (
        "{PERSON}",
        "{PERSON}.",
        "It's {PERSON}.",
        "Okay, {PERSON}.",
        "Of course - {PERSON}.",
        "This is {PERSON}.",
        "The name is {PERSON}.",
    ),
    "PHONE": (
        "{PHONE}",
        "{PHONE} is the one.",
        "Okay, {PHONE}.",
        "Please call {PHONE}.",
        "That would be {PHONE}.",
    ),
    "ORDER": (
        "{ORDER}.",
        "It says {ORDER}.",
        "Okay, that is {ORDER}",
        "Here it is: {ORDER}.",
        "The order is {ORDER}.",
    ),
    "ADDRESS": (
        "{ADDRESS}.",
        "Send it to {ADDRESS}.",
        "Okay, {ADDRESS}.",
        "I live at {ADDRESS}.",
        "It should go to {ADDRESS}",
    ),
}
CORRECTIONS = ("Wait, I made a mistake.", "Sorry, what I told you was wrong.", "I have to correct myself.")
TRACKING = (
    "Found it, please follow the parcel under the code {TRACKING}.",
    "Our carrier has it, and the tracking code reads {TRACKING}.",
    "It is on its way with tracking code {TRACKING}.",
)
ANYTHING_ELSE = (
    "Does this solve it?",
    "May I do more for you?",
    "Is there another question?",
    "Shall we look at more?",
)
CLOSINGS = ("Perfect.", "Nothing more today.", "No, I am fine.", "This solves it, great!", "Now I know enough.")
FAREWELLS = ("So long.", "Cheers.", "Have a good one.")
LAST_WORDS = ("Farewell.", "Until next time.", "Take care and stay well!", "Glad to have been of use.")

SLOTS = ("PHONE", "ORDER", "ADDRESS")
TRACKING_CHARACTERS = string.ascii_uppercase + string.digits


@cache
def _pieces(wording: str) -> list[tuple[str, str]]:
    """The words of a wording, each with the kind of the secret that follows them (none at the end)."""
    words_and_kinds = [*re.split(r"\{([A-Z]+)\}", wording), ""]
    return list(zip(words_and_kinds[::2], words_and_kinds[1::2], strict=True))


@dataclass
class _Transcript:
    """A dialog being written: its text so far, and where turns and secrets stand in it."""

    text: str = ""
    turns: list[Turn] = field(default_factory=list)
    secrets: list[Secret] = field(default_factory=list)

    def say(self, speaker: str, wording: str, values: dict[str, str]) -> None:
        self.text += f"{speaker}: "
        start = len(self.text)
        for words, kind in _pieces(wording):
            self.text += words
            if kind:
                begin = len(self.text)
                self.text += values[kind]
                self.secrets.append(Secret(begin, len(self.text), kind))
        self.turns.append(Turn(speaker, start, len(self.text)))
        self.text += "\n"


def dialog(id: str, split: str, customer: Customer, other: Callable[[], Customer], rng: random.Random) -> Record:
    """One dialog of `customer`; a wrong value, where there is one, belongs to `other`."""
    right = _values(customer)
    right["TRACKING"] = "".join(rng.choices(TRACKING_CHARACTERS, k=10))
    slot = rng.choice(SLOTS)
    chance = rng.random()
    mistaken = rng.choice(("PERSON", slot)) if chance < CORRECTS else None
    volunteers = CORRECTS <= chance < CORRECTS + VOLUNTEERS
    given = right | ({mistaken: _values(other())[mistaken]} if mistaken else {})

    script = _Transcript()
    script.say("SYS", rng.choice(OPENINGS), {})
    request = rng.choice(REQUESTS).replace("{product}", rng.choice(PRODUCTS))
    script.say("USR", f"{rng.choice(GREETINGS)} {request}", {})
    script.say("SYS", rng.choice(ASK["PERSON"]), {})
    if volunteers:
        script.say("USR", f"{rng.choice(TELL['PERSON'])} {rng.choice(TELL[slot])}", given)
    else:
        script.say("USR", rng.choice(TELL["PERSON"]), given)
        script.say("SYS", rng.choice(ASK[slot]), {})
        script.say("USR", rng.choice(TELL[slot]), given)
    _answer(script, right, rng)
    if mistaken:
        script.say("USR", f"{rng.choice(CORRECTIONS)} {rng.choice(TELL[mistaken])}", right)
        _answer(script, right, rng)
    closing = rng.choice(CLOSINGS)
    if rng.random() < 0.5:
        script.say("USR", f"{closing} {rng.choice(FAREWELLS)}", {})
        script.say("SYS", rng.choice(LAST_WORDS), {})
    else:
        script.say("USR", closing, {})
    return Record(id, script.text, secrets=tuple(script.secrets), split=split, turns=tuple(script.turns))


def _values(customer: Customer) -> dict[str, str]:
    return {"PERSON": customer.name, "PHONE": customer.phone, "ORDER": customer.order, "ADDRESS": customer.address}


def _answer(script: _Transcript, values: dict[str, str], rng: random.Random) -> None:
    script.say("SYS", f"{rng.choice(TRACKING)} {rng.choice(ANYTHING_ELSE)}", values)
