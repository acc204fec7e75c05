"""Find public functions that can raise `LearnableError` and whose docstring does not say so.

    python .ci/check_docstrings.py [FOLDER ...]

Without folders: the six rooms and `src/learnable`. A function counts as raising what it raises itself, and what the
private helpers of its module raise that it calls, unless a handler takes it. A class counts as raising what its
`__init__` or `__post_init__` raises. A docstring says so by "Raises" or "Raise" and the name of the class, or of one
of its bases up to `LearnableError`. Commands whose docstring is what `--help` prints are left out.

Not seen are errors that come from other modules, and from helpers that are passed on instead of called.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

FOLDERS = ("data", "rollouts", "verifiers", "filters", "train", "flows", "src/learnable")
BASE = "LearnableError"
CONSTRUCTORS = ("__init__", "__post_init__", "__new__")
EVERYTHING = ("Exception", "BaseException")

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """A source file: every function and class in it by its qualified name, as in `Class.method`."""

    path: Path
    functions: dict[str, Function] = field(default_factory=dict)
    classes: dict[str, ast.ClassDef] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Module:
        """Read a source file."""
        module = cls(path)
        module._add(ast.parse(path.read_text(encoding="utf-8"), str(path)), "")
        return module

    def _add(self, node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, Function | ast.ClassDef):
                name = f"{prefix}{child.name}"
                where: dict[str, Function] | dict[str, ast.ClassDef]
                where = self.classes if isinstance(child, ast.ClassDef) else self.functions
                where[name] = child  # type: ignore[assignment]  # the table of its own kind
                self._add(child, f"{name}.")
            else:
                self._add(child, prefix)

    def is_public(self, name: str) -> bool:
        """Say whether a function can be called from outside: no part of its name is private or a function."""
        owner, _, own = name.rpartition(".")
        return not _is_private(own) and (not owner or (owner in self.classes and self.is_public(owner)))

    def owner(self, name: str) -> str:
        """Return the innermost class around a function, or an empty string."""
        while name:
            name = name.rpartition(".")[0]
            if name in self.classes:
                return name
        return ""

    def helper(self, caller: str, node: ast.expr) -> str:
        """Return the qualified name of the private helper of this module that `node` names, or an empty string."""
        if isinstance(node, ast.Name):
            return self._function(caller, node.id)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and _is_private(node.attr):
            if node.value.id in ("self", "cls"):
                return self._method(self.owner(caller), node.attr)
            return self._method(node.value.id, node.attr)
        return ""

    def _function(self, caller: str, name: str) -> str:
        scope = caller
        while scope:  # functions inside functions are private whatever they are called
            if scope in self.functions and f"{scope}.{name}" in self.functions:
                return f"{scope}.{name}"
            scope = scope.rpartition(".")[0]
        if not _is_private(name):
            return ""
        return name if name in self.functions else self._constructor(name)

    def _constructor(self, name: str) -> str:
        return next((f"{name}.{each}" for each in CONSTRUCTORS if f"{name}.{each}" in self.functions), "")

    def _method(self, owner: str, name: str) -> str:
        if owner not in self.classes or f"{owner}.{name}" in self.functions:
            return f"{owner}.{name}" if owner in self.classes else ""
        found = (self._method(_last_name(base), name) for base in self.classes[owner].bases)
        return next(filter(None, found), "")


@dataclass(frozen=True)
class Errors:
    """The error classes of a tree, and the functions that return one to be raised."""

    bases: dict[str, set[str]]
    makers: dict[str, str]

    @classmethod
    def read(cls, modules: Iterable[Module]) -> Errors:
        """Read the classes and functions of all modules."""
        bases: dict[str, set[str]] = {}
        makers: dict[str, str] = {}
        for module in modules:
            for node in module.classes.values():
                bases.setdefault(node.name, set()).update(map(_last_name, node.bases))
            for function in module.functions.values():
                makers[function.name] = _last_name(function.returns)
        errors = cls(bases, makers)
        return cls(bases, {name: made for name, made in makers.items() if errors.known(made)})

    def lineage(self, name: str) -> set[str]:
        """Return a class and everything that it descends from, as far as it is known."""
        return {name}.union(*(self.lineage(base) for base in self.bases.get(name, ()) if base != name))

    def known(self, name: str) -> bool:
        """Say whether a class is `LearnableError` or descends from it."""
        return BASE in self.lineage(name)

    def documented(self, name: str) -> set[str]:
        """Return the names that a docstring can give for an error: its own and those of its bases."""
        return {each for each in self.lineage(name) if self.known(each)}


@dataclass(frozen=True)
class _Handler:
    """A clause that takes errors of these classes; `passes` says that it raises them again."""

    types: set[str]
    passes: bool

    def takes(self, lineage: set[str]) -> bool:
        return not self.types.isdisjoint({*lineage, *EVERYTHING})


class _Escapes(ast.NodeVisitor):
    """Collects the errors that leave a function, given what its helpers raise."""

    def __init__(self, module: Module, errors: Errors, name: str, raised: dict[str, set[str]]) -> None:
        self.found: set[str] = set()
        self._module, self._errors, self._name, self._raised = module, errors, name, raised
        self._handlers: list[list[_Handler]] = []
        self._variables = dict(_variables(module.functions[name]))
        for statement in module.functions[name].body:
            self.visit(statement)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Leave out the body of a function inside the function: it counts where it is called."""

    visit_AsyncFunctionDef = visit_ClassDef = visit_FunctionDef  # type: ignore[assignment]

    def visit_Raise(self, node: ast.Raise) -> None:
        if node.exc is not None:
            self._leave(self._error(node.exc))
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        for error in self._raised.get(self._module.helper(self._name, node.func), ()):
            self._leave(error)
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        helper = self._module.helper(self._name, node)
        if helper in self._module.functions and _is_property(self._module.functions[helper]):
            for error in self._raised.get(helper, ()):
                self._leave(error)
        self.generic_visit(node)

    def visit_Try(self, node: ast.Try) -> None:
        self._within([_handler(clause) for clause in node.handlers], node.body)
        for part in (*node.handlers, *node.orelse, *node.finalbody):
            self.visit(part)

    def visit_With(self, node: ast.With) -> None:
        for item in node.items:
            self.visit(item)
        calls = [item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call)]
        silenced = [arg for call in calls if _last_name(call.func) == "suppress" for arg in call.args]
        self._within([_Handler(set(map(_last_name, silenced)), passes=False)], node.body)

    def _within(self, handlers: list[_Handler], body: list[ast.stmt]) -> None:
        self._handlers.append(handlers)
        for statement in body:
            self.visit(statement)
        self._handlers.pop()

    def _leave(self, error: str) -> None:
        lineage = self._errors.lineage(error)
        if BASE not in lineage:
            return
        for handlers in self._handlers:
            first = next((handler for handler in handlers if handler.takes(lineage)), None)
            if first is not None and not first.passes:
                return
        self.found.add(error)

    def _error(self, node: ast.expr) -> str:
        """Return the class that is raised: named, made by a function that returns one, or held by a variable."""
        called = node.func if isinstance(node, ast.Call) else node
        if isinstance(called, ast.Attribute) and self._errors.known(_last_name(called.value)):
            return _last_name(called.value)
        name = _last_name(called)
        if isinstance(node, ast.Call):
            return self._errors.makers.get(name, name)
        return self._variables.get(name, name)


def missing_in(folders: Iterable[Path]) -> list[str]:
    """Return a line `file:line: name: what is missing` for each docstring that hides an error."""
    paths = [path for folder in folders for path in sorted(folder.rglob("*.py")) if "__pycache__" not in path.parts]
    modules = [Module.read(path) for path in dict.fromkeys(path.resolve() for path in paths)]
    errors = Errors.read(modules)
    return [line for module in modules for line in _missing(module, errors)]


def _missing(module: Module, errors: Errors) -> Iterator[str]:
    for name, found in _raised(module, errors).items():
        node, said_by = _documented(module, name)
        hidden = sorted(error for error in found if not _says(said_by, errors.documented(error)))
        if hidden and module.is_public(name) and not _is_command(module.functions[name]):
            shown = name if node in module.functions.values() else name.rpartition(".")[0]
            yield f'{_place(module.path)}:{node.lineno}: {shown}: docstring lacks "Raises `{"`, `".join(hidden)}`"'


def _raised(module: Module, errors: Errors) -> dict[str, set[str]]:
    """Return what leaves each function; helpers call helpers, so this goes round until nothing is added."""
    raised: dict[str, set[str]] = {name: set() for name in module.functions}
    grows = True
    while grows:
        now = {name: _Escapes(module, errors, name, raised).found for name in module.functions}
        grows, raised = now != raised, now
    return raised


def _documented(module: Module, name: str) -> tuple[Function | ast.ClassDef, str]:
    """Return the node whose docstring has to name the errors of a function, and what is said there."""
    function, owner = module.functions[name], module.owner(name)
    said = ast.get_docstring(function) or ""
    if not owner or not _is_dunder(function.name):
        return function, said
    inherited = ast.get_docstring(module.classes[owner]) or ""
    return (module.classes[owner] if function.name in CONSTRUCTORS else function), f"{inherited}\n{said}"


def _says(docstring: str, names: set[str]) -> bool:
    said = re.search(r"\bRaises?\b", docstring)
    return said is not None and not names.isdisjoint(re.findall(r"\w+", docstring[said.end() :]))


def _is_private(name: str) -> bool:
    return name.startswith("_") and not _is_dunder(name)


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _is_property(node: Function) -> bool:
    return any(_last_name(each) in ("property", "cached_property") for each in node.decorator_list)


def _is_command(node: Function) -> bool:
    calls = [each for each in node.decorator_list if isinstance(each, ast.Call)]
    return any(_last_name(call.func) in ("command", "callback") and not _has_help(call) for call in calls)


def _has_help(call: ast.Call) -> bool:
    return any(keyword.arg == "help" for keyword in call.keywords)


def _handler(clause: ast.ExceptHandler) -> _Handler:
    kinds = clause.type.elts if isinstance(clause.type, ast.Tuple) else [clause.type]
    types = {_last_name(kind) if kind is not None else "BaseException" for kind in kinds}
    raises = [node.exc for part in clause.body for node in ast.walk(part) if isinstance(node, ast.Raise)]
    again = any(exc is None or (isinstance(exc, ast.Name) and exc.id == clause.name) for exc in raises)
    return _Handler(types, again)


def _variables(node: Function) -> Iterator[tuple[str, str]]:
    """Yield the variables of a function with the class that their annotation or assignment names."""
    for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
        yield argument.arg, _last_name(argument.annotation)
    for part in ast.walk(node):
        if isinstance(part, ast.Assign) and isinstance(part.value, ast.Call):
            for target in part.targets:
                yield _last_name(target), _last_name(part.value.func)


def _last_name(node: ast.AST | None) -> str:
    """Return `c` for `a.b.c`, for `a.b.c[...]` and for a call of it; an empty string for anything else."""
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Constant):
        return str(node.value)
    return _last_name(node.value) if isinstance(node, ast.Subscript) else ""


def _place(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def main() -> None:
    """Print what is missing and exit with status 1 where something is."""
    missing = missing_in(map(Path, sys.argv[1:] or FOLDERS))
    print("\n".join(missing) or "every public function names the errors that it can raise")
    sys.exit(bool(missing))


if __name__ == "__main__":
    main()
