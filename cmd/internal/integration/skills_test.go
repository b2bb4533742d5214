package integration

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// skillsTS and skillsPy use each shipped skill that has a script, with the real answers of the demo servers.
const skillsTS = `import { collectPages } from "./skills/collectPages";
import { compareRecords, describeDifference } from "./skills/compare_records";
import { saveSheetAsCsv } from "./skills/save-sheet-as-csv";
import { queryRecords } from "./servers/crm";
import { getSheet, listSheets } from "./servers/drive/index.ts";

const whole = await saveSheetAsCsv("orders-2026");
const part = await saveSheetAsCsv("orders-2026", { path: "some/part.csv", range: "A1:B11" });
const contacts = await collectPages((offset: number | undefined) => queryRecords({ object_type: "Contact", limit: 7, offset: offset ?? 0 }),
  (page) => ({ items: page.records, next: page.next_offset }));
const some = await collectPages((offset: number | undefined) => queryRecords({ object_type: "Contact", limit: 7, offset: offset ?? 0 }),
  (page) => ({ items: page.records, next: page.next_offset }), { max: 10 });
const sheets = await collectPages((cursor: string | undefined) => listSheets(cursor === undefined ? { limit: 1 } : { limit: 1, cursor }),
  (page) => ({ items: page.sheets, next: page.next_cursor }));
let circle = "";
try { await collectPages(async (_: string | undefined) => ({ next: "again" }), (page) => ({ items: [1], next: page.next })); } catch (err) { circle = String(err); }
const { total } = await queryRecords({ object_type: "Contact", limit: 1 });
const rows = (await getSheet({ sheet_id: "orders-2026", range: "A1:K101" })).records ?? [];
const others = rows.slice(1).map((row, i) => ({ id: row["Order ID"], Amount: Number(row["Amount"]) + (i === 0 ? 1 : 1e-12) }));
const difference = compareRecords(rows, [...others, { id: "new", Amount: 1 }, { Amount: 2 }], { key: ["Order ID", "id"], fields: ["Amount"] });
export const result = {
  whole: [whole.path, whole.rows], part: [part.path, part.rows, part.columns.length], contacts: contacts.items.length === total && contacts.complete,
  ids: new Set(contacts.items.map((c) => c["Id"])).size === total, some: [some.items.length, some.complete], sheets: sheets.items.length === sheets.pages && sheets.pages > 1,
  circle: circle.includes("twice"), difference: describeDifference(difference, 0), left: difference.onlyLeft.length, right: difference.onlyRight[0]?.["id"],
};
`

const skillsPy = `from skills.collectPages import collect_pages
from skills.compare_records import compare_records, describe_difference
import skills.save_sheet_as_csv as sheets_of
from servers.crm import query_records
from servers.drive import get_sheet, list_sheets

whole = sheets_of.save_sheet_as_csv("orders-2026")
part = sheets_of.save_sheet_as_csv("orders-2026", path="some/part.csv", range="A1:B11")
def contacts_page(offset):
    return query_records(object_type="Contact", limit=7, offset=offset or 0)
contacts = collect_pages(contacts_page, items="records", next="next_offset")
some = collect_pages(contacts_page, items="records", next="next_offset", max_items=10)
sheets = collect_pages(lambda cursor: list_sheets(limit=1, cursor=cursor) if cursor else list_sheets(limit=1), items="sheets")
circle = ""
try:
    collect_pages(lambda cursor: {"items": [1], "next_cursor": "again"}, items="items")
except RuntimeError as error:
    circle = str(error)
total = query_records(object_type="Contact", limit=1)["total"]
rows = get_sheet(sheet_id="orders-2026", range="A1:K101").get("records", [])
others = [{"id": row["Order ID"], "Amount": row["Amount"] + (1 if i == 0 else 1e-12)} for i, row in enumerate(rows[1:])]
difference = compare_records(rows, [*others, {"id": "new", "Amount": 1}, {"Amount": 2}], key=("Order ID", "id"), fields=["Amount"])
result = {
    "whole": [whole["path"], whole["rows"]], "part": [part["path"], part["rows"], len(part["columns"])],
    "contacts": len(contacts["items"]) == total and contacts["complete"], "ids": len({c["Id"] for c in contacts["items"]}) == total,
    "some": [len(some["items"]), some["complete"]], "sheets": len(sheets["items"]) == sheets["pages"] > 1, "circle": "twice" in circle,
    "difference": describe_difference(difference, 0), "left": len(difference["only_left"]), "right": difference["only_right"][0]["id"],
}
`

const skillsWant = `{"whole":["orders-2026.csv",10000],"part":["some/part.csv",10,2],"contacts":true,"ids":true,"some":[10,false],"sheets":true,"circle":true,` +
	`"difference":"98 the same, 1 changed, 1 only left, 1 only right, 1 left out","left":1,"right":"new"}`

// TestSkills checks that the skills that come with the program work, in each sandbox and both languages: from the program itself,
// and as the user's own copies.
func TestSkills(t *testing.T) {
	t.Parallel()
	for _, where := range places() {
		t.Run(where.String(), func(t *testing.T) {
			t.Parallel()
			where.need(t)
			p := newDemo(t)
			p.env = append(p.env, "XDG_CACHE_HOME="+p.path("cache"))
			code := skillsTS
			if where.language == "python" {
				code = skillsPy
			}
			script := p.write("skills"+where.ext(), code)
			usesSkills(t, p, where, script)
			for _, name := range []string{"save-sheet-as-csv", "collect-pages", "compare-records"} {
				p.runIn(t, "mcprun", "skill", "save", name, "--shipped").want(t, 0)
			}
			usesSkills(t, p, where, script)
			savesFromScript(t, p, where)
		})
	}
	t.Run("types", func(t *testing.T) {
		t.Parallel()
		needCompilers(t)
		p := newDemo(t)
		bin := filepath.Join(root, "testdata", "npm", "node_modules", ".bin")
		p.env = append(p.env, "MCPRUN_TSC="+filepath.Join(bin, "tsc"), "MCPRUN_PYRIGHT="+filepath.Join(bin, "pyright"), "XDG_CACHE_HOME="+p.path("cache"))
		for _, name := range []string{"save-sheet-as-csv", "collect-pages", "compare-records", "mcp-progressive-discovery"} {
			if out := p.runIn(t, "mcprun", "skill", "save", name, "--shipped").want(t, 0); out.stderr != "" {
				t.Errorf(`%s: %s, want ""`, name, out.stderr)
			}
		}
		p.runIn(t, "mcprun", "skill", "check").want(t, 0)
		p.runIn(t, "mcprun", "--check", p.write("skills.ts", skillsTS)).want(t, 0)
	})
}

func usesSkills(t *testing.T, p *project, where place, script string) {
	t.Helper()
	res := p.runJSON(t, where, 0, script)
	var got, want any
	if err := json.Unmarshal(res.Value, &got); err != nil {
		t.Fatalf("%v: %s", err, clip(res.Stderr))
	}
	if err := json.Unmarshal([]byte(skillsWant), &want); err != nil {
		t.Fatal(err)
	}
	a, _ := json.Marshal(got)
	b, _ := json.Marshal(want)
	if string(a) != string(b) {
		t.Errorf("got  %s\nwant %s", a, b)
	}
	saved, err := os.ReadFile(filepath.Join(p.workspace(where), "orders-2026.csv"))
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(strings.TrimSpace(string(saved)), "\n"); lines != 10_000 || !strings.HasPrefix(string(saved), "Order ID,") {
		t.Errorf(`%d lines: %.60s, want 10_000 and "Order ID," at its start`, lines, saved)
	}
}

// savesFromScript checks that a script can import what an earlier script saved.
func savesFromScript(t *testing.T, p *project, where place) {
	t.Helper()
	first, second := `import { saveSkill } from "mcprun"; await saveSkill("doubleIt", "export const double = (n: number) => 2 * n;", "Doubles.");`,
		`import { double } from "./skills/double_it"; export const result = double(21);`
	if where.language == "python" {
		first, second = `from mcprun import save_skill
save_skill("doubleIt", "def double(n):\n    return 2 * n\n", description="Doubles.", language="python")`, "from skills.double_it import double\nresult = double(21)"
	}
	p.runJSON(t, where, 0, p.write("first"+where.ext(), first))
	if res := p.runJSON(t, where, 0, p.write("second"+where.ext(), second)); string(res.Value) != "42" {
		t.Errorf(`%s, want "42"`, res.Value)
	}
	text, err := os.ReadFile(p.path("skills/double-it/SKILL.md"))
	if err != nil || !strings.Contains(string(text), "author: script") {
		t.Errorf("%v, want \"author: script\" in it and no error\n%s", err, text)
	}
}
