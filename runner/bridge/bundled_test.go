package bridge_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script"
	"github.com/mcpgen/mcpgen/templates"
)

// inClient matches places in the client, which this package does not control.
var inClient = regexp.MustCompile(`servers/client\.ts:\d+:\d+`)

// TestGuestBundled runs bundled TypeScript in the real guest: errors must point to the script's own lines.
func TestGuestBundled(t *testing.T) {
	tree, beside := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{
		filepath.Join(tree, "client.ts"):    templates.Text("ts/client.ts"),
		filepath.Join(tree, "crm/index.ts"): `export { getRecord } from "./getRecord.ts";`,
		filepath.Join(tree, "crm/getRecord.ts"): `import { callMCPTool } from "../client.ts";
export async function getRecord(input: { id: number }): Promise<unknown> {
  return callMCPTool("crm__get_record", input);
}`,
		filepath.Join(beside, "lib.ts"): "export interface Row { x: number }\nexport function sum(rows: Row[]): number {\n  return rows[0]!.x.missing.y;\n}\n",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		code   string
		exit   int
		stdout string
	}{
		"tool error": {"import { getRecord } from './servers/crm';\n\ninterface A { id: number }\nasync function main(a: A): Promise<void> {\n\tawait getRecord(a);\n}\nawait main({ id: 1 });\n", 1, ""},
		"own error":  {"interface A { x: number }\nfunction f(a: A) {\n  if (a.x) throw new RangeError('boom');\n}\nf({ x: 1 });\n", 1, ""},
		"beside":     {"import { sum } from './lib';\n\nconsole.log(sum([{ x: 1 }]));\n", 1, ""},
		"places":     {"console.log(import.meta.url, import.meta.dirname);\nexport {};\n", 0, "file:///workspace/script.ts /workspace\n"},
		"main":       {"const fs = require('fs');\nif (require.main === module) console.log('main', typeof fs.readFileSync, __filename);\n", 0, "main function /workspace/script.ts\n"},
	} {
		t.Run(name, func(t *testing.T) {
			job, err := script.Read(t.Context(), script.Source{Name: "script.ts", Code: test.code, Language: sandbox.LangTypeScript, Dir: beside},
				script.Options{Tree: tree})
			if err != nil {
				t.Fatal(err)
			}
			e := guestRun{lang: "typescript", code: job.Code, handler: func(context.Context, *call.Request) (*call.Result, error) {
				return nil, &call.Error{Kind: call.KindTool, Message: "no such record", Server: "crm", Tool: "crm__get_record"}
			}}.run(t)
			if e.exit != test.exit || e.stdout != test.stdout {
				t.Errorf("exit %d, stdout %q, stderr %s, want %d and %q", e.exit, e.stdout, e.stderr, test.exit, test.stdout)
			}
			if test.exit != 0 {
				golden(t, "bundled-"+name, inClient.ReplaceAllString(e.stderr, "servers/client.ts"))
			}
		})
	}
}
