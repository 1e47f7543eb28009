"""Writes bindings.txt: the functions, messages and enums of Determined's generated client.

    <python with determined 0.38.1> bindings.py >bindings.txt

A function is a line "op NAME METHOD PATH ANSWER", with "stream" behind it where it yields, and a line
"arg NAME TYPE required|optional path|body|query KEY" for each argument in its order. A message is a line
"class NAME" with a line "field NAME TYPE required|optional" for each field, an enum a line "enum NAME"
with a line "value NAME VALUE" for each value.
"""

import ast
import inspect
import re

from determined.common.api import bindings

tree = ast.parse(inspect.getsource(bindings))


def text(annotation):
    found = annotation.value if isinstance(annotation, ast.Constant) else ast.unparse(annotation)
    if found is None:
        return "None"
    found = found.replace("typing.", "").replace("'", "").replace('"', "")
    found = re.sub(r"^Union\[(.*), None, Unset\]$", r"\1", found)
    return re.sub(r"^Optional\[(.*)\]$", r"\1", found).replace(" ", "")


def arguments(function):
    args = function.args
    return [(a.arg, text(a.annotation), "required" if d is None else "optional")
            for a, d in zip(args.kwonlyargs, args.kw_defaults)]


def call(function):
    return next(n for n in ast.walk(function) if isinstance(n, ast.Call)
                and getattr(n.func, "attr", "") == "_do_request")


def operation(function):
    sent = {k.arg: k.value for k in call(function).keywords}
    path = ast.unparse(sent["path"])
    path = re.sub(r"\{[^}]*?(\w+)(, .*?)?\)?\)?\}", r"{\1}", path.strip("f").strip("'\""))
    stream = ast.literal_eval(sent["stream"])
    answer = text(function.returns) if function.returns else "None"
    answer = re.sub(r"^Iterable\[(.*)\]$", r"\1", answer)
    print("op", function.name, sent["method"].value, path, answer, *(["stream"] if stream else []))
    keys = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and node.targets[0].id == "_params" and isinstance(node.value, ast.Dict):
            for key in node.value.keys:
                keys[key.value.replace(".", "_")] = key.value
    for name, kind, needed in arguments(function):
        where = "body" if name == "body" else "path" if "{%s}" % name in path else "query"
        print("arg", name, kind, needed, where, keys[name] if where == "query" else name)


def message(cls):
    print("class", cls.name)
    made = next(n for n in cls.body if isinstance(n, ast.FunctionDef) and n.name == "__init__")
    for field in arguments(made):
        print("field", *field)


def enum(cls):
    print("enum", cls.name)
    for node in cls.body:
        if isinstance(node, ast.Assign):
            print("value", node.targets[0].id, node.value.value)


for node in tree.body:
    bases = [getattr(base, "id", "") for base in getattr(node, "bases", [])]
    if "DetEnum" in bases:
        enum(node)
    elif "Printable" in bases:
        message(node)
    elif isinstance(node, ast.FunctionDef) and re.match("(get|post|put|patch|delete)_", node.name):
        operation(node)
