package hint

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/runner/bridge"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

func TestNames(t *testing.T) {
	tree := t.TempDir()
	for _, name := range []string{"drive/index.ts", "drive/getDocument.ts", "drive/get_document.py", "drive/__init__.py", "wiki/getDocument.ts", "wiki/get_document.py"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(tree, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(tree, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	servers, err := catalog.New([]catalog.Server{{Key: "drive", Dir: "drive"}, {Key: "wiki", Dir: "wiki", Tools: []catalog.Tool{{ID: "wiki__get_document", Name: "get-document"}, {ID: "wiki__third", Name: "third"}}}})
	if err != nil {
		t.Fatal(err)
	}
	const v8, quickjs, python = "%s is not defined", "'%s' is not defined", "name '%s' is not defined"
	for _, c := range []struct {
		language          sandbox.Language
		kind, words, name string
		want              string
	}{
		{sandbox.LangTypeScript, "ReferenceError", v8, "callMCPTool", `callMCPTool is not defined; import it: import { callMCPTool } from "mcprun"`},
		{sandbox.LangTypeScript, "ReferenceError", quickjs, "call_mcp_tool", `call_mcp_tool is not defined; did you mean callMCPTool? import { callMCPTool } from "mcprun"`},
		{sandbox.LangTypeScript, "ReferenceError", v8, "getDocument", `getDocument is not defined; import it: import { getDocument } from "./servers/drive" or import { getDocument } from "./servers/wiki"`},
		{sandbox.LangTypeScript, "ReferenceError", v8, "getDocumnt", `getDocumnt is not defined; did you mean getDocument? import { getDocument } from "./servers/drive"`},
		{sandbox.LangTypeScript, "ReferenceError", v8, "drive", `drive is not defined; import it: import * as drive from "./servers/drive"`},
		{sandbox.LangTypeScript, "ReferenceError", v8, "MCPToolError", `MCPToolError is not defined; import it: import { MCPToolError } from "mcprun"`},
		{sandbox.LangPython, "NameError", python, "get_document", `get_document is not defined; import it: from servers.drive import get_document or from servers.wiki import get_document`},
		{sandbox.LangPython, "NameError", python, "getDocument", `getDocument is not defined; import it: from servers.drive import get_document or from servers.wiki import get_document`},
		{sandbox.LangPython, "NameError", python, "readFile", `readFile is not defined; import it: from mcprun import read_file`},
		{sandbox.LangPython, "NameError", python, "wiki", `wiki is not defined; import it: import servers.wiki as wiki`},
		{sandbox.LangTypeScript, "ReferenceError", v8, "codemode", `codemode is not defined; tools are imported from their server, as in: import * as drive from "./servers/drive"`},
		{sandbox.LangPython, "NameError", python, "mcp", `mcp is not defined; tools are imported from their server, as in: import servers.drive as drive`},
		{sandbox.LangTypeScript, "ReferenceError", v8, "wiki__get_document", `wiki__get_document is a tool's id; import its function: import { getDocument } from "./servers/wiki"`},
		{sandbox.LangPython, "NameError", python, "wiki__get_document", `wiki__get_document is a tool's id; import its function: from servers.wiki import get_document`},
		{sandbox.LangPython, "NameError", python, "wiki__third", `wiki__third is a tool's id; call it by call_mcp_tool("wiki__third", {…})`},
		{sandbox.LangTypeScript, "ReferenceError", v8, "document", ""},
		{sandbox.LangTypeScript, "ReferenceError", v8, "dri", ""},
		{sandbox.LangTypeScript, "ReferenceError", v8, "foo", ""},
		{sandbox.LangTypeScript, "TypeError", v8, "getDocument", ""},
	} {
		message := strings.Replace(c.words, "%s", c.name, 1)
		f := &Failure{Language: c.language, Tree: tree, Catalog: servers, Err: &bridge.ScriptError{Name: c.kind, Message: message}}
		if got := cmp.Or(f.toolID(), f.name()); got != c.want {
			t.Errorf("name() of %q = %q, want %q", message, got, c.want)
		}
	}
	missing := `getDocumnt is not a function; did you mean getDocument? import { getDocument } from "./servers/drive"`
	f := &Failure{Name: "a.ts", Language: sandbox.LangTypeScript, Code: "import * as s from './servers';\nawait s.drive.getDocumnt({});", Tree: tree, Catalog: servers}
	for _, e := range []bridge.ScriptError{
		{Name: "TypeError", Message: "drive_exports.getDocumnt is not a function"},
		{Name: "TypeError", Message: "not a function", Stack: "TypeError: not a function\n    at a.ts:2:15"},
		{Name: "TypeError", Message: "not a function", Stack: "TypeError: not a function\n    at f (a.ts:2:15)\n    at a.ts:1:1"},
	} {
		f.Err = &e
		if got := f.name(); got != missing {
			t.Errorf("name() of %+v = %q, want %q", e, got, missing)
		}
	}
	for _, e := range []bridge.ScriptError{
		{Name: "TypeError", Message: "d.getDocument is not a function"},
		{Name: "TypeError", Message: "rows.fliter is not a function"},
		{Name: "TypeError", Message: "not a function"},
		{Name: "TypeError", Message: "not a function", Stack: "    at b.ts:2:15"},
		{Name: "TypeError", Message: "not a function", Stack: "    at a.ts:99:15"},
		{Name: "TypeError", Message: "not a function", Stack: "    at a.ts:2:999999999999999999999"},
	} {
		f.Err = &e
		if got := f.name(); got != "" {
			t.Errorf("name() of %+v = %q, want none", e, got)
		}
	}
	for _, name := range []string{"codemode", "getDocument", "drive"} {
		f := &Failure{Tree: filepath.Join(tree, "gone"), Catalog: servers, Err: &bridge.ScriptError{Name: "ReferenceError", Message: name + " is not defined"}}
		if got := f.name(); got != "" {
			t.Errorf("name() of %s without a tree = %q, want none", name, got)
		}
	}
}

func TestModules(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"utils.py", "lib/helper.py", "notes.txt", "_hidden.py"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for message, want := range map[string]string{
		"No module named 'utlis'; there are others":        `there is no module "utlis"; beside the script there is "utils"`,
		"No module named 'lib.helpr'":                      `there is no module "lib.helpr"; beside the script there is "lib/helper"`,
		"No module named 'lbi.helper'":                     `there is no module "lbi.helper"; beside the script there is "lib"`,
		"No module named 'utlis'; did you mean 'utility'?": "", // the guest has given a hint
		"No module named 'server.crm'":                     `there is no module "server.crm"; the modules of mcprun are servers, skills and mcprun`,
		"No module named 'pandas'":                         "",
		"No module named 'note'":                           "",
		"No module named '../utils'":                       "",
		"No module named 'utils'":                          "", // it exists, so something else is wrong
		"cannot import name 'utlis' from 'somewhere'":      "",
	} {
		f := &Failure{Language: sandbox.LangPython, Dir: dir, Err: &bridge.ScriptError{Name: "ModuleNotFoundError", Message: message}}
		if got := f.module(); got != want {
			t.Errorf("module() of %q = %q, want %q", message, got, want)
		}
	}
	f := &Failure{Language: sandbox.LangPython, Err: &bridge.ScriptError{Name: "ModuleNotFoundError", Message: "No module named 'utlis'"}}
	if got := f.module(); got != "" {
		t.Errorf("module() of a script without a folder = %q, want none", got)
	}
}
