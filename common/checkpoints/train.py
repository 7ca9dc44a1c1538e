#!/usr/bin/env python3
"""Train one of the checkpoints on endless fresh documents, packed whole into rows, within a budget of processor time.

    train.py tiny-moe --minutes 65 --work ../../build/checkpoints        resumes if interrupted; writes tiny-moe/ at the end
    train.py tiny-moe --work ../../build/checkpoints --export            writes tiny-moe/ from the last saved state

The schedule follows the process's own clock, not the step count: it always ends at its floor, and a busy machine only makes
it wait. One thread a model is the efficient setting (OMP_NUM_THREADS=1); give each model a core of its own.
"""
import argparse
import itertools
import json
import math
import os
import random
import time

import torch
import torch.nn.functional as F

import corpus
import export
import models
import objectives
import tokenizer as T

HERE = os.path.dirname(os.path.abspath(__file__))
LENGTH = 320  # tokens a row: longer than any document
POOL = 512  # documents packed together


def packed_pool(encoder, seed, weights):
    """Rows of LENGTH ids from POOL documents: whole documents, first fit, longest first; rows and documents then shuffled,
    for the packing order would tell the next document's subject."""
    texts = [text for _, text, _ in itertools.islice(corpus.documents(seed=seed, weights=weights), POOL)]
    docs = sorted((e.ids for e in encoder.encode_batch(texts)), key=len, reverse=True)
    bins, room = [], []
    for doc in docs:
        place = next((i for i, free in enumerate(room) if free >= len(doc)), None)
        if place is None:
            bins.append([])
            room.append(LENGTH)
            place = len(bins) - 1
        bins[place].append(doc)
        room[place] -= len(doc)
    shuffle = random.Random(seed)
    shuffle.shuffle(bins)
    rows = []
    for b in bins:
        shuffle.shuffle(b)
        row = [i for doc in b for i in doc]
        rows.append(row + [T.PAD] * (LENGTH - len(row)))
    return rows


class Rows:
    """Endless rows; pool n of a run is drawn with a seed of its own, so a resumed run goes on with pools never seen."""

    def __init__(self, encoder, seed, weights, pool=0):
        self.encoder, self.seed, self.weights, self.pool, self.rows = encoder, seed, weights, pool, []

    def take(self, n):
        while len(self.rows) < n:
            self.rows += packed_pool(self.encoder, (self.seed << 32) + self.pool, self.weights)
            self.pool += 1
        taken, self.rows = self.rows[:n], self.rows[n:]
        return torch.tensor(taken)


def make_optimizer(model, lr):
    decay = [p for p in model.parameters() if p.dim() > 1]
    rest = [p for p in model.parameters() if p.dim() <= 1]
    groups = [{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=lr, betas=(0.9, 0.98), fused=True)


class Run:
    """Everything that must survive an interruption."""

    def __init__(self, name, recipe, work, seed):
        self.path = os.path.join(work, name + ".pt")
        torch.manual_seed(seed)
        self.model = models.use_sorted_experts(models.build(name))
        if recipe.start:
            self.model.load_state_dict(torch.load(os.path.join(work, recipe.start + ".pt"))["model"])
        self.optimizer = make_optimizer(self.model, recipe.lr)
        self.step, self.tokens, self.seconds, self.running, self.pool, self.log = 0, 0, 0.0, None, 0, []

    def save(self):
        state = {k: getattr(self, k) for k in ("step", "tokens", "seconds", "running", "pool", "log")}
        state.update(model=self.model.state_dict(), optimizer=self.optimizer.state_dict())
        torch.save(state, self.path + ".new")
        os.replace(self.path + ".new", self.path)

    def resume(self):
        if os.path.exists(self.path):
            state = torch.load(self.path)
            self.model.load_state_dict(state.pop("model"))
            self.optimizer.load_state_dict(state.pop("optimizer"))
            self.__dict__.update(state)
        return self


def learning_rate(recipe, step, part):
    """Warm-up by steps, then a cosine of the share of the time budget that is spent, down to 2 %."""
    return recipe.lr * min(1.0, (step + 1) / recipe.warmup) * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * min(1.0, part))))


def train(run, recipe, rows, minutes, save_every=180):
    objective = recipe.objective(run.model)
    run.model.train()
    begun, before, saved = time.process_time(), run.seconds, time.time()
    while run.seconds < minutes * 60:
        objective.part = run.seconds / (minutes * 60)
        for group in run.optimizer.param_groups:
            group["lr"] = learning_rate(recipe, run.step, objective.part)
        ids = rows.take(recipe.batch)
        run.optimizer.zero_grad(set_to_none=True)
        loss, total = objective.loss(ids)
        total.backward()
        torch.nn.utils.clip_grad_norm_(run.model.parameters(), 1.0)
        run.optimizer.step()
        objective.after_step()
        run.step, run.tokens, run.pool = run.step + 1, run.tokens + int((ids[:, 1:] != T.PAD).sum()), rows.pool
        run.running = loss.item() if run.running is None else 0.98 * run.running + 0.02 * loss.item()
        run.seconds = before + time.process_time() - begun
        if run.step in (1, 10, 20, 50) or run.step % 100 == 0:
            run.log.append((run.step, run.tokens, round(run.seconds), round(run.running, 4)))
            print("step %d  tokens %d  s %.0f  loss %.4f  tok/s %.0f  lr %.5f  %s" % (
                *run.log[-1], run.tokens / run.seconds, run.optimizer.param_groups[0]["lr"], objective.report()), flush=True)
        if time.time() - saved > save_every:
            run.save()
            saved = time.time()
    run.save()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=sorted(models.CONFIGS))
    parser.add_argument("--minutes", type=float, default=None, help="budget of processor time; default: the recipe's")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", required=True, help="folder of the run's state")
    parser.add_argument("--out", default=None, help="checkpoint folder; default: the one beside this script")
    parser.add_argument("--export", action="store_true", help="only write the checkpoint folder from the saved state")
    args = parser.parse_args()
    torch.set_num_threads(1)
    os.makedirs(args.work, exist_ok=True)
    recipe = objectives.RECIPES[args.name]
    out = args.out or os.path.join(HERE, recipe.folder or args.name)
    encoder = T.load(os.path.join(HERE, "tiny-moe"))
    run = Run(args.name, recipe, args.work, args.seed).resume()
    print("parameters %d, step %d" % (sum(p.numel() for p in run.model.parameters()), run.step), flush=True)
    minutes = args.minutes or recipe.minutes
    if not args.export:
        train(run, recipe, Rows(encoder, args.seed, recipe.weights, run.pool), minutes)
    export.write(run.model, args.name, out)
    record = {"name": args.name, "seed": args.seed, "minutes": minutes, "steps": run.step, "tokens": run.tokens, "seconds": round(run.seconds),
              "columns": ["step", "tokens", "seconds", "loss in nats a token"], "log": run.log}
    with open(os.path.join(out, "training-%s.json" % args.name if recipe.folder else "training.json"), "w") as f:
        f.write(json.dumps(record).replace("], [", "],\n  [") + "\n")


if __name__ == "__main__":
    main()
