#!/usr/bin/env python3
"""Synthetic corpus: six small grammars, each document one chat turn, the bits of the generator's choices counted.

    corpus.py --subject all --bytes 5000 --seed 1        print documents
    for subject, text, bits in documents(seed=1): ...    use as a module

A template is text in which {a|b|c} is a uniform choice (nesting allowed) and $name is a slot filled from the
document's state. Every random decision goes through Draw.choose, which adds log2(number of options) to `bits`;
what is not chosen costs nothing. Two different sequences of choices give two different documents, so the mean of
`bits` is the entropy of a document, and no model can need fewer bits on fresh text (test_corpus.py checks this).
"""
import argparse
import math
import random
import re
import sys
from collections import namedtuple

import corpus_numbers
import corpus_words

GRAMMARS = {
    "story": corpus_words.story,
    "recipe": corpus_words.recipe,
    "weather": corpus_words.weather,
    "arithmetic": corpus_numbers.arithmetic,
    "ledger": corpus_numbers.ledger,
    "clinic": corpus_words.clinic,
}
SUBJECTS = tuple(GRAMMARS)
Document = namedtuple("Document", "subject user assistant bits details")


class Draw:
    """A random source that knows how many bits it has given away."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.bits = 0.0

    def choose(self, n):
        """An index below n, uniform: the only place where chance enters a document."""
        self.bits += math.log2(n)
        return self.random.randrange(n)

    def pick(self, options):
        return options[self.choose(len(options))]

    def number(self, low, high, step=1):
        return self.pick(range(low, high + 1, step))

    def sorted_sample(self, low, high, k):
        """k different numbers of low..high in ascending order, every such set equally likely: one choice."""
        n = high - low + 1
        rank = self.choose(math.comb(n, k))
        found = []
        for value in range(n):  # the combinations that contain `value` next come first in the ranking
            with_value = math.comb(n - value - 1, k - len(found) - 1) if len(found) < k else 0
            if len(found) < k and rank < with_value:
                found.append(low + value)
            else:
                rank -= with_value
        return found

    def say(self, template, state):
        """Expand a template (or one picked from a list), outermost brace first: only text that survives costs bits."""
        if not isinstance(template, str):
            template = self.pick(template)
        text = self._expand(template)
        for _ in range(2):  # a slot's value may itself hold a slot
            text = re.sub(r"\$(\w+)", lambda m: str(self.value(state, m.group(1))), text)
        return text

    @staticmethod
    def value(state, name):
        """A slot that holds a function is drawn at its first use and kept: what is never mentioned costs no bits."""
        if callable(state[name]):
            found = state[name]()
            state.update(found if isinstance(found, dict) else {name: found})
        return state[name]

    def _expand(self, text):
        start = text.find("{")
        if start < 0:
            return text
        depth, options, begin = 0, [], start + 1
        for i in range(start, len(text)):
            c = text[i]
            if c == "{":
                depth += 1
            elif c == "|" and depth == 1:
                options.append(text[begin:i])
                begin = i + 1
            elif c == "}":
                depth -= 1
                if depth == 0:
                    options.append(text[begin:i])
                    return text[:start] + self._expand(self.pick(options)) + self._expand(text[i + 1 :])
        raise ValueError("unbalanced braces: " + text)


def generate(subject, draw):
    """One Document of the subject; its bits are those of the text given the subject."""
    draw.bits = 0.0
    user, assistant, details = GRAMMARS[subject](draw)
    return Document(subject, user, assistant, draw.bits, details)


def full_documents(subject="all", seed=0, weights=None):
    """Endless Documents. With subject 'all' the subjects come in random order, equally often unless `weights` (one
    number a subject) says otherwise; the choice of the subject is not counted in a document's bits."""
    draw = Draw(seed)
    while True:
        chosen = draw.random.choices(SUBJECTS, weights)[0] if subject == "all" else subject
        yield generate(chosen, draw)


def as_text(doc):
    return "<|user|>%s<|assistant|>%s<|endoftext|>" % (doc.user, doc.assistant)


def documents(subject="all", seed=0, weights=None):
    for doc in full_documents(subject, seed, weights):
        yield doc.subject, as_text(doc), doc.bits


WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")


def words(text):
    return WORD.findall(text)


EQUATION = re.compile(r"(?<![\d€+x-] )(?<![\d€])€?(\d+) ([-+x]) €?(\d+) = €?(\d+)(?!\d)")


def equations(text):
    """(left, operator, right, result) of every `a + b = c` in the text; amounts of money count without their sign."""
    return [(int(a), op, int(b), int(c)) for a, op, b, c in EQUATION.findall(text)]


def holds(equation):
    a, op, b, c = equation
    return {"+": a + b, "-": a - b, "x": a * b}[op] == c


def balances(text):
    """(right, all) of a ledger's entries: an entry is right when it starts from the balance before it and its sum holds."""
    opening = re.search(r": €(\d+)\n", text)
    balance = int(opening.group(1)) if opening else None
    right = total = 0
    for equation in equations(text):
        total += 1
        right += balance == equation[0] and holds(equation)
        balance = equation[3]
    return right, total


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--subject", default="all", choices=("all",) + SUBJECTS)
    parser.add_argument("--bytes", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    written = 0
    for _, text, _ in documents(args.subject, args.seed):
        sys.stdout.write(text + "\n")
        written += len(text.encode()) + 1
        if written >= args.bytes:
            break


if __name__ == "__main__":
    main()
