"""Several processes give what one gives: the same records, the same order, the same secrets."""

import pytest

from discreet.errors import InputError
from discreet.policy.many import MOST_RECORDS, secrets_on_all_cores
from discreet.policy.specs import policy
from discreet.text.records import Record, Secret, Turn


def test_two_processes_give_what_one_gives() -> None:
    made = policy({"union": ["pii", "gold"]})
    turn = (Turn("A", 0, 7),)
    records = [
        Record(id=str(number), text=f"Call {number} Zebulon", turns=turn, secrets=(Secret(0, 4, "VERB"),))
        for number in range(MOST_RECORDS + 20)
    ]
    alone = list(secrets_on_all_cores(made, records, workers=1))
    assert list(secrets_on_all_cores(made, iter(records), workers=2)) == alone
    assert [record.id for record, _ in alone] == [record.id for record in records]


def test_a_mistake_in_a_process_reaches_the_caller() -> None:
    with pytest.raises(InputError, match="does not mark"):
        list(secrets_on_all_cores(policy("gold"), [Record(id="1", text="a")], workers=2))
