"""Every notion by its form, the stable name that `privacy.json` keeps: how a guarantee is computed again."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from discreet.accounting.confidential import Confidentiality
from discreet.accounting.dp import DifferentialPrivacy
from discreet.accounting.jft import JustFineTuneTwice
from discreet.accounting.metric import MetricPrivacy
from discreet.accounting.none import NoGuarantee
from discreet.accounting.notion import Notion
from discreet.accounting.selective import SelectivePaper, SelectivePrivacy
from discreet.errors import RunError, UnknownNameError
from discreet.registry import nearest

FORMS: dict[str, type[Notion]] = {
    "dp-sgd": DifferentialPrivacy,
    "selective": SelectivePrivacy,
    "selective-paper": SelectivePaper,
    "jft": JustFineTuneTwice,
    "crt": Confidentiality,
    "mdp": MetricPrivacy,
    "smdp": MetricPrivacy,
    "none": NoGuarantee,
}


def notion_of(basis: Mapping[str, Any]) -> Notion:
    """The notion that a guarantee's basis describes."""
    form = str(basis.get("form"))
    if form not in FORMS:
        raise UnknownNameError(f"There is no notion of the form '{form}'; {nearest(form, FORMS)}")
    try:
        return FORMS[form](**basis)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise RunError(f"The basis of the guarantee is not complete: {where}: {first['msg']}.") from None
