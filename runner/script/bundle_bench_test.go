package script

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// bigTree writes a tree of 20 servers with 100 tools each, as mcpgen writes them.
func bigTree(t testing.TB) string {
	files := map[string]string{"client.ts": "export async function callMCPTool(tool: string, args: unknown) { return [tool, args]; }\n"}
	for s := range 20 {
		index := generated + " DO NOT EDIT.\n/** Server. */\n"
		for i := range 100 {
			name := fmt.Sprintf("doThing%d", i)
			index += fmt.Sprintf("export * from \"./%s.ts\"; // Does it.\n", name)
			input := ""
			for p := range 8 {
				input += fmt.Sprintf("  /** Property %d, which says something about the thing. */\n  property%d?: string | undefined;\n", p, p)
			}
			files[fmt.Sprintf("server%d/%s.ts", s, name)] = "import { callMCPTool } from \"../client.ts\";\n/** Input. */\nexport interface Input {\n" + input + "}\n" +
				fmt.Sprintf("/** Does it. */\nexport async function %s(input: Input): Promise<unknown> {\n  return callMCPTool(\"server%d__%s\", input);\n}\n", name, s, name)
		}
		files[fmt.Sprintf("server%d/index.ts", s)] = index
	}
	return folder(t, files)
}

// twenty is a script with an import of each server, written by style.
func twenty(style string) string {
	var imports, calls strings.Builder
	for s := range 20 {
		fmt.Fprintf(&imports, strings.ReplaceAll(style, "N", "%[1]d")+"\n", s)
		if strings.Contains(style, "*") {
			fmt.Fprintf(&calls, "console.log(await s%d.doThing%d({ property1: 'x' }));\n", s, s)
		} else {
			fmt.Fprintf(&calls, "console.log(await doThing%d({ property1: 'x' }));\n", s)
		}
	}
	return imports.String() + calls.String()
}

func BenchmarkTwentyImports(b *testing.B) {
	tree := bigTree(b)
	for name, style := range map[string]string{
		"names":     "import { doThingN } from './servers/serverN';",
		"namespace": "import * as sN from './servers/serverN';",
		"files":     "import { doThingN } from './servers/serverN/doThingN.ts';",
		"whole":     "import * as sN from './servers/serverN'; console.log(sN);",
	} {
		code := twenty(style)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				made, err := Read(b.Context(), Source{Name: "script.ts", Code: code, Language: sandbox.LangTypeScript}, Options{Tree: tree})
				if err != nil {
					b.Fatal(err)
				}
				if strings.Count(made.Code, "__doThing") < 20 {
					b.Fatalf("a wrapper is missing in\n%s", made.Code)
				}
			}
		})
	}
}
