#!/usr/bin/env python3
"""Tests of the checks of the code: each must pass a good tree and name a planted fault."""

import json
import os
import shutil
import unittest

import cmake_targets
import cpp_functions
import format as format_check
import layering
import sizes
import tidy
import tree
from tree_test import TreeTest


class Layering(TreeTest):
    def setUp(self):
        super().setUp()
        self.write("common/base/view.h", "")
        self.write("common/base/view.cpp", '#include "common/base/view.h"\n')
        self.write("common/base/CMakeLists.txt", "octavo_library(base SOURCES view.cpp)\n")
        self.write("common/model/config.h", '#include <vector>\n#include "common/base/view.h"\n')
        self.write("common/model/config.cpp", '#include "common/model/config.h"\n')
        self.write("common/model/CMakeLists.txt", "octavo_library(model SOURCES config.cpp DEPENDS octavo::base)\n")
        self.write("01_ffn/ffn.h", '#include "common/base/view.h"\n')
        self.write("01_ffn/ffn.cpp", '#include "01_ffn/ffn.h"\n')
        self.write("01_ffn/CMakeLists.txt", "octavo_chapter(01_ffn SOURCES ffn.cpp DEPENDS octavo::base)\n")
        self.write("04_kv/kv.cpp", '#include "01_ffn/ffn.h"\n#include "common/model/config.h"\n')
        self.write("04_kv/CMakeLists.txt",
                   "octavo_chapter(04_kv # the cache\n  SOURCES kv.cpp\n  DEPENDS octavo::ch01 octavo::model)\n")
        self.write("serve/main.cpp", '#include "01_ffn/ffn.h"\n#include "octavo_made.h"\n')
        self.write("serve/CMakeLists.txt", "octavo_program(octavo SOURCES main.cpp DEPENDS octavo::ch04)\n")

    def test_a_good_tree_passes(self):
        self.expect(layering, 0, "no breach")

    def test_common_must_not_include_a_chapter(self):
        self.write("common/base/view.h", '\n#include "01_ffn/ffn.h"\n')
        self.expect(layering, 1, "common/base/view.h:2: common/ includes chapter 1")

    def test_a_chapter_must_not_include_a_later_one(self):
        self.write("04_kv/kv.h", "")
        self.write("01_ffn/ffn.h", '#include "04_kv/kv.h"\n')
        self.expect(layering, 1, "01_ffn/ffn.h:1: chapter 1 includes chapter 4, limit 1")

    def test_nobody_includes_serve(self):
        self.write("serve/x.h", "")
        self.write("04_kv/kv.cpp", '#include "serve/x.h"\n')
        self.expect(layering, 1, "04_kv/kv.cpp:1: a chapter includes serve/")

    def test_the_order_inside_common(self):
        self.write("common/base/view.h", '#include "common/model/config.h"\n')
        self.expect(layering, 1, "common/base/view.h:1: common/base includes common/model, allowed: nothing")
        self.assertIsNotNone(layering.forbidden("common/device/a.h", "common/simt/b.h"))
        self.assertIsNone(layering.forbidden("common/simt/a.h", "common/device/b.h"))
        self.assertIsNotNone(layering.forbidden("common/model/a.h", "common/simt/b.h"))

    def test_only_checks_may_use_testing(self):
        self.assertIsNone(layering.forbidden("common/model/test_a.cpp", "common/testing/compare.h"))
        self.assertIsNotNone(layering.forbidden("common/model/a.cpp", "common/testing/compare.h"))

    def test_includes_are_written_from_the_root(self):
        self.write("01_ffn/ffn.cpp", '#include "ffn.h"\n')
        self.expect(layering, 1, 'from the root it is "01_ffn/ffn.h"')
        self.write("01_ffn/ffn.cpp", "#include <01_ffn/ffn.h>\n")
        self.expect(layering, 1, "01_ffn/ffn.cpp:1: our own <01_ffn/ffn.h> in angle brackets")
        self.write("01_ffn/ffn.cpp", '#include "01_ffn/gone.h"\n')
        self.expect(layering, 1, 'include "01_ffn/gone.h" names no file')

    def test_a_comment_is_no_include(self):
        self.write("01_ffn/ffn.cpp", '// #include "serve/x.h"\n/*\n#include "serve/x.h"\n*/\n')
        self.expect(layering, 0)

    def test_code_outside_the_layers(self):
        self.write("tools/x.cpp", "")
        self.expect(layering, 1, "tools/x.cpp:1: C++ outside the layers")

    def test_a_header_needs_its_target_in_depends(self):
        self.write("04_kv/CMakeLists.txt", "octavo_chapter(04_kv SOURCES kv.cpp DEPENDS octavo::ch01)\n")
        self.expect(layering, 1, "04_kv/kv.cpp:2: ch04 includes common/model/config.h without model in its DEPENDS")

    def test_depends_through_an_own_header(self):
        self.write("04_kv/kv.h", '#include "common/model/config.h"\n')
        self.write("04_kv/kv.cpp", '#include "04_kv/kv.h"\n')
        self.write("04_kv/CMakeLists.txt", "octavo_chapter(04_kv SOURCES kv.cpp DEPENDS octavo::ch01)\n")
        self.expect(layering, 1, "04_kv/kv.h:1: ch04 includes common/model/config.h without model")

    def test_depends_that_break_the_layers_or_do_not_exist(self):
        self.write("common/model/CMakeLists.txt", "octavo_library(model SOURCES config.cpp DEPENDS octavo::ch01)\n")
        self.expect(layering, 1, "common/model/CMakeLists.txt:1: model depends on ch01: common/ includes chapter 1")
        self.write("common/model/CMakeLists.txt", "octavo_library(model SOURCES config.cpp DEPENDS octavo::bass)\n")
        self.expect(layering, 1, "model depends on octavo::bass, which no CMakeLists.txt makes")

    def test_a_header_of_no_target(self):
        self.write("common/device/exec.h", "")
        self.write("01_ffn/ffn.h", '#include "common/device/exec.h"\n')
        self.expect(layering, 1, "01_ffn/ffn.h:1: common/device/exec.h belongs to no target")

    def test_a_header_in_a_subfolder_belongs_to_the_nearest_target(self):
        self.write("common/model/deep/x.h", "")
        self.write("04_kv/kv.cpp", '#include "common/model/deep/x.h"\n')
        self.expect(layering, 0)
        self.write("04_kv/CMakeLists.txt", "octavo_chapter(04_kv SOURCES kv.cpp DEPENDS octavo::ch01)\n")
        self.expect(layering, 1, "ch04 includes common/model/deep/x.h without model")

    def test_functions_imply_what_their_bodies_link(self):
        self.write("common/cmake/Kernels.cmake", "function(octavo_kernels target)\n  target_sources(${target} x)\n"
                   "  target_link_libraries(${target} PUBLIC octavo::simt)\nendfunction()\n"
                   "function(octavo_note name)\n  message(x)\nendfunction()\n")
        self.write("01_ffn/ffn.cu", '#include "common/model/config.h"\n')
        self.write("common/simt/x.cpp", "")
        self.write("common/simt/CMakeLists.txt", "octavo_library(simt_x SOURCES x.cpp)\n"
                   "add_library(octavo::simt ALIAS octavo_simt_x)\noctavo_note(nothing)\n")
        self.write("01_ffn/CMakeLists.txt", "octavo_chapter(01_ffn SOURCES ffn.cpp DEPENDS octavo::base)\n"
                   "set(kernels ffn.cu)\noctavo_kernels(octavo_ch01 SOURCES ${kernels})\n")
        targets = cmake_targets.read(self.root)
        self.assertEqual(targets["ch01"].depends, {"base", "simt_x"})
        self.assertNotIn("nothing", targets)
        self.expect(layering, 1, "01_ffn/ffn.cu:1: ch01 includes common/model/config.h without model")

    def test_what_a_chapter_makes(self):
        for name in ("testing", "fakes", "bench", "simt_profile"):
            self.write(f"common/{name}/x.cpp", "")
            self.write(f"common/{name}/CMakeLists.txt", f"octavo_library({name} SOURCES x.cpp)\n")
        self.write("01_ffn/CMakeLists.txt", "octavo_chapter(01_ffn SOURCES ffn.cpp KERNELS k.cu TOPICS topics.cpp "
                   "TESTS test_a.cpp DEMO demo.cpp BENCH bench.cpp DEPENDS octavo::base)\n"
                   "octavo_bench(small SOURCES small.cpp KERNELS k.cu DEPENDS octavo::ch01)\n")
        targets = cmake_targets.read(self.root)
        self.assertEqual(targets["ch01"].sources, {"01_ffn/ffn.cpp", "01_ffn/k.cu"})
        shared = {"ch01", "ch01_topics", "testing"}
        self.assertEqual(targets["ch01_topics"].depends, {"ch01", "testing"})
        self.assertEqual(targets["ch01_test"].depends, shared | {"fakes"})
        self.assertEqual(targets["ch01_demo"].depends, shared | {"bench", "simt_profile"})
        self.assertEqual(targets["ch01_bench"].depends, shared | {"bench"})
        self.assertEqual(targets["small_bench"].depends, {"ch01", "bench"})
        self.assertEqual(targets["small_bench"].sources, {"01_ffn/small.cpp"})


class Functions(unittest.TestCase):
    def of(self, text):
        found, unclosed = cpp_functions.functions(text)
        self.assertIsNone(unclosed)
        return found

    def test_kinds_of_heads(self):
        text = """namespace a::b {
namespace {
template <class T = std::vector<int>>
class X : public Y<int> {
 public:
  X(int a) : Y{a}, b_{1, 2}, c_(3) {
    go();
  }
  bool operator==(const X& o) const { return true; }
  int field = 3;
  std::array<int, 2> table{1, 2};
};
constexpr int kTable[] = {1, 2,
                          3};
enum class E { kA, kB };
}  // namespace
__global__ void __launch_bounds__(256) kernel(float* x, int n = 3) {
  if (n) {
    auto f = [&](int i) { return i; };
  }
}
TEST(Suite, Name) {
}
auto named = [](int x) {
  return x;
};
}  // namespace a::b
"""
        self.assertEqual(self.of(text), [("X", 6, 8), ("operator==", 9, 9), ("kernel", 17, 21),
                                         ("TEST(Suite, Name)", 22, 23), ("named", 24, 26)])

    def test_braces_in_comments_literals_and_directives_do_not_count(self):
        text = """void f() {  // }
  g("}", '}', R"x(})" })x", 1'000'000, u8'}'); /* } */
}
#define OPEN {
#if A
void h() {
#else
void h(int) {
#endif
}
"""
        self.assertEqual(self.of(text), [("f", 1, 3), ("h", 6, 10)])

    def test_an_open_brace_is_named(self):
        self.assertEqual(cpp_functions.functions("int a;\nvoid f() {\n  if (x) {\n}\n")[1], 2)


class Sizes(TreeTest):
    def test_limits_of_files(self):
        for path, limit in (("a/x.cu", 250), ("a/x.cpp", 300), ("a/x.py", 300), ("a/CMakeLists.txt", 300),
                            ("a/README.md", 300), ("a/x.sh", 300)):
            self.write(path, "\n" * limit)
            self.expect(sizes, 0)
            self.write(path, "\n" * (limit + 1))
            self.expect(sizes, 1, f"{path}:1: file of {limit + 1} lines, limit {limit}")
            os.remove(os.path.join(self.root, path))

    def test_a_script_without_suffix_is_known_by_its_first_line(self):
        self.write("run", "#!/usr/bin/env bash\n" + "\n" * 300)
        self.write("LICENSE", "\n" * 400)
        self.expect(sizes, 1, "run:1: file of 301 lines", "1 breach in")

    def test_limits_of_functions(self):
        body = "  ++x;\n"
        self.write("a/x.cpp", "void f() {\n" + body * 58 + "}\n")
        self.write("a/x.py", "def f():\n" + "    x = 1\n" * 59)
        self.expect(sizes, 0, arguments=["--list"])
        self.write("a/x.cpp", "\nvoid f() {\n" + body * 59 + "}\n")
        self.expect(sizes, 1, "a/x.cpp:2: function f of 61 lines, limit 60")
        self.write("a/x.py", "def f():\n" + "    x = 1\n" * 60)
        self.expect(sizes, 1, "a/x.py:1: function f of 61 lines, limit 60")

    def test_python_columns(self):
        self.write("a/x.py", "x = 1\ny = '" + "a" * 120 + "'\n")
        self.expect(sizes, 1, "a/x.py:2: a line of 126 columns, limit 120", arguments=["--columns"])
        self.expect(sizes, 0)

    def test_exceptions_are_needed_reasoned_and_bounded(self):
        self.write("a/x.cpp", "\n" * 310)
        self.write(sizes.EXCEPTIONS, "# comment\na/x.cpp 310 one table that must stand together\n")
        self.expect(sizes, 0)
        self.write("a/x.cpp", "\n" * 311)
        self.expect(sizes, 1, "file of 311 lines, limit 310")
        self.write("a/x.cpp", "\n" * 300)
        self.expect(sizes, 1, f"{sizes.EXCEPTIONS}:2: nothing named a/x.cpp is above its limit")
        self.write("a/x.cpp", "\n" * 310)
        self.write(sizes.EXCEPTIONS, "a/x.cpp 310\n")
        self.expect(sizes, 1, "is not: name, number of lines, reason")


class Format(TreeTest):
    @unittest.skipUnless(shutil.which("clang-format-14") or shutil.which("clang-format"), "clang-format is absent")
    def test_an_unformatted_file_is_named_and_fixed(self):
        self.write(".clang-format", "BasedOnStyle: Google\n")
        self.write("a/x.cpp", "int  a;\nint b ;\n")
        self.expect(format_check, 1, "a/x.cpp:1: 2 places are not formatted")
        self.expect(format_check, 0, arguments=["--fix"])
        self.expect(format_check, 0)


class Tidy(TreeTest):
    MOVED = "#include <utility>\nstruct A { A(A&&); int x; };\nint f(A a) {\n  A b(std::move(a));\n  return a.x;\n}\n"

    def setUp(self):
        super().setUp()
        self.write(".clang-tidy", "Checks: '-*,bugprone-use-after-move'\nWarningsAsErrors: '*'\n")
        self.write("a/x.cpp", "int f() { return 1; }\n")
        entry = {"directory": self.root, "file": "a/x.cpp", "command": "c++ -std=c++20 -o x.o -c a/x.cpp"}
        self.write("build/cpu/compile_commands.json", json.dumps([entry]))
        self.entry = entry

    @unittest.skipUnless(shutil.which("clang-tidy-14") or shutil.which("clang-tidy"), "clang-tidy is absent")
    def test_a_fault_is_named(self):
        self.expect(tidy, 0, "1 file, 1 of them checked now, no breach")
        self.write("a/x.cpp", self.MOVED)
        self.expect(tidy, 1, "a/x.cpp:5:10: error: 'a' used after it was moved")

    def test_what_a_result_depends_on(self):
        self.write("a/x.h", "1")
        self.write("a/y.h", "1")
        header = os.path.join(self.root, "a/x.h")

        def state(command="c"):
            entry = dict(self.entry, output="x.o", command=command)
            return tidy.state_of(self.root, "", "a/x.cpp", entry, {"x.o": [header]}, tidy.Digests())

        before = state()
        self.write("a/y.h", "2")
        self.assertEqual(state(), before)
        self.assertNotEqual(state("d"), before)
        for path in ("a/x.h", "a/x.cpp", ".clang-tidy"):
            last = state()
            self.write(path, "changed")
            self.assertNotEqual(state(), last, path)

    def test_a_build_that_was_never_configured(self):
        shutil.rmtree(os.path.join(self.root, "build"))
        self.expect(tidy, 2, "has no compile_commands.json")


class Tree(TreeTest):
    def test_build_output_is_not_the_tree(self):
        for path in ("a.cpp", "build/cpu/b.cpp", ".deps/c.h", "d/__pycache__/e.pyc"):
            self.write(path, "")
        self.assertEqual(tree.files(self.root), ["a.cpp"])


if __name__ == "__main__":
    unittest.main()
