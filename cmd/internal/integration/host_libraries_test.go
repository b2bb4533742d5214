package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// hostFake makes this program a stand-in for mcprun, for what the real one does not do in a test.
const hostFake = "HOST_FAKE"

// serveHost acts as mcprun for the libraries of hosts, if it is told to.
func serveHost() bool {
	mode := os.Getenv(hostFake)
	switch mode {
	case "":
		return false
	case "garbage":
		fmt.Println("<html>")
	case "hang":
		time.Sleep(time.Minute) // it is killed before; select {} would be a deadlock in a program that does nothing else
	case "interrupted":
		os.Exit(130)
	default:
		_, _ = io.Copy(io.Discard, os.Stdin)
		answer := map[string]any{"task": "as it was read", "output": "", "selection": map[string]any{"found": 11, "selected": 3}, "argv": os.Args[1:]}
		ends := map[string]int{"no model": 125, "refused": 126, "untrusted": 126, "unsaved": 125, "failed": 1}
		switch answer["script"] = map[string]any{"language": "typescript", "code": "export default 8.0"}; mode {
		case "no model":
			answer["error"], answer["script"] = "no model is configured", map[string]any{"language": "typescript", "code": "// scaffold"}
		case "untrusted":
			answer = map[string]any{"task": "as it was read", "error": "nobody agreed"}
			fallthrough
		case "refused":
			answer["error"] = "the policy refuses it"
			fmt.Fprintln(os.Stderr, "mcprun: the policy refuses it\nhint: ask ann")
		case "failed":
			answer["error"], answer["run"] = "TypeError: x", map[string]any{"exitCode": 1, "cause": "error"}
		default:
			answer["result"], answer["output"], answer["attempts"] = 8.0, "8.0\n", []any{map[string]any{"ran": true}}
			answer["run"] = map[string]any{"exitCode": 0, "cause": "exit"}
		}
		if mode == "unsaved" {
			fmt.Fprintln(os.Stderr, "mcprun: save the script: no such folder")
		}
		if err := json.NewEncoder(os.Stdout).Encode(answer); err != nil {
			panic(err)
		}
		os.Exit(ends[mode])
	}
	return true
}

// hostProject is a project with the calculator, in which programs of hosts run.
func hostProject(t *testing.T) *project {
	t.Helper()
	p := newProject(t, map[string]server{"calculator": {Command: binary("mcpdemo"), Args: []string{"calculator"}}})
	if out := p.run("mcpgen", "sync"); out.code != 0 {
		t.Fatalf("mcpgen sync: %d\n%s%s", out.code, out.stdout, out.stderr)
	}
	return p
}

// program runs a program of a host, and checks how what it prints ends.
func (p *project) program(t *testing.T, env []string, end, name string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), commandTime)
	defer cancel()
	path, err := exec.LookPath(name)
	need(t, err)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := p.command(ctx, "mcprun", args...)
	cmd.Path, cmd.Args[0] = path, name
	cmd.Env = append(append(cmd.Env, "MCPRUN="+binary("mcprun"), "FAKE_MCPRUN="+self, "HOME="+p.path("home")), env...)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.HasSuffix(string(out), end) {
		t.Errorf("%s %q: %v\n%s", name, args, err, clip(string(out)))
	}
}

// hostFlow is a workflow of these tests.
const hostFlow = `import { vars, workflow } from "mcprun";
const paid = await workflow.waitFor("paid");
const { plan } = await workflow.ask("Which plan?", { schema: { type: "object", properties: { plan: { type: "string" }, seats: { type: "integer" } }, required: ["plan"] } });
export default { paid, plan, input: vars.input, secret: vars.secret };
`

// TestPythonHost packs the Python package, checks the types of a program that uses it, and runs the program.
func TestPythonHost(t *testing.T) {
	needSandbox(t, "process", "python")
	p := hostProject(t)
	p.writeJSON("dist/metadata.json", map[string]any{"version": "1.2.0-rc.1"})
	for _, args := range [][]string{{filepath.Join(root, "deploy", "python", "pack.py"), p.path("dist")}, {"-m", "zipfile", "-e", p.path("dist/python/mcprun_host-1.2.0rc1-py3-none-any.whl"), p.path("site")}} {
		if out, err := exec.CommandContext(t.Context(), "python3", args...).CombinedOutput(); err != nil {
			t.Fatalf("python3 %q: %v\n%s", args, err, out)
		}
	}
	program, err := os.ReadFile(filepath.Join("testdata", "host", "program.py"))
	if err != nil {
		t.Fatal(err)
	}
	p.write("program.py", string(program))
	p.write("flow.ts", hostFlow)
	p.writeJSON("pyrightconfig.json", map[string]any{"include": []string{"program.py", "site/mcprun_host"}, "extraPaths": []string{"site"}, "typeCheckingMode": "strict", "pythonVersion": "3.11"})
	p.compile(t, "pyright", "-p", ".")
	p.program(t, []string{"PYTHONPATH=" + p.path("site"), "PYTHONDONTWRITEBYTECODE=1"}, "ok\n", "python3", "-W", "error", "program.py")
}

// TestNodeHost checks the types of a program that uses the npm module, and runs the program.
func TestNodeHost(t *testing.T) {
	p := hostProject(t)
	if err := os.CopyFS(p.path("node_modules/@mcpgen/host"), os.DirFS(filepath.Join(root, "deploy", "npm", "host"))); err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(filepath.Join("testdata", "host", "program.ts"))
	if err != nil {
		t.Fatal(err)
	}
	p.write("program.mts", string(program))
	p.write("flow.ts", hostFlow)
	p.write("node.d.ts", "declare module \"node:assert/strict\" {\n  const assert: typeof import(\"./assert.d.ts\").default;\n  export default assert;\n}\ndeclare const process: { env: Record<string, string | undefined> };\ndeclare module \"node:fs\" {\n  export function existsSync(path: string): boolean;\n}\n")
	p.write("assert.d.ts", `declare const assert: {
  ok(value: unknown, message?: string): asserts value;
  equal(got: unknown, want: unknown): void;
  deepEqual(got: unknown, want: unknown): void;
  match(got: string, want: RegExp): void;
  rejects(got: Promise<unknown> | (() => Promise<unknown>), want: RegExp | ((thrown: unknown) => boolean)): Promise<void>;
};
export default assert;
`)
	p.writeJSON("tsconfig.json", map[string]any{
		"compilerOptions": map[string]any{
			"strict": true, "exactOptionalPropertyTypes": true, "noUncheckedIndexedAccess": true, "noPropertyAccessFromIndexSignature": true, "skipLibCheck": false,
			"module": "nodenext", "target": "es2023", "lib": []string{"es2023", "dom"}, "types": []string{},
		},
		"files": []string{"program.mts", "node.d.ts"},
	})
	p.compile(t, "tsc", "-p", ".")
	p.program(t, nil, "ok\n", "node", "program.mjs")
}

// TestHostExamples runs the programs in examples/host with the demo servers.
func TestHostExamples(t *testing.T) {
	needSandbox(t, "process", "python")
	p := newDemo(t)
	for _, name := range []string{"workflow.ts", "host/leads.py", "host/leads.mjs"} {
		text, err := os.ReadFile(filepath.Join(root, "examples", name))
		if err != nil {
			t.Fatal(err)
		}
		p.write("examples/"+name, string(text))
	}
	if err := os.CopyFS(p.path("node_modules/@mcpgen/host"), os.DirFS(filepath.Join(root, "deploy", "npm", "host"))); err != nil {
		t.Fatal(err)
	}
	const end = "@example.com\ncopied 2 of 2; all are there: true\ndone\n"
	env := []string{"PYTHONPATH=" + filepath.Join(root, "deploy", "python"), "PYTHONDONTWRITEBYTECODE=1", "MCPRUN_SANDBOX=process", "MCPRUN_PII="}
	p.program(t, env, end, "python3", "-W", "error", "examples/host/leads.py")
	p.program(t, env, end, "node", "examples/host/leads.mjs")
}
