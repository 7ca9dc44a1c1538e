#!/usr/bin/env python3
"""Write the first inputs of the fuzz targets: fuzz_seeds.py FOLDER makes FOLDER/fuzz_config/ and so on."""
import json
import os
import shutil
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def safetensors(header, block):
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + bytes(range(block))


def tensor(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


SAFETENSORS = [
    safetensors({}, 0),
    safetensors({"a": tensor("F32", [2, 3], 0, 24)}, 24),
    safetensors({"__metadata__": {"format": "pt"}, "w": tensor("BF16", [4], 8, 16), "s": tensor("F16", [], 16, 18),
                 "v": tensor("F32", [2], 0, 8), "empty": tensor("F16", [0, 5], 18, 18)}, 18),
]

WORDS = {"pre_tokenizer": {"type": "ByteLevel", "pretokenizers": None, "add_prefix_space": True, "use_regex": True}}
ADDED = [{"id": 302 + i, "content": text, "single_word": False, "lstrip": i % 2 == 0, "rstrip": i % 3 == 0,
          "normalized": i > 2, "special": i < 2} for i, text in enumerate(["<|a|>", "<|a", "x y", " ", "ab", "é"])]
ADDED[4]["id"] = 256
MERGED = {"model": {"vocab": {"xy": 259, "xyz": 260}, "merges": ["x y", "xy z", "a b"], "ignore_merges": True},
          "added_tokens": [dict(ADDED[0], id=259, content="xy")]}
TOKENIZER = [
    ({}, "ab aab<|end|> a token"), (WORDS, "don't  stop 12\n"), ({"added_tokens": ADDED}, " <|a|> x y ab é \t<|a"),
    (MERGED, "xyz xy"), ({"model": {"merges": [["a", "b"]]}}, "\U0001f600\u180e"),
    ({"normalizer": {"type": "NFC"}}, ""),
]


def write(folder, name, content):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb") as f:
        f.write(content)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    out = sys.argv[1]
    for i, content in enumerate(SAFETENSORS):
        write(os.path.join(out, "fuzz_safetensors"), str(i), content)
    for i, (patch, text) in enumerate(TOKENIZER):
        write(os.path.join(out, "fuzz_tokenizer"), str(i), json.dumps(patch).encode() + b"\0" + text.encode())
    os.makedirs(os.path.join(out, "fuzz_config"), exist_ok=True)
    for name in os.listdir(os.path.join(HERE, "configs")):
        shutil.copy(os.path.join(HERE, "configs", name), os.path.join(out, "fuzz_config", name))


if __name__ == "__main__":
    main()
