#!/usr/bin/env python3
"""Write tokenizer_golden.json: a small tokenizer of every supported form, with ids and texts by `tokenizers`.

    tokenizer_golden.py [--check]     --check only compares the committed file; exit 77 without the package

Each entry: {"name", "tokenizer": a tokenizer.json, "encode": [[text, ids, ids with special tokens as text]],
"decode": [[ids, text, text with special tokens shown]]}. The merges are learnt from the sentences below. The file is
ASCII.
"""
import argparse
import json
import os
import random
import sys

try:
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
except ImportError:
    print("the tokenizers package is not installed")
    sys.exit(77)

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tokenizer_golden.json")

SENTENCES = [
    "The lantern was lit when Mira came home, and the lamp's light fell on 12 letters.",
    "Don't count 1234567 drops of rain: they're falling, falling, falling.",
    "Étude après étude, she'll play; naïve café songs were never so warm.",
    "東京の天気は晴れです。 今天下雨了。", "int main() {\n\treturn 0;\n}\n\n", "Привет, мир! Привет!",
]
LETTERS_OR_MORE = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
                   r"|\s*[\r\n]+|\s+(?!\S)|\s+")
PIECES = [
    "the", " The", " lantern", "don't", "IT'S", " she'll", "'tis", "it's", "12", " 3", "1234567", "é", "étude",
    "東京", "天気は",
    " ", "  ", "\t", "\n", "\r\n", "\u00a0", "\u3000", "\u0085", "\u180e", "\u200b", "!", "?!", "...", "--",
    "😀", "👩‍🚀",
    "e\u0301", "\u0301", "\0", "\x7f", "мир", "ab", "abab", "lamp", "lamps", "<|end|>", "<|end|", "<|en", "<tool>",
    "<tool>s", "<mask>", "[x]", "two words", "\u017f", "Ⅷ", "x²", "٣", "z"]


def isolated(pattern):
    return pre_tokenizers.Split(pattern, behavior="isolated")


def byte_level(**options):
    return pre_tokenizers.ByteLevel(**options)


def forms():
    plain = byte_level(add_prefix_space=False, use_regex=False)
    words = byte_level(add_prefix_space=True, use_regex=True)
    more = isolated(Regex(LETTERS_OR_MORE))
    special = [AddedToken(text, special=True, normalized=False) for text in ("<|end|>", "<tool>")]
    mixed = special + [
        AddedToken("<|end|>s", special=False, normalized=False),
        AddedToken("<mask>", special=True, normalized=False, lstrip=True),
        AddedToken("[x]", special=False, normalized=False, rstrip=True),
        AddedToken("two words", special=False, normalized=True),
        AddedToken("lamp", special=False, normalized=True),
        AddedToken("lamps", special=False, normalized=True, lstrip=True, rstrip=True),
        AddedToken("天気", special=False, normalized=True),
        AddedToken("étude", special=False, normalized=False)]
    digits, han = isolated(Regex(r"\p{N}{1,3}")), isolated(Regex("[一-龥぀-ゟ゠-ヿ]+"))
    yield "gpt2", byte_level(add_prefix_space=False, use_regex=True), special, {}
    yield "prefix_space", words, special, {}
    yield "letters_or_more", pre_tokenizers.Sequence([more, plain]), special, {"ignore_merges": True}
    yield "three_splits", pre_tokenizers.Sequence([digits, han, more, plain]), special, {}
    yield "string_split", pre_tokenizers.Sequence([isolated("ab"), words]), special, {}
    yield "added", pre_tokenizers.Sequence([more, plain]), mixed, {}


def build(pre_tokenizer, added, options):
    trained = Tokenizer(models.BPE())
    trained.pre_tokenizer = pre_tokenizer
    trained.train_from_iterator(SENTENCES * 2, trainers.BpeTrainer(
        vocab_size=256 + 100, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), show_progress=False))
    state = json.loads(trained.to_str())
    state["model"].update(options)
    if options:  # words that no merge makes
        for word in ["Ġlantern", "lamp", "xyz", "'tis"]:
            state["model"]["vocab"].setdefault(word, len(state["model"]["vocab"]))
    state["decoder"] = json.loads(decoders.ByteLevel().__getstate__())
    tokenizer = Tokenizer.from_str(json.dumps(state))
    tokenizer.add_tokens(added)
    return tokenizer


def entry(name, pre_tokenizer, added, options):
    rng = random.Random(name)
    tokenizer = build(pre_tokenizer, added, options)
    state = json.loads(tokenizer.to_str())
    if name == "gpt2":  # the older spelling of merges
        state["model"]["merges"] = [" ".join(pair) for pair in state["model"]["merges"]]
    texts = ["", *SENTENCES, *PIECES, "".join(PIECES), "xyz lantern'tis"]
    texts += ["  <mask>  [x]  [x]\u3000\n <|end|>s lamps  lamp "]
    texts += ["".join(rng.choice(PIECES) for _ in range(rng.randrange(2, 10))) for _ in range(40)]
    encoded = []
    for text in texts:
        tokenizer.encode_special_tokens = False
        parsed = tokenizer.encode(text, add_special_tokens=False).ids
        tokenizer.encode_special_tokens = True
        encoded.append([text, parsed, tokenizer.encode(text, add_special_tokens=False).ids])
    size = tokenizer.get_vocab_size(with_added_tokens=True)
    sequences = [[i] for i in range(size)] if name == "added" else []
    sequences += [[rng.randrange(size + 2) for _ in range(rng.randrange(2, 12))] for _ in range(50)]
    sequences += [[rng.choice([size - 1, *range(100, 256)]) for _ in range(8)] for _ in range(50)]  # bytes above 0x7f
    decoded = [[ids, tokenizer.decode(ids), tokenizer.decode(ids, skip_special_tokens=False)] for ids in sequences]
    return {"name": name, "tokenizer": state, "encode": encoded, "decode": decoded}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    entries = [entry(*form) for form in forms()]
    content = "[\n" + ",\n".join(json.dumps(e) for e in entries) + "\n]\n"
    if args.check:
        same = open(PATH, encoding="ascii").read() == content
        print("%d tokenizers, %s" % (len(entries), "equal" if same else "DIFFERENT"))
        return 0 if same else 1
    with open(PATH, "w", encoding="ascii") as f:
        f.write(content)
    print("%d tokenizers, %d bytes" % (len(entries), len(content)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
