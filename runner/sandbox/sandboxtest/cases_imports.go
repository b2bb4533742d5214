package sandboxtest

import "github.com/mcpgen/mcpgen/runner/sandbox"

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
