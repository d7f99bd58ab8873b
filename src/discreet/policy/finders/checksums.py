"""Check digits: what a mistyped number fails and a random one seldom passes.

>>> luhn("4111111111111111"), luhn("4111111111111112")
(True, False)
>>> iban("GB82WEST12345698765432")
True
"""

_LENGTHS = """
    AD:24 AE:23 AL:28 AT:20 AZ:28 BA:20 BE:16 BG:22 BH:22 BR:29 BY:28 CH:21 CR:22 CY:28 CZ:24 DE:22 DK:18 DO:28
    EE:20 EG:29 ES:24 FI:18 FO:18 FR:27 GB:22 GE:22 GI:23 GL:18 GR:27 GT:28 HR:21 HU:28 IE:22 IL:23 IQ:23 IS:26
    IT:27 JO:30 KW:30 KZ:20 LB:28 LC:32 LI:21 LT:20 LU:20 LV:21 MC:27 MD:24 ME:22 MK:19 MR:27 MT:31 MU:30 NL:18
    NO:15 PK:24 PL:28 PS:29 PT:25 QA:29 RO:24 RS:22 SA:24 SC:31 SE:24 SI:19 SK:24 SM:27 ST:25 SV:28 TL:23 TN:24
    TR:26 UA:29 VA:22 VG:24 XK:20
"""
IBAN_LENGTHS = {pair[:2]: int(pair[3:]) for pair in _LENGTHS.split()}
"""Country -> how long its account numbers are."""
VERHOEFF_TURN = (
    "0123456789",
    "1576283094",
    "5803796142",
    "8916043527",
    "9453126870",
    "4286573901",
    "2793806415",
    "7046913258",
)
DNI_LETTERS = "TRWAGMYFPDXBNJZSQVHLCKE"


def luhn(digits: str) -> bool:
    """The check of payment cards (and of many other numbers)."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + place % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def iban(number: str) -> bool:
    """An international account number, capitals and digits without spaces."""
    if IBAN_LENGTHS.get(number[:2]) != len(number) or not (number.isascii() and number.isalnum()):
        return False
    return int("".join(str(int(c, 36)) for c in number[4:] + number[:4])) % 97 == 1


def routing(digits: str) -> bool:
    """A routing number of a US bank."""
    if len(digits) != 9 or not 0 < int(digits[:2]) <= 80:
        return False
    return sum(int(d) * w for d, w in zip(digits, (3, 7, 1) * 3, strict=True)) % 10 == 0


def social_security(digits: str) -> bool:
    """A number that the US social security may have issued, or a tax number of the same form."""
    area, group, serial = digits[:3], digits[3:5], digits[5:]
    return len(digits) == 9 and area not in ("000", "666") and group != "00" and serial != "0000"


def nhs(digits: str) -> bool:
    """A number of the British health service."""
    if len(digits) != 10:
        return False
    check = 11 - sum(int(d) * w for d, w in zip(digits, range(10, 1, -1), strict=False)) % 11
    return int(digits[9]) == (0 if check == 11 else check)


def verhoeff(digits: str) -> bool:
    """The check of India's Aadhaar numbers, by the group of the pentagon."""
    check = 0
    for place, digit in enumerate(reversed(digits)):
        other = int(VERHOEFF_TURN[place % 8][int(digit)])
        check = _turned(check, other)
    return check == 0


def _turned(a: int, b: int) -> int:
    """The product of two symmetries of a regular pentagon: 0 to 4 turn it, 5 to 9 flip it first."""
    if a < 5:
        return (a + b) % 5 if b < 5 else 5 + (a + b) % 5
    return 5 + (a - b) % 5 if b < 5 else (a - b) % 5


def dni(number: str) -> bool:
    """A Spanish identity number: eight digits (or X, Y, Z and seven) and a letter."""
    digits = number[:-1].translate(str.maketrans("XYZ", "012"))
    return len(number) == 9 and digits.isdigit() and DNI_LETTERS[int(digits) % 23] == number[-1]
