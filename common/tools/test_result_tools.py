#!/usr/bin/env python3
"""Tests of what turns measurements into text: tables of READMEs, resources of kernels, the report of a GPU run."""

import contextlib
import io
import json
import os
import sys
import unittest

import gpu_report
import kernel_resources
import names_of_tests
import no_calls
import ptxas_log
import roofline_figure
import sass
import tables
from tree_test import TreeTest

CONTEXT = {"cpu": "A CPU", "compiler": "a compiler", "vectors": "avx2",
           "ceilings": {"threads": 2, "read_core_GB/s": 6.0, "read_GB/s": 10.0, "copy_GB/s": 8.0, "fma_core_TFLOP/s": 0.1,
                        "fma_all_TFLOP/s": 0.2}}
MODEL = {"A100": 490000.0, "H100": 298000.0, "H200": 208000.0}


def row(version, backend, **more):
    return {"topic": "ffn", "version": version, "backend": backend, "dtype": "bf16", "shape": "T:1/D:64", **more}


def timed(version, backend, nanoseconds, **more):
    return row(version, backend, real_time=nanoseconds, cv=0.02, max_error=1e-3, **{"GB/s": 5.0, "TFLOP/s": 0.01}, **more)


RESULT = {"context": CONTEXT, "benchmarks": [
    timed("cpu_v1", "cpu", 2e7, threads=1, **{"roof%": 50.0, "x_v1": 1.0}),
    timed("cpu_v1", "cpu", 1e7, threads=2, **{"roof%": 50.0, "x_v1": 1.0}),
    row("cpu_v2", "cpu", error_occurred=True, error_message="differs from v1"),
    row("gpu_v1", "simt", model_ns=MODEL),
    row("gpu_v2", "simt", model_ns=MODEL),
    row("gpu_v3", "simt"),
    timed("gpu_v2", "cuda", 1.5e6, model_ns=MODEL)]}
BLOCK = "# T\n<!-- table: desk/ch01.json ffn -->\nold\n<!-- end of table -->\nend\n"


class Tables(TreeTest):
    def setUp(self):
        super().setUp()
        self.write("docs/results/desk/ch01.json", json.dumps(RESULT))

    def readme(self):
        with open(os.path.join(self.root, "README.md"), encoding="utf-8") as file:
            return file.read()

    def test_measured_modelled_and_missing_side_by_side(self):
        self.write("README.md", BLOCK)
        self.expect(tables, 1, "README.md:1: a table is out of date")
        self.expect(tables, 0, "1 table, no breach", arguments=["--write"])
        text = self.readme()
        self.assertIn("| `cpu_v1`, 1 thread | 20 ms ± 2 % | 5.0 | 0.010 | 50 % | 1.00 |  |  |  | 0.001 |\n",
                      text)
        self.assertIn("| `cpu_v1`, 2 threads | 10 ms ± 2 % |", text)
        self.assertIn("| `cpu_v2` | failed: differs from v1 |", text)
        self.assertIn("| `gpu_v1` | not measured |  |  |  |  | 490 us | 298 us | 208 us | not measured |", text)
        self.assertIn("| `gpu_v2` | 1.5 ms ± 2 % | 5.0 | 0.010 |  |  | 490 us |", text)
        self.assertEqual(text.count("`gpu_v2`"), 1)
        self.assertIn("**ffn, bf16, T 1, D 64**\n\n| version | measured |", text)
        self.assertIn("| `gpu_v3` | not measured |  |  |  |  | not modelled | not modelled |", text)
        self.assertIn("A CPU with avx2, a compiler: one thread reads 6.0 GB/s and does 0.100 TFLOP/s of FMA; 2 threads read 10.0 GB/s", text)
        self.assertTrue(text.startswith("# T\n") and text.endswith("<!-- end of table -->\nend\n"))
        self.expect(tables, 0)

    def test_what_rows_share_stands_above_and_the_ceilings_once(self):
        longer = {**timed("cpu_v1", "cpu", 3e7, threads=1), "shape": "T:2/D:64"}
        self.write("docs/results/desk/ch01.json", json.dumps({**RESULT, "benchmarks": RESULT["benchmarks"] + [longer]}))
        self.write("README.md", BLOCK + BLOCK.replace("ffn", "ffn T:2/D:64"))
        self.expect(tables, 0, arguments=["--write"])
        first, second = self.readme().split("<!-- end of table -->")[:2]
        self.assertIn("**ffn, bf16**\n\n| version | shape | measured |", first)
        self.assertIn("| `cpu_v1`, 1 thread | T 2, D 64 | 30 ms", first)
        self.assertNotIn("one thread reads", first)
        self.assertIn("**ffn, bf16, T 2, D 64**", second)
        self.assertIn("one thread reads 6.0 GB/s", second)
        self.assertNotIn("A100", second)  # no kernel: nothing is modelled
        self.assertIn("A100 (model)", first)

    def test_a_changed_number_is_found(self):
        self.write("README.md", BLOCK)
        self.expect(tables, 0, arguments=["--write"])
        self.write("README.md", self.readme().replace("20 ms", "19 ms"))
        self.expect(tables, 1, "out of date")

    def test_filters_and_faults(self):
        self.write("README.md", BLOCK.replace("ffn", "ffn T:1/D:64 bf16"))
        self.expect(tables, 0, arguments=["--write"])
        for words, fault in (("ffn f32", "no row of topic ffn f32"), ("moe", "no row of topic moe")):
            self.write("README.md", BLOCK.replace("ffn", words))
            self.expect(tables, 1, f"README.md:2: {fault}", arguments=["--write"])
        self.write("README.md", BLOCK.replace("desk", "none"))
        self.expect(tables, 1, "there is no file docs/results/none/ch01.json")
        self.write("README.md", BLOCK.replace("<!-- end of table -->", ""))
        self.expect(tables, 1, "1 begin marker, 0 end markers")
        self.write("docs/results/desk/ch01.json", "{}")
        self.write("README.md", BLOCK)
        self.expect(tables, 1, "is no result file")


class NamesOfTests(unittest.TestCase):
    def test_tests_of_one_name_are_told_with_their_programs(self):
        tests = [{"name": "A.b", "command": ["/x/one_test"]}, {"name": "A.c", "command": ["/x/one_test"]},
                 {"name": "A.b", "command": ["/y/two_test"]}, {"name": "three_NOT_BUILT"}, {"name": "three_NOT_BUILT"}]
        self.assertEqual(names_of_tests.breaches({"tests": tests}),
                         ["2 tests are called A.b: in one_test, two_test"])
        self.assertEqual(names_of_tests.breaches({"tests": tests[1:]}), [])


LOG = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_ZN6octavo1kEPf' for 'sm_80'
ptxas info    : Function properties for _ZN6octavo1kEPf
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 38 registers, used 1 barriers, 4096 bytes smem, 384 bytes cmem[0]
ptxas info    : Compiling entry function '_ZN6octavo1kEPf' for 'sm_90'
ptxas info    : Function properties for _ZN6octavo1kEPf
    16 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 40 registers, used 0 barriers
"""


class Kernels(TreeTest):
    def test_a_log_is_read(self):
        self.assertEqual(kernel_resources.parse(LOG), [("_ZN6octavo1kEPf", "sm_80", 38, 4096, 0, 0),
                                                       ("_ZN6octavo1kEPf", "sm_90", 40, 0, 16, 12)])

    def test_names_are_those_of_the_source(self):
        for mangled, name in (("octavo::simt::examples::_GLOBAL__N__5e1_10_softmax_cu_2c::softmax_kernel(float const*)",
                               "softmax_kernel"),
                              ("void octavo::ffn::(anonymous namespace)::tile<(int)32, float>(float*)", "tile<32, float>")):
            self.assertEqual(kernel_resources.kernel_name(mangled), name)

    def build(self, log):
        """A build folder with one CUDA object and its log."""
        compiler = os.path.join(self.root, "nvcc")
        self.write("nvcc", "#!/bin/sh\necho 'Build V13.0.88'\n")
        os.chmod(compiler, 0o755)
        self.write("b/CMakeCache.txt", f"CMAKE_CUDA_COMPILER:FILEPATH={compiler}\n")
        self.write("b/k.o.ptxas", log)
        self.write("b/compile_commands.json", json.dumps([
            {"directory": os.path.join(self.root, "b"), "file": os.path.join(self.root, "c/k.cu"),
             "command": "nvcc -c k.cu -o k.o"}]))
        return ["--build", os.path.join(self.root, "b")]

    def test_the_table_is_written_and_kept_true(self):
        build = self.build(LOG.replace("4 bytes spill stores, 8 bytes", "0 bytes spill stores, 0 bytes"))
        self.expect(kernel_resources, 1, "kernels.md:1: is not there", arguments=build)
        self.expect(kernel_resources, 0, "2 kernels written", arguments=build + ["--write"])
        self.expect(kernel_resources, 0, "no breach", arguments=build)
        self.expect(kernel_resources, 0, "no breach", arguments=build + ["--check"])
        with open(os.path.join(self.root, "docs/results/kernels.md"), encoding="utf-8") as file:
            text = file.read()
        self.assertIn("| c/k.cu | `k` | sm_80 | 38 | 4096 | 0 | 0 |", text)
        self.write("docs/results/kernels.md", text.replace("| 38 |", "| 39 |"))
        self.expect(kernel_resources, 1, "no longer true: | c/k.cu", "missing: | c/k.cu", arguments=build)
        self.write("docs/results/kernels.md", text.replace("13.0.88", "12.4.1"))
        self.expect(kernel_resources, 77, "made with nvcc 12.4.1, this build with 13.0.88", arguments=build)

    def test_spills_fail(self):
        self.expect(kernel_resources, 1, "c/k.cu:1: k spills 12 bytes on sm_90, limit 0",
                    arguments=self.build(LOG) + ["--write"])

    def test_a_build_without_cuda_is_skipped(self):
        self.write("b/CMakeCache.txt", "OCTAVO_CUDA:BOOL=OFF\n")
        self.expect(kernel_resources, 77, "this build has no CUDA", arguments=["--build", os.path.join(self.root, "b")])

    def test_what_is_not_built_is_not_judged(self):
        build = self.build(LOG)
        os.remove(os.path.join(self.root, "b/k.o.ptxas"))
        self.expect(kernel_resources, 77, "1 object is not built yet, ", "c/k.cu", arguments=build)

    def test_the_launcher_keeps_the_report_and_passes_the_rest(self):
        report, others = ptxas_log.split("a.cu(3): warning: x\n" + LOG + "nvcc: done\n    indented\n")
        self.assertEqual("\n".join(report) + "\n", LOG)
        self.assertEqual(others, ["a.cu(3): warning: x", "nvcc: done", "    indented"])
        self.write("compiler", "import sys\nprint('ptxas info    : 0 bytes gmem', file=sys.stderr)\nsys.exit(len(sys.argv) - 5)\n")
        command = [sys.executable, os.path.join(self.root, "compiler"), "-o", os.path.join(self.root, "x.o")]
        self.assertEqual(ptxas_log.main(command), 0)
        self.assertTrue(os.path.exists(os.path.join(self.root, "x.o.ptxas")))
        self.assertEqual(ptxas_log.main(command + ["more"]), 1)


JUNIT = """<testsuite><testcase name="a" status="run"/><testcase name="b" status="fail"><failure message=""/></testcase>
<testcase name="c" status="notrun"><skipped message=""/></testcase></testsuite>"""


class GpuReport(TreeTest):
    def test_programs_are_listed_once(self):
        tests = [{"command": ["/b/x_test", "--f"]}, {"command": ["/b/y_test"]}, {"command": ["/b/x_test"]}, {"name": "n"}]
        self.assertEqual(gpu_report.programs({"tests": tests}), ["/b/x_test", "/b/y_test"])

    def test_one_file_holds_it_all(self):
        self.write("p/tests.step.json", '{"status": 8, "seconds": 20}')
        self.write("p/ch01_bench.step.json", '{"status": 0, "seconds": 30}')
        self.write("p/ch01_bench.bench.json", json.dumps(RESULT))
        self.write("p/tests.xml", JUNIT)
        out = os.path.join(self.root, "r/gpu.json")
        self.assertEqual(gpu_report.main(["report", os.path.join(self.root, "p"), out]), 0)
        with open(out, encoding="utf-8") as file:
            got = json.load(file)
        self.assertEqual(got["tests"], {"passed": 1, "failed": ["b"], "skipped": 1})
        self.assertEqual(got["seconds"], 50)
        self.assertEqual(got["sanitizer"], "not run")
        self.assertEqual(len(got["benchmarks"]), 7)
        self.assertEqual(got["context"]["cpu"], "A CPU")

    def test_bad_arguments(self):
        status = gpu_report.main([])
        self.assertEqual(status, 2)


class Sass(unittest.TestCase):
    TEXT = ("\tFunction : _Z1fv\n  /*0000*/ HMMA.16816.F32.BF16 R4, R8 ;\n  /*0010*/ EXIT ;\n"
            "\tFunction : _Z1gv\n  /*0000*/ FFMA R4, R8 ;\n")

    def test_each_function_has_its_own_instructions(self):
        found = sass.functions(self.TEXT)
        self.assertEqual(list(found), ["_Z1fv", "_Z1gv"])
        self.assertIn("HMMA", found["_Z1fv"])
        self.assertNotIn("HMMA", found["_Z1gv"])

    def test_says_which_kernel_lacks_which_instruction(self):
        kernels = {"f<true>()": "HMMA LDSM", "f<false>()": "HMMA", "g()": "FFMA"}
        self.assertEqual(sass.missing(kernels, "f<", ["HMMA"]), [])
        self.assertEqual(sass.missing(kernels, "f<", ["HMMA", "LDSM"]), ["f<false>() has no LDSM"])
        self.assertEqual(sass.missing(kernels, "f<true>", ["LDSM"]), [])

    def test_no_kernel_of_that_name_is_a_breach(self):
        self.assertEqual(sass.missing({"g()": ""}, "f<", ["HMMA"]), ["no kernel matches f<; there are: g()"])


class NoCalls(unittest.TestCase):
    TEXT = ("0000000000000000 <void loop<12>(float*)>:\n   0:\tpush   %rbx\n   1:\tcall   9 <helper()>\n   6:\tret\n"
            "0000000000000000 <void loop<1>(float*)>:\n   0:\tvmovups (%rax),%zmm0\n   6:\tret\n"
            "0000000000000000 <main>:\n   0:\tcall   9 <helper()>\n")

    def test_names_the_function_that_calls(self):
        found, calling = no_calls.callers(self.TEXT, r"loop<[^(]*>\(")
        self.assertEqual(found, {"void loop<12>(float*)", "void loop<1>(float*)"})
        self.assertEqual(calling, {"void loop<12>(float*)"})

    def test_functions_of_other_names_may_call(self):
        self.assertEqual(no_calls.callers(self.TEXT, "loop<1>"), ({"void loop<1>(float*)"}, set()))


class RooflineFigure(TreeTest):
    def test_a_figure_is_of_its_data_or_not(self):
        data, figure = os.path.join(self.root, "a.json"), os.path.join(self.root, "a.svg")
        self.write("a.json", "{}\n")
        self.write("a.svg", "<svg>no mark</svg>\n")

        def check():
            return roofline_figure.main(["--check", data, figure])
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            self.assertEqual(check(), 1)
            self.write("a.svg", f"<svg>data sha256 {roofline_figure.digest(data)}</svg>\n")
            self.assertEqual(check(), 0)
            self.write("a.json", "{ }\n")
            self.assertEqual(check(), 1)
        self.assertIn("draw it again", printed.getvalue())


if __name__ == "__main__":
    unittest.main()
