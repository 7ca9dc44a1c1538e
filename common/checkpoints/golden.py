#!/usr/bin/env python3
"""Golden values of a checkpoint, by `transformers` in fp32 from the committed (bf16-rounded) weights.

    golden.py tiny-moe              write tiny-moe/golden.json
    golden.py tiny-moe --check      recompute and compare with the file

Six prompts: one token, an odd length, more than 100 tokens, a chat turn, multi-byte text, every special token. Each is the
first candidate, in a seeded order, whose margins are wide enough to make "equal tokens, equal experts" a fair demand.
README.md describes the fields.
"""
import argparse
import hashlib
import itertools
import json
import math
import os
import random
import sys

import torch
import transformers
from safetensors.torch import load_file

import corpus
import models
import tokenizer as T

HERE = os.path.dirname(os.path.abspath(__file__))
GREEDY = 32
LOGIT_TOLERANCE = 2e-4
LOGIT_MARGIN = 20 * LOGIT_TOLERANCE
ROUTER_MARGIN = {"logit": 1e-3, "sigmoid": 1e-4}  # a sigmoid's slope is at most 1/4, and its values lie closer together


def load_mtp(model, folder):
    """Attach the stored multi-token-prediction module to a loaded model; `transformers` leaves it out."""
    models.add_mtp(model)
    prefix = "model.layers.%d." % model.config.num_hidden_layers
    stored = {k[len(prefix) :]: v for k, v in load_file(os.path.join(folder, "model.safetensors")).items() if k.startswith(prefix)}
    for shared, own in (("embed_tokens.weight", model.model.embed_tokens.weight), ("shared_head.head.weight", model.lm_head.weight)):
        assert torch.equal(stored.pop(shared).float(), own.data.float()), shared
    state = {}
    for key, value in model.mtp.state_dict().items():
        name = key.replace("mtp_block.", "").replace("post_norm.", "shared_head.norm.")
        if name.endswith("experts.gate_up_proj"):
            part = lambda e, which: stored.pop("mlp.experts.%d.%s_proj.weight" % (e, which))
            state[key] = torch.stack([torch.cat([part(e, "gate"), part(e, "up")]) for e in range(value.shape[0])])
        elif name.endswith("experts.down_proj"):
            state[key] = torch.stack([stored.pop("mlp.experts.%d.down_proj.weight" % e) for e in range(value.shape[0])])
        else:
            state[key] = stored.pop(name)
    assert not stored, sorted(stored)
    model.mtp.load_state_dict(state)
    model.mtp.float()
    return model


class Reference:
    """A checkpoint in fp32 with the class's own loops (no fused attention, no sorted experts)."""

    def __init__(self, folder):
        config = transformers.AutoConfig.from_pretrained(folder)
        self.model = transformers.AutoModelForCausalLM.from_pretrained(
            folder, config=config, dtype=torch.float32, attn_implementation="eager", experts_implementation="eager").eval()
        self.encoder = T.load(folder)
        if getattr(config, "num_nextn_predict_layers", 0):
            load_mtp(self.model, folder)

    @torch.no_grad()
    def run(self, ids):
        """(logits [T, V], residual norms [layers + 1] at the last position, Routing) of one sequence."""
        norms = []
        norm = lambda x: norms.append(float(x[0, -1].double().norm()))
        hooks = [self.model.model.embed_tokens.register_forward_hook(lambda m, i, out: norm(out))]
        hooks += [layer.register_forward_hook(lambda m, i, out: norm(out if torch.is_tensor(out) else out[0])) for layer in self.model.model.layers]
        with models.Routing(self.model.model) as routing:
            logits = self.model(input_ids=torch.tensor([ids]), use_cache=False).logits[0]
        for hook in hooks:
            hook.remove()
        return logits, norms, routing

    def top_experts(self, routing, layer):
        """(ids [T, k] by descending selection score, the smallest gap that decides them) of a layer. The score is the router
        logit for tiny-moe; for tiny-mla the sigmoid plus the bias, of the experts in the groups that were kept."""
        gate, margin = routing.gates[layer], math.inf
        score = routing.logits[layer]
        if hasattr(gate, "e_score_correction_bias"):
            score = score.sigmoid() + gate.e_score_correction_bias
            groups = score.view(-1, gate.num_group, gate.num_experts // gate.num_group)
            value, order = groups.topk(2, -1)[0].sum(-1).topk(gate.topk_group + 1, -1)
            margin = float((value[:, gate.topk_group - 1] - value[:, gate.topk_group]).min())
            kept = torch.zeros(groups.shape[:2], dtype=torch.bool).scatter_(1, order[:, : gate.topk_group], True)
            score = groups.masked_fill(~kept[..., None], -math.inf).flatten(1)
        value, order = score.topk(gate.top_k + 1, -1)
        assert torch.equal(order[:, : gate.top_k].sort(-1)[0], routing.chosen[layer].sort(-1)[0])
        return order[:, : gate.top_k].tolist(), min(margin, float((value[:, :-1] - value[:, 1:]).min()))

    def router_margin(self, routing):
        """The smallest gap of all routers; None without one."""
        return min((self.top_experts(routing, i)[1] for i in routing.logits), default=None)

    def too_close(self, margin):
        kind = "sigmoid" if any(name.endswith("e_score_correction_bias") for name, _ in self.model.named_buffers()) else "logit"
        return margin is not None and margin < ROUTER_MARGIN[kind]

    def golden(self, ids):
        """The golden values of a prompt, or the reason it does not qualify."""
        logits, norms, routing = self.run(ids)
        if self.too_close(self.router_margin(routing)):  # the greedy tokens can only make it smaller
            return "router margin %.2g" % self.router_margin(routing)
        experts = [self.top_experts(routing, i)[0] for i in routing.logits]
        sequence, margins = list(ids), []
        for _ in range(GREEDY):
            last = logits[-1] if len(sequence) == len(ids) else self.run(sequence)[0][-1]
            value, order = last.topk(2)
            margins.append(float(value[0] - value[1]))
            if margins[-1] < LOGIT_MARGIN:
                return "logit margin %.2g" % margins[-1]
            sequence.append(int(order[0]))
        router = self.router_margin(self.run(sequence)[2])
        found = {"ids": list(ids), "logits": logits[-1].tolist(), "residual_norms": norms, "experts": experts, "greedy": sequence[len(ids) :],
                 "logit_margin": min(margins), "first_logit_margin": margins[0], "router_margin": router}
        if hasattr(self.model, "mtp"):
            values, margin = self.mtp(sequence[: len(ids) + 1])
            found.update(values, router_margin=min(router, margin))
        if self.too_close(found["router_margin"]):
            return "router margin %.2g" % found["router_margin"]
        return found

    @torch.no_grad()
    def mtp(self, ids):
        """The multi-token-prediction module's logits for the token after `ids` (the prompt and its first greedy token) and its
        experts, with the smallest gap that decides them."""
        ids = torch.tensor([ids])
        hidden = self.model.model(input_ids=ids, use_cache=False).last_hidden_state
        with models.Routing(self.model) as routing:
            logits = self.model.lm_head(models.mtp_hidden(self.model, hidden, ids))[0, -1]
        experts, margin = self.top_experts(routing, len(routing.gates) - 1)
        return {"mtp_logits": logits.tolist(), "mtp_experts": experts}, margin


def candidates(kind, encoder, rng):
    """Endless (text, user) of a kind; user is the message when the text is its rendered chat turn."""
    docs = corpus.full_documents(seed=rng.randrange(1 << 30))
    if kind == "one_token":
        singles = [t for t in map(lambda i: encoder.decode([i]), range(4, encoder.get_vocab_size())) if t.isascii() and len(encoder.encode(t).ids) == 1]
        yield from ((t, None) for t in rng.sample(singles, len(singles)))
        return
    for doc in docs:
        if kind == "odd_length":
            words = doc.assistant.split(" ")
            yield " ".join(words[: rng.randrange(8, 20)]), None
        elif kind == "long":
            yield T.chat(doc.user) + doc.assistant[: rng.randrange(200, 500)], None
        elif kind == "chat":
            yield T.chat(doc.user), doc.user
        elif kind == "multi_byte":
            weather, other = corpus.generate("weather", corpus.Draw(rng.randrange(1 << 30))), rng.choice(["naïve Zoë, 7 € in 東京", "東京 😀 12 °C", "😀👍🏽 café", "Привет, Łódź €", "e\u0301té — été ½"])
            yield T.chat(weather.user) + weather.assistant[:60] + " " + other, None
        else:
            yield T.SPECIALS[T.PAD] + corpus.as_text(doc)[: rng.randrange(30, 60)] + T.SPECIALS[T.ASSISTANT] + "Good. " + T.SPECIALS[T.END] + T.chat(doc.user), None


SUITABLE = {
    "one_token": lambda ids: len(ids) == 1,
    "odd_length": lambda ids: len(ids) % 2 == 1 and 15 <= len(ids) < 60,
    "long": lambda ids: len(ids) > 100,
    "chat": lambda ids: True,
    "multi_byte": lambda ids: True,
    "every_special": lambda ids: set(range(4)) <= set(ids),
}


def choose(reference, kind, seed, limit=3000):
    rng = random.Random("%s %d" % (kind, seed))
    reasons = []
    for text, user in itertools.islice(candidates(kind, reference.encoder, rng), limit):
        ids = reference.encoder.encode(text, add_special_tokens=False).ids
        if SUITABLE[kind](ids):
            found = reference.golden(ids)
            if isinstance(found, dict):
                print("%-14s %3d tokens, logit margin %.4f, router margin %.4f, after %d candidates" % (
                    kind, len(ids), found["logit_margin"], found["router_margin"] or 0, len(reasons) + 1), flush=True)
                return dict({"kind": kind, "text": text, "user": user}, **found)
            reasons.append(found)
    raise RuntimeError("no prompt of kind %s qualifies: %s" % (kind, reasons[-5:]))


def digest(folder):
    with open(os.path.join(folder, "model.safetensors"), "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def rounded(value):
    """Nine significant digits: enough to give back the same fp32 number."""
    if isinstance(value, float):
        return float("%.9g" % value)
    if isinstance(value, list):
        return [rounded(v) for v in value]
    return {k: rounded(v) for k, v in value.items()} if isinstance(value, dict) else value


def check(reference, path, folder):
    with open(path) as f:
        golden = json.load(f)
    assert golden["weights_sha256"] == digest(folder), "golden.json belongs to other weights"
    worst = 0.0
    for prompt in golden["prompts"]:
        assert reference.encoder.encode(prompt["text"], add_special_tokens=False).ids == prompt["ids"], prompt["kind"]
        found = reference.golden(prompt["ids"])
        assert isinstance(found, dict), (prompt["kind"], found)
        assert found["greedy"] == prompt["greedy"] and found["experts"] == prompt["experts"], prompt["kind"]
        assert found.keys() == prompt.keys() - {"kind", "text", "user"} and found.get("mtp_experts") == prompt.get("mtp_experts"), prompt["kind"]
        for key in ("logits", "residual_norms", "mtp_logits"):
            worst = max([worst] + [abs(a - b) for a, b in zip(found.get(key, []), prompt.get(key, []))])
    print("%d prompts, largest difference %.2g" % (len(golden["prompts"]), worst))
    return 0 if worst <= LOGIT_TOLERANCE else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="a checkpoint folder, beside this script or anywhere")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(1)
    folder = args.name if os.path.isdir(args.name) else os.path.join(HERE, args.name)
    path = os.path.join(folder, "golden.json")
    reference = Reference(folder)
    if args.check:
        return check(reference, path, folder)
    head = {"checkpoint": os.path.basename(os.path.normpath(folder)), "weights_sha256": digest(folder), "precision": "fp32, weights as stored",
            "torch": torch.__version__.split("+")[0], "transformers": transformers.__version__, "logit_tolerance": LOGIT_TOLERANCE, "greedy_tokens": GREEDY}
    prompts = [rounded(choose(reference, kind, args.seed)) for kind in SUITABLE]
    with open(path, "w", encoding="ascii") as f:
        f.write(json.dumps(head)[:-1] + ', "prompts": [\n' + ",\n".join(map(json.dumps, prompts)) + "\n]}\n")
    print("%s: %d bytes" % (path, os.path.getsize(path)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
