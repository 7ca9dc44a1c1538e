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
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        return load_file(os.path.join(folder, "model.safetensors"))


def fill_padding(tensors):
    """The classes keep the padding token's embedding at zero, and a zero row makes every routing score of a sequence that starts
    with it equal. Padding is never read in training, so any row will do: here a fixed pattern of the size of the others."""
    row = tensors["model.embed_tokens.weight"][T.PAD]
    if not row.any():
        row.copy_(0.05 * torch.randn(row.shape, generator=torch.Generator().manual_seed(T.PAD)))


def config_dict(model):
    """config.json with the keys that published checkpoints have: rope_theta at the top, the dtype by name."""
    config = model.config.to_dict()
    rope = config.pop("rope_parameters")
    assert rope["rope_type"] == "default", rope
    drop = ("_name_or_path", "chunk_size_feed_forward", "id2label", "label2id", "is_encoder_decoder", "output_attentions",
            "output_hidden_states", "return_dict", "problem_type", "dtype", "torch_dtype", "experts_implementation")
    config = {k: v for k, v in config.items() if k not in drop and not k.startswith("_")}
    config.update(architectures=[type(model).__name__], rope_theta=rope["rope_theta"], torch_dtype="bfloat16")
    return dict(sorted(config.items()))


def write(model, name, out):
    os.makedirs(out, exist_ok=True)
    tensors = published_tensors(model)
    fill_padding(tensors)
    tensors = {k: v.to(torch.float32 if k.endswith(FP32) else torch.bfloat16).contiguous() for k, v in tensors.items()}
    save_file(tensors, os.path.join(out, "model.safetensors"), metadata={"format": "pt"})
    T.write_json(os.path.join(out, "config.json"), config_dict(model))
    for file in ("tokenizer.json", "tokenizer_config.json", "generation_config.json"):
        source = os.path.join(HERE, "tiny-moe", file)
        if os.path.abspath(source) != os.path.abspath(os.path.join(out, file)):
            shutil.copyfile(source, os.path.join(out, file))
