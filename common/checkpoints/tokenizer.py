#!/usr/bin/env python3
"""Train the byte-level BPE on the corpus and write the tokenizer files of a checkpoint folder.

    tokenizer.py --out tiny-moe [--documents 12000]
    encoder = load("tiny-moe"); encoder.encode(text, add_special_tokens=False).ids

Ids 0-3 are the specials, 4-259 the bytes in the alphabet's order, then the merges. No normaliser, no prefix space, no
token added before or after: decode(encode(text)) == text for every string. Needs the `tokenizers` package.
"""
import argparse
import itertools
import json
import os

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

import corpus

VOCABULARY = 1024
SPECIALS = ["<|endoftext|>", "<|user|>", "<|assistant|>", "<|pad|>"]
END, USER, ASSISTANT, PAD = range(4)
CONTEXT = 1024  # max_position_embeddings of every checkpoint here

# A contraction, a word with the space before it, ONE digit, a run of anything else visible, white space (its last space left
# to the word that follows). Oniguruma and PCRE2 (UTF and UCP on) agree on it, but for U+180E: white space for PCRE2 only.
PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}[\p{L}\p{M}]*| ?\p{N}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"

CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{% if message['role'] == 'user' %}{{ '<|user|>' + message['content'] }}"
    "{% elif message['role'] == 'assistant' %}{{ '<|assistant|>' + message['content'] + '<|endoftext|>' }}"
    "{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)

TOKENIZER_CONFIG = {
    "tokenizer_class": "PreTrainedTokenizerFast",
    "added_tokens_decoder": {
        str(i): {"content": s, "lstrip": False, "normalized": False, "rstrip": False, "single_word": False, "special": True}
        for i, s in enumerate(SPECIALS)
    },
    "add_bos_token": False,
    "add_eos_token": False,
    "add_prefix_space": False,
    "bos_token": SPECIALS[END],
    "eos_token": SPECIALS[END],
    "pad_token": SPECIALS[PAD],
    "clean_up_tokenization_spaces": False,
    "model_max_length": CONTEXT,
    "chat_template": CHAT_TEMPLATE,
}

GENERATION_CONFIG = {
    "bos_token_id": END,
    "eos_token_id": END,
    "pad_token_id": PAD,
    "do_sample": True,
    "temperature": 0.7,
    "top_k": 0,
    "top_p": 1.0,
    "max_new_tokens": 320,
}


def train(texts, vocabulary=VOCABULARY):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(PATTERN), behavior="isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[AddedToken(s, normalized=False, special=True) for s in SPECIALS],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    ))
    return tokenizer


def load(folder):
    return Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))


def chat(user):
    """What the chat template renders for one user message and add_generation_prompt."""
    return SPECIALS[USER] + user + SPECIALS[ASSISTANT]


def write_json(path, value):
    with open(path, "w", encoding="utf-8") as f:
        json.dump(value, f, indent=2, ensure_ascii=False)
        f.write("\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True)
    parser.add_argument("--documents", type=int, default=12000)
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    docs = itertools.islice(corpus.full_documents(seed=args.seed), args.documents)
    tokenizer = train(text for doc in docs for text in (doc.user, doc.assistant))
    tokenizer.save(os.path.join(args.out, "tokenizer.json"))
    write_json(os.path.join(args.out, "tokenizer_config.json"), TOKENIZER_CONFIG)
    write_json(os.path.join(args.out, "generation_config.json"), GENERATION_CONFIG)
    held_out = [corpus.as_text(d) for d in itertools.islice(corpus.full_documents(seed=args.seed + 1), 600)]
    lengths = [len(tokenizer.encode(t).ids) for t in held_out]
    assert all(tokenizer.decode(tokenizer.encode(t).ids, skip_special_tokens=False) == t for t in held_out)
    print("%d tokens; %.2f bytes a token, %.0f tokens a document, longest %d" % (
        tokenizer.get_vocab_size(), sum(len(t.encode()) for t in held_out) / sum(lengths), sum(lengths) / len(lengths), max(lengths)))


if __name__ == "__main__":
    main()
