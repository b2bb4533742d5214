package hint

import (
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runner/bridge"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// TestRules contains the errors of the interpreters.
func TestRules(t *testing.T) {
	const py, ts = sandbox.LangPython, sandbox.LangTypeScript
	const offline, handle = "no network", "pass its text() or json()"
	for _, c := range []struct {
		lang                       sandbox.Language
		name, message, stack, code string
		want                       string // a part of the hint; empty if there is none
	}{
		{ts, "Error", "getaddrinfo EAI_AGAIN example.com", "", "", offline},
		{ts, "Error", "x", "getaddrinfo ENOTFOUND example.com", "", offline},
		{ts, "Error", "connect EPERM 1.1.1.1:80 - Local (undefined:undefined)", "", "", offline},
		{py, "URLError", "<urlopen error [Errno -3] Temporary failure in name resolution>", "", "", offline},
		{py, "PermissionError", "x", "File \"/usr/lib/socket.py\", line 1\nPermissionError: [Errno 1] Operation …", "", offline},
		{py, "ModuleNotFoundError", "No module named 'requests'", "", "", offline},
		{ts, "Error", "connect ECONNREFUSED 127.0.0.1:80", "", "", ""},
		{py, "PermissionError", "[Errno 1] Operation not permitted: '/etc'", "", "", ""},
		{py, "ModuleNotFoundError", "No module named 'pandas'", "", "", "no packages are installed (an operator"},
		{py, "ModuleNotFoundError", "No module named 'servers.crn'; the servers are: crm", "", "", ""},
		{py, "ImportError", "attempted relative import with no known parent package", "", "", "without the dot"},
		{ts, "Error", "spawnSync /bin/sh ENOENT", "", "", "no other programs"},

		{ts, "TypeError", `The "data" argument must be of type string or an instance of Buffer. Received an instance of ResultHandle`, "", "", handle},
		{ts, "TypeError", `The "data" argument must be of type string or an instance of Buffer. Received object`, "", "", handle},
		{py, "TypeError", "the JSON object must be str, bytes or bytearray, not Handle", "", "", handle},
		{py, "TypeError", "Object of type date is not JSON serializable", "", "", ""},
		{py, "KeyError", "Handle", "", "", ""},
		{py, "TypeError", "string indices must be integers, not 'str'", "", "", "crm__list returned a text, not an object or a list: print it once to see what it holds; if it is JSON, use json.loads"},
		{py, "AttributeError", "'str' object has no attribute 'get'", "", "", "crm__list returned a text"},
		{py, "KeyError", "'structuredContent'", "", "r['structuredContent']", "a call returns the value itself"},
		{py, "KeyError", "'content'", "", "row['contents']", ""},
		{ts, "TypeError", "Cannot read properties of undefined (reading 'items')", "", "const d = r.structuredContent; d.items", "a call returns the value itself"},
		{ts, "TypeError", "cannot read property 'text' of undefined", "", "r.content[0].text", "a call returns the value itself"},
		{py, "NameError", "name 'context_vars' is not defined", "", "context_vars['limit']", "a variable of the script"},
		{ts, "ReferenceError", "'context_vars' is not defined", "", "context_vars.limit", "a variable of the script"},
		{py, "FileNotFoundError", "[Errno 2] No such file or directory: '/data/x.csv'", "", "", `/data/x.csv is not in the sandbox: files are in the script's workspace, by relative paths such as "x.csv"`},
		{py, "OSError", "[Errno 30] Read-only file system: '/data'", "", "", "/data is not in the sandbox"},
		{ts, "Error", "ENOENT: no such file or directory, open '/data/x.csv'", "", "", "/data/x.csv is not in the sandbox"},
		{ts, "Error", "ENOENT: no such file or directory, open '/workspace/x.csv'", "", "", ""},
		{ts, "Error", "ENOENT: no such file or directory, open 'hint.go'", "", "", "hint.go is in the project, which is not in the sandbox"},
		{ts, "Error", "ENOENT: no such file or directory, open 'none.go'", "", "", ""},
		{ts, "Error", "ENOENT: no such file or directory, open '../hint/hint.go'", "", "", ""},
		{ts, "TypeError", "rows.filter is not a function", "    at a.ts:1:5", "rows.filter(a)", "crm__list returned a text"},
		{ts, "TypeError", "not a function", "    at a.ts:1:5", "(await list()).filter(a)", "crm__list returned a text"},
		{ts, "TypeError", "r.split is not a function", "    at a.ts:1:5", "r.split(a)", "crm__json returned JSON, which is an object or a list to the script: its text is String(value)"},
		{ts, "TypeError", "not a function", "    at a.ts:1:5", "r.split(a)", "crm__json returned JSON"},
		{py, "AttributeError", "'dict' object has no attribute 'splitlines'", "", "", "its text is str(value)"},
		{py, "AttributeError", "'dict' object has no attribute 'name'", "", "", ""},
		{py, "TypeError", "expected string or bytes-like object, got 'list'", "", "", "crm__json returned JSON"},
		{py, "TypeError", "write() argument must be str, not dict", "", "", "crm__json returned JSON"},
		{py, "TypeError", `can only concatenate str (not "dict") to str`, "", "", "crm__json returned JSON"},

		{py, "TypeError", "object dict can't be used in 'await' expression", "", "", "leave await out"},
		{py, "TypeError", "'list' object can't be awaited", "", "", "leave await out"},
		{py, "TypeError", "An asyncio.Future, a coroutine or an awaitable is required", "", "", "ThreadPoolExecutor"},
		{py, "TypeError", "unhashable type: 'dict'", "  File \"/usr/lib/python3.11/asyncio/tasks.py\", line 789, in gather\n", "", "ThreadPoolExecutor"},
		{py, "TypeError", "unhashable type: 'dict'", "", "{{}: 1}", ""},
		{py, "TypeError", "'builtin_function_or_method' object is not iterable", "", "", `answer["items"]`},
		{ts, "TypeError", "list(...) is not a function or its return value is not async iterable", "    at a.ts:2:5", "x\nfor await (const t of list()) {}", "for await cannot iterate"},
		{ts, "TypeError", "not a function", "    at a.ts:2:5", "x\nfor await (const t of list()) {}", "for await cannot iterate"},
		{ts, "TypeError", "not a function", "    at a.ts:1:5", "rows.x()", ""},

		{ts, "TypeError", "Cannot read properties of undefined (reading 'length')", "    at a.ts:1:5", "f(process.env.TOKEN.length)", "TOKEN is not set"},
		{ts, "Error", "TOKEN is not set", "    at a.ts:2:5", "if (!process.env['TOKEN'])\n  throw 1", "TOKEN is not set"},
		{py, "KeyError", "'TOKEN'", "", "os.environ[\"TOKEN\"]", "TOKEN is not set"},
		{py, "KeyError", "'id'", "", "os.environ.get('TOKEN')", ""},
		{py, "TypeError", `can only concatenate str (not "NoneType") to str`, "", "t = os.getenv('TOKEN')\nh = 'Bearer ' + t", "TOKEN is not set"},
		{py, "ValueError", "bad", "  File \"a.ts\", line 2, in <module>\n", "x = 1\nf(os.getenv('TOKEN'))", "TOKEN is not set"},

		{py, "SyntaxError", "invalid syntax", "", "import { a } from \"./servers/crm\";", "looks like TypeScript"},
		{py, "SyntaxError", "invalid syntax", "", "def f(:\n  pass", ""},
		{py, "SyntaxError", "'return' outside function", "", "return 1", "result = VALUE"},
		{py, "NameError", "name 'console' is not defined", "", "", "use print"},
		{ts, "ReferenceError", "print is not defined", "", "", "console.log"},
		{ts, "ReferenceError", "'Intl' is not defined", "", "", "the embedded sandbox has no Intl"},
		{ts, "ReferenceError", "'Foo' is not defined", "", "", ""},
	} {
		f := Failure{Name: "a.ts", Language: c.lang, Code: c.code, Err: &bridge.ScriptError{Name: c.name, Message: c.message, Stack: c.stack}, Dir: ".", Handles: true, ParsedTools: []string{"crm__json"}, TextTools: []string{"crm__list"}}
		got := f.Hint()
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("Hint() of %s: %s = %q, want %q", c.name, c.message, got, c.want)
		}
	}
	for _, f := range []Failure{
		{},
		{Err: &bridge.ScriptError{Name: "TypeError", Message: "not Handle"}},
		{Err: &bridge.ScriptError{Name: "AttributeError", Message: "'str' object has no attribute 'get'"}},
	} {
		if got := f.Hint(); got != "" {
			t.Errorf("Hint() = %q, want none", got)
		}
	}
}

// TestHTTPClients: the hint for a missing HTTP client depends on what the run had.
func TestHTTPClients(t *testing.T) {
	for _, c := range []struct {
		network   bool
		installed string
		want      string
	}{
		{want: "the sandbox has no network, and no httpx; call tools instead, as in: from servers.SERVER import TOOL"},
		{installed: "the installed packages are yaml", want: "a script can import the standard library, servers, skills, mcprun, and the files beside it; the installed packages are yaml"},
		{network: true, installed: "the installed packages are yaml", want: "a script can import the standard library (urllib.request reaches the network), servers, skills, mcprun, and the files beside it; the installed packages are yaml"},
		{network: true, want: "a script can import the standard library (urllib.request reaches the network), servers, skills, mcprun, and the files beside it; no packages are installed (an operator installs them: mcprun packages install; or mcprun image --data for numpy, pandas and openpyxl)"},
	} {
		f := Failure{
			Language: sandbox.LangPython, Code: "import httpx", Network: c.network, Installed: func() string { return c.installed },
			Err: &bridge.ScriptError{Name: "ModuleNotFoundError", Message: "No module named 'httpx'"},
		}
		if got := f.Hint(); got != c.want {
			t.Errorf("Hint() with network %t and %q installed = %q, want %q", c.network, c.installed, got, c.want)
		}
	}
}

// TestRequestsOfBrowsers: what is said of the ways in which browsers make requests depends on whether the run had a network.
func TestRequestsOfBrowsers(t *testing.T) {
	const offline = "the sandbox has no network; call the tools in ./servers instead"
	for _, c := range []struct {
		name    string
		network bool
		want    string
	}{
		{"XMLHttpRequest", false, offline},
		{"WebSocket", false, offline},
		{"XMLHttpRequest", true, "sandboxes have no XMLHttpRequest; use fetch"},
		{"WebSocket", true, "sandboxes have no WebSocket; use fetch"},
	} {
		f := Failure{Language: sandbox.LangTypeScript, Network: c.network, Err: &bridge.ScriptError{Name: "ReferenceError", Message: "'" + c.name + "' is not defined"}}
		if got := f.Hint(); !strings.HasPrefix(got, c.want) {
			t.Errorf("Hint() for %s with network %t = %q, want %q", c.name, c.network, got, c.want)
		}
	}
}

func TestMissingCredential(t *testing.T) {
	for code, want := range map[string]string{
		"const h = `Bearer ${process.env.GITHUB_TOKEN}`;": "GITHUB_TOKEN",
		"h = '%s' % os.environ.get('API_KEY')":            "API_KEY",
		"process.env['DB_PASSWORD'];":                     "DB_PASSWORD",
		"process.env.API_KEY ?? 'none'":                   "",
		"os.getenv('API_KEY', 'none')":                    "",
		"process.env.DEBUG":                               "",
	} {
		if got := MissingCredential(code); got != want {
			t.Errorf("MissingCredential(%s) = %q, want %q", code, got, want)
		}
	}
}
