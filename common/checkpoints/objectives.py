"""What each model is trained to minimise, and with which settings."""
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F

import models
import tokenizer as T


class Plain:
    """Next-token cross-entropy over everything that is not padding."""

    def __init__(self, model):
        self.model = model

    def hidden(self, ids):
        return self.model.model(input_ids=ids, use_cache=False).last_hidden_state

    def cross_entropy(self, hidden, targets):
        real = targets != T.PAD
        return F.cross_entropy(self.model.lm_head(hidden[real]), targets[real])

    def loss(self, ids):
        """(the loss to report, the loss to minimise) of rows of ids [B, T]"""
        loss = self.cross_entropy(self.hidden(ids[:, :-1]), ids[:, 1:])
        return loss, loss

    def after_step(self):
        pass

    def report(self):
        return ""


class Balanced(Plain):
    """Adds Switch's auxiliary loss E * sum_e f_e P_e (1 when even), the mean over layers. The classes' own function pools
    the layers before multiplying, so that one layer may make up for another; here each layer must be even by itself."""

    coefficient = 0.01

    def loss(self, ids):
        with models.Routing(self.model) as routing:
            loss = self.cross_entropy(self.hidden(ids[:, :-1]), ids[:, 1:])
        real = (ids[:, 1:] != T.PAD).flatten()
        terms = []
        for i in routing.logits:
            logits, chosen = routing.logits[i][real], routing.chosen[i][real]
            share = torch.bincount(chosen.flatten(), minlength=logits.shape[-1]) / chosen.numel()
            terms.append(logits.shape[-1] * (share * logits.softmax(-1).mean(0)).sum())
        self.auxiliary = sum(terms) / len(terms)
        return loss, loss + self.coefficient * self.auxiliary

    def report(self):
        return "aux %.3f" % self.auxiliary.item()


@dataclass
class Recipe:
    objective: type
    lr: float = 3e-3
    warmup: int = 100
    batch: int = 8
    minutes: float = 65
    weights: list = field(default=None)  # how often each subject of corpus.SUBJECTS comes; None: equally


RECIPES = {
    "tiny-moe": Recipe(Balanced),
}
