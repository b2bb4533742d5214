#!/bin/sh
# The main job in one go: make the tree from the demo servers, run an example in each language, say what it saved.
# Called by `make demo`, which builds bin/ first.
set -eu
cd "$(dirname "$0")/.."

export MCPGEN_TRUST=1 # the configuration came with this Makefile, which runs already

step() { printf '\n\033[1m$ %s\033[0m\n' "$*"; "$@"; }
[ -t 1 ] || step() { printf '\n$ %s\n' "$*"; "$@"; }

echo "Six MCP servers are configured in .mcp.json. Their tools become files below servers/:"
step bin/mcpgen sync

echo
echo "A script copies a transcript of about 50,000 tokens from one server to another. It runs in a sandbox; what it"
echo "prints is all the model reads:"
step bin/mcprun -v examples/copy-transcript.ts

if command -v python3 >/dev/null 2>&1 && bin/mcprun -q --sandbox auto --language python -e 'pass' 2>/dev/null; then
  echo
  echo "The same idea in Python, with a sheet of 10,000 rows of which five lines come out:"
  step bin/mcprun -v examples/filter-sheet.py
else
  echo
  echo "The Python example is left out: no sandbox runs Python here (bin/mcprun doctor says why)."
fi

echo
echo "Next: look at servers/README.md, try bin/mcprun doctor, and bin/mcpgen sync --check."
