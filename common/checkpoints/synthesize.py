#!/usr/bin/env python3
"""Write a checkpoint folder with random weights of realistic scale, of any size: for benchmarks, which need more weights than
caches hold. Standard library only; streams, so that memory does not limit the size.

    synthesize.py mixtral --out build/synthetic/mixtral [--gigabytes 1.5] [--vocabulary 32000] [--seed 1]

mixtral, deepseek and llama give MixtralForCausalLM, DeepseekV3ForCausalLM and LlamaForCausalLM in bf16, with the tokenizer of
tiny-moe padded to the vocabulary. Width and layers follow from the size; the same arguments write the same bytes.
"""
import argparse
import array
import json
import math
import os
import random
import shutil
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
CONTEXT = 4096
WIDTHS = (8192, 4096, 2048, 1024, 512, 256, 128, 64)
FEWEST_LAYERS = 4  # the widest model with at least these is taken
NOISE = 1048573  # values that all weights repeat; a prime, so that no row of a matrix is another row
HEAD_SCALE = 3  # logits of this deviation: about as decided as a trained model's


def llama(D):
    return {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "intermediate_size": D * 7 // 2,
            "num_attention_heads": D // 32, "num_key_value_heads": max(1, D // 128), "head_dim": 32 if D < 2048 else 128,
            "attention_bias": False, "mlp_bias": False}


def mixtral(D):
    config = llama(D)
    del config["mlp_bias"], config["attention_bias"]
    return dict(config, architectures=["MixtralForCausalLM"], model_type="mixtral", num_local_experts=8, num_experts_per_tok=2,
                sliding_window=None, output_router_logits=False, router_aux_loss_coef=0.01, router_jitter_noise=0.0)


def deepseek(D):
    head = max(8, min(128, D // 16))
    return {"architectures": ["DeepseekV3ForCausalLM"], "model_type": "deepseek_v3", "intermediate_size": D * 5 // 2,
            "moe_intermediate_size": D // 4, "first_k_dense_replace": 1, "num_attention_heads": D // head,
            "num_key_value_heads": D // head, "q_lora_rank": D // 4, "kv_lora_rank": D // 8, "qk_nope_head_dim": head,
            "qk_rope_head_dim": head // 2, "v_head_dim": head, "rope_interleave": True, "n_routed_experts": 64,
            "n_shared_experts": 1, "num_experts_per_tok": 8, "n_group": 8, "topk_group": 4, "norm_topk_prob": True,
            "routed_scaling_factor": 2.5, "scoring_func": "sigmoid", "topk_method": "noaux_tc", "moe_layer_freq": 1,
            "num_nextn_predict_layers": 0, "attention_bias": False}


KINDS = {"mixtral": mixtral, "deepseek": deepseek, "llama": llama}


def config_of(kind, D, layers, vocabulary):
    return dict(KINDS[kind](D), hidden_size=D, num_hidden_layers=layers, vocab_size=vocabulary, hidden_act="silu",
                max_position_embeddings=CONTEXT, rms_norm_eps=1e-5, rope_theta=10000.0, tie_word_embeddings=False,
                bos_token_id=0, eos_token_id=0, torch_dtype="bfloat16", attention_dropout=0.0, initializer_range=0.02,
                use_cache=True)


def ffn(at, names, D, F, out):
    return [("%s%s.weight" % (at, names[0]), (F, D), 1.0), ("%s%s.weight" % (at, names[1]), (F, D), 1.0),
            ("%s%s.weight" % (at, names[2]), (D, F), out)]


LLAMA_NAMES, MIXTRAL_NAMES = ("gate_proj", "up_proj", "down_proj"), ("w1", "w3", "w2")


def attention(at, c, out):
    D, H = c["hidden_size"], c["num_attention_heads"]
    if "kv_lora_rank" not in c:
        q, kv = H * c["head_dim"], c["num_key_value_heads"] * c["head_dim"]
        return [(at + "q_proj.weight", (q, D), 1.0), (at + "k_proj.weight", (kv, D), 1.0), (at + "v_proj.weight", (kv, D), 1.0),
                (at + "o_proj.weight", (D, q), out)]
    nope, rope, v, low, rank = (c[k] for k in ("qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim", "q_lora_rank", "kv_lora_rank"))
    return [(at + "q_a_proj.weight", (low, D), 1.0), (at + "q_a_layernorm.weight", (low,), None),
            (at + "q_b_proj.weight", (H * (nope + rope), low), 1.0), (at + "kv_a_proj_with_mqa.weight", (rank + rope, D), 1.0),
            (at + "kv_a_layernorm.weight", (rank,), None), (at + "kv_b_proj.weight", (H * (nope + v), rank), 1.0),
            (at + "o_proj.weight", (D, H * v), out)]


def layer(index, c, out):
    """(name, shape, deviation times the root of the inputs; None: a norm; "bias": a selection bias) of a layer's tensors."""
    at, D = "model.layers.%d." % index, c["hidden_size"]
    found = [(at + "input_layernorm.weight", (D,), None)] + attention(at + "self_attn.", c, out)
    found.append((at + "post_attention_layernorm.weight", (D,), None))
    if "num_local_experts" in c:
        found.append((at + "block_sparse_moe.gate.weight", (c["num_local_experts"], D), 1.0))
        for e in range(c["num_local_experts"]):
            found += ffn("%sblock_sparse_moe.experts.%d." % (at, e), MIXTRAL_NAMES, D, c["intermediate_size"], out)
    elif index < c.get("first_k_dense_replace", index + 1):
        found += ffn(at + "mlp.", LLAMA_NAMES, D, c["intermediate_size"], out)
    else:
        E, F = c["n_routed_experts"], c["moe_intermediate_size"]
        found += [(at + "mlp.gate.weight", (E, D), 1.0), (at + "mlp.gate.e_score_correction_bias", (E,), "bias")]
        for e in range(E):
            found += ffn("%smlp.experts.%d." % (at, e), LLAMA_NAMES, D, F, out)
        found += ffn(at + "mlp.shared_experts.", LLAMA_NAMES, D, F * c["n_shared_experts"], out)
    return found


def tensors(c):
    D, V = c["hidden_size"], c["vocab_size"]
    out = 1 / math.sqrt(2 * c["num_hidden_layers"])  # what is added to the residual stream adds up to its size
    found = [("model.embed_tokens.weight", (V, D), math.sqrt(D)), ("model.norm.weight", (D,), None)]
    for index in range(c["num_hidden_layers"]):
        found += layer(index, c, out)
    return found + [("lm_head.weight", (V, D), HEAD_SCALE)]


def bytes_of(tensor):
    return math.prod(tensor[1]) * (4 if tensor[2] == "bias" else 2)


def shape_for(kind, size, vocabulary):
    """The config whose weights come closest to `size` bytes."""
    for D in WIDTHS:
        one, two = (sum(map(bytes_of, tensors(config_of(kind, D, n, vocabulary)))) for n in (FEWEST_LAYERS, FEWEST_LAYERS + 1))
        layers = FEWEST_LAYERS + round((size - one) / (two - one))
        if layers >= FEWEST_LAYERS:
            return config_of(kind, D, layers, vocabulary)
    least = sum(map(bytes_of, tensors(config_of(kind, WIDTHS[-1], FEWEST_LAYERS, vocabulary))))
    raise SystemExit("synthesize: %.4f GB is too little for a %s model with a vocabulary of %d, which takes at least %.4f GB" % (
        size / 1e9, kind, vocabulary, least / 1e9))


class Noise:
    """Normal values in bf16, NOISE of them, at any deviation and from any start, again and again."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.values = array.array("f", (self.random.gauss(0, 1) for _ in range(NOISE)))
        self.scaled = {}

    def block(self, deviation):
        if deviation not in self.scaled:
            fp32 = array.array("f", (v * deviation for v in self.values)).tobytes()
            low, high = (2, 3) if sys.byteorder == "little" else (1, 0)
            bf16 = bytearray(2 * NOISE)  # the upper halves, little-endian
            bf16[0::2], bf16[1::2] = fp32[low::4], fp32[high::4]
            self.scaled[deviation] = memoryview(bytes(bf16))
        return self.scaled[deviation]

    def write(self, file, count, deviation):
        block, at = self.block(deviation), self.random.randrange(NOISE)
        while count > 0:
            n = min(count, NOISE - at)
            file.write(block[2 * at : 2 * (at + n)])
            count, at = count - n, 0


def write_weights(path, c, seed):
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    listed = tensors(c)
    for tensor in listed:
        size = bytes_of(tensor)
        header[tensor[0]] = {"dtype": "F32" if tensor[2] == "bias" else "BF16", "shape": list(tensor[1]),
                             "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    noise = Noise(seed)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, shape, scale in listed:
            if scale is None:
                file.write(b"\x80\x3f" * shape[0])  # 1.0
            elif scale == "bias":
                file.write(struct.pack("<%df" % shape[0], *(-0.5 + 0.1 * noise.random.random() for _ in range(shape[0]))))
            else:
                noise.write(file, math.prod(shape), scale / math.sqrt(shape[1]))
    return offset


def write_tokenizer(folder, vocabulary):
    """The embedded tokenizer; ids beyond its own get entries such as [1024], which no text is encoded to."""
    source = os.path.join(HERE, "tiny-moe")
    with open(os.path.join(source, "tokenizer.json"), encoding="utf-8") as f:
        tokenizer = json.load(f)
    entries = tokenizer["model"]["vocab"]
    if vocabulary < len(entries):
        raise SystemExit("synthesize: --vocabulary is %d, must be at least %d, the tokenizer's" % (vocabulary, len(entries)))
    entries.update(("[%d]" % i, i) for i in range(len(entries), vocabulary))
    with open(os.path.join(folder, "tokenizer.json"), "w", encoding="utf-8") as f:
        json.dump(tokenizer, f, ensure_ascii=False)
    for name in ("tokenizer_config.json", "generation_config.json"):
        shutil.copyfile(os.path.join(source, name), os.path.join(folder, name))


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=sorted(KINDS))
    parser.add_argument("--out", required=True, help="the folder to write")
    parser.add_argument("--gigabytes", type=float, default=1.5, help="of the weights, 10^9 bytes (default: %(default)s)")
    parser.add_argument("--vocabulary", type=int, default=32000, help="at least the tokenizer's (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    c = shape_for(options.kind, options.gigabytes * 1e9, options.vocabulary)
    os.makedirs(options.out, exist_ok=True)
    write_tokenizer(options.out, options.vocabulary)
    with open(os.path.join(options.out, "config.json"), "w", encoding="utf-8") as f:
        f.write(json.dumps(c, indent=2) + "\n")
    written = write_weights(os.path.join(options.out, "model.safetensors"), c, options.seed)
    print("%s: %d layers of width %d, %.3f GB" % (options.out, c["num_hidden_layers"], c["hidden_size"], written / 1e9))


if __name__ == "__main__":
    main()
