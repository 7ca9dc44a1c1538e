#!/usr/bin/env python3
"""The octavo program from outside: test_cli.py PROGRAM SOURCE_DIR [unittest arguments].

Bad input gives one line on stderr and exit code 2, whatever the input was; good input gives text and the line of figures.
"""
import json
import os
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

PROGRAM, SOURCE = sys.argv[1:3]
TINY = os.path.join(SOURCE, "common/checkpoints/tiny-moe")
EMBEDDED = ("tiny-moe", "tiny-mla", "tiny-draft", "tiny-draft-domain")
FIGURES = re.compile(r"^prompt (?:1 token|(?!1 )\d+ tokens) at [\d.]+/s, output (1(?= token )|(?!1 )\d+(?= tokens )) tokens?(?: at [\d.]+/s)? \((stop|length)\), [\d.]+ s, seed (\d+)\n$")


def octavo(*args, **environment):
    found = subprocess.run([PROGRAM, *args], capture_output=True, timeout=120, env={**os.environ, **environment})
    return found.returncode, found.stdout.decode(errors="replace"), found.stderr.decode(errors="replace")


class Case(unittest.TestCase):
    def refuse(self, *args, says="", **environment):
        code, out, err = octavo(*args, **environment)
        self.assertEqual((code, out), (2, ""), "%s: %s" % (args, err))
        self.assertRegex(err, r"^octavo: [^\n]+\n$")
        self.assertIn(says, err)


class Refused(Case):
    def test_command_line(self):
        for args, says in (
                ((), "generate"), (("nonsense",), "nonsense"), (("generate",), "--prompt"), (("inspect",), "target"),
                (("generate", "--prompt", "a", "--chat", "b"), "--chat"), (("generate", "--prompt", "a", "--color"), "--color"),
                (("generate", "--prompt"), "--prompt")):
            self.refuse(*args, says=says)

    def test_prompts(self):
        self.refuse("generate", "--prompt", "", says="empty")
        self.refuse("generate", "--chat", "", says="empty")
        for bad in (b"\xff", b"abc\xc3", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf4\x90\x80\x80"):
            self.refuse("generate", "--prompt", bad, says="UTF-8")
            self.refuse("generate", "--chat", bad, says="UTF-8")
        self.refuse("generate", "--prompt", "many words " * 3000, says="context")
        self.refuse("inspect", "tiny-moe", "--prompt", "many words " * 3000, says="context")

    def test_numbers(self):
        for option, values, says in (
                ("--max-tokens", ("010x", "0x3", "0", "-1", "999999999999", "99999999999999999999999", "ten", "1.5", ""), "max"),
                ("--temperature", ("-1", "nan", "inf", "hot"), "temperature"), ("--top-p", ("0", "-0.1", "1.5", "nan"), "top"),
                ("--top-k", ("-1", "x"), "top"), ("--seed", ("-1", "x", "99999999999999999999999"), "seed"),
                ("--threads", ("0", "-4", "100000", "x"), "threads")):
            for value in values:
                self.refuse("generate", "--prompt", "a", option + "=" + value, says=says)
        for value in ("0", "two", "1025"):
            self.refuse("generate", "--prompt", "a", says="OCTAVO_THREADS", OCTAVO_THREADS=value)
        self.refuse("inspect", "tiny-moe", "--context", "0", says="context")
        self.refuse("inspect", "tiny-moe", "--memory", "-1", says="memory")

    def test_folders(self):
        self.refuse("generate", "--model", "/nowhere/at/all", "--prompt", "a", says="/nowhere/at/all")
        self.refuse("generate", "--model", "", "--prompt", "a", says="checkpoint folder")
        self.refuse("generate", "--model", "..", "--prompt", "a", says="config.json")
        self.refuse("inspect", "/nowhere/config.json", says="/nowhere/config.json")
        self.refuse("inspect", os.path.join(TINY, "config.json"), "--prompt", "a", says="weights")
        self.refuse("inspect", "/no\nwhere\x1b[2J", says="/no\\x0awhere\\x1b[2J")

    def test_devices_and_versions(self):
        for option, says in (("--device=tpu", "tpu"), ("--device=cuda", "cpu or simt"), ("--device=", "device"), ("--compute=f8", "f8"),
                             ("--version=matmul", "matmul"), ("--version=matmul=best", "best"), ("--version=nothing=best", "nothing"),
                             ("--version=matmul=cpu_v1_eigen", "cpu_v1_eigen")):
            self.refuse("generate", "--prompt", "a", option, says=says)


class Damaged(Case):
    """A copy of tiny-moe with one thing wrong."""

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        for name in os.listdir(TINY):
            if name != "golden.json":
                shutil.copy(os.path.join(TINY, name), self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, data):
        with open(self.path(name), "wb") as f:
            f.write(data)

    def refuse_model(self, says=""):
        self.refuse("generate", "--model", self.folder, "--prompt", "a", says=says)

    def test_missing_files(self):
        for name in ("config.json", "model.safetensors", "tokenizer.json"):
            kept = open(self.path(name), "rb").read()
            os.remove(self.path(name))
            self.refuse_model(says=name)
            os.mkdir(self.path(name))
            self.refuse_model(says=name)
            os.rmdir(self.path(name))
            self.write(name, kept)
        os.remove(self.path("tokenizer_config.json"))
        self.refuse("generate", "--model", self.folder, "--chat", "a", says="tokenizer_config.json")

    def test_bad_json(self):
        for name in ("config.json", "tokenizer.json", "generation_config.json"):
            kept = open(self.path(name), "rb").read()
            for bad in (b"", b"{", b"[]", b"\xff\xfe", b"[" * 100000, b'{"a":' * 100000, b"null", kept[: len(kept) // 2]):
                self.write(name, bad)
                self.refuse_model(says=name)
            self.write(name, kept)

    def test_config_fields(self):
        config = json.load(open(self.path("config.json")))
        for change in ({"hidden_size": 0}, {"hidden_size": -5}, {"hidden_size": 10**18}, {"hidden_size": "128"}, {"num_experts_per_tok": 9},
                       {"num_experts_per_tok": 0}, {"num_hidden_layers": 0}, {"num_hidden_layers": 5}, {"num_key_value_heads": 3},
                       {"vocab_size": 1023}, {"rms_norm_eps": -1}, {"rope_theta": 0}, {"architectures": ["GPT9"]}, {"architectures": []},
                       {"hidden_act": "gelu"}, {"intermediate_size": 191}, {"head_dim": 31}, {"eos_token_id": 5000},
                       {"max_position_embeddings": 0}, {"num_local_experts": 10**9}):
            self.write("config.json", json.dumps({**config, **change}).encode())
            self.refuse_model(says=self.folder)
        for field in ("hidden_size", "num_experts_per_tok", "num_local_experts", "num_hidden_layers", "vocab_size", "architectures"):
            self.write("config.json", json.dumps({k: v for k, v in config.items() if k != field}).encode())
            self.refuse_model(says=field)

    def test_weights(self):
        data = open(self.path("model.safetensors"), "rb").read()
        size = struct.unpack("<Q", data[:8])[0]
        header = json.loads(data[8:8 + size])
        def with_header(change):
            changed = json.loads(json.dumps(header))
            change(changed)
            text = json.dumps(changed).encode()
            return struct.pack("<Q", len(text)) + text + data[8 + size:]
        name = "model.norm.weight"
        def shape(h): h[name]["shape"] = [127]
        def huge(h): h[name]["shape"] = [1 << 62, 4]
        def overlap(h): h[name]["data_offsets"] = [0, 256]
        def beyond(h): h[name]["data_offsets"] = [len(data), len(data) + 256]
        def backwards(h): h[name]["data_offsets"] = h[name]["data_offsets"][::-1]
        def dtype(h): h[name]["dtype"] = "F7"
        def gone(h): h["other"] = h.pop(name)
        for bad in (b"", data[:7], data[:100], data[:-1], data + b"x", b"not a safetensors file at all, just text " * 10,
                    struct.pack("<Q", 1 << 63) + data[8:], struct.pack("<Q", 1 << 40) + data[8:], struct.pack("<Q", 0) + data[8:],
                    struct.pack("<Q", 200000) + b"[" * 200000, *map(with_header, (shape, huge, overlap, beyond, backwards, dtype, gone))):
            self.write("model.safetensors", bad)
            self.refuse_model()

    def test_tokenizer(self):
        tokenizer = json.load(open(self.path("tokenizer.json")))
        def changed(**model):
            return json.dumps({**tokenizer, "model": {**tokenizer["model"], **model}}).encode()
        for bad in (changed(merges=["no-space"]), changed(merges=[["a"]]), changed(merges=[["zz", "qq"]]), changed(merges=7),
                    changed(vocab={}), changed(vocab={"a": -1}), changed(vocab={"a": 1 << 40}), changed(type="WordPiece"),
                    json.dumps({**tokenizer, "normalizer": {"type": "Lowercase"}}).encode()):
            self.write("tokenizer.json", bad)
            self.refuse_model(says="tokenizer.json")

    def test_weights_cut_off_while_they_are_read(self):
        with subprocess.Popen([PROGRAM, "generate", "--model", self.folder, "--prompt", "a", "--temperature", "1.5", "--max-tokens", "1023"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
            running.stdout.read(1)
            os.truncate(self.path("model.safetensors"), 4096)
            _, err = running.communicate(timeout=120)
        self.assertEqual((running.returncode, err), (1, b"octavo: failed: a weight file became shorter while in use\n"))

    def test_a_folder_of_any_name_and_a_setting_without_effect(self):
        folder = os.path.join(self.folder, "mein Modell \u00e4\u20ac 'x'")
        os.mkdir(folder)
        for name in os.listdir(TINY):
            shutil.copy(os.path.join(TINY, name), folder)
        self.write("mein Modell \u00e4\u20ac 'x'/generation_config.json", b'{"repetition_penalty": 1.05}')
        code, out, err = octavo("generate", "--model", folder, "--prompt", "a", "--max-tokens", "3")
        self.assertEqual(code, 0, err)
        self.assertRegex(err, r"\Aoctavo: note: .*repetition_penalty is 1.05, [^\n]*\nprompt .*\n\Z")


class Works(Case):
    def generate(self, *args, **environment):
        code, out, err = octavo("generate", *args, **environment)
        self.assertEqual(code, 0, err)
        self.assertRegex(err, FIGURES)
        return out, FIGURES.match(err)

    def test_the_same_seed_writes_the_same_text_on_any_number_of_threads(self):
        args = ("--chat", "Tell me a story about Mira and a lantern.", "--max-tokens", "30", "--seed", "5")
        out, figures = self.generate(*args)
        self.assertTrue(out.endswith("\n") and len(out) > 20)
        self.assertEqual(figures[3], "5")
        self.assertEqual(self.generate(*args, "--threads", "1")[0], out)
        self.assertEqual(self.generate(*args, "--threads", "3")[0], out)
        self.assertEqual(self.generate(*args, OCTAVO_THREADS="2")[0], out)

    def test_a_request_without_a_seed_gets_one_that_repeats_it(self):
        args = ("--chat", "A soup recipe, please.", "--max-tokens", "30", "--temperature", "1.3")
        out, figures = self.generate(*args)
        self.assertEqual(self.generate(*args, "--seed", figures[3])[0], out)

    def test_numbers_are_decimal(self):
        _, figures = self.generate("--prompt", "a", "--max-tokens", "03", "--seed", "010", "--temperature", "0")
        self.assertLessEqual(int(figures[1]), 3)
        self.assertEqual(figures[3], "10")

    def test_lost_output_is_a_failure(self):
        for args in (("inspect", "tiny-moe"), ("generate", "--prompt", "a", "--max-tokens", "3"), ("--help",)):
            with open("/dev/full", "w") as full:
                found = subprocess.run([PROGRAM, *args], stdout=full, stderr=subprocess.PIPE, timeout=120)
            self.assertEqual(found.returncode, 1, args)
            self.assertIn(b"standard output", found.stderr)
        found = subprocess.run("'%s' generate --prompt a --max-tokens 3 2>&- >/dev/null" % PROGRAM, shell=True, timeout=120)
        self.assertEqual(found.returncode, 0)

    def test_max_tokens_and_every_option(self):
        out, figures = self.generate("--prompt", "Zoë walked to €", "--max-tokens", "1", "--temperature", "0.5", "--top-k", "10", "--top-p", "0.9")
        self.assertEqual(figures[1], "1")
        out.encode().decode()
        _, figures = self.generate("--prompt", "a", "--model", TINY, "--max-tokens", "1024", "--top-k", "0", "--top-p", "1", "--temperature", "0")
        self.assertLessEqual(int(figures[1]), 1023)

    def test_on_the_executor_the_kernels_write_the_same_text(self):
        args = ("--chat", "What is 12 + 30?", "--max-tokens", "6", "--temperature", "0")
        out, _ = self.generate(*args)
        self.assertEqual(self.generate(*args, "--device", "simt")[0], out)
        self.assertEqual(self.generate(*args, "--device", "simt", "--version", "matmul=gpu_v1_naive")[0], out)

    def test_help(self):
        for args in (("--help",), ("generate", "--help"), ("inspect", "--help")):
            code, out, err = octavo(*args)
            self.assertEqual((code, err), (0, ""))
            self.assertIn("octavo" if len(args) == 1 else "--prompt", out)

    def test_inspect(self):
        code, out, err = octavo("inspect", "tiny-moe", "--chat", "a story", "--chat", "What is 1 + 1?")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(out.count("max/mean"), 2)
        code, out, err = octavo("inspect", os.path.join(SOURCE, "common/model/configs/mixtral-8x7b.json"), "--memory", "160")
        self.assertEqual((code, err), (0, ""))
        for figure in ("46.70 B", "12.88 B", "93.41 GB", "128.00 KiB", "4.00 GiB"):
            self.assertIn(figure, out)

    def test_every_embedded_model_is_inspected_and_writes(self):
        for name in EMBEDDED:
            code, out, err = octavo("inspect", name)
            self.assertEqual((code, err), (0, ""))
            stored = re.search(r"stored .* tensors of (\d+) elements; the config asks for (\d+)(?:\n +the MTP .* add (\d+))?\n", out)
            self.assertEqual(int(stored[1]), int(stored[2]) + int(stored[3] or 0), name)
            args = ("--model", name, "--chat", "Tell me a story about Mira and a lantern.", "--seed", "4", "--max-tokens", "20")
            out, _ = self.generate(*args, "--threads", "1")
            self.assertGreater(len(out), 20)
            self.assertEqual(self.generate(*args, "--threads", "2")[0], out)

    def test_heat_map(self):
        chats = ("--chat", "Tell me a story about Mira and a lantern.", "--chat", "What is 47 + 35? Think of pears.")
        for name, layers in (("tiny-moe", "0123"), ("tiny-mla", "123")):
            code, out, err = octavo("inspect", name, "--heat-map", *chats)
            self.assertEqual((code, err), (0, ""))
            picture = out[out.index("experts of prompts"):].splitlines()
            self.assertEqual("".join(re.findall(r"layer (\d)", picture[1])), layers)
            self.assertTrue(picture[2].startswith("Tell me a story about  ") and picture[3].startswith("What is 47 + 35? Think  "))
            self.assertNotEqual(picture[2][22:], picture[3][22:])  # other subjects, other experts
        self.refuse("inspect", "tiny-moe", "--heat-map", says="heat-map")
        self.refuse("inspect", "tiny-draft", "--heat-map", *chats, says="no experts")

    def test_a_routing_trace_has_every_token_of_prompt_and_answer(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace.json")
            self.assertEqual(octavo("inspect", "tiny-mla", "--chat", "What is 4 + 4?", "--trace", path)[0], 0)
            with open(path, encoding="utf-8") as f:
                trace = json.load(f)
        self.assertEqual((trace["layers"], trace["experts"]), (3, 16))
        self.assertEqual(len(trace["uses"]) % 3, 0)
        self.assertGreater(len(trace["uses"]), 3 * 10)
        self.assertTrue(all(len(set(use)) == 4 for use in trace["uses"]))

    def test_the_samples_in_the_readme_are_what_the_program_prints(self):
        with open(os.path.join(SOURCE, "README.md"), encoding="utf-8") as f:
            samples = re.findall(r"```console\n\$ \./run ([^\n]+)\n(.*?)```", f.read(), re.S)
        self.assertEqual(len(samples), 2)
        for command, printed in samples:
            code, out, err = octavo(*shlex.split(command))
            self.assertEqual(code, 0, err)
            wanted = " ".join(printed.replace("...\n", "").split())  # lines are wrapped and beginnings left out there
            self.assertIn(wanted, " ".join(out.split()))

    def test_a_closed_reader_is_no_crash(self):
        command = "'%s' generate --prompt a --max-tokens 300 --temperature 0 2>/dev/null | head -c 1 >/dev/null; echo ${PIPESTATUS[0]}" % PROGRAM
        code = int(subprocess.run(["bash", "-c", command], capture_output=True, timeout=120).stdout)
        self.assertIn(code, (0, 1, 2, 128 + 13))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[3:])
