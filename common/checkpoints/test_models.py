#!/usr/bin/env python3
"""Tests that need the packages of requirements.txt (label `pypi`); exit status 77 without them, 1 when a test fails."""
import json
import os
import sys
import tempfile

try:
    import torch
    import transformers
except ImportError as error:
    print("skipped: %s" % error)
    sys.exit(77)

import corpus
import export
import golden
import models
import objectives
import tokenizer as T
import train

HERE = os.path.dirname(os.path.abspath(__file__))


def committed():
    return [name for name in sorted(models.CONFIGS) if os.path.exists(os.path.join(HERE, name, "model.safetensors"))]


def some_rows(n, length=96):
    encoder = T.load(os.path.join(HERE, "tiny-moe"))
    return torch.tensor(train.packed_pool(encoder, 3, None))[:n, :length]


def sorted_experts_equal_the_loop():
    """Loss and gradients of the experts forward used in training against the class's own."""
    for name in ("tiny-moe", "tiny-mla"):
        torch.manual_seed(1)
        model, ids, found = models.build(name), some_rows(2), []
        objective = objectives.RECIPES[name].objective(model)
        for on in (False, True):
            models.use_sorted_experts(model, on)
            model.zero_grad()
            loss, total = objective.loss(ids)
            total.backward()
            found.append((total.item(), {k: p.grad.clone() for k, p in model.named_parameters()}))
        (a, grad_a), (b, grad_b) = found
        assert abs(a - b) < 1e-5, (name, a, b)
        for k in grad_a:
            assert (grad_a[k] - grad_b[k]).norm() <= 1e-5 * grad_a[k].norm() + 1e-7, (name, k)


def export_and_load_give_the_same_logits():
    """A written folder, opened by transformers, computes what the bf16-rounded model in memory computes."""
    for name in sorted(models.CONFIGS):
        torch.manual_seed(2)
        model, ids = models.build(name).eval(), some_rows(2, 40)
        with torch.no_grad():
            for p in model.parameters():
                p.copy_(p.to(torch.bfloat16))
            for gate in models.Routing(model).gates:
                if hasattr(gate, "e_score_correction_bias"):
                    gate.e_score_correction_bias.normal_(std=0.1)
            with tempfile.TemporaryDirectory() as folder:
                export.write(model, name, folder)
                loaded = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
                ids[ids == T.PAD] = T.END  # the padding row is filled on export
                worst = (loaded(ids).logits - model(ids).logits)[..., T.PAD + 1 :].abs().max()  # a tied head has that row too
                assert type(loaded) is type(model) and worst < 1e-5, (name, worst)
                if hasattr(model, "mtp"):
                    found = golden.load_mtp(loaded, folder)
                    hidden = model.model(ids).last_hidden_state
                    worst = (models.mtp_hidden(found, hidden, ids) - models.mtp_hidden(model, hidden, ids)).abs().max()
                    assert worst < 1e-5, (name, worst)


def packing_keeps_documents_whole():
    encoder = T.load(os.path.join(HERE, "tiny-moe"))
    rows = train.packed_pool(encoder, 5, None)
    docs = sorted(encoder.encode(text).ids for _, text, _ in train.itertools.islice(corpus.documents(seed=5), train.POOL))
    found = []
    for row in rows:
        assert len(row) == train.LENGTH
        row = [i for i in row if i != T.PAD]
        ends = [-1] + [i for i, token in enumerate(row) if token == T.END]
        found += [row[a + 1 : b + 1] for a, b in zip(ends, ends[1:])]
        assert ends[-1] == len(row) - 1
    assert sorted(found) == docs


def chat_template_renders():
    for name in committed():
        tokenizer = transformers.AutoTokenizer.from_pretrained(os.path.join(HERE, name))
        turns = [{"role": "user", "content": "Hé?"}, {"role": "assistant", "content": "Yes."}, {"role": "user", "content": "<b>"}]
        text = tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
        assert text == "<|user|>Hé?<|assistant|>Yes.<|endoftext|>" + T.chat("<b>"), text
        assert tokenizer(text).input_ids == T.load(os.path.join(HERE, name)).encode(text).ids
        assert [tokenizer.convert_tokens_to_ids(s) for s in T.SPECIALS] == [0, 1, 2, 3]


def golden_values_hold():
    """The committed golden values belong to the committed weights and are reproduced by them."""
    assert committed(), "no checkpoint"
    for name in committed():
        folder = os.path.join(HERE, name)
        assert golden.check(golden.Reference(folder), os.path.join(folder, "golden.json"), folder) == 0, name


def weights_are_the_described_ones():
    for name in committed():
        folder = os.path.join(HERE, name)
        with open(os.path.join(folder, "config.json")) as f:
            config = json.load(f)
        assert config == json.loads(json.dumps(export.config_dict(models.build(name)))), name


TESTS = (sorted_experts_equal_the_loop, export_and_load_give_the_same_logits, packing_keeps_documents_whole, chat_template_renders,
         weights_are_the_described_ones, golden_values_hold)


def main():
    torch.set_num_threads(1)
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    failed = 0
    for test in TESTS:
        try:
            test()
            print("ok   " + test.__name__, flush=True)
        except Exception as error:  # a crash is a failure of that test alone
            failed += 1
            print("FAIL %s: %s: %s" % (test.__name__, type(error).__name__, error), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
