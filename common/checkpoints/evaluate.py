#!/usr/bin/env python3
"""Quality of a checkpoint: bits a byte against the entropy, sampled answers, sums, expert load and specialisation.

    evaluate.py tiny-moe [--json FILE] [--show 1]
    evaluate.py tiny-draft --target tiny-moe       adds the expected acceptance sum_x min(p, q) on held-out answers

The stored bf16 weights are used, in fp32. Held-out documents and prompts come from seeds that training never uses.
"""
import argparse
import itertools
import json
import math
import os
import re

import torch
import transformers
from transformers import DynamicCache

import corpus
import models
import tokenizer as T

HERE = os.path.dirname(os.path.abspath(__file__))
SUBJECTS = corpus.SUBJECTS


def load(name):
    folder = name if os.path.isdir(name) else os.path.join(HERE, name)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="sdpa")
    return models.use_sorted_experts(model).eval(), T.load(folder)


def held_out(encoder, subject, n):
    """(documents, ids [rows, longest] padded at the end, in batches of 10)"""
    docs = list(itertools.islice(corpus.full_documents(subject, 5_000_000 + SUBJECTS.index(subject)), n))
    ids = [encoder.encode(corpus.as_text(d)).ids for d in docs]
    batches = []
    for i in range(0, n, 10):
        width = max(map(len, ids[i : i + 10]))
        batches.append(torch.tensor([row + [T.PAD] * (width - len(row)) for row in ids[i : i + 10]]))
    return docs, batches


class Tally:
    """Sums over held-out text of one subject."""

    def __init__(self):
        self.bytes = self.entropy = self.bits = self.answer_tokens = self.accept = self.accept_07 = self.agree = 0.0

    def line(self):
        found = {"entropy_bits_per_byte": self.entropy / self.bytes, "bits_per_byte": self.bits / self.bytes, "ratio": self.bits / self.entropy}
        if self.answer_tokens:
            found.update(acceptance=self.accept / self.answer_tokens, acceptance_t07=self.accept_07 / self.answer_tokens,
                         greedy_agreement=self.agree / self.answer_tokens)
        return found

    def add(self, other):
        for key, value in vars(other).items():
            setattr(self, key, getattr(self, key) + value)


@torch.no_grad()
def likelihood(model, encoder, documents, target=None):
    """(subject -> Tally, expert counts [layer][subject, E])"""
    tallies, counts = {}, {}
    for s, subject in enumerate(SUBJECTS):
        docs, batches = held_out(encoder, subject, documents)
        tally = tallies[subject] = Tally()
        tally.bytes = sum(len((d.user + d.assistant).encode()) for d in docs)
        tally.entropy = sum(d.bits + math.log2(len(SUBJECTS)) for d in docs)
        for ids in batches:
            x, y = ids[:, :-1], ids[:, 1:]
            real = y != T.PAD
            with models.Routing(model) as routing:
                logp = model(input_ids=x, use_cache=False).logits.log_softmax(-1)
            tally.bits -= float(logp.gather(-1, y[..., None])[..., 0][real].sum()) / math.log(2)
            for layer, chosen in routing.chosen.items():
                experts = routing.gates[layer].num_experts
                counts.setdefault(layer, torch.zeros(len(SUBJECTS), experts))[s] += torch.bincount(chosen[real.flatten()].flatten(), minlength=experts)
            if target is not None:
                goal = target(input_ids=x, use_cache=False).logits
                answer = real & ((x == T.ASSISTANT).cumsum(1) > 0)
                tally.answer_tokens += int(answer.sum())
                tally.accept += float(torch.minimum(logp.exp(), goal.softmax(-1)).sum(-1)[answer].sum())
                tally.accept_07 += float(torch.minimum((logp / 0.7).softmax(-1), (goal / 0.7).softmax(-1)).sum(-1)[answer].sum())
                tally.agree += int((logp.argmax(-1) == goal.argmax(-1))[answer].sum())
    return tallies, counts


def specialisation(counts):
    """Of a layer's counts [subject, E]: load max/mean and min/mean, mutual information of expert and subject in bits
    (subjects weighing the same), and each subject's favourite expert."""
    share = counts.sum(0) / counts.sum()
    joint = counts / counts.sum(1, keepdim=True) / len(SUBJECTS)
    information = (joint * (joint * len(SUBJECTS) / joint.sum(0) + 1e-12).log2()).sum()
    experts = counts.shape[1]
    return {"load_max_over_mean": float(share.max() * experts), "load_min_over_mean": float(share.min() * experts),
            "mutual_information_bits": float(information), "favourite_experts": counts.argmax(1).tolist()}


@torch.no_grad()
def sample(model, prompts, temperature, limit=320, seed=0):
    """Answers (ids without the end token). All rows advance together from position 0: a row is fed its prompt, then its samples."""
    generator = torch.Generator().manual_seed(seed)
    rows, done = [list(p) for p in prompts], [False] * len(prompts)
    cache = DynamicCache(config=model.config)
    for t in range(limit):
        ids = torch.tensor([[row[t] if t < len(row) else T.PAD] for row in rows])
        logits = model(input_ids=ids, cache=cache, use_cache=True).logits[:, -1]
        logits[:, T.PAD] = -math.inf
        drawn = torch.multinomial((logits / temperature).softmax(-1), 1, generator=generator)[:, 0].tolist()
        for i, row in enumerate(rows):
            if t + 1 == len(row) and not done[i]:
                row.append(drawn[i])
                done[i] = drawn[i] == T.END
        if all(done):
            break
    return [[i for i in row[len(p) :] if i != T.END] for row, p in zip(rows, prompts)], sum(done)


def lexicon():
    found = set()
    for doc in itertools.islice(corpus.full_documents(seed=99), 20000):
        found.update(corpus.words(doc.user + " " + doc.assistant))
    return found


def whole_word(detail, text):
    return re.search(r"(?<!\w)" + re.escape(detail) + r"(?!\w)", text) is not None


def answers(model, encoder, per_subject, show):
    """Sampled answers at T = 0.7: words in the lexicon, details used, sums right; and the first few as text."""
    known = lexicon()
    docs = {s: list(itertools.islice(corpus.full_documents(s, 6_000_000 + i), per_subject)) for i, s in enumerate(SUBJECTS)}
    flat = [d for s in SUBJECTS for d in docs[s]]
    out, ended = sample(model, [encoder.encode(T.chat(d.user)).ids for d in flat], 0.7)
    texts = [encoder.decode(ids) for ids in out]
    words = good = used = equations = equations_right = entries = entries_right = 0
    per, shown = {s: [0, 0] for s in SUBJECTS}, []
    for i, (doc, text) in enumerate(zip(flat, texts)):
        found = corpus.words(text)
        words, good = words + len(found), good + sum(w in known for w in found)
        uses = all(whole_word(x, text) for x in doc.details)
        used, per[doc.subject][0], per[doc.subject][1] = used + uses, per[doc.subject][0] + uses, per[doc.subject][1] + 1
        if doc.subject == "arithmetic":
            equations += len(corpus.equations(text))
            equations_right += sum(map(corpus.holds, corpus.equations(text)))
        if doc.subject == "ledger":
            right, total = corpus.balances(text)
            entries, entries_right = entries + total, entries_right + right
        if i % per_subject < show:
            shown.append({"subject": doc.subject, "user": doc.user, "assistant": text})
    return {"answers": len(flat), "ended": ended, "words_in_lexicon": good / words, "details_used": used / len(flat),
            "details_used_by_subject": {s: a / b for s, (a, b) in per.items()}, "equations": equations, "equations_right": equations_right / max(1, equations),
            "balances": entries, "balances_right": entries_right / max(1, entries), "samples": shown}


def report(result):
    for subject, line in result["subjects"].items():
        print("%-11s entropy %.4f b/B, model %.4f, ratio %.3f%s" % (
            subject, line["entropy_bits_per_byte"], line["bits_per_byte"], line["ratio"],
            ", acceptance %.3f (T=0.7 %.3f, greedy %.3f)" % (line["acceptance"], line["acceptance_t07"], line["greedy_agreement"]) if "acceptance" in line else ""))
    for layer, line in result["layers"].items():
        print("router %s: load max/mean %.2f, min/mean %.2f, mutual information %.3f bits, favourites %s" % (
            layer, line["load_max_over_mean"], line["load_min_over_mean"], line["mutual_information_bits"], line["favourite_experts"]))
    if "sampled" in result:
        s = result["sampled"]
        print("%d answers (%d ended): %.2f %% of words in the lexicon, %.1f %% use the details; %.1f %% of %d equations right, %.1f %% of %d balances" % (
            s["answers"], s["ended"], 100 * s["words_in_lexicon"], 100 * s["details_used"], 100 * s["equations_right"], s["equations"], 100 * s["balances_right"], s["balances"]))
        for one in s["samples"]:
            print("\n[%s] %s\n%s" % (one["subject"], one["user"], one["assistant"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="a checkpoint folder, beside this script or anywhere")
    parser.add_argument("--target", help="the model a draft is to agree with")
    parser.add_argument("--documents", type=int, default=100, help="held-out documents a subject")
    parser.add_argument("--answers", type=int, default=50, help="sampled answers a subject; 0: none")
    parser.add_argument("--show", type=int, default=1)
    parser.add_argument("--json")
    args = parser.parse_args()
    torch.set_num_threads(1)
    model, encoder = load(args.name)
    target = load(args.target)[0] if args.target else None
    tallies, counts = likelihood(model, encoder, args.documents, target)
    result = {"checkpoint": os.path.basename(os.path.normpath(args.name)), "documents_per_subject": args.documents,
              "subjects": {s: t.line() for s, t in tallies.items()}, "layers": {str(i): specialisation(c) for i, c in counts.items()}}
    for label, group in (("all", SUBJECTS), ("four", SUBJECTS[:4]), ("two", SUBJECTS[4:])):
        total = Tally()
        for subject in group:
            total.add(tallies[subject])
        if label == "all" or args.target:
            result["subjects"][label] = total.line()
    if args.answers:
        result["sampled"] = answers(model, encoder, args.answers, args.show)
    report(result)
    if args.json:
        T.write_json(args.json, result)


if __name__ == "__main__":
    main()
