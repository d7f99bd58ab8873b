"""The LSTM language model of the papers: embedding, LSTM layers, output layer.

It is an ordinary `transformers` model: `save_pretrained` writes a folder of `config.json` and `model.safetensors`,
and after `import discreet.models.lstm` the Auto classes load it.

    model = LSTMLanguageModel(LSTMConfig(vocab_size=2048, embedding_size=200, hidden_size=200))
    logits = model(input_ids).logits

Each row starts from a zero state: no state is carried from one record to another (ACCOUNTING.md, section 2).
"""

from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModelForCausalLM, GenerationMixin, PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutput

from discreet.errors import SettingError

State = tuple[Tensor, Tensor]


class LSTMConfig(PretrainedConfig):  # type: ignore[misc]
    """Sizes of an LSTM language model."""

    model_type = "discreet-lstm"

    def __init__(
        self,
        vocab_size: int = 50257,
        embedding_size: int = 200,
        hidden_size: int = 200,
        num_hidden_layers: int = 1,
        dropout: float = 0.2,
        tie_word_embeddings: bool = False,
        initializer_range: float = 0.1,
        **kwargs: Any,
    ) -> None:
        if tie_word_embeddings and embedding_size != hidden_size:
            raise SettingError(
                f"Tied embeddings need embedding and hidden size to be equal, not {embedding_size} and {hidden_size}."
            )
        self.vocab_size = vocab_size
        self.embedding_size = embedding_size
        self.hidden_size = hidden_size
        self.num_hidden_layers = num_hidden_layers
        self.dropout = dropout
        self.initializer_range = initializer_range
        super().__init__(tie_word_embeddings=tie_word_embeddings, **kwargs)


class LSTMLanguageModel(PreTrainedModel, GenerationMixin):  # type: ignore[misc]
    """Predicts the next token from all earlier ones of the same record."""

    config_class = LSTMConfig
    base_model_prefix = "lstm_lm"
    _tied_weights_keys = {"output.weight": "embedding.weight"}  # noqa: RUF012 - transformers reads a plain class attribute

    def __init__(self, config: LSTMConfig) -> None:
        super().__init__(config)
        self.embedding = nn.Embedding(config.vocab_size, config.embedding_size)
        self.lstm = nn.LSTM(
            config.embedding_size,
            config.hidden_size,
            config.num_hidden_layers,
            dropout=config.dropout if config.num_hidden_layers > 1 else 0.0,
            batch_first=True,
        )
        self.dropout = nn.Dropout(config.dropout)
        self.output = nn.Linear(config.hidden_size, config.vocab_size)
        self.post_init()
        self.generation_config.use_cache = False  # `generate` reads the whole text anew for each token

    def _init_weights(self, module: nn.Module) -> None:
        # transformers calls this for every module that is not loaded from a file.
        if isinstance(module, nn.LSTM):
            bound = module.hidden_size**-0.5
            for parameter in module.parameters():
                nn.init.uniform_(parameter, -bound, bound)
        elif isinstance(module, nn.Embedding):
            nn.init.uniform_(module.weight, -self.config.initializer_range, self.config.initializer_range)
        elif isinstance(module, nn.Linear):
            nn.init.uniform_(module.weight, -self.config.initializer_range, self.config.initializer_range)
            nn.init.zeros_(module.bias)

    def get_input_embeddings(self) -> nn.Embedding:
        return self.embedding

    def set_input_embeddings(self, value: nn.Embedding) -> None:
        self.embedding = value

    def get_output_embeddings(self) -> nn.Linear:
        return self.output

    def set_output_embeddings(self, new_embeddings: nn.Linear) -> None:
        self.output = new_embeddings

    def hidden(self, input_ids: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """What the output layer sees at each position, and the state to go on from."""
        states, last = self.lstm(self.dropout(self.embedding(input_ids)), state)
        return self.dropout(states), last

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, labels: Tensor | None = None, **_: Any
    ) -> CausalLMOutput:
        """Logits for every position; padding stands on the right, where a causal model cannot see it."""
        states, _last = self.hidden(input_ids)
        logits = self.output(states)
        loss = None
        if labels is not None:
            loss = torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())
        return CausalLMOutput(loss=loss, logits=logits)


AutoConfig.register(LSTMConfig.model_type, LSTMConfig, exist_ok=True)
AutoModelForCausalLM.register(LSTMConfig, LSTMLanguageModel, exist_ok=True)
