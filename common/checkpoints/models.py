"""The shapes of the trained models as configurations of the Hugging Face classes, and an experts forward that trains faster.

    model = build("tiny-moe")        the class itself, freshly initialised
    use_sorted_experts(model)        same parameters, same maths; test_models.py compares it with the class's own loop
"""
import torch
import torch.nn.functional as F
from transformers import DeepseekV3Config, DeepseekV3ForCausalLM, LlamaConfig, LlamaForCausalLM, MixtralConfig, MixtralForCausalLM
from transformers.integrations.moe import ALL_EXPERTS_FUNCTIONS
from transformers.modeling_layers import MtpModel

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
    rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
)

DRAFT = dict(
    COMMON,
    hidden_size=64,
    intermediate_size=192,
    num_hidden_layers=2,
    num_attention_heads=2,
    num_key_value_heads=1,
    head_dim=32,
    rms_norm_eps=1e-5,
    tie_word_embeddings=True,
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
        tie_word_embeddings=False,
    )),
    "tiny-mla": (DeepseekV3ForCausalLM, DeepseekV3Config, dict(
        COMMON,
        hidden_size=128,
        intermediate_size=384,
        moe_intermediate_size=64,
        num_hidden_layers=4,
        first_k_dense_replace=1,
        num_attention_heads=4,
        num_key_value_heads=4,
        q_lora_rank=None,
        kv_lora_rank=64,
        qk_rope_head_dim=16,
        qk_nope_head_dim=32,
        v_head_dim=32,
        rope_interleave=True,
        n_routed_experts=16,
        n_shared_experts=1,
        num_experts_per_tok=4,
        n_group=4,
        topk_group=2,
        norm_topk_prob=True,
        routed_scaling_factor=2.5,
        num_nextn_predict_layers=1,
        rms_norm_eps=1e-6,
        tie_word_embeddings=False,
    )),
    "tiny-draft": (LlamaForCausalLM, LlamaConfig, DRAFT),
    "tiny-draft-domain": (LlamaForCausalLM, LlamaConfig, DRAFT),
}


CONFIGS["tiny-moe-specialised"] = CONFIGS["tiny-moe"]  # tiny-moe's second stage


def build(name):
    model_class, config_class, values = CONFIGS[name]
    model = model_class(config_class(**values))
    model.config._attn_implementation = "sdpa"
    if getattr(model.config, "num_nextn_predict_layers", 0):
        add_mtp(model)
    return model


def add_mtp(model):
    """Attach the multi-token-prediction module as model.mtp: two norms, eh_proj, a decoder layer and a last norm. It shares
    the model's embedding, head and rotary table; the class's own forward and save know nothing of it."""
    model.mtp = MtpModel(model, 1).layers[0]
    for p in model.mtp.parameters():
        if p.dim() > 1:
            torch.nn.init.normal_(p, std=model.config.initializer_range)
        else:
            torch.nn.init.ones_(p)
    for b in model.mtp.buffers():
        torch.nn.init.zeros_(b)


def mtp_hidden(model, hidden, ids):
    """The module's output [B, T - 1, D] before the head: row i combines the main model's normed last hidden state of position
    i with the embedding of token i + 1, and predicts token i + 2."""
    embedded = model.model.embed_tokens(ids[:, 1:])
    positions = torch.arange(1, ids.shape[1])[None]
    mask = None  # sdpa takes it for causal; the eager attention takes it for none at all
    if model.mtp.config._attn_implementation != "sdpa":
        mask = torch.full((positions.shape[1], positions.shape[1]), -torch.inf).triu(1)[None, None]
    return model.mtp(embedded, hidden[:, :-1], position_embeddings=model.model.rotary_emb(embedded, positions),
                     attention_mask=mask, position_ids=positions, cache=None)


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
