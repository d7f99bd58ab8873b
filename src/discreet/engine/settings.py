"""How a model is optimised: the part of a recipe under `training`."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Positive = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(ge=1)]


class TrainingSettings(BaseModel):
    """Optimizer, schedule, length and safety of one training."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    epochs: Count = 10
    batch_size: Count = 16
    """Windows a step (a record that fits into `max_tokens` is one window)."""
    max_tokens: Annotated[int, Field(ge=2)] = 512
    """Longer records are cut into windows of so many tokens; every token is still predicted once."""
    optimizer: Literal["adamw", "sgd"] = "adamw"
    learning_rate: Positive = 1e-3
    beta2: Annotated[float, Field(gt=0, lt=1)] = 0.999
    """AdamW's memory of squared gradients; .95 to .98 suits short trainings."""
    weight_decay: Annotated[float, Field(ge=0)] = 0.0
    momentum: Annotated[float, Field(ge=0, lt=1)] = 0.0
    schedule: Literal["constant", "linear", "cosine", "plateau"] = "cosine"
    """`plateau` divides the rate by 4 whenever validation does not improve, as the papers' LSTMs do."""
    warmup: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Share of all steps over which the rate rises from 0."""
    gradient_clip: Annotated[float, Field(ge=0)] = 1.0
    """Largest norm of the batch's gradient; 0 for none. (Not the per-record clip of private training.)"""
    patience: Annotated[int, Field(ge=0)] = 0
    """Stop after so many epochs without a better validation loss; 0 trains all epochs. The best weights are kept."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """`auto` takes bfloat16 where the processor has instructions for it."""
    checkpoint_seconds: Annotated[float, Field(ge=0)] = 60.0
    """Least time between two checkpoints inside an epoch; the end of an epoch always makes one."""
    keep_epochs: bool = False
    """Keep the weights at the end of each epoch, to see later what was learned when."""
    bucket: bool = True
    """Batch records of like length together."""
    one_author: bool = False
    """Every batch holds one author's records only."""
