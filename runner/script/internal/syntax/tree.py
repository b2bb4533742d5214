# Parses Python files and returns their trees in the form that tree.go reads. It is run as a script: code holds the files, by name.
# Nothing of them is executed.
import ast
import gc
import sys
import warnings

OTHER, NAME, ATTR, INDEX, CALL, STR, NUMBER, ADD, JOIN, LIST, DICT, PAIR, ASSIGN, IMPORT, STAR, MODULE, FUNCTION, CLASS, DECLARE, GLOBAL, ANY, BRANCH, REVERSE, KEYWORD, SPREAD = range(25)
EACH, TYPE = 28, 30
BRANCHES = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.comprehension, ast.match_case)
SKIPPED = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)
MOST_DIGITS = 9
MOST_NUMBERS = 20_000_000  # in the tree of a file: a = b = value has the value twice


class Tree:
    def __init__(self):
        self.nodes = []
        self.strings = []
        self.index = {}
        self.line = self.column = 0

    def put(self, kind, text="", kids=()):
        """Append a node; kids are trees, or functions that append one."""
        if len(self.nodes) > MOST_NUMBERS:
            raise MemoryError
        at = self.index.get(text)
        if at is None:
            at = self.index[text] = len(self.strings)
            self.strings.append(text)
        self.nodes += (kind, self.line, self.column, at, len(kids))
        for each in kids:
            if callable(each):
                each()
            else:
                self.add(each)

    def add(self, node):
        line, column = self.line, self.column
        self.line, self.column = getattr(node, "lineno", line), getattr(node, "col_offset", column)
        make = MAKERS.get(type(node))
        if make:
            make(self, node)
        else:
            self.put(BRANCH if isinstance(node, BRANCHES) else OTHER, "", self.parts(node))
        self.line, self.column = line, column

    def parts(self, node):
        kids = []
        for field in node._fields:
            value = getattr(node, field, None)
            if isinstance(value, list):
                kids += [each for each in value if isinstance(each, ast.AST)]
            elif isinstance(value, ast.AST) and not isinstance(value, SKIPPED):
                kids.append(value)
        return kids

    def target(self, node, value):
        """Return the kids that assign a value, or an unknown one (None), to a target."""
        if isinstance(node, ast.Name):
            kids = () if value is None else (value,)
            return [lambda: self.put(ASSIGN if kids else DECLARE, node.id, kids)]
        if isinstance(node, ast.Starred):
            return self.target(node.value, None) + ([] if value is None else [value])
        if isinstance(node, (ast.Tuple, ast.List)):
            if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(node.elts):
                return [kid for i, each in enumerate(node.elts) for kid in self.target(each, value.elts[i])]
            names = " ".join(each.id for each in node.elts if isinstance(each, ast.Name))
            kids = [kid for each in node.elts if value is None or not isinstance(each, ast.Name) for kid in self.target(each, None)]
            return kids if value is None else [lambda: self.put(ASSIGN, names, [self.each(value)]), *kids]
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and value is not None:
            return [node, lambda: self.put(ASSIGN, node.value.id + "." + node.attr + "\0", [value])]
        return [node] if value is None else [node, value]

    def each(self, of):
        return lambda: self.put(EACH, "", [of])

    def at(self, place, kind, text="", kids=()):
        """Return a function that appends a node with the place of another one."""

        def put():
            before = self.line, self.column
            self.line, self.column = getattr(place, "lineno", self.line), getattr(place, "col_offset", self.column)
            self.put(kind, text, kids)
            self.line, self.column = before

        return put

    def types(self, *annotations):
        """Return the kids for annotations, which Python may evaluate."""
        return [lambda each=each: self.put(TYPE, "", [each]) for each in annotations if each is not None]

    def group(self, kids):
        return lambda: self.put(OTHER, "", kids)


def constant(t, node):
    value = node.value
    if isinstance(value, bytes):
        t.put(STR, value.decode("latin-1"))
    elif isinstance(value, str):
        t.put(STR, value.encode("utf-8", "replace").decode())
    elif type(value) is int and -(10**MOST_DIGITS) < value < 10**MOST_DIGITS:
        t.put(NUMBER, str(value))
    else:
        t.put(OTHER, "literal")


def attribute(t, node):
    t.line, t.column = node.end_lineno, node.end_col_offset - len(node.attr.encode())
    t.put(ATTR, node.attr, [node.value])


def subscript(t, node):
    s = node.slice
    if isinstance(s, ast.Slice) and s.lower is None and s.upper is None and isinstance(s.step, ast.UnaryOp) and isinstance(s.step.op, ast.USub) and getattr(s.step.operand, "value", 0) == 1:
        return t.put(REVERSE, "", [node.value])
    t.put(INDEX, "", [node.value, s])


def binary(t, node):
    if isinstance(node.op, ast.Add):
        return t.put(ADD, "", [node.left, node.right])
    if isinstance(node.op, ast.Mod):
        return t.put(ADD, "%", [node.left, node.right])
    if isinstance(node.op, ast.Div):
        return t.put(ADD, "/", [node.left, node.right])
    t.put(OTHER, "", [node.left, node.right])


def function(t, node):
    a = node.args
    parameters = [each for each in (*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg) if each is not None]
    names = [each.arg for each in parameters]
    outside = [*a.defaults, *(each for each in a.kw_defaults if each is not None), *getattr(node, "decorator_list", ())]
    outside += t.types(*(each.annotation for each in parameters), getattr(node, "returns", None))
    name = getattr(node, "name", "")
    body = node.body if isinstance(node.body, list) else [node.body]
    kids = [(lambda n=n: t.put(DECLARE, n)) for n in names] + body
    t.put(OTHER, "", ([lambda: t.put(DECLARE, name)] if name else []) + outside + [lambda: t.put(FUNCTION, name, kids)])


def comprehension(t, node):
    """A function of its own, as in Python."""
    kids = [t.group(t.target(g.target, t.each(g.iter)) + g.ifs) for g in node.generators]
    kids += [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
    t.put(FUNCTION, "", kids)


def imports(t, node):
    kids = []
    if isinstance(node, ast.Import):
        for a in node.names:
            top = a.name if a.asname else a.name.partition(".")[0]
            kids.append(lambda a=a: t.put(IMPORT, a.name))
            kids.append(t.at(a, ASSIGN, a.asname or top, [t.at(a, MODULE, top)]))
        return t.put(OTHER, "", kids)
    module = "." * node.level + (node.module or "")
    kids.append(lambda: t.put(IMPORT, module))
    for a in node.names:
        if a.name == "*":
            kids.append(lambda: t.put(STAR, module))
        else:
            kids.append(t.at(a, ASSIGN, a.asname or a.name, [t.at(a, ATTR, a.name, [t.at(node, MODULE, module)])]))
    t.put(OTHER, "", kids)


def assign(t, node):
    kids = []
    for target in node.targets:
        kids += t.target(target, node.value)
    t.put(OTHER, "", kids)


def add_assign(t, node):
    if not isinstance(node.target, ast.Name):
        return t.put(OTHER, "", [node.target, node.value])
    if not isinstance(node.op, ast.Add):
        return t.put(ASSIGN, node.target.id, [t.group([node.target, node.value])])
    t.put(ASSIGN, node.target.id, [lambda: t.put(ADD, "", [node.target, node.value])])


def loop(t, node):
    t.put(BRANCH, "", t.target(node.target, t.each(node.iter)) + node.body + node.orelse)


def with_(t, node):
    kids = []
    for item in node.items:
        kids += t.target(item.optional_vars, item.context_expr) if item.optional_vars is not None else [item.context_expr]
    t.put(OTHER, "", kids + node.body)


def named(kind, name):
    def make(t, node):
        t.put(kind, "", ([lambda: t.put(DECLARE, getattr(node, name))] if getattr(node, name) else []) + t.parts(node))

    return make


def call(t, node):
    keywords = [t.at(k, KEYWORD, k.arg or "", [k.value]) for k in node.keywords]
    t.put(CALL, "", [node.func, *node.args, *keywords])


def dictionary(t, node):
    kids = []
    for key, value in zip(node.keys, node.values):
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            kids.append(t.at(key, PAIR, key.value, [value]))
        else:
            kids += [each for each in (key, value) if each is not None]
    t.put(DICT, "", kids)


def class_(t, node):
    body = node.body
    t.put(OTHER, "", [lambda: t.put(DECLARE, node.name), *node.bases, *(k.value for k in node.keywords), *node.decorator_list, lambda: t.put(CLASS, node.name, body)])


MAKERS = {
    ast.Name: lambda t, n: t.put(NAME, n.id),
    ast.Attribute: attribute,
    ast.Subscript: subscript,
    ast.Call: call,
    ast.Constant: constant,
    ast.JoinedStr: lambda t, n: t.put(JOIN, "", n.values),
    ast.FormattedValue: lambda t, n: t.add(n.value),
    ast.BinOp: binary,
    ast.List: lambda t, n: t.put(LIST, "", n.elts),
    ast.Tuple: lambda t, n: t.put(LIST, "", n.elts),
    ast.Dict: dictionary,
    ast.Starred: lambda t, n: t.put(SPREAD, "", [n.value]),
    ast.Assign: assign,
    ast.AnnAssign: lambda t, n: t.put(OTHER, "", t.types(n.annotation) + t.target(n.target, n.value)),
    ast.AugAssign: add_assign,
    ast.NamedExpr: lambda t, n: t.put(ASSIGN, n.target.id, [n.value]),
    ast.For: loop,
    ast.AsyncFor: loop,
    ast.With: with_,
    ast.AsyncWith: with_,
    ast.FunctionDef: function,
    ast.AsyncFunctionDef: function,
    ast.Lambda: function,
    ast.ListComp: comprehension,
    ast.SetComp: comprehension,
    ast.GeneratorExp: comprehension,
    ast.DictComp: comprehension,
    ast.ClassDef: class_,
    ast.Import: imports,
    ast.ImportFrom: imports,
    ast.Global: lambda t, n: t.put(GLOBAL, " ".join(n.names)),
    ast.Nonlocal: lambda t, n: t.put(OTHER),
    ast.ExceptHandler: named(BRANCH, "name"),
    ast.MatchAs: named(OTHER, "name"),
    ast.MatchStar: named(OTHER, "name"),
    ast.MatchMapping: named(OTHER, "rest"),
    ast.BoolOp: lambda t, n: t.put(ANY, "", n.values),
    ast.IfExp: lambda t, n: t.put(ANY, "?", [n.body, n.orelse, n.test]),
    ast.Await: lambda t, n: t.add(n.value),
    ast.Expr: lambda t, n: t.add(n.value),
}


def read(name, code):
    t = Tree()
    try:
        t.add(ast.parse(code, name))
    except SyntaxError as e:
        return {"line": e.lineno or 0, "column": e.offset or 0, "problem": e.msg}
    except (RecursionError, MemoryError):
        return {"line": t.line, "problem": "it is nested too deeply"}
    except ValueError as e:
        return {"problem": str(e)}
    return {"nodes": t.nodes, "strings": t.strings}


gc.disable()
warnings.simplefilter("ignore")
sys.setrecursionlimit(4000)
result = {name: read(name, text) for name, text in code.items()}
