"""Imports of a script beside the standard library, and the errors of those that fail. See guest.py."""

import builtins
import os
import sys
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
OURS = ("servers", "skills", "mcprun")  # names that files beside the script cannot have
LIBRARY = frozenset(("mcprun", "_mcprun_client", "_mcprun_common", "_mcprun_files", "_mcprun_host", "_mcprun_lists", "_mcprun_network", "_mcprun_report", "_mcprun_values", "_mcprun_workflow"))  # files beside this one
MOST = 12  # names that are listed


class Finder:
    """Finds the guest library, and the modules that came with the job."""

    def __init__(self):
        self.sources = {}  # module → (file, code, whether it is a package)
        self.texts = {}  # file → code
        self.watching = False  # whether code of exec() is examined
        self.home = os.getcwd()  # the workspace, until its folder is spelled

    def take(self, name, code, modules):
        """Take the script and the files beside it: their code by their paths."""
        self.texts = {name: code, **modules}
        if "linecache" in sys.modules:
            self.show(sys.modules["linecache"])
        for path, code in modules.items():
            parts = path.removesuffix(".py").split("/")
            is_package = parts[-1] == "__init__"
            if is_package:
                parts.pop()
            if not parts or parts[0] in OURS or not all(map(str.isidentifier, parts)):
                continue
            self.sources[".".join(parts)] = (path, code, is_package)
            for i in range(1, len(parts)):  # a package needs no __init__.py
                self.sources.setdefault(".".join(parts[:i]), (None, "", True))
        for name in self.sources:
            loaded = sys.modules.get(name)
            if loaded is not None and name not in sys.builtin_module_names and hasattr(loaded, "__file__"):
                del sys.modules[name]  # a module that was imported before the script has the same name

    def find_spec(self, name, path=None, target=None):
        if name in LIBRARY:
            file = os.path.join(HERE, name + ".py")
            spec = ModuleSpec(name, SourceFileLoader(name, file), origin=file)
            spec.has_location = True
            return spec
        source = self.sources.get(name)
        if source is not None:
            spec = ModuleSpec(name, self, origin=source[0], is_package=source[2])
            spec.has_location = source[0] is not None
            return spec
        if name == "linecache":
            spec = PathFinder.find_spec(name, path, target)
            if spec is not None:
                spec.loader = Shown(spec.loader, self)
            return spec
        return None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        file, code, _ = self.sources[module.__spec__.name]
        code = compile(code, file or "<folder>", "exec", dont_inherit=True)
        self.publish(code)
        exec(code, module.__dict__)

    def publish(self, code):
        """Make the names that code may use without an import available to it, and to code that it runs with exec()."""
        names = names_in(code)
        if not self.watching and not names.isdisjoint(("exec", "eval")):
            sys.addaudithook(self.watch)
            self.watching = True
        if self.home and mentions_workspace(code):
            spell_workspace(self.home)
            self.home = ""
        sys.modules["mcprun"].publish(builtins, names, self.sources)

    def watch(self, event, args):
        """Publish the names of code that is about to be run, but for that of modules, which lie in files."""
        if event == "exec" and hasattr(args[0], "co_filename") and not args[0].co_filename.startswith((os.sep, "<frozen")):
            sys.modules["mcprun"].publish(builtins, names_in(args[0]), self.sources)

    def get_source(self, name):
        return self.sources[name][1]

    def show(self, linecache):
        """Give linecache the lines of the script's files, which are not on the disk."""
        for file, code in self.texts.items():
            lines = [line + "\n" for line in code.splitlines()]  # the last as well: markers below it are counted from its end
            linecache.cache[file] = (len(code), None, lines, file)


def names_in(code):
    """Return the names that compiled code uses, including its functions and classes."""
    names = set(code.co_names)
    for each in code.co_consts:
        if isinstance(each, type(code)):
            names |= names_in(each)
    return names


class SkillLoader(SourceFileLoader):
    """Loads a skill, for which the same names are available without an import as for the script."""

    finder = None

    def get_code(self, fullname):
        code = super().get_code(fullname)
        self.finder.publish(code)
        return code


class Shown:
    """Loads linecache, and gives it the lines of the script's files."""

    def __init__(self, loader, finder):
        self.loader = loader
        self.finder = finder

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        module.__loader__ = module.__spec__.loader = self.loader
        self.loader.exec_module(module)
        self.finder.show(module)


class Skills:
    """Finds saved scripts: skills.NAME is the main script of the skill, whose folder may be written with - or as NAME."""

    def find_spec(self, name, path=None, target=None):
        top, _, skill = name.partition(".")
        if top != "skills" or not skill or "." in skill:
            return None
        for folder in path or ():
            for spelling in dict.fromkeys((skill, kebab(skill))):
                spec = package(name, os.path.join(folder, spelling))
                if spec is not None:
                    return spec
        return None


def package(name, folder):
    """Make the package of a skill; None where there is no such folder, or it is a package of Python's own."""
    scripts = os.path.join(folder, "scripts")
    try:
        names = sorted(each for each in os.listdir(scripts) if each.endswith(".py"))
    except OSError:
        return None
    if not names or os.path.exists(os.path.join(folder, "__init__.py")):
        return None
    main = next((each for each in ("__init__.py", "main.py") if each in names), names[0] if len(names) == 1 else None)
    file = main and os.path.join(scripts, main)
    spec = ModuleSpec(name, SkillLoader(name, file) if file else None, origin=file, is_package=True)
    spec.has_location = file is not None
    spec.submodule_search_locations[:] = [scripts, folder]
    return spec


def kebab(name):
    """Write a name as the folder of a skill is called."""
    words = ""
    for i, c in enumerate(name):
        before, after = name[i - 1 : i], name[i + 1 : i + 2]
        if c.isupper() and before and before != "_" and (not before.isupper() or after.islower()):
            words += "-"
        words += "-" if c == "_" else c.lower()
    return words


class Missing:
    """Is the last finder, and raises the error of a missing server, tool or skill, with the names that exist."""

    def find_spec(self, name, path=None, target=None):
        top, _, rest = name.partition(".")
        if top not in ("servers", "skills") or (rest and path is None):
            return None
        names = inside(path) if rest else []
        if names or "." in rest:
            instead = nearest(rest.rpartition(".")[2], names, "there is" if "." in rest else f"the {top} are")
        elif top == "servers":  # in some sandboxes it is an empty folder
            instead = "there is no generated tree; make one with: mcpgen sync"
        else:
            instead = "there are no saved skills"
        raise ModuleNotFoundError(f"No module named {name!r}; {instead}", name=name)


def inside(path):
    """Return the names of the modules in a package."""
    names = set()
    for folder in path:
        try:
            entries = list(os.scandir(folder))
        except OSError:
            continue
        for entry in entries:
            name = entry.name.removesuffix(".py").replace("-", "_")  # as skills are imported
            if not name.startswith(("_", ".")) and name.isidentifier() and (entry.name.endswith(".py") or entry.is_dir()):
                names.add(name)
    return sorted(names - {"client", "mcprun"})


def nearest(name, names, listing):
    """Return a hint: the names that may have been meant, or those that exist."""
    near = close(name, names)
    if near:
        return f"did you mean {' or '.join(map(repr, near))}?"
    if not names:
        return "there is nothing in it"
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    return f"{listing}: {', '.join(names[:MOST])}{more}"


def close(name, names):
    """Return the names that are most like this one, at most three, whatever their case and separators."""
    from difflib import get_close_matches

    plain = {}
    for each in names:
        plain.setdefault(each.replace("_", "").lower(), each)
    wanted = name.replace("_", "").replace("-", "").lower()
    near = [wanted] if wanted in plain else get_close_matches(wanted, plain, 3, 0.7)
    return [plain[each] for each in near]


class Servers:
    """Iterates as os.scandir() does over the servers in the tree's folder."""

    def __init__(self, entries):
        self.entries = entries
        self.close = entries.close

    def __iter__(self):
        return self

    def __next__(self):
        return next(entry for entry in self.entries if is_server(entry.name))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def is_server(name):
    """Report whether an entry of the tree's folder is the folder of a server."""
    return "." not in name and name != "__pycache__"


def list_servers_only():
    """Make listings of the tree's folder contain servers only."""
    listed, scanned = os.listdir, os.scandir
    trees = {os.path.join(folder, "servers") for folder in (ROOT, os.getcwd(), "/workspace", "/mcp")}

    def is_tree(path):
        return isinstance(path, (str, os.PathLike)) and os.path.abspath(path) in trees

    def listdir(path="."):
        return list(filter(is_server, listed(path))) if is_tree(path) else listed(path)

    def scandir(path="."):
        return Servers(scanned(path)) if is_tree(path) else scanned(path)

    os.listdir, os.scandir = listdir, scandir
    os.supports_fd.update((listdir, scandir))


# Functions of os that take a path. For the first ones ./workspace itself is the workspace, too. If it were so for the others,
# with lstat, which begins shutil.rmtree, a script that removes it would remove everything.
LOOK = ("access", "listdir", "mkdir", "scandir", "stat")
CHANGE = ("chmod", "lstat", "open", "remove", "rename", "replace", "rmdir", "truncate", "unlink", "utime")


def spell_workspace(home):
    """Make ./workspace/x mean the file x of the workspace, as in code for systems whose scripts run beside that folder. If the
    workspace has a folder of that name, the path means that folder.
    """
    import io

    folder, lstat, abspath = os.path.join(home, "workspace"), os.lstat, os.path.abspath

    def spelled(path, itself):
        if not isinstance(path, (str, os.PathLike)) or not isinstance(name := os.fspath(path), str) or "workspace" not in name:
            return path
        name = abspath(name)
        if not name.startswith(folder + os.sep) and not (itself and name == folder):
            return path
        try:
            lstat(folder)
        except FileNotFoundError:
            return home + name.removeprefix(folder)
        return path

    def wrapped(original, itself=False, paths=1):
        def call(*args, **options):
            if options.get("dir_fd") is None:
                args = (*(spelled(each, itself) for each in args[:paths]), *args[paths:])
            return original(*args, **options)

        call.__name__ = call.__qualname__ = original.__name__
        return call

    for name in LOOK + CHANGE:
        original = getattr(os, name)
        changed = wrapped(original, name in LOOK, 2 if name in ("rename", "replace") else 1)
        for able in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks, os.supports_effective_ids):
            if original in able:
                able.add(changed)
        setattr(os, name, changed)
    builtins.open = io.open = wrapped(io.open)


MOST_WRITTEN = 1000


def note_writes(wrote):
    """Note the paths below the workspace that the script writes in a dict: in a workspace that several runs use at once, they
    tell which run wrote a file.
    """
    home, abspath, fsdecode, most = os.getcwd() + os.sep, os.path.abspath, os.fsdecode, MOST_WRITTEN  # also while Python ends
    writes = os.O_WRONLY | os.O_RDWR | os.O_CREAT

    def note(event, args):
        if event == "open":
            if not isinstance(args[2], int) or not args[2] & writes:
                return
            path = args[0]
        elif event == "os.rename":
            path = args[1]
        elif event == "sqlite3.connect":
            path = args[0]
        else:
            return
        if len(wrote) < most and isinstance(path, (str, bytes, os.PathLike)):
            path = abspath(fsdecode(path))
            if path.startswith(home):
                wrote[path.removeprefix(home).encode("utf-8", "replace").decode()] = None

    sys.addaudithook(note)


def mentions_workspace(code):
    """Report whether compiled code has a path of the folder workspace."""
    return any(
        (isinstance(each, str) and each.removeprefix("./").partition("/")[0] == "workspace") or (isinstance(each, type(code)) and mentions_workspace(each))
        for each in code.co_consts
    )


def install():
    """Install the finders, and put the tree on the module path. Return the finder of modules."""
    finder = SkillLoader.finder = Finder()
    packages = os.path.join(ROOT, "site-packages")
    if os.path.isdir(packages):  # after the standard library; its .pth files are not read, since they can hold code
        at = next((i for i, each in enumerate(sys.path) if each.endswith(("/site-packages", "/dist-packages"))), len(sys.path))
        sys.path.insert(at, packages)
    sys.path.insert(0, ROOT)
    # Before the folders of the standard library, as the folder of a script is.
    at = next((i for i, each in enumerate(sys.meta_path) if getattr(each, "__name__", "") == "PathFinder"), len(sys.meta_path))
    sys.meta_path[at:at] = [finder, Skills()]
    sys.meta_path.append(Missing())
    list_servers_only()
    return finder
