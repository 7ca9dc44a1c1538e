"""Write a model as a checkpoint folder: config.json, model.safetensors (bf16, the published names), tokenizer files."""
import os
import shutil
import tempfile

import torch
from safetensors.torch import load_file, save_file

import tokenizer as T

HERE = os.path.dirname(os.path.abspath(__file__))
FP32 = ("e_score_correction_bias",)  # kept in fp32, as its authors publish it


def published_tensors(model):
    """The class's own save, which undoes the fusing of experts in memory, read back: name -> tensor."""
    mtp = model._modules.pop("mtp", None)
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        tensors = load_file(os.path.join(folder, "model.safetensors"))
    if mtp is not None:
        model.mtp = mtp
        tensors.update(mtp_tensors(model, "model.layers.%d." % model.config.num_hidden_layers))
    return tensors


def mtp_tensors(model, prefix):
    """The multi-token-prediction module under DeepSeek-V3's names: the layer after the last one, with its own copies of the
    embedding and the head it shares."""
    found = {"embed_tokens.weight": model.model.embed_tokens.weight.data, "shared_head.head.weight": model.lm_head.weight.data}
    for key, value in model.mtp.state_dict().items():
        key = key.replace("mtp_block.", "").replace("post_norm.", "shared_head.norm.")
        if key == "mlp.experts.gate_up_proj":
            for e, both in enumerate(value):
                gate, up = both.chunk(2)
                found["mlp.experts.%d.gate_proj.weight" % e], found["mlp.experts.%d.up_proj.weight" % e] = gate, up
        elif key == "mlp.experts.down_proj":
            found.update({"mlp.experts.%d.down_proj.weight" % e: down for e, down in enumerate(value)})
        else:
            found[key] = value
    return {prefix + key: value.clone() for key, value in found.items()}


def fill_padding(tensors):
    """The classes keep the padding token's embedding at zero, and a zero row makes every routing score of a sequence that starts
    with it equal. Padding is never read in training, so any row will do: here a fixed pattern of the size of the others."""
    for name, tensor in tensors.items():
        if name.endswith("embed_tokens.weight") and not tensor[T.PAD].any():
            tensor[T.PAD] = 0.05 * torch.randn(tensor.shape[1], generator=torch.Generator().manual_seed(T.PAD))


def config_dict(model):
    """config.json with the keys that published checkpoints have: rope_theta at the top, the dtype by name."""
    config = model.config.to_dict()
    rope = config.pop("rope_parameters")
    assert rope["rope_type"] == "default", rope
    drop = ("_name_or_path", "chunk_size_feed_forward", "id2label", "label2id", "is_encoder_decoder", "output_attentions",
            "output_hidden_states", "return_dict", "problem_type", "dtype", "torch_dtype", "experts_implementation", "qk_head_dim", "pretraining_tp")
    config = {k: v for k, v in config.items() if k not in drop and not k.startswith("_")}
    if config["model_type"] == "deepseek_v3":  # keys that the class takes for granted and other loaders read
        config.pop("head_dim", None)
        config.update(scoring_func="sigmoid", topk_method="noaux_tc", moe_layer_freq=1)
    config.update(architectures=[type(model).__name__], rope_theta=rope["rope_theta"], torch_dtype="bfloat16")
    return dict(sorted(config.items()))


def write(model, name, out):
    os.makedirs(out, exist_ok=True)
    tensors = published_tensors(model)
    fill_padding(tensors)
    tensors = {k: v.to(torch.float32 if k.endswith(FP32) else torch.bfloat16).contiguous() for k, v in tensors.items()}
    path = os.path.join(out, "model.safetensors")
    save_file(tensors, path, metadata={"format": "pt"})
    os.chmod(path, 0o644)
    T.write_json(os.path.join(out, "config.json"), config_dict(model))
    for file in ("tokenizer.json", "tokenizer_config.json", "generation_config.json"):
        source = os.path.join(HERE, "tiny-moe", file)
        if os.path.abspath(source) != os.path.abspath(os.path.join(out, file)):
            shutil.copyfile(source, os.path.join(out, file))
