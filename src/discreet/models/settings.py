"""The part of a recipe that says how much of a model is trained."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


class Lora(BaseModel):
    """Low-rank adapters: all that is trained of a large model, as peft has them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    r: Annotated[int, Field(ge=1)] = 8
    alpha: Annotated[int, Field(ge=1)] = 16
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0
    targets: tuple[str, ...] | None = None
    """Names of the layers to adapt; peft knows good ones for the common architectures."""
