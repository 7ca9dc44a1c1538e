#!/usr/bin/env python3
"""Synthetic checkpoints: test_synthesize.py PROGRAM [--transformers].

Without the flag, by the standard library and the octavo program alone. With it, the greedy tokens of transformers and of the
program on the same files; exit status 77 where transformers is not installed.
"""
import hashlib
import json
import os
import struct
import subprocess
import sys
import tempfile
import unittest

import synthesize

PROGRAM = os.path.abspath(sys.argv[1])
COMPARE = "--transformers" in sys.argv
GIGABYTES, VOCABULARY = 0.006, 1500
PROMPT = "The lantern of Mira"


def digest(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, kind, name=None, seed=1):
        folder = os.path.join(self.folder, name or kind)
        arguments = [kind, "--out", folder, "--gigabytes", str(GIGABYTES), "--vocabulary", str(VOCABULARY), "--seed", str(seed)]
        with open(os.devnull, "w") as nothing:
            out, sys.stdout = sys.stdout, nothing
            try:
                synthesize.main(arguments)
            finally:
                sys.stdout = out
        return folder

    def octavo(self, *arguments):
        found = subprocess.run([PROGRAM, *arguments], capture_output=True, timeout=250)
        self.assertEqual(found.returncode, 0, found.stderr.decode(errors="replace"))
        return found.stdout.decode()

    def greedy(self, folder, tokens=8):
        return self.octavo("generate", "--model", folder, "--prompt", PROMPT, "--temperature", "0", "--max-tokens", str(tokens))


class Written(Case):
    def test_every_kind_has_the_size_asked_for_and_runs(self):
        for kind in synthesize.KINDS:
            folder = self.write(kind)
            size = os.path.getsize(os.path.join(folder, "model.safetensors"))
            self.assertLess(abs(size / (GIGABYTES * 1e9) - 1), 0.25, kind)
            stored = [line for line in self.octavo("inspect", folder).splitlines() if line.startswith("stored")][0].split()
            self.assertEqual(stored[4].rstrip(";"), stored[-1], stored)  # elements stored, elements asked for
            self.assertEqual(self.greedy(folder), self.greedy(folder))

    def test_the_seed_decides_every_byte(self):
        one, same, other = (self.write("deepseek", "run%d" % i, seed) for i, seed in enumerate((1, 1, 2)))
        for name in os.listdir(one):
            self.assertEqual(digest(os.path.join(one, name)), digest(os.path.join(same, name)), name)
        weights = "model.safetensors"
        self.assertNotEqual(digest(os.path.join(one, weights)), digest(os.path.join(other, weights)))

    def test_the_weights_are_spread_as_asked_and_no_row_is_another(self):
        folder = self.write("mixtral")
        with open(os.path.join(folder, "model.safetensors"), "rb") as f:
            header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
            start = f.tell()
            name = "model.layers.0.block_sparse_moe.experts.3.w1.weight"
            (rows, width), (begin, end) = header[name]["shape"], header[name]["data_offsets"]
            f.seek(start + begin)
            data = f.read(end - begin)
        values = struct.unpack("<%df" % (len(data) // 2), b"".join(b"\0\0" + data[i : i + 2] for i in range(0, len(data), 2)))
        mean, square = sum(values) / len(values), sum(v * v for v in values) / len(values)
        self.assertLess(abs(mean * width**0.5), 0.05)
        self.assertLess(abs(square * width - 1), 0.05)
        self.assertEqual(len({data[i : i + 2 * width] for i in range(0, len(data), 2 * width)}), rows)

    def test_selection_biases_are_negative(self):
        folder = self.write("deepseek")
        with open(os.path.join(folder, "model.safetensors"), "rb") as f:
            header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
            start = f.tell()
            biases = [entry for name, entry in header.items() if name.endswith("e_score_correction_bias")]
            self.assertTrue(biases)
            for entry in biases:
                self.assertEqual(entry["dtype"], "F32")
                f.seek(start + entry["data_offsets"][0])
                for value in struct.unpack("<%df" % entry["shape"][0], f.read(4 * entry["shape"][0])):
                    self.assertLess(value, 0)

    def test_what_does_not_fit_is_refused(self):
        for arguments in (["--gigabytes", "0.0001"], ["--vocabulary", "1000"]):
            with self.assertRaises(SystemExit) as stop:
                synthesize.main(["llama", "--out", os.path.join(self.folder, "bad"), *arguments])
            self.assertIn("at least", str(stop.exception.code))


class Transformers(Case):
    def test_greedy_tokens_are_the_same(self):
        import torch
        import transformers

        transformers.utils.logging.set_verbosity_error()
        transformers.utils.logging.disable_progress_bar()
        torch.set_num_threads(1)
        for kind in synthesize.KINDS:
            folder = self.write(kind)
            model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
            tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
            ids = tokenizer(PROMPT, return_tensors="pt").input_ids
            margins = []
            for _ in range(8):
                with torch.no_grad():
                    value, best = model(input_ids=ids, use_cache=False).logits[0, -1].topk(2)
                margins.append(float(value[0] - value[1]))
                if int(best[0]) == model.config.eos_token_id:
                    break
                ids = torch.cat([ids, best[:1][None]], 1)
            self.assertGreater(min(margins), 4e-3, "%s: another seed is wanted, its best two tokens are too close" % kind)
            prompt = len(tokenizer(PROMPT).input_ids)
            wanted = tokenizer.decode(ids[0, prompt:], clean_up_tokenization_spaces=False)
            self.assertEqual(self.greedy(folder).rstrip("\n"), wanted.rstrip("\n"), kind)


if __name__ == "__main__":
    chosen = Written
    if COMPARE:
        try:
            import transformers  # noqa: F401
        except ImportError as error:
            print("skipped: %s" % error)
            sys.exit(77)
        chosen = Transformers
    result = unittest.TextTestRunner().run(unittest.defaultTestLoader.loadTestsFromTestCase(chosen))
    sys.exit(0 if result.wasSuccessful() else 1)
