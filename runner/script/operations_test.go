package script_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/mcpgen/mcpgen/runner/risk"
	"github.com/mcpgen/mcpgen/runner/script/judge"
)

// described lists what scripts do, as "process git status", or "process? git" where a part is computed.
func described(r *judge.Report) string {
	var out []string
	for _, op := range r.Operations {
		mark := ""
		if op.Computed {
			mark = "?"
		}
		out = append(out, strings.TrimSpace(op.Rule+mark+" "+op.Target))
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), ", ")
}

var typeScript = regexp.MustCompile(`from "|^(?:await|const|new) |\(await |^require`)

// What a script computes is never taken for a constant, whatever parts of it are.
func TestOperations(t *testing.T) {
	const cp = `import * as cp from "node:child_process"; `
	const fs = `import * as fs from "node:fs"; `
	const sub = "import subprocess, os, shutil\n"
	var files []txtar.File
	want := map[string]string{}
	for i, c := range []struct{ code, want string }{
		// TypeScript
		{cp + `cp.execSync("git status")`, "process git status"},
		{cp + `const c = "git status"; cp.execSync(c)`, "process git status"},
		{cp + "const dir = `src`; cp.exec(`ls ${dir}`, { cwd: \"/tmp\", timeout: 5 }, () => {})", "process ls src"},
		{cp + `cp.spawnSync("git", ["log", "-1"], { stdio: "inherit" })`, "process git log -1"},
		{cp + `console.log(cp.execFileSync("ls", ["-l"]).toString())`, "process ls -l"},
		{cp + `cp.spawn("ls").stdout.on("data", (d) => console.log(d)).on("end", () => {})`, "process ls"},
		{`require("child_process").execSync("ls"); (await import("node:child_process")).execSync("pwd")`, "process ls, process pwd"},
		{cp + `cp.spawn("git", process.argv)`, "process? git"},
		{cp + `const a = ["log"]; a.push("x"); cp.spawn("git", a)`, "process? git"},
		{cp + `cp.spawn(process.argv[2], ["a"])`, "process? a"},
		{cp + `cp.spawn("git", ["log", ...process.argv])`, "process? git log $"},
		{cp + `cp.execFileSync("git", ["log"], { shell: "/workspace/evil" })`, "process? git log"},
		{cp + `cp.execSync("ls", { env: { PATH: "/workspace" } })`, "process? ls"},
		{cp + `const o = { env: {} }; cp.execSync("ls", o)`, "process? ls"},
		{cp + `cp.fork("worker.js")`, "process? worker.js"},
		{cp + `let c = "ls"; if (Math.random() > 0.5) c = "rm"; cp.execSync(c)`, "process? ls"},
		{cp + `let c = "ls"; c += "; rm"; cp.execSync(c)`, "process? ls"},
		{cp + `let c = "ls"; function f() { [c] = ["rm"]; } f(); cp.execSync(c)`, "process? ls"},
		{cp + `let c = "ls"; for (c of ["rm"]) { cp.execSync(c); } cp.execSync(c)`, "process?, process? ls"},
		{cp + `function run(c = "ls") { cp.execSync(c); } run("rm")`, "process?"},
		{cp + `const run = cp.execSync; run("ls"); ["rm"].forEach(run)`, "process ls, process?"},
		{`import { execSync } from "child_process"; execSync(process.env.X)`, "process?"}, // the import on the same line is another fact
		{`import { exec } from "child_process"; import { promisify } from "util"; await promisify(exec)("ls")`, "process?"},
		{fs + `fs.writeFileSync("output/a.csv", "x")`, "file-write output/a.csv"},
		{fs + `import path from "node:path"; fs.writeFileSync(path.join("output", "a.csv"), "x")`, "file-write output/a.csv"},
		{fs + "for (const n of [1, 2]) fs.writeFileSync(`output/${n}.csv`, \"x\")", "file-write? output/1.csv"},
		{fs + `fs.renameSync("a", "output/b")`, "file-write a, file-write output/b"},
		{fs + `fs.copyFileSync("a", "output/b")`, "file-read a, file-write output/b"},
		{fs + `fs.openSync("a", "w"); fs.openSync("b"); fs.openSync("c", fs.constants.O_WRONLY)`, "file-read b, file-write a, file-write c"},
		{fs + `["a"].map(fs.writeFileSync as any)`, "file-write?"},
		{fs + `const all = { w: fs.writeFileSync }; all.w("a", "b")`, "file-write?"},
		{`await writeFile("a.txt", "b"); await readFile("c.txt")`, "file-read c.txt, file-write a.txt"},
		{`await fetch("https://api.example.com:8443/v1")`, "network api.example.com:8443"},
		{"const u = \"x.example\"; await fetch(`https://${u}/v1`)", "network x.example"},
		{`await fetch("https://" + process.env.HOST)`, "network? $"},
		{`await fetch("https://api.example.com@evil.com/")`, "network evil.com"},
		{`new WebSocket("wss://ws.example.com/")`, "network ws.example.com"},
		// Python
		{sub + `subprocess.run(["git", "log", "-1"], check=True, capture_output=True)`, "process git log -1"},
		{sub + `subprocess.run("ls -l", shell=True)`, "process ls -l"},
		{sub + `os.system("ls")`, "process ls"},
		{sub + "print(subprocess.run(['ls'], capture_output=True, text=True).stdout)\nsubprocess.Popen('pwd').wait()", "process ls, process pwd"},
		{sub + "r = subprocess.run(['ls'])\nprint(r.returncode, r.stdout.decode())", "process ls"},
		{sub + `c = ["git", "log"]` + "\n" + `subprocess.run(c)`, "process? git log"},
		{sub + `subprocess.run(["ls"], executable="/workspace/evil")`, "process? ls"},
		{sub + `subprocess.run(["ls"], **options)`, "process? ls"},
		{sub + `subprocess.run(args=["rm"])`, "process rm"},
		{sub + `os.execv("/bin/ls", ["rm"])`, "process? /bin/ls rm"},
		{sub + "c = 'l%s'\nc %= 's; rm'\nos.system(c)", "process? l%s"},
		{sub + "c = 'ls'\ndef f():\n  nonlocal_c = 1\n  global c\n  c = 'rm'\nf()\nos.system(c)", "process? ls"},
		{sub + "c = 'ls'\nfor c in ['rm']: pass\nos.system(c)", "process? ls"},
		{sub + "import sys\nos.system(f'ls {sys.argv}')", "process? ls $"},
		{sub + "list(map(os.system, ['rm']))", "process? rm"},
		{sub + "list(map(os.system, ['ls', 'rm -rf a']))", "process? ls rm -rf a"},
		{`write_file("output/a.txt", "x")`, "file-write output/a.txt"},
		{"from pathlib import Path\nPath('output') .joinpath('x').write_text('a')", "file-write? output/x"},
		{"from pathlib import Path\n(Path('output') / 'a.txt').write_text('a')", "file-write output/a.txt"},
		{"from pathlib import Path\nPath('a').rename('output/b')", "file-write a, file-write output/b"},
		{sub + "open('a', 'w')\nopen('b')\nopen('c', mode=m)\nopen('d', *args)\nos.open('e', os.O_WRONLY)", "file-read b, file-write a, file-write c, file-write d, file-write e"},
		{sub + "shutil.move('a', 'output/b')\nos.replace('c', 'd')", "file-write a, file-write c, file-write d, file-write output/b"},
		{sub + "os.remove('a.txt')", "file-delete a.txt"},
		{"import requests\nrequests.get('https://api.example.com/x')", "network api.example.com"},
		// Functions that open files, and what changes the meaning of a constant.
		{"import io, codecs, sqlite3\nio.FileIO('a', 'w')\ncodecs.open('b', 'w')\nsqlite3.connect('c')", "file-write a, file-write b, file-write c"},
		{sub + "open(os.path.join('output', '/workspace/a'), 'w')", "file-write? output//workspace/a"},
		{"from pathlib import Path\n(Path('output') / '/x').write_text('a')", "file-write? output//x"},
		{sub + "os.chdir('/tmp')\nopen('output', 'w')\nopen('/workspace/a', 'w')", "file-read?, file-write /workspace/a, file-write? output"},
		{"def w(p, o=open):\n  o(p, 'w')\nw('secret')", "file-write?"},
		{"import linecache\nlinecache.getlines('/etc/passwd')", "file-read /etc/passwd"},
		{"from pathlib import Path\nfor f in Path('input').glob('*.csv'):\n  print(f.read_text())", "file-read input, file-read?"},
		{sub + "c = 'ls'\nglobals()['c'] = 'rm'\nos.system(c)", "process? ls"},
		{sub + "from helper import *\nc = 'ls'\nos.system(c)", "process? ls"},
		{sub + "os.environ['PATH'] = '/workspace'\nos.system('ls')", "process? ls"},
		{sub + "subprocess.run(['ls -x/../curl', 'a'])", "process? ls -x/../curl a"},
		{sub + "try:\n  subprocess.run(['ls'], env=None)\nexcept subprocess.CalledProcessError as e:\n  print(e)", "process ls"},
		{sub + "subprocess.run(['ls'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)", "process ls"},
		{"import requests\ntry:\n  requests.get(url='https://api.example.com/x')\nexcept requests.exceptions.RequestException:\n  pass", "network api.example.com"},
		{"import requests\nrequests.request('https://api.example.com', 'https://evil.example')", "network evil.example"},
		{"import requests\nrequests.get('https://api.example.com', proxies={'https': 'http://evil.example'})", "network? api.example.com"},
		{"import requests\nbase = 'https://api.example.com/v1'\nfor i in range(3):\n  requests.get(f'{base}/{i}')", "network api.example.com"},
		{"import requests\nimport sys\nrequests.get('https://api.example.com' + sys.argv[1])", "network? api.example.com$"},
		{"import urllib.request\nurllib.request.urlopen(urllib.request.Request('https://api.example.com/x'))", "network api.example.com"},
		{"import socket\ns = socket.create_connection(('api.example.com', 443))", "network api.example.com"},
		{"import socket\ns = socket.socket()\ns.connect(('evil.example', 80))", "network evil.example, network?"},
		{"const base = \"https://api.example.com\";\nfor (const id of [1, 2]) await fetch(`${base}/v1/${id}`);", "network api.example.com"},
		{"const base = \"https://api.example.com\"; await fetch(`${base}${process.argv[2]}`)", "network? api.example.com$"},
		{"import requests\nprint(requests.get('https://api.example.com/x').json())\nrequests.get('https://b.example').headers.get('x')", "network api.example.com, network b.example"},
		{"import requests\ns = requests.Session()\ns.get('https://api.example.com/x')\ns.post(url)", "network api.example.com, network?"},
		{"import httpx\nc = httpx.Client(base_url='https://evil.example')\nc.get('/x')", "network /x"},
		{"import urllib.request\nurllib.request.urlopen(url)", "network?"},
	} {
		name := fmt.Sprintf("%d.py", i)
		if typeScript.MatchString(c.code) {
			name = fmt.Sprintf("%d.ts", i)
		}
		files = append(files, txtar.File{Name: name, Data: []byte(c.code)})
		want[name] = c.want
	}
	reports := judged(t, files)
	for _, f := range files {
		if r := reports[f.Name]; r == nil || described(r) != want[f.Name] {
			t.Errorf("%s\n\tgot  %s\n\twant %s", f.Data, described(r), want[f.Name])
		}
	}
}

// An expected command is no finding, and neither is the import that it needs; every other one is.
func TestExpectedCommands(t *testing.T) {
	for code, want := range map[string]risk.Risk{
		`import { execSync } from "node:child_process"; execSync("git status")`:                                     risk.Low,
		`import { execSync } from "node:child_process"; execSync("git log -1 --format=short")`:                      risk.Low,
		`import { execSync } from "node:child_process"; execSync("git status; rm a")`:                               risk.Critical,
		`import { execSync } from "node:child_process"; execSync("curl x")`:                                         risk.Critical,
		`import { execSync } from "node:child_process"; execSync("git status"); execSync(process.env.X as string);`: risk.Critical,
	} {
		facts, err := readFacts("a.ts", code)
		if err != nil {
			t.Fatal(err)
		}
		if r := facts.Judge(&judge.Options{Commands: &judge.Commands{Allow: []string{"git"}}}); r.Risk != want {
			t.Errorf("%s: %s, %s; want %s", code, r.Risk, r.Reason, want)
		}
		if r := facts.Judge(&judge.Options{}); r.Risk != risk.Critical {
			t.Errorf("%s: %s without expected commands, want %s", code, r.Risk, risk.Critical)
		}
	}
}

// A script that does more than can be looked at is not taken for a harmless one.
func TestManyOperations(t *testing.T) {
	code := strings.Repeat("readFile(\"a\");\n", 12_000) + `writeFile("b", "c");`
	facts, err := readFacts("a.ts", code)
	if err != nil {
		t.Fatal(err)
	}
	if r := facts.Judge(&judge.Options{}); r.Risk != risk.Critical || r.Unread() == "" {
		t.Errorf("%s: %s", r.Risk, r.Reason)
	}
}
