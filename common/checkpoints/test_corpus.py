#!/usr/bin/env python3
"""Tests of the corpus generator; standard library only. Exit status 1 when any of them fails."""
import itertools
import math
import sys
from collections import Counter

import corpus
from corpus import SUBJECTS, Draw


class Recorder(Draw):
    """A Draw that replays given choices and then goes on at random; it keeps (choice, options) of each decision."""

    def __init__(self, seed, forced=()):
        super().__init__(seed)
        self.forced, self.made = list(forced), []

    def choose(self, n):
        self.bits += math.log2(n)
        i = len(self.made)
        index = self.forced[i] % n if i < len(self.forced) else self.random.randrange(n)
        self.made.append((index, n))
        return index


def text_of(subject, draw):
    return corpus.as_text(corpus.generate(subject, draw))


def every_choice_is_visible():
    """Change one decision and keep the others where they still apply: the text must change, else its bits are not entropy."""
    for subject, seed in itertools.product(SUBJECTS, range(60)):
        draw = Recorder(seed)
        text = text_of(subject, draw)
        indices = [index for index, _ in draw.made]
        for i, (index, n) in enumerate(draw.made):
            other = (index + 1 + seed % max(1, n - 1)) % n
            if other != index:
                changed = text_of(subject, Recorder(seed, indices[:i] + [other] + indices[i + 1 :]))
                assert changed != text, "%s seed %d: decision %d of %d options changes nothing in %s" % (subject, seed, i, n, text)


def bits_are_the_choices():
    """A document's bits are the sum of log2(options) of its decisions, and probabilities over a small tree sum to one."""
    for subject, seed in itertools.product(SUBJECTS, range(50)):
        draw = Recorder(seed)
        doc = corpus.generate(subject, draw)
        assert abs(doc.bits - sum(math.log2(n) for _, n in draw.made)) < 1e-9
        assert doc == corpus.generate(subject, Draw(seed)), "recording must not change the document"

    def tiny(d):
        state = {"x": lambda: d.number(1, 4)}
        return d.say(["{a|b {c|d|e}}", "$x and $x{|!}", "f"], state)

    found, stack = {}, [[]]
    while stack:
        forced = stack.pop()
        draw = Recorder(0, forced)
        text = tiny(draw)
        if len(draw.made) == len(forced):
            assert text not in found, text
            found[text] = draw.bits
        else:
            stack.extend(forced + [i] for i in range(draw.made[len(forced)][1]))
    assert len(found) == 4 + 8 + 1, found
    assert abs(sum(2.0**-bits for bits in found.values()) - 1.0) < 1e-12, found
    assert found["f"] == math.log2(3) and found["2 and 2!"] == math.log2(3 * 2 * 4), found


def sorted_samples_are_uniform():
    draw, seen = Draw(1), Counter()
    for _ in range(4000):
        before = draw.bits
        seen[tuple(draw.sorted_sample(3, 8, 3))] += 1
        assert abs(draw.bits - before - math.log2(20)) < 1e-9
    assert sorted(seen) == list(itertools.combinations(range(3, 9), 3)), sorted(seen)
    assert min(seen.values()) > 120, seen  # expected 200 each, standard deviation 14


def seeds_decide():
    take = lambda seed, subject="all": list(itertools.islice(corpus.documents(subject, seed), 40))
    assert take(5) == take(5)
    assert take(5) != take(6)
    assert Counter(s for s, _, _ in itertools.islice(corpus.documents(seed=1), 6000)).keys() == set(SUBJECTS)
    assert {s for s, _, _ in take(5, "ledger")} == {"ledger"}
    few = Counter(s for s, _, _ in itertools.islice(corpus.documents(seed=1, weights=[1, 0, 0, 0, 0, 1]), 100))
    assert set(few) == {"story", "clinic"}, few


def sums_are_right():
    for doc in itertools.islice(corpus.full_documents(seed=2), 6000):
        found = corpus.equations(doc.assistant)
        assert all(corpus.holds(e) for e in found), doc
        if doc.subject == "arithmetic":
            assert 3 <= len(found) <= 6 and doc.assistant.count(" = ") == len(found), doc
        if doc.subject == "ledger":
            right, total = corpus.balances(doc.assistant)
            assert right == total == doc.assistant.count(" = ") and 3 <= total <= 5, doc
            close = corpus.equations(doc.assistant)[-1][3]
            assert ": €%d\n" % close in doc.assistant and close >= 0, doc
    assert corpus.equations("7 + 8 = 16") == [(7, "+", 8, 16)] and not corpus.holds((7, "+", 8, 16))
    assert corpus.balances("Cash: €300\nx, €300 - €20 = €280\ny, €290 + €10 = €300\nz, €300 + €10 = €320\n") == (1, 3)


def details_are_used():
    for doc in itertools.islice(corpus.full_documents(seed=4), 4000):
        assert all(detail in doc.user and detail in doc.assistant for detail in doc.details), doc
        assert "$" not in doc.user + doc.assistant and "{" not in doc.user + doc.assistant, doc


TESTS = (every_choice_is_visible, bits_are_the_choices, sorted_samples_are_uniform, seeds_decide, sums_are_right, details_are_used)


def main():
    failed = 0
    for test in TESTS:
        try:
            test()
            print("ok   " + test.__name__)
        except Exception as error:  # a crash is a failure of that test alone
            failed += 1
            print("FAIL %s: %s: %s" % (test.__name__, type(error).__name__, error))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
