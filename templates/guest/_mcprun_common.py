"""The modules of Python, and names from them, that a script finds without an import. Nothing is imported before it is used."""

import importlib

_MODULES = """
    asyncio base64 bisect calendar collections concurrent.futures copy csv dataclasses datetime decimal difflib enum fractions
    functools glob gzip hashlib heapq html io itertools json logging math operator os pathlib random re shutil statistics string
    sys tempfile textwrap threading time traceback typing unicodedata urllib.parse uuid zipfile zoneinfo
"""

_NAMES = {
    "collections": "ChainMap Counter OrderedDict defaultdict deque namedtuple",
    "concurrent.futures": "ThreadPoolExecutor as_completed",
    "copy": "deepcopy",
    "dataclasses": "asdict dataclass",
    "datetime": "date timedelta timezone",
    "decimal": "Decimal",
    "enum": "Enum",
    "fractions": "Fraction",
    "functools": "lru_cache partial reduce",
    "itertools": "groupby islice",
    "operator": "itemgetter",
    "pathlib": "Path",
    "textwrap": "dedent",
    "typing": "Any Callable Dict Iterable Iterator List Literal Mapping NamedTuple Optional Sequence Set Tuple TypedDict Union",
    "uuid": "uuid4",
    "zoneinfo": "ZoneInfo",
}

# The module that each name comes from.
HOMES = {name.partition(".")[0]: name for name in _MODULES.split()}
_MEMBERS = {name: home for home, names in _NAMES.items() for name in names.split()}
HOMES.update(_MEMBERS)


def load(name):
    """Import what a name means."""
    module = importlib.import_module(HOMES[name])
    if name in _MEMBERS:
        return getattr(module, name)
    if name == "datetime":
        return _both(module)
    return importlib.import_module(name)


def _both(module):
    """Return an object that is both the module datetime and its class, because scripts mean one or the other."""

    class Datetime(type(module)):
        def __getattr__(self, name):
            return getattr(module.datetime, name)

        def __call__(self, *args, **kwargs):
            return module.datetime(*args, **kwargs)

        def __instancecheck__(self, value):
            return isinstance(value, module.datetime)

        def __or__(self, other):
            return module.datetime | other

    both = Datetime("datetime", module.__doc__)
    both.__dict__.update(vars(module))
    return both
