"""Finds the functions of a C++ or CUDA file by matching braces: enough for formatted code, without a compiler."""

import re

import tree

DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w+)(?:[^\n\\]|\\\n|\\.)*", re.MULTILINE)
SCOPE = re.compile(r"\b(namespace|extern)\b|^\s*(?:typedef\s+)?(class|struct|union|enum)\b")
ASSIGNMENT = re.compile(r"(?<![=!<>+\-*/%&|^])=(?!=)")
LAMBDA = re.compile(r"=\s*\[[^\]]*\]")
ACCESS = re.compile(r"\s*(?:(?:public|private|protected)\s*:\s*)*")
OPEN, CLOSE = "\x01", "\x02"  # stand for the brackets of a list whose contents were blanked


def without_directives(text):
    """Blanks preprocessor lines. Of #if ... #else ..., a later branch is kept only if its braces are balanced: a
    function with two alternative heads then has one."""
    out, branch = text, None
    for match in DIRECTIVE.finditer(text):
        word = match[1]
        if branch is not None and word in ("else", "elif", "endif"):
            between = text[branch:match.start()]
            if between.count("{") != between.count("}"):
                out = out[:branch] + tree.blank(between) + out[match.start():]
            branch = None
        if word in ("else", "elif"):
            branch = match.end()
    return DIRECTIVE.sub(lambda m: tree.blank(m[0]), out)


def outside_parentheses(text):
    """The text with everything inside (), [] and template <> lists blanked."""
    text = re.sub(r"\boperator\s*[^\w\s(]+", lambda m: tree.blank(m[0]), text)
    for pattern in (r"\([^()]*\)", r"\[[^\[\]]*\]"):
        while re.search(pattern, text):
            text = re.sub(pattern, lambda m: OPEN + tree.blank(m[0])[2:] + CLOSE, text)
    template = re.compile(r"(\btemplate\s*)<[^<>]*>|<[^<>(){};=]*>")
    while template.search(text):
        text = template.sub(lambda m: tree.blank(m[0]), text)
    return text


def kind_of(head):
    """What a brace after `head`, the text since the last boundary, opens: 'scope', 'function', 'member' (an initialiser
    in a constructor's list, after which the head goes on) or 'other'."""
    flat = outside_parentheses(head)
    if SCOPE.search(flat) and CLOSE not in flat:
        return "scope"
    if ASSIGNMENT.search(flat):
        return "function" if LAMBDA.search(head) else "other"
    if CLOSE not in flat:
        return "other"
    initialisers = re.search(CLOSE + r"[^:]*(?<!:):(?!:)", flat)
    if initialisers and re.search(r"[\w>]\s*$", flat[initialisers.end():]):
        return "member"
    return "function"


def matching(text, opening):
    """The offset of the brace that closes the one at `opening`, or None."""
    depth = 0
    for match in re.compile(r"[{}]").finditer(text, opening):
        depth += 1 if match[0] == "{" else -1
        if depth == 0:
            return match.start()
    return None


def functions(text):
    """[(name, first line, last line)] of the functions of a file, outermost only, and the line of a brace that nothing
    closes, or None. A lambda counts inside its function."""
    code = without_directives(tree.without_comments(text, strings=False))
    found, head, at = [], 0, 0
    for _ in range(len(code)):
        match = re.compile(r"[{};]").search(code, at)
        if match is None:
            break
        at = match.end()
        if match[0] != "{":
            head = at
            continue
        kind = kind_of(code[head:match.start()])
        if kind == "scope":
            head = at
            continue
        end = matching(code, match.start())
        if end is None:
            return found, tree.line_of(code, match.start())
        if kind == "function":
            start = head + ACCESS.match(code[head:]).end()
            found.append((name_of(code[start:match.start()]), tree.line_of(code, start), tree.line_of(code, end)))
        at = end + 1
        if kind != "member":
            head = at
    return found, None


def name_of(head):
    """The name a function head declares: the word before its parameter list, qualified as it is written."""
    head = re.sub(r"__\w+__(\s*\([^()]*\))?|\b(alignas|noexcept|requires|decltype)\s*\([^()]*\)", " ", head)
    test = re.search(r"\b(TEST\w*|TYPED_TEST\w*|BENCHMARK\w*|RC_GTEST\w*)\s*\(([^)]*)\)", head)
    if test:
        return f"{test[1]}({' '.join(test[2].split())})"
    match = re.search(r"([\w:~]+|operator\s*(?:\(\)|[^\w\s(]+|\w+))\s*\(", head) or re.search(r"([\w]+)\s*=", head)
    return re.sub(r"\s+", "", match[1]) if match else "?"
