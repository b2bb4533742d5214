"""Packs the wheel of a release: python3 deploy/python/pack.py [DIST]

The version is the one that GoReleaser left in DIST (build/dist), in the form of PEP 440; the wheel goes to DIST/python. It is built with the
standard library, and the same files give the same bytes.
"""

import base64
import hashlib
import json
import re
import sys
import zipfile
from pathlib import Path

here = Path(__file__).resolve().parent
root = here.parent.parent
dist = Path(sys.argv[1]) if len(sys.argv) > 1 else root / "build" / "dist"


def pep440(version: str) -> str:
    """Return a version of Semantic Versioning as Python writes it: 1.2.0-rc.1 is 1.2.0rc1, any other suffix is a local version."""
    base, _, rest = version.partition("-")
    if pre := re.fullmatch(r"(alpha|beta|rc)\.?(\d+)", rest):
        return base + {"alpha": "a", "beta": "b", "rc": "rc"}[pre[1]] + pre[2]
    return base + ("+" + re.sub(r"[^a-z0-9]+", ".", rest.lower()) if rest else "")


version = pep440(json.loads((dist / "metadata.json").read_text())["version"])
info = f"mcprun_host-{version}.dist-info"
metadata = f"""Metadata-Version: 2.1
Name: mcprun-host
Version: {version}
Summary: Run scripts, tasks and workflows with mcprun from a Python program
Home-page: https://github.com/mcpgen/mcpgen
License: MIT
Requires-Python: >=3.11
Description-Content-Type: text/markdown

{(here / "README.md").read_text()}"""
files = {f"mcprun_host/{path.name}": path.read_bytes() for path in sorted((here / "mcprun_host").iterdir()) if path.suffix == ".py" or path.name == "py.typed"}
files |= {
    f"{info}/METADATA": metadata.encode(),
    f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: mcpgen\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    f"{info}/licenses/LICENSE": (root / "LICENSE").read_bytes(),
}
record = ""
for name, data in files.items():
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    record += f"{name},sha256={digest},{len(data)}\n"
files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()

out = dist / "python"
out.mkdir(parents=True, exist_ok=True)
for old in out.glob("mcprun_host-*.whl"):
    old.unlink()
with zipfile.ZipFile(out / f"mcprun_host-{version}-py3-none-any.whl", "w", zipfile.ZIP_DEFLATED) as wheel:
    for name, data in files.items():
        entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
        entry.external_attr = 0o644 << 16
        wheel.writestr(entry, data, zipfile.ZIP_DEFLATED)
