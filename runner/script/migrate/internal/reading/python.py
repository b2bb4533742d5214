# Reads a Python file from standard input and prints what it has to do with tools, in the form of reading.go. Nothing of it is executed.
import ast
import json
import re
import sys

code = sys.stdin.buffer.read().decode("utf-8")
tree = ast.parse(code)
raw = code.encode()
starts = [0]
for line in raw.splitlines(keepends=True):
    starts.append(starts[-1] + len(line))

bound = {}  # names, and how often they are bound
uses = {}
constants = {}
for n in ast.walk(tree):
    if isinstance(n, ast.Name):
        if isinstance(n.ctx, ast.Load):
            uses[n.id] = uses.get(n.id, 0) + 1
        else:
            bound[n.id] = bound.get(n.id, 0) + 1
    elif isinstance(n, ast.arg):
        bound[n.arg] = bound.get(n.arg, 0) + 1
    elif isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        bound[n.name] = bound.get(n.name, 0) + 1
    elif isinstance(n, (ast.Import, ast.ImportFrom)):
        for a in n.names:
            name = a.asname or a.name.partition(".")[0]
            bound[name] = bound.get(name, 0) + 1
    elif isinstance(n, ast.ExceptHandler) and n.name:
        bound[n.name] = bound.get(n.name, 0) + 1
    if isinstance(n, ast.Assign) and len(n.targets) == 1 and isinstance(n.targets[0], ast.Name):
        constants[n.targets[0].id] = n.value
    elif isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name) and n.value is not None:
        constants[n.target.id] = n.value


def offset(line, column):
    return starts[line - 1] + column


def span(n):
    return {"start": offset(n.lineno, n.col_offset), "end": offset(n.end_lineno, n.end_col_offset)}


def name_at(n, name):
    start = offset(n.lineno, n.col_offset)
    return {"start": start, "end": start + len(name.encode())}


def value(n, follow=True):
    v = {"kind": "other", "at": span(n), "line": n.lineno}
    if isinstance(n, ast.Dict):
        v.update(kind="object", members=[])
        for key, each in zip(n.keys, n.values):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                v["members"].append({"name": key.value, "at": span(key), "value": value(each, follow)})
            else:
                v["spread"] = True
    elif isinstance(n, (ast.List, ast.Tuple)):
        v.update(kind="array", items=[value(e, follow) for e in n.elts if not isinstance(e, ast.Starred)])
        v["spread"] = any(isinstance(e, ast.Starred) for e in n.elts)
    elif isinstance(n, ast.Constant):
        v["kind"] = "plain"
        if isinstance(n.value, str):
            text = raw[v["at"]["start"] : v["at"]["end"]].decode()
            if text[1:-1] == n.value and text[0] in "\"'":
                v.update(kind="string", text=n.value)
            else:
                v["kind"] = "other"
    elif isinstance(n, ast.IfExp):
        v.update(kind="choice", items=[value(n.body, False), value(n.orelse, False)])
    elif isinstance(n, ast.BoolOp) and isinstance(n.op, ast.Or):
        v.update(kind="choice", items=[value(e, False) for e in n.values])
    elif isinstance(n, ast.Name) and follow and bound.get(n.id) == 1 and uses.get(n.id) == 1 and n.id in constants:
        return value(constants[n.id], False)
    return v


imports, locals_, refs, calls = [], set(), [], []
MODULE = re.compile(rb"(?:from|import)\s+")


def put(path, module, name, at, local):
    imports.append({"path": path, "module": module, "name": name, "at": at, "local": local})
    if bound.get(local) == 1 or "." in local:
        locals_.add(local)


for n in ast.walk(tree):
    if isinstance(n, ast.ImportFrom) and not n.level and n.module and n.module.split(".")[0] == "servers":
        start = span(n)["start"] + MODULE.match(raw, span(n)["start"]).end() - span(n)["start"]
        module = {"start": start, "end": start + len(n.module)}
        for a in n.names:
            put(n.module.split(".")[1:], module, a.name, name_at(a, a.name), a.asname or a.name)
    elif isinstance(n, ast.Import):
        for a in n.names:
            if a.name.split(".")[0] == "servers":
                put(a.name.split(".")[1:] if a.asname else [], name_at(a, a.name), "", name_at(a, a.name), a.asname or "servers")


def chain(n):
    """Return the names of a.b.c, with the node of the last one."""
    if isinstance(n, ast.Name):
        return [n.id]
    if isinstance(n, ast.Attribute):
        left = chain(n.value)
        return left and left + [n.attr]
    return None


def last(n):
    end = offset(n.end_lineno, n.end_col_offset)
    size = len((n.attr if isinstance(n, ast.Attribute) else n.id).encode())
    return {"start": end - size, "end": end}


def keywords(n, at):
    return {
        "kind": "object", "keywords": True, "at": {"start": at, "end": at}, "line": n.lineno,
        "spread": any(k.arg is None for k in n.keywords),
        "members": [{"name": k.arg, "at": name_at(k, k.arg), "value": value(k.value)} for k in n.keywords if k.arg],
    }


# Functions that call another one with their own keyword arguments.
HAND_ON = ("submit", "partial", "to_thread")

for n in ast.walk(tree):
    if isinstance(n, (ast.Name, ast.Attribute)):
        names = chain(n)
        if names and names[0] in locals_ and not (isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)):
            refs.append({"local": names[0], "member": names[1:], "at": last(n)})
    if not isinstance(n, ast.Call):
        continue
    names = chain(n.func)
    handed = bool(names) and names[-1] in HAND_ON and len(n.args) == 1 and bool(n.keywords) and chain(n.args[0])
    if handed:
        names = handed
    if not names or not (names[0] in locals_ or names[-1] in ("call_mcp_tool", "callMCPTool")):
        continue
    opening = raw.index(b"(", offset(n.func.end_lineno, n.func.end_col_offset)) + 1
    call = {"callee": {"local": names[0], "member": names[1:], "at": last(n.args[0] if handed else n.func)}, "line": n.lineno, "open": opening}
    if names[-1] in ("call_mcp_tool", "callMCPTool"):
        if not n.args or not isinstance(n.args[0], ast.Constant) or not isinstance(n.args[0].value, str):
            continue
        call.update(id=n.args[0].value, idAt=span(n.args[0]), open=0)
        if len(n.args) > 1:
            call["input"] = value(n.args[1])
    elif handed:
        call["input"] = keywords(n, offset(n.args[0].end_lineno, n.args[0].end_col_offset))
        call["open"] = 0
    elif n.args and not n.keywords and len(n.args) == 1:
        call["input"] = value(n.args[0])
    elif n.keywords:
        call["input"] = keywords(n, opening)
        call["input"]["spread"] = call["input"]["spread"] or bool(n.args)
    calls.append(call)

keys = {id(k) for n in ast.walk(tree) if isinstance(n, ast.Dict) for k in n.keys}
mentions = []
for n in ast.walk(tree):
    if isinstance(n, ast.Attribute):
        mentions.append({"name": n.attr, "line": n.end_lineno})
    elif isinstance(n, ast.Constant) and isinstance(n.value, str) and len(n.value) <= 200 and id(n) not in keys:
        mentions.append({"name": n.value, "line": n.lineno})

names = sorted(set(bound) | set(uses))
json.dump({"imports": [i for i in imports if i["local"] in locals_ or i["name"]], "calls": calls, "refs": refs, "names": names, "mentions": mentions}, sys.stdout)
