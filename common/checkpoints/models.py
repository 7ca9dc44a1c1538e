"""The shapes of the trained models as configurations of the Hugging Face classes, and an experts forward that trains faster.

    model = build("tiny-moe")        the class itself, freshly initialised
    use_sorted_experts(model)        same parameters, same maths; test_models.py compares it with the class's own loop
"""
import torch
import torch.nn.functional as F
from transformers import MixtralConfig, MixtralForCausalLM
from transformers.integrations.moe import ALL_EXPERTS_FUNCTIONS

import tokenizer as T

COMMON = dict(
    vocab_size=T.VOCABULARY,
    max_position_embeddings=T.CONTEXT,
    bos_token_id=T.END,
    eos_token_id=T.END,
    pad_token_id=T.PAD,
    hidden_act="silu",
    attention_dropout=0.0,
    initializer_range=0.05,
    use_cache=True,
)

CONFIGS = {
    "tiny-moe": (MixtralForCausalLM, MixtralConfig, dict(
        COMMON,
        hidden_size=128,
        intermediate_size=192,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=32,
        num_local_experts=8,
        num_experts_per_tok=2,
        router_aux_loss_coef=0.01,
        router_jitter_noise=0.0,
        output_router_logits=False,
        sliding_window=None,
        rms_norm_eps=1e-5,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
        tie_word_embeddings=False,
    )),
}


def build(name):
    model_class, config_class, values = CONFIGS[name]
    model = model_class(config_class(**values))
    model.config._attn_implementation = "sdpa"
    return model


def sorted_experts(self, hidden_states, top_k_index, top_k_weights):
    """Pairs (token, expert) sorted by expert: one gather, two small matmuls an expert, one gather back, a weighted sum."""
    flat, order = top_k_index.flatten().sort(stable=True)
    counts = torch.bincount(flat, minlength=self.num_experts).tolist()
    rows = hidden_states.index_select(0, order // top_k_index.shape[-1]).split(counts)
    parts = []
    for x, gate_up, down in zip(rows, self.gate_up_proj.unbind(0), self.down_proj.unbind(0)):
        gate, up = F.linear(x, gate_up).chunk(2, -1)
        parts.append(F.linear(F.silu(gate) * up, down))
    weighted = torch.cat(parts) * top_k_weights.flatten()[order, None]
    back = torch.empty_like(order)
    back[order] = torch.arange(order.numel())
    return weighted.index_select(0, back).view(*top_k_index.shape, -1).sum(1)


ALL_EXPERTS_FUNCTIONS["sorted"] = sorted_experts


def use_sorted_experts(model, on=True):
    model.config._experts_implementation = "sorted" if on else "eager"
    return model


class Routing:
    """Records, while active, what each router of a model chose: logits [tokens, E] and ids [tokens, k] a layer."""

    def __init__(self, model):
        self.gates = [m for _, m in model.named_modules() if type(m).__name__.endswith(("TopKRouter", "TopkRouter"))]
        self.logits, self.chosen = {}, {}

    def __enter__(self):
        self.handles = [g.register_forward_hook(lambda _, __, out, i=i: self._keep(i, out)) for i, g in enumerate(self.gates)]
        return self

    def _keep(self, i, out):
        self.logits[i], _, self.chosen[i] = out

    def __exit__(self, *_):
        for handle in self.handles:
            handle.remove()
