"""Small faults put into the program on purpose, to see whether a test notices: `make mutants`.

A random sample of the places under a folder is taken. The tests are collected and run once, with a record of which of
them runs through which line; then each mutant is put into a fork of that process, in which the quickest tests that run
through its line are run. One that no test notices has survived: either a test is missing, or it changes nothing that
anybody could notice. What was found is written down after each mutant, so that a run that was cut short goes on.
"""

from __future__ import annotations

import argparse
import ast
import copy
import gc
import json
import os
import random
import resource
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

MARKS = "not (browser or slow or long or alone or appliance)"
CPU_S, WAITS_S = 60, 300
"""A mutant may be an endless loop: it is ended after so long, and counts as noticed."""
COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.Add,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
CALLED = {"min": "max", "max": "min", "any": "all", "all": "any"}
UNTOUCHED = {"say", "say_n", "cast", "isinstance"}
"""Calls whose arguments are left as they are: sentences, and what types say."""

Path_ = list[tuple[str, int | None]]
"""The way from a module to a node: a field, and a place where the field is a list."""


class Mutant:
    """One fault: `make` answers the code of the outermost function that it is in, changed."""

    def __init__(self, file: Path, function: str, way: Path_, kind: str, old: ast.AST, new: ast.AST) -> None:
        self.file, self.function, self.kind, self._way, self._new = file, function, kind, way, new
        self.line: int = getattr(old, "lineno", 0) or old.ifs[0].lineno  # type: ignore[attr-defined] # a comprehension
        self.before, self.after = ast.unparse(old).partition("\n")[0], ast.unparse(new).partition("\n")[0]
        self.name = f"{file}:{self.line} {function}: {kind}: {self.before} -> {self.after}"

    def code(self) -> CodeType | None:
        tree: ast.AST = ast.parse(self.file.read_text())
        node: Any = tree
        for field, number in self._way[:-1]:
            node = getattr(node, field) if number is None else getattr(node, field)[number]
        field, number = self._way[-1]
        old = getattr(node, field) if number is None else getattr(node, field)[number]
        new = copy.deepcopy(self._new)
        if hasattr(old, "lineno"):
            ast.copy_location(new, old)
        if number is None:
            setattr(node, field, new)
        else:
            getattr(node, field)[number] = new
        try:
            module = compile(ast.fix_missing_locations(tree), str(self.file.resolve()), "exec")
        except (SyntaxError, ValueError):  # a break outside a loop
            return None
        return _codes(module).get(self.function)


def _codes(code: CodeType) -> dict[str, CodeType]:
    found: dict[str, CodeType] = {}
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            found = {inner.co_qualname: inner, **_codes(inner), **found}
    return found


# ---- faults ----------------------------------------------------------------------------------------------------------


def faults(node: Any, parent: ast.AST | None) -> Iterator[tuple[str, ast.AST]]:
    """What may be put into the place of a node, each with what kind of fault it is."""

    def other(**fields: object) -> Any:
        fresh = copy.deepcopy(node)
        for name, value in fields.items():
            setattr(fresh, name, value)
        return fresh

    match node:
        case ast.Compare(ops=ops):
            for number, op in enumerate(ops):
                for new in COMPARED[type(op)]:
                    yield "compared", other(ops=[*ops[:number], new(), *ops[number + 1 :]])
        case ast.BoolOp(op=op, values=values):
            yield "and/or", other(op=ast.Or() if isinstance(op, ast.And) else ast.And())
            for number in range(len(values)):
                rest = values[:number] + values[number + 1 :]
                yield "term gone", other(values=rest) if len(rest) > 1 else rest[0]
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield "sign gone", operand
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            yield "negated", other(test=ast.UnaryOp(ast.Not(), test))
        case ast.comprehension(ifs=ifs):
            for number in range(len(ifs)):
                yield "filter gone", other(ifs=ifs[:number] + ifs[number + 1 :])
        case ast.BinOp(op=op, left=left) if type(op) in COMPUTED and not _is_text(left):
            yield "computed", other(op=COMPUTED[type(op)]())
        case ast.Constant(value=bool(value)):
            yield "constant", ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield "constant", ast.Constant(value + 1)
            yield "constant", ast.Constant(value - 1)
        case ast.Constant(value=float(value)):
            yield "constant", ast.Constant(value * 1.5 + 0.01)
        case ast.Constant(value=str(value)) if value and isinstance(parent, ast.Compare | ast.Subscript | ast.Dict):
            yield "constant", ast.Constant(f"{value}XX")
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            yield "answers None", ast.Return(ast.Constant(None))
        case ast.Expr(value=ast.Call() | ast.Yield() | ast.YieldFrom()) | ast.AugAssign() | ast.Raise():
            yield "statement gone", ast.Pass()
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript(), *_]):
            yield "statement gone", ast.Pass()
        case ast.Break():
            yield "break/continue", ast.Continue()
        case ast.Continue():
            yield "break/continue", ast.Break()
        case ast.Call(func=ast.Name(id=name)) if name in CALLED:
            yield "min/max", other(func=ast.Name(CALLED[name], ast.Load()))


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def mutants_of(file: Path) -> Iterator[Mutant]:
    """All faults in the bodies of functions; what a log says and sentences are left alone."""

    def walk(node: ast.AST, parent: ast.AST | None, way: Path_, function: str, names: list[str]) -> Iterator[Mutant]:
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if isinstance(node, ast.Call):
            match node.func:
                case ast.Name(id=name) if name in UNTOUCHED:
                    return
                case ast.Attribute(value=ast.Name(id="log")):
                    return
        if isinstance(node, ast.ClassDef) or (is_function and not function):
            names = [*names, node.name]  # type: ignore[attr-defined] # both have one
        if function and (hasattr(node, "lineno") or isinstance(node, ast.comprehension)):
            for kind, new in faults(node, parent):
                yield Mutant(file, function, way, kind, node, new)
        if is_function and not function:
            function = ".".join(names)
        for field, value in ast.iter_fields(node):
            if field in ("decorator_list", "annotation", "returns") or (is_function and field == "args"):
                continue
            if isinstance(value, ast.AST):
                yield from walk(value, node, [*way, (field, None)], function, names)
            elif isinstance(value, list):
                for number, each in enumerate(value):
                    if isinstance(each, ast.AST):
                        yield from walk(each, node, [*way, (field, number)], function, names)

    yield from walk(ast.parse(file.read_text()), None, [], "", [])


# ---- a run -----------------------------------------------------------------------------------------------------------


class Run:
    """A plugin of pytest: instead of running the tests it lets them loose on the mutants."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._found: dict[str, str] = json.loads(_text(options.results) or "{}")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        options = self._options
        files = sorted(options.folder.rglob("*.py")) if options.folder.is_dir() else [options.folder]
        mutants = [mutant for file in files for mutant in mutants_of(file)]
        print(f"{len(mutants)} mutants in {options.folder}, a sample of {options.sample}", flush=True)
        chosen = random.Random(options.seed).sample(mutants, min(options.sample, len(mutants)))
        items = {item.nodeid: item for item in session.items}
        seconds, through = self._baseline(session)
        functions = _functions({str(file.resolve()) for file in files})
        for mutant in chosen:
            if mutant.name in self._found:
                continue
            file = str(mutant.file.resolve())
            tests = sorted(through.get(f"{file}:{mutant.line}", ()), key=seconds.__getitem__)
            quick = [items[test] for n, test in enumerate(tests) if sum(map(seconds.get, tests[:n])) < options.seconds]  # type: ignore[arg-type]
            self._found[mutant.name] = self._try(session, mutant, quick, functions[file, mutant.function])
            options.results.write_text(json.dumps(self._found, indent=1))
        self._tell([mutant.name for mutant in chosen])
        return True

    def _baseline(self, session: pytest.Session) -> tuple[dict[str, float], dict[str, list[str]]]:
        """How long each test takes that passes, and which of them run through which line."""
        import coverage  # noqa: PLC0415 - nothing else needs it

        kept = self._options.results.with_suffix(".lines.json")
        if not kept.exists():

            def measure() -> bool:
                folder = self._options.folder.resolve()
                lines = coverage.Coverage(
                    data_file=None, config_file=False, include=[f"{folder}/*", str(folder)], messages=False
                )
                seconds, through = {}, defaultdict(list)
                lines.start()
                for item in session.items:
                    lines.switch_context(item.nodeid)
                    begun_s = time.perf_counter()
                    if _passes(session, [item]):
                        seconds[item.nodeid] = time.perf_counter() - begun_s
                lines.stop()
                data = lines.get_data()
                for file in data.measured_files():
                    for line, tests in data.contexts_by_lineno(file).items():
                        through[f"{file}:{line}"] = [test for test in tests if test in seconds]
                kept.write_text(json.dumps([seconds, through]))
                return True

            if not _forked(measure, wait_s=3600.0, cpu_s=3600):
                raise pytest.UsageError("The tests could not be run")
        seconds, through = json.loads(kept.read_text())
        print(f"{len(seconds)} of {len(session.items)} tests pass, in {sum(seconds.values()):.0f} s", flush=True)
        return seconds, through

    def _try(
        self, session: pytest.Session, mutant: Mutant, tests: list[pytest.Item], targets: list[FunctionType]
    ) -> str:
        code = mutant.code()
        if not tests:
            return "no test"
        if code is None or not targets or any(code.co_freevars != each.__code__.co_freevars for each in targets):
            return "not tried"

        def run() -> bool:
            for each in targets:
                each.__code__ = code
            return _passes(session, tests)

        return "survived" if _forked(run) else "killed"

    def _tell(self, names: Sequence[str]) -> None:
        for result in ("survived", "no test", "not tried"):
            for name in sorted(name for name in names if self._found[name] == result):
                print(f"{result}: {name}")
        print({result: [self._found[n] for n in names].count(result) for result in sorted(set(self._found.values()))})


def _text(file: Path) -> str:
    return file.read_text() if file.exists() else ""


def _functions(files: set[str]) -> dict[tuple[str, str], list[FunctionType]]:
    """Every function that is made of these files, by file and name."""
    gc.unfreeze()
    found = defaultdict(list)
    for each in gc.get_objects():
        if isinstance(each, FunctionType) and each.__code__.co_filename in files:
            found[each.__code__.co_filename, each.__code__.co_qualname].append(each)
    return found


def _passes(session: pytest.Session, items: list[pytest.Item]) -> bool:
    """Run tests up to the first that fails."""
    before = session.testsfailed
    for item in items:
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
        if session.testsfailed > before:
            return False
    return True


def _forked(work: Callable[[], bool], wait_s: float = WAITS_S, cpu_s: int = CPU_S) -> bool:
    """Do something in a process of its own, which says nothing; did it answer yes?"""
    sys.stdout.flush()
    child = os.fork()
    if not child:
        try:
            os.setpgid(0, 0)
            resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 5))
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
            os._exit(0 if work() else 1)
        except BaseException:
            os._exit(2)
    end_s = time.monotonic() + wait_s
    while time.monotonic() < end_s:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.01)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def main() -> int:
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="or file of the program, such as companion/table")
    parser.add_argument("tests", nargs="+", help="that are to notice, such as tests/table")
    parser.add_argument("--sample", type=int, default=100, metavar="N", help="so many mutants (100)")
    parser.add_argument("--seed", type=int, default=1, help="another one is another sample")
    parser.add_argument("--seconds", type=float, default=10.0, help="of tests for each mutant, the quickest first (10)")
    parser.add_argument("--results", type=Path, default=Path("mutants.json"), help="goes on with what is there")
    options = parser.parse_args()
    return int(pytest.main([*options.tests, "-m", MARKS, "-p", "no:cacheprovider", "-s"], plugins=[Run(options)]))


if __name__ == "__main__":
    sys.exit(main())
