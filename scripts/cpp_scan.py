# SPDX-License-Identifier: Apache-2.0
"""What the checks of the source tree share: which files there are, and the statements and functions
of a C++ file. A scanner, not a compiler: it follows braces and reads the words before them."""

import bisect
import pathlib
import re
from typing import Iterator, NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent
CPP_SUFFIXES = {".h", ".cpp", ".inc", ".c"}
CPP_FOLDERS = ("lib", "daemon", "tests", "perf")


class Statement(NamedTuple):
    """`text` up to its semicolon, braced parts replaced by {}; `scope` is what it stands in: a
    namespace, a class, the body of a function, or a value (the braces of an initialiser)."""

    line: int
    scope: str
    text: str


class Function(NamedTuple):
    name: str
    line: int
    lines: int


def cpp_files(root: pathlib.Path = ROOT) -> list[pathlib.Path]:
    """Sources and headers, sorted, as paths relative to the root."""
    found = []
    for folder in CPP_FOLDERS:
        for path in (root / folder).rglob("*"):
            if path.suffix in CPP_SUFFIXES and path.is_file():
                found.append(path.relative_to(root))
    return sorted(found)


TOKENS = re.compile(
    r"""//[^\n]*
      | /\*.*?\*/
      | R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"
      | "(?:\\.|[^"\\\n])*"
      | (?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'
      | ^[ \t]*\#(?:[^\n\\]|\\.|\\\n)*""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)


def blank(text: str) -> str:
    """The text with comments, literals and preprocessor lines as spaces: offsets stay the same."""
    return TOKENS.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)


def includes(text: str) -> Iterator[tuple[int, str, bool]]:
    """(line, path, is in angle brackets) of each include."""
    for number, line in enumerate(text.splitlines(), 1):
        m = re.match(r'\s*#\s*include\s*(["<])([^">]+)[">]', line)
        if m:
            yield number, m.group(2), m.group(1) == "<"


CLASS_HEAD = re.compile(r"^(?:template\s*<.*>\s*)?(?:class|struct|union|enum)\b", re.DOTALL)
TEST_CASE_HEAD = r'\s*(?:TEST_CASE|SCENARIO|TEST_CASE_METHOD)\s*\(\s*(?:\w+,\s*)?"([^"]*)'
NAMESPACE_HEAD = re.compile(r"^(?:inline\s+)?namespace\b|^extern\s*$")


def kind_of(head: str, scope: str) -> str:
    """What a brace opens, judged by the words before it."""
    if NAMESPACE_HEAD.match(head):
        return "namespace"
    before_value = re.split(r"(?<![=!<>])=(?!=)", re.sub(r"operator\s*\W+\(", "operator(", head))[0]
    if CLASS_HEAD.match(head) and "(" not in re.sub(r"alignas\s*\([^)]*\)", "", before_value):
        return "class"
    if "(" in before_value or scope in ("body", "value"):
        return "body"
    return "value"


class Scan:
    def __init__(self, text: str):
        self.statements: list[Statement] = []
        self.functions: list[Function] = []
        self._text = text
        self._code = blank(text)
        self._newlines = [i for i, c in enumerate(text) if c == "\n"]
        self._run()

    def line_of(self, offset: int) -> int:
        return bisect.bisect_left(self._newlines, offset) + 1

    def _run(self) -> None:
        stack: list[tuple[str, int, str]] = []  # kind, start of its head, the head
        start, buffer = 0, ""
        for offset, c in enumerate(self._code):
            scope = stack[-1][0] if stack else "namespace"
            if c == "{":
                kind = kind_of(re.sub(r"^(?:\s*\w+\s*:(?!:))+", "", buffer).strip(), scope)
                stack.append((kind, start, buffer))
                buffer = ""
            elif c == "}":
                kind, start, head = stack.pop() if stack else ("body", start, buffer)
                if kind == "body" and all(k in ("namespace", "class") for k, _, _ in stack):
                    # A member's initialiser or a default argument: the body is yet to come.
                    if self._code[offset + 1 : offset + 200].lstrip()[:1] in ("{", ",", ")"):
                        kind = "value"
                    else:
                        self._add_function(start, offset)
                buffer = head + "{}" if kind in ("value", "class") else ""
            elif c == ";":
                self._add_statement(start, scope, buffer)
                buffer = ""
            elif buffer or not c.isspace():
                if not buffer:
                    start = offset
                buffer += c

    def _add_statement(self, start: int, scope: str, buffer: str) -> None:
        text = " ".join(re.sub(r"^(?:public|private|protected)\s*:", "", buffer).split())
        if text:
            self.statements.append(Statement(self.line_of(start), scope, text))

    def _add_function(self, start: int, end: int) -> None:
        head = self._text[start:end].split("{")[0]
        case = re.match(TEST_CASE_HEAD, head)
        words = re.search(r"([~\w:]+|operator\s*\W{1,3}?|operator\s+\w+)\s*\(", blank(head))
        name = case.group(1) if case else words.group(1) if words else "function"
        first, last = self.line_of(start), self.line_of(end)
        self.functions.append(Function(" ".join(name.split()), first, last - first + 1))
