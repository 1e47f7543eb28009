"""Writes fields.txt: which fields Determined's generated client knows in each
message that an answer may hold. A line is a class, a field, required or optional, and
what its value is. A required field is indexed without asking, so it is always there.

    <python with determined 0.38.1> fields.py >fields.txt
"""
import ast
import inspect

from determined.common.api import bindings

tree = ast.parse(inspect.getsource(bindings))
printable = {c.name: c for c in tree.body
             if isinstance(c, ast.ClassDef) and any(getattr(b, "id", "") == "Printable" for b in c.bases)}
enums = {c.name for c in tree.body
         if isinstance(c, ast.ClassDef) and any(getattr(b, "id", "") == "DetEnum" for b in c.bases)}


def text(annotation):
    return annotation.value if isinstance(annotation, ast.Constant) else ast.unparse(annotation)


def kind(t):
    t = t.replace("typing.Union[", "").replace(", None, Unset]", "").replace("typing.", "").strip("'\"")
    if t.startswith("Sequence["):
        return "list"
    if t == "Dict[str, Any]":
        return "struct"
    if t.startswith("Dict["):
        return "map"
    if t in printable:
        return "message"
    if t in enums:
        return "enum"
    return {"str": "string", "int": "number", "float": "number", "bool": "bool"}[t]


for name, c in sorted(printable.items()):
    if name.endswith("Request"):
        continue  # the master reads those and does not write them
    made = next(n for n in c.body if isinstance(n, ast.FunctionDef) and n.name == "__init__")
    for arg, default in sorted(zip(made.args.kwonlyargs, made.args.kw_defaults), key=lambda p: p[0].arg):
        print(name, arg.arg, "required" if default is None else "optional", kind(text(arg.annotation)))
