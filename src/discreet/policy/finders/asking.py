"""What words ask for: the kinds of secrets that a sentence announces.

    >>> sorted(kinds_named("your card or account number"))
    ['ACCOUNT', 'CARD', 'REFERENCE']
    >>> sorted(asked_in("what is your name?")), sorted(asked_in("my name is on it"))
    (['PERSON'], [])

Sentences are asked about again and again, so what they announce is remembered by their text.
"""

import re
from functools import lru_cache

NOTHING: frozenset[str] = frozenset()
WORDS_FOR = {
    "PERSON": "name names surname firstname lastname fullname caller holder",
    "ADDRESS": "address addresses street live lives living located location deliver delivery ship shipped mailing",
    "ZIP": "zip zipcode postal postcode pincode",
    "PHONE": "phone phones cell cellphone mobile telephone tel contact fax whatsapp call ph",
    "EMAIL": "email emails mail e-mail mailid gmail inbox",
    "SSN": "ssn social security sin itin",
    "CARD": "card cards credit debit visa mastercard amex cc",
    "ACCOUNT": "account accounts acct iban routing bank swift",
    "PASSWORD": "password passwords passcode passphrase pwd pin cvv cvc otp passwd secret",
    "LICENCE": "license licence licenses driver drivers driver's driving dl plate plates registration",
    "PASSPORT": "passport passports visa",
    "BIRTH": "birth born birthday dob birthdate",
    "REFERENCE": """
        order orders booking bookings confirmation reservation claim policy case ticket tracking reference ref invoice
        pnr id ids number numbers no num code codes membership member serial receipt shipment parcel itinerary
        transaction customer claimid policyid application record mrn patient
    """,
}
"""Kind -> the words that announce a secret of that kind, or ask for it."""
KINDS_OF: dict[str, frozenset[str]] = {}
for _kind, _words in WORDS_FOR.items():
    for _word in _words.split():
        KINDS_OF[_word] = KINDS_OF.get(_word, NOTHING) | {_kind}
ANNOUNCING = frozenset(KINDS_OF)
WHERE = re.compile(r"\bwhere\b.{0,40}\b(?:live|sent?|ship|deliver\w*|located)\b|\bwho (?:am i|are you|is th?is)\b")
ASKING_WORDS = (
    "your",
    "verify",
    "provide",
    "enter",
    "confirm",
    "give",
    "tell",
    "spell",
    "type",
    "need",
    "share",
    "what",
    "which",
)
ASKING = re.compile(rf"\b(?:{'|'.join(ASKING_WORDS)})\b")
WORD = re.compile(r"[a-z][a-z'-]*")


@lru_cache(maxsize=1 << 14)
def kinds_named(text: str) -> frozenset[str]:
    """The kinds of secrets that words of a text in lower case announce."""
    found = NOTHING
    for word in ANNOUNCING.intersection(WORD.findall(text)):
        found |= KINDS_OF[word]
    if "who" in text or "where" in text:
        for match in WHERE.finditer(text):
            found |= {"PERSON" if match[0].startswith("who") else "ADDRESS"}
    return found


@lru_cache(maxsize=1 << 14)
def asked_in(said: str) -> frozenset[str]:
    """What a speaker asks for; one who gives his own name does not ask for one."""
    return kinds_named(said) if "?" in said or ASKING.search(said) else NOTHING
