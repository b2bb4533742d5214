package bridge_test

import "testing"

// TestPythonSkills: a saved script is a package under every style of its name, together with the files beside it.
func TestPythonSkills(t *testing.T) {
	tree := map[string]string{
		"skills/save-sheet-as-csv/SKILL.md":          "---\nname: save-sheet-as-csv\n---\n",
		"skills/save-sheet-as-csv/scripts/main.py":   "from .helper import n\nfrom servers.client import MCPError\ndef save(): return n\n",
		"skills/save-sheet-as-csv/scripts/helper.py": "n = 3\n",
		"skills/report/scripts/only.py":              "name = __name__\n",
		"skills/several/scripts/one.py":              "one = 1\n",
		"skills/several/scripts/two.py":              "two = 2\n",
		"skills/own_package/__init__.py":             "own = 'own'\n",
		"skills/flat.py":                             "flat = 'flat'\n",
		"skills/words/SKILL.md":                      "---\nname: words\n---\n",
	}
	for name, text := range pythonTree {
		tree[name] = text
	}
	r := guestRun{lang: "python", tree: tree, code: `import inspect, importlib
from skills.save_sheet_as_csv import save
from skills.saveSheetAsCsv import save as again
import skills.save_sheet_as_csv.helper as helper
assert save() == again() == helper.n == 3
assert inspect.getsource(save) == "def save(): return n\n"
import skills.report
assert skills.report.name == "skills.report"
from skills.several.two import two
from skills.own_package import own
from skills.flat import flat
from skills import save_sheet_as_csv
assert (two, own, flat, save_sheet_as_csv.save()) == (2, "own", "flat", 3)
said = []
for name in ("skills.save_shet_as_csv", "skills.words", "skills.save_sheet_as_csv.nope", "skills.several.three", "skills...", "skills.x/../report"):
    try: importlib.import_module(name)
    except ImportError as e: said.append(str(e))
    else: said.append("imported " + name)
assert "did you mean 'save_sheet_as_csv'?" in said[0], said
result = [s for s in said if s.startswith("imported")]`}
	if e := r.run(t); e.err != nil || e.stderr != "" || string(e.out.Result) != `["imported skills.words"]` {
		t.Errorf(`%+v %s, want stderr "", %q and no error`, e, e.out.Result, `["imported skills.words"]`)
	}
}
