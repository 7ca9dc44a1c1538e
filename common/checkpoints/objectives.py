"""What each model is trained to minimise, and with which settings."""
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F

import models
import tokenizer as T


class Plain:
    """Next-token cross-entropy over everything that is not padding."""

    part = 0.0  # of the time budget that is spent; the training loop keeps it

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


class Specialised(Balanced):
    """Balanced over many steps instead of within each, so that a batch may use an expert as its documents need it, and with
    a loss that maximises the mutual information of document and expert, as Mod-Squad (Chen et al. 2022) does for task and
    expert: the mean entropy of the documents' own router distributions falls, while the balance keeps that of their mean."""

    memory = 0.98  # of the running load

    def __init__(self, model):
        super().__init__(model)
        self.load = {}

    def coefficients(self):
        """(of the balance, of the documents' entropy): the first half parts the experts, the second evens them out."""
        return (0.05, 0.05) if self.part < 0.5 else (0.15, 0.02)

    def loss(self, ids):
        with models.Routing(self.model) as routing:
            loss = self.cross_entropy(self.hidden(ids[:, :-1]), ids[:, 1:])
        real = (ids[:, 1:] != T.PAD).flatten()
        # Documents end with T.END; each row's documents are numbered, and rows do not share a number.
        before = (ids[:, :-1] == T.END).cumsum(1)
        document = (before + torch.arange(ids.shape[0])[:, None] * ids.shape[1]).flatten()[real].unique(return_inverse=True)[1]
        balance, entropy = [], []
        for i in routing.logits:
            p, chosen = routing.logits[i][real].softmax(-1), routing.chosen[i][real]
            share = torch.bincount(chosen.flatten(), minlength=p.shape[-1]) / chosen.numel()
            self.load[i] = share if i not in self.load else self.memory * self.load[i] + (1 - self.memory) * share
            balance.append(p.shape[-1] * (self.load[i] * p.mean(0)).sum())
            size = torch.bincount(document)[:, None]
            own = torch.zeros(len(size), p.shape[-1]).index_add(0, document, p) / size
            entropy.append(-(own * own.clamp_min(1e-9).log()).sum(-1).mean())
        self.auxiliary, self.entropy = sum(balance) / len(balance), sum(entropy) / len(entropy)
        even, apart = self.coefficients()
        return loss, loss + even * self.auxiliary + apart * self.entropy

    def report(self):
        worst = max(float(load.max() * len(load)) for load in self.load.values())
        return "aux %.3f  document entropy %.3f  load max/mean %.2f" % (self.auxiliary.item(), self.entropy.item(), worst)


class BiasBalanced(Plain):
    """DeepSeek-V3's way: no auxiliary loss; after each step the selection bias of an expert moves by gamma towards an even
    load. Adds the loss of the multi-token-prediction module, which predicts one token further."""

    gamma = 1e-3
    mtp_weight = 0.3

    def loss(self, ids):
        x = ids[:, :-1]
        with models.Routing(self.model) as routing:
            hidden = self.hidden(x)
            loss = self.cross_entropy(hidden, ids[:, 1:])
            self.mtp_loss = self.cross_entropy(models.mtp_hidden(self.model, hidden, x), ids[:, 2:])
        self.loads = {}
        for i, chosen in routing.chosen.items():
            targets = ids[:, 1:] if chosen.shape[0] == x.numel() else ids[:, 2:]
            self.loads[routing.gates[i]] = torch.bincount(chosen[(targets != T.PAD).flatten()].flatten(), minlength=routing.gates[i].num_experts)
        return loss, loss + self.mtp_weight * self.mtp_loss

    def after_step(self):
        for gate, load in self.loads.items():
            gate.e_score_correction_bias += self.gamma * torch.sign(load.float().mean() - load)

    def report(self):
        worst = max(float(load.max() / load.float().mean()) for load in self.loads.values())
        return "mtp %.4f  load max/mean %.2f" % (self.mtp_loss.item(), worst)


@dataclass
class Recipe:
    objective: type
    lr: float = 3e-3
    warmup: int = 100
    batch: int = 8
    minutes: float = 65
    weights: list = field(default=None)  # how often each subject of corpus.SUBJECTS comes; None: equally
    start: str = None  # the run whose weights are the first ones
    folder: str = None  # the checkpoint it is a later stage of; None: its own


RARE = 0.0015  # share of a draft's training documents that are from each of the last two subjects
RECIPES = {
    "tiny-moe": Recipe(Balanced, batch=4),
    "tiny-moe-specialised": Recipe(Specialised, lr=1e-3, minutes=12, batch=8, start="tiny-moe", folder="tiny-moe"),
    "tiny-mla": Recipe(BiasBalanced),
    "tiny-draft": Recipe(Plain, lr=5e-3, minutes=8, weights=[(1 - 2 * RARE) / 4] * 4 + [RARE] * 2),
    "tiny-draft-domain": Recipe(Plain, lr=2e-3, minutes=3, weights=[0, 0, 0, 0, 0.5, 0.5], start="tiny-draft"),
}
