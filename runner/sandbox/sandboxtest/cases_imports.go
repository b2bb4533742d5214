package sandboxtest

import (
	"slices"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// importCases import files beside a script, and modules whose names are computed while it runs.
func importCases() []testCase {
	return []testCase{
		{name: "files beside the script", beside: map[string]string{
			"lib/util.ts": "import data from '../data.json';\nexport const show = (x: string): string => x + data.rows;\n", "data.json": `{"rows": 2}`, "old.cjs": "module.exports = { x: 1 };\n",
			"helper.py": "import pkg.sub\nx = pkg.sub.y + 1\n", "pkg/__init__.py": "from .sub import y\n", "pkg/sub.py": "y = 1\n", "space/deep/mod.py": "from . import other\nz = other.z\n", "space/deep/other.py": "z = 'z'\n",
		}, code: both(
			`import { show } from './lib/util.js'; import old from './old.cjs'; console.log(show("n"), old.x);`,
			`import helper, pkg
from space.deep import mod
print("n2" if (helper.x, pkg.y, mod.z) == (2, 1, "z") else "wrong", 1)`),
			check: prints("n2 1\n")},
		{name: "node's modules without an import", code: map[sandbox.Language]string{sandbox.LangTypeScript: `import * as files from "./servers/big-files";
import { readFile } from "node:fs/promises";
const names: string[] = await fs.readdir("./servers");
console.log(names.includes("big_files"), files.size, (await fs.readFile("./servers/big-files/index.ts", "utf-8")).length, fs.existsSync("/mcp/servers/big-files/index.ts"));
for (const name of ["big_files", "big-files"]) console.log((await import(` + "`./servers/${name}/index.ts`" + `)).size);
console.log((await readFile(path.join(process.cwd(), "servers/big-files/index.ts"), "utf8")).length, fs.readdirSync("servers/big-files").join());
await fs.promises.writeFile("dashed-name", "x");
await new Promise<void>((ok) => fs.readFile("dashed-name", "utf8", (e: unknown, text: string) => { console.log(e, text); ok(); }));
const found = await callMCPTool("none__such", {}).then(() => true, (e: unknown) => !(e instanceof ReferenceError));
console.log(found, Buffer.from("x").toString("base64"));
{ const fs = "own"; console.log(fs.length); }`}, check: prints("true 3 23 true\n3\n3\n23 index.ts\nnull x\ntrue eA==\n3\n")},
		{name: "folders of servers", code: both(`import { readdirSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { listFiles } from "mcprun";
import own from "node:fs";
const all: unknown[] = [(await fs.readdir("./servers/")).join(), readdirSync("/mcp/servers").join(), (await readdir(path.join(process.cwd(), "servers"))).join()];
all.push((await readdir(new URL("./servers/", import.meta.url), { withFileTypes: true })).map((e) => e.name).join(), (await listFiles("servers")).map((name: string) => name.split("/")[1]).join());
all.push(await new Promise<string>((ok) => own.readdir("/workspace/servers", (_: unknown, names: string[]) => ok(names.join()))));
all.push(own.readdirSync("servers", { recursive: true }).filter((name) => !String(name).includes("/")).join());
console.log([...new Set(all.map(String))].join(" "), (await fs.readFile("servers/a.txt", "utf8")), own.readdirSync("servers/big_files").join());
await fs.promises.writeFile("dotted.d", "x");
console.log(own.readdirSync(".").includes("dotted.d"));`, `import glob
tree = Path("servers")
names = [os.listdir("./servers/"), os.listdir("/mcp/servers"), [e.name for e in os.scandir(workspace / "servers")], [p.name for p in tree.iterdir()], next(os.walk("servers"))[1]]
names += [[name.rstrip("/").rpartition("/")[2] for name in list_files("servers")], [p.name for p in tree.glob("*")]]
with os.scandir(tree) as entries:
    names.append([next(entries).name, *entries])
print(" ".join({",".join(sorted(each)) for each in names}), (tree / "a.txt").read_text(), ",".join(os.listdir("servers/big_files")))
open("dotted.d", "w").close()
print("true" if "dotted.d" in os.listdir() else "false")`), check: prints("big_files generated index.ts\ntrue\n")},
		{name: "the workspace as the folder ./workspace", code: both(`import { readFile as read } from "node:fs/promises";
import { listFiles, readFile, writeFile } from "mcprun";
await fs.mkdir("./workspace/out", { recursive: true });
await fs.mkdir("./workspace", { recursive: true });
await fs.writeFile("./workspace/leads.csv", "a");
await writeFile("workspace/out/b.txt", "b");
fs.renameSync(path.join(process.cwd(), "workspace/out/b.txt"), "workspace/out/c.txt");
console.log(await readFile("./workspace/leads.csv"), await read("leads.csv", "utf8"), (await fs.readdir("./workspace")).includes("leads.csv"), fs.existsSync("workspace"), (await listFiles("workspace/out")).join());
try { fs.rmSync("./workspace", { recursive: true }); } catch (e) { console.log(e.code); }
try { fs.readFileSync("./workspace/none"); } catch (e) { console.log(e.code); }
console.log(fs.existsSync("out/c.txt"));
fs.renameSync("out", "other"); fs.mkdirSync("own"); fs.renameSync("own", "workspace");
fs.writeFileSync("./workspace/d.txt", "d");
console.log(fs.existsSync("workspace/leads.csv"), fs.readdirSync("workspace").join());`, `import shutil
os.makedirs("./workspace/out", exist_ok=True)
os.makedirs("./workspace", exist_ok=True)
with open("./workspace/leads.csv", "w") as f: f.write("a")
write_file("workspace/out/b.txt", "b")
os.rename(os.path.join(os.getcwd(), "workspace/out/b.txt"), Path("workspace") / "out" / "c.txt")
print(read_file("./workspace/leads.csv"), open("leads.csv").read(), str("leads.csv" in os.listdir("./workspace")).lower(), str(os.path.exists("workspace")).lower(), ",".join(list_files("workspace/out")))
try: shutil.rmtree("./workspace")
except FileNotFoundError: print("ENOENT")
try: Path("./workspace/none").read_text()
except FileNotFoundError: print("ENOENT")
print(str(Path("out/c.txt").exists()).lower())
os.rename("out", "other"); os.mkdir("own"); os.rename("own", "workspace")
Path("./workspace/d.txt").write_text("d")
print(str(os.path.exists("workspace/leads.csv")).lower(), ",".join(os.listdir("workspace")))`),
			check: prints("a a true true out/c.txt\nENOENT\nENOENT\ntrue\nfalse d.txt\n")},
		{name: "files that the script writes", code: both(`import { writeFile as write } from "node:fs/promises";
import { writeFile } from "mcprun";
await writeFile("a/b.txt", "b");
await write("c.txt", "c");
fs.appendFileSync(path.join(process.cwd(), "d.txt"), "d");
fs.renameSync("d.txt", "e.txt");
fs.copyFileSync("c.txt", "f.txt");
fs.writeFileSync("/tmp/g.txt", fs.readFileSync("c.txt"));
console.log(fs.readdirSync(".").includes("e.txt"));`, `import shutil, tempfile
write_file("a/b.txt", "b")
Path("c.txt").write_text("c")
with open(os.path.join(os.getcwd(), "d.txt"), "a") as f: f.write("d")
os.rename("d.txt", "e.txt")
shutil.copy("c.txt", "f.txt")
tempfile.TemporaryFile().close()
open("c.txt").close()
print("true" if "e.txt" in os.listdir() else "false")`), check: func(t *recorder, w *world, r *result) {
			prints("true\n")(t, w, r)
			if got, want := slices.Sorted(slices.Values(r.outcome.Wrote)), []string{"a/b.txt", "c.txt", "d.txt", "e.txt", "f.txt"}; !slices.Equal(got, want) {
				t.Errorf("the guest saw %q being written, want %q", got, want)
			}
		}},
		{name: "results of helpers under other systems' names", code: both(`import { aggregateStats, formatOutput, listFiles, writeFile } from "mcprun";
await writeFile("deep/er/rows.json", [1]);
const stats = aggregateStats([{ amount: 2 }, { amount: 4 }]);
console.log(stats.amount_sum, stats.amount.sum, stats.amount_avg, Object.keys(stats).join(), JSON.stringify(stats).includes("amount_"));
console.log(JSON.parse(formatOutput([{ a: 1 }]))[0].a, (await listFiles()).includes("deep/er/rows.json"));
console.log(await searchTools("x").then(() => true, (e: unknown) => !(e instanceof ReferenceError)));`, `write_file("deep/er/rows.json", [1])
stats = aggregate_stats([{"amount": 2}, {"amount": 4}])
print(stats["amount_sum"], stats["amount"]["sum"], round(stats["amount_avg"]), ",".join(stats), str("amount_" in json.dumps(stats)).lower())
print(json.loads(format_output([{"a": 1}]))[0]["a"], str("deep/er/rows.json" in list_files()).lower())
print("true")`), check: prints("6 6 3 count,amount false\n1 true\ntrue\n")},
		{name: "names without an import", beside: map[string]string{"statistics.py": "mean = 'own'\nprint('loaded')\n", "own.py": "def when(): return date(2026, 1, 2)\n"},
			code: python(`import own
write_file("data/rows.json", [{"region": "n", "amount": 2}, {"region": "s", "amount": 4}])
rows = json.loads(read_file("data/rows.json"))
time = 1
def late(rows, before: Optional[date] = None) -> List[Dict[str, Any]]:
    return [r for r in rows if str(before or own.when() - timedelta(days=1)) < "2026-01-02"]
print(collections.Counter(r["region"] for r in late(rows))["n"], Decimal(1), re.sub("a", "b", "a"), time)
print(aggregate_stats(rows)["amount"]["mean"], aggregate_stats(rows, ["amount"])["count"], format_output(rows, max_chars=5).splitlines()[-1])
print(isinstance(datetime.now(), datetime), datetime.datetime(2026, 1, 2).date() == own.when(), str(workspace) == os.getcwd(), (workspace / "data").is_dir())
exec("print(base64.b64encode(b'x').decode(), defaultdict(int)[1])")
import statistics
print(statistics.mean, save_checkpoint("one", {"n": 1}), load_checkpoint())`),
			check: prints("1 1 b 1\n3.0 2 … (85 more characters)\nTrue True True True\neA== 0\nloaded\nown checkpoints/one.json {'n': 1}\n")},
		{name: "computed imports", beside: map[string]string{
			"registry.ts": "export const names: string[] = [];\n", "plugins/a.ts": "import { names } from '../registry.ts';\nnames.push('a');\nexport const name = 'a';\n",
			"plugins/b.ts": "import { names } from '../registry.ts';\nawait null;\nnames.push('b');\nexport default 'b';\n", "plugins/bad.ts": "throw new RangeError('from a plugin');\n",
		}, code: map[sandbox.Language]string{sandbox.LangTypeScript: `import { names } from "./registry.ts";
import { MCPError } from "./servers/client.ts";
const c = "client", p = "path";
const [a, b] = await Promise.all(["a", "b"].map((n) => import(` + "`./plugins/${n}.ts`" + `)));
console.log(a.name, b.default, [...names].sort().join("+"), a === await import("./plugins/" + a.name));
const late = await import(` + "`#servers/${c}.ts`" + `);
console.log(late.MCPError === MCPError, (await import("node:" + p)).join("x", "y"), typeof require(p).join);
for (const bad of ["bad", "nope", "../../secret"]) {
  try { await import(` + "`./plugins/${bad}.ts`" + `); console.log("no error"); }
  catch (e: any) { console.log(e instanceof Error, e.name, e.message.slice(0, 22)); }
}`},
			check: prints("a b a+b true\ntrue x/y function\ntrue RangeError from a plugin\ntrue Error \"./plugins/nope.ts\" do\ntrue Error \"./plugins/../../secre\n")},
	}
}
