#!/usr/bin/env python3
"""Write tokenizer_cases.json: 500 strings and their ids by the `tokenizers` package, to hold another implementation against.

    tokenizer_cases.py [--check]      --check only compares the committed file with the package

Entries are {"kind", "text", "ids"}; the file is ASCII (other characters are escaped). Special tokens inside a text are
recognised. Scripts and symbols are old enough to have the same properties in every Unicode version in use.
"""
import argparse
import itertools
import json
import os
import random
import sys
import unicodedata

import corpus
import tokenizer as T

HERE = os.path.dirname(os.path.abspath(__file__))
PATH = os.path.join(HERE, "tokenizer_cases.json")
COUNT = 500

SPACES = [" ", "  ", "   ", "\t", "\n", "\r\n", "\r", "\u00a0", "\u2003", "\u3000", "\u2028", "\u0085", "\x0b", "\x0c", "    ", "\n\n", " \n", "\n ", "\t\t"]
EMOJI = ["😀", "🎉", "👍🏽", "👩‍🚀", "👨‍👩‍👧‍👦", "🇩🇪", "🇯🇵🇧🇷", "1️⃣", "❤️", "☕", "🏴‍☠️", "🧮", "✓", "★", "→", "∑", "½", "€", "£", "¥", "°"]
MARKS = ["e\u0301", "n\u0303o", "A\u030a", "o\u0302\u0323", "\u0301", " \u0308x", "Z\u0351\u0334\u0322a", "क्षेत्र", "ไม่เป็นไร", "நன்றி", "c\u0327a", "ö\u0304"]
SCRIPTS = ["東京の天気は晴れです。", "北京今天下雨了", "안녕하세요 세계", "カタカナとひらがな", "مرحبا بالعالم", "كِتَابٌ", "שלום עולם", "Привет, мир!", "Καλημέρα κόσμε",
           "नमस्ते दुनिया", "สวัสดีชาวโลก", "ĞğİıŞş", "Łódź, Gdańsk", "Ærøskøbing", "ſtraße", "ﬁne ﬂow", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢", "𐍈𐌰𐌿", "，。！？「」", "Tiếng Việt"]
DIGITS = ["7", "42", "007", "3.14159", "1,000,000", "-12.5e-3", "0x1F4", "2024-02-29", "12:45:07", "٣٤٥", "१२३", "Ⅷ", "x²+y³", "¾ cup", "①②", "1 2  3", "a1b2c3", "９８"]
QUOTES = ["don't", "I'll", "we've", "they're", "'s", "'d rather", "DON'T", "it''s", "' s", "rock 'n' roll", "l'été", "O'Brien's", "'tis", "'llama", "can\u2019t"]
CODE = ["for (int i = 0; i < n; ++i) {\n\tsum += a[i] * b[i];\n}", "def f(x):\r\n    return x ** 2  # square\r\n", "SELECT name, COUNT(*) FROM t WHERE id >= 10;",
        "<a href=\"#top\">up &amp; away</a>", "{\"key\": [1, 2.5, null], \"s\": \"\\u00e9\"}", "if [ -f \"$HOME/x\" ]; then echo ok; fi", "__global__ void k(float* x) { x[threadIdx.x] += 1.0f; }",
        "let v: Vec<u8> = s.bytes().map(|b| b ^ 0x20).collect();", "a_b_c = __init__._x", "https://example.org/a?b=c&d=%20#e", "x = y\n\n\n    z\t\t=\t1", "#include <vector>\n\n// end"]
SPECIALISH = ["<|endoftext|>", "<|user|>", "<|assistant|>", "<|pad|>", "<|user|>Hello<|assistant|>", "a<|endoftext|>b", "a <|endoftext|> b", "<|user|><|user|>", "<|user", "|user|>", "<|USER|>", "<|user |>",
              "<<|pad|>>", "<|<|pad|>|>", "\n<|assistant|>\n", "<|end<|endoftext|>oftext|>", "<|pad|><|assistant|><|user|><|endoftext|>", "é<|user|>é", "<|system|>", "don't<|pad|>'s"]


def latin(rng):
    """Every code point of U+0000 to U+00FF: in order, by sixteens, and shuffled."""
    points = [chr(i) for i in range(256)]
    yield "".join(points)
    for i in range(0, 256, 16):
        yield "".join(points[i : i + 16])
    for _ in range(8):
        rng.shuffle(points)
        yield "".join(points)


def long_words(rng):
    yield "a" * 300
    yield "Z" * 65
    yield "ab" * 100
    yield "é" * 77
    yield "=" * 120
    yield "9" * 64
    yield "\n" * 33
    yield " " * 100 + "x"
    for _ in range(16):
        yield "".join(rng.choice("etaoinshrdlucmfwypvbgkqjxzERSTLNE") for _ in range(rng.randrange(20, 260)))


def of_corpus(rng):
    docs = itertools.islice(corpus.full_documents(seed=77), 60)
    for i, doc in enumerate(docs):
        yield corpus.as_text(doc) if i < 18 else doc.user if i % 2 else doc.assistant[rng.randrange(40) : rng.randrange(60, 400)]
    for doc in itertools.islice(corpus.full_documents(seed=78), 20):
        yield unicodedata.normalize("NFD", doc.user).upper() if rng.random() < 0.5 else doc.user.replace(" ", "\n")


def mixed(rng):
    """Pieces of every kind, glued with or without white space."""
    pools = [SPACES, EMOJI, MARKS, SCRIPTS, DIGITS, QUOTES, CODE, SPECIALISH, ["word", " two words", "Hello", "recipe", " the", "€250", "°C"]]
    while True:
        yield "".join(rng.choice(rng.choice(pools)) for _ in range(rng.randrange(2, 9)))


def cases(rng):
    yield "empty", ""
    groups = [("special", SPECIALISH), ("space", SPACES), ("space", ("".join(rng.choices(SPACES, k=rng.randrange(2, 12))) for _ in range(30))),
              ("space", ("a" + s + "b" + s for s in SPACES)), ("emoji", EMOJI), ("emoji", (" ".join(rng.sample(EMOJI, 4)) for _ in range(8))),
              ("marks", MARKS), ("script", SCRIPTS), ("digits", DIGITS), ("quotes", QUOTES), ("code", CODE), ("latin", latin(rng)),
              ("long", long_words(rng)), ("corpus", of_corpus(rng)), ("mixed", mixed(rng))]
    for kind, texts in groups:
        for text in texts:
            yield kind, text


def distinct_cases():
    seen = set()
    for kind, text in cases(random.Random(2024)):
        if text not in seen:
            seen.add(text)
            yield kind, text
        if len(seen) == COUNT:
            return


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    encoder = T.load(os.path.join(HERE, "tiny-moe"))
    entries = []
    for kind, text in distinct_cases():
        ids = encoder.encode(text, add_special_tokens=False).ids
        assert encoder.decode(ids, skip_special_tokens=False) == text, repr(text)
        entries.append({"kind": kind, "text": text, "ids": ids})
    content = "[\n" + ",\n".join(json.dumps(e) for e in entries) + "\n]\n"
    if args.check:
        same = open(PATH, encoding="ascii").read() == content
        print("%d cases, %s" % (len(entries), "equal" if same else "DIFFERENT"))
        return 0 if same else 1
    with open(PATH, "w", encoding="ascii") as f:
        f.write(content)
    used = {i for e in entries for i in e["ids"]}
    print("%d cases, %d bytes, %d of %d tokens occur" % (len(entries), len(content), len(used), encoder.get_vocab_size()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
