package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/workspace"
)

func TestCauses(t *testing.T) {
	for _, c := range []struct {
		name    string
		timeout time.Duration
		guest   func(*guest) sandbox.Exit
		code    int
		cause   runner.Cause
		message string
	}{
		{"by itself", 0, func(g *guest) sandbox.Exit { g.begin(); g.done(nil); return sandbox.Exit{} }, 0, runner.CauseExit, ""},
		{"with its own code", 0, func(g *guest) sandbox.Exit { g.begin(); g.done(nil); return sandbox.Exit{Code: 3} }, 3, runner.CauseExit, ""},
		{"with a hard exit", 0, func(g *guest) sandbox.Exit { g.begin(); return sandbox.Exit{Code: 4} }, 4, runner.CauseExit, ""},
		{"with a crash", 0, func(g *guest) sandbox.Exit { g.begin(); return sandbox.Exit{Code: 139} }, 139, runner.CauseExit, "139 stands for SIGSEGV"},
		{"by an uncaught error", 0, func(g *guest) sandbox.Exit {
			g.begin()
			g.done(object{"error": object{"name": "ValueError", "message": "no", "stack": ""}})
			return sandbox.Exit{Code: 1}
		}, 1, runner.CauseError, ""},
		{"by its time", 50 * time.Millisecond, func(g *guest) sandbox.Exit { g.begin(); return g.killed() }, 124, runner.CauseTimeout, "50ms (--timeout)"},
		{"by its memory", 0, func(g *guest) sandbox.Exit { g.begin(); return sandbox.Exit{Code: 137, Killed: "memory"} }, 137, runner.CauseMemory, "500 MB of memory (--memory)"},
		{"by losing its connection", 0, func(g *guest) sandbox.Exit { g.begin(); return sandbox.Exit{Code: 125} }, 125, runner.CauseBridge, "connection to the script was lost"},
		{"by breaking the protocol", 0, func(g *guest) sandbox.Exit {
			g.begin()
			g.send(object{"type": "nonsense"})
			return g.killed()
		}, 125, runner.CauseBridge, "nonsense"},
	} {
		t.Run(c.name, func(t *testing.T) {
			res, err := run(t, nil, runner.Script{Timeout: c.timeout}, c.guest)
			if err != nil {
				t.Fatal(err)
			}
			if res.ExitCode != c.code || res.Cause != c.cause || !strings.Contains(res.Message, c.message) {
				t.Errorf("exit code %d, cause %q, message %q; want %d, %q, %q", res.ExitCode, res.Cause, res.Message, c.code, c.cause, c.message)
			}
		})
	}
}

// TestScriptsThatDoNothing are told so, where they look as if they should have.
func TestScriptsThatDoNothing(t *testing.T) {
	nothing := func(g *guest) sandbox.Exit { g.begin(); g.done(nil); return sandbox.Exit{} }
	for _, c := range []struct {
		name, code string
		guest      func(*guest) sandbox.Exit
		want       string
	}{
		{"a function alone", "async () => { return 1 }", nothing, "the script did nothing"},
		{"no function", "1 + 1", nothing, "the script printed nothing and has no result: write print(…)"},
		{"no code", " ", nothing, ""},
		{"output", "async () => {}", func(g *guest) sandbox.Exit {
			g.begin()
			fmt.Fprint(g.spec.Stdout, "said")
			g.done(nil)
			return sandbox.Exit{}
		}, ""},
		{"a result", "async () => {}", func(g *guest) sandbox.Exit { g.begin(); g.done(object{"result": 0}); return sandbox.Exit{} }, ""},
		{"a failure", "async () => {}", func(g *guest) sandbox.Exit { g.begin(); g.done(nil); return sandbox.Exit{Code: 3} }, ""},
	} {
		res, err := run(t, nil, runner.Script{Code: c.code}, c.guest)
		if err != nil || !strings.HasPrefix(res.Message, c.want) || c.want == "" && strings.Contains(res.Message, "nothing") {
			t.Errorf("%s: %+v %v", c.name, res, err)
		}
	}
}

func TestDeletedWorkspace(t *testing.T) {
	res, err := run(t, nil, runner.Script{Workspace: t.TempDir(), Capture: true}, func(g *guest) sandbox.Exit {
		g.begin()
		fmt.Fprint(g.spec.Stdout, "said")
		if err := os.Remove(g.spec.Workspace); err != nil {
			t.Error(err)
		}
		g.done(nil)
		return sandbox.Exit{Code: 3}
	})
	if err != nil || res.ExitCode != 3 || res.Stdout != "said" || res.Files == nil {
		t.Errorf("%+v %v", res, err)
	}
}

// Configuration that a script writes to its workspace stops no later run, and is not left under its name.
func TestWrittenConfigurationIsSetAside(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, ".env"), []byte("MINE=1"), 0o600); err != nil { // a person's
		t.Fatal(err)
	}
	write := func(code int) func(g *guest) sandbox.Exit {
		return func(g *guest) sandbox.Exit {
			g.begin()
			for _, name := range []string{"mcpgen.yaml", ".mcp.json", ".env", "data.json"} {
				if err := os.WriteFile(filepath.Join(g.spec.Workspace, name), []byte("x"), 0o600); err != nil {
					t.Error(err)
				}
			}
			if err := os.Mkdir(filepath.Join(g.spec.Workspace, "mcpgen.json"), 0o755); err != nil {
				t.Error(err)
			}
			if code == 0 {
				g.done(nil)
			}
			return sandbox.Exit{Code: code}
		}
	}
	for _, code := range []int{0, 4} {
		res, err := run(t, nil, runner.Script{Workspace: dir}, write(code))
		if err != nil {
			t.Fatalf("exit code %d: %v", code, err)
		}
		warned := strings.Join(res.Warnings, "\n")
		for _, name := range workspace.ProjectFiles() {
			if _, err := os.Lstat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("exit code %d: %s stays: %v, want %v", code, name, err, fs.ErrNotExist)
			}
			if !strings.Contains(warned, "the script wrote "+name+" to the workspace") || !strings.Contains(warned, "it is now "+strings.TrimPrefix(name, ".")+".moved-") {
				t.Errorf("exit code %d: warnings %q", code, res.Warnings)
			}
		}
		if _, err := os.Stat(filepath.Join(dir, ".env")); err != nil || strings.Contains(warned, ".env") {
			t.Errorf(`exit code %d: a file that was there before was moved: %v, %q, want no ".env" in it and no error`, code, err, res.Warnings)
		}
		if len(res.Files) != 4 && code == 0 || !slices.Contains(res.Files, "data.json") {
			t.Errorf("exit code %d: files %q", code, res.Files)
		}
	}
}

func TestRefusedWorkspaceIsNotCreated(t *testing.T) {
	dir := t.TempDir()
	wanted := filepath.Join(dir, "new", "deep")
	r, err := runner.New(&runner.Options{Trusted: []string{filepath.Join(wanted, "mcpgen.yaml")}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Run(t.Context(), runner.Script{Code: "1", Language: sandbox.LangPython, Backend: &fakeBackend{}, Workspace: wanted})
	if _, refused := errors.AsType[*runner.WorkspaceError](err); !refused {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "new")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder was made: %v, want %v", err, fs.ErrNotExist)
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	up := &fakeUpstreams{errs: map[string]error{"calculator/add": errHang}}
	backend := &fakeBackend{guest: func(g *guest) sandbox.Exit {
		g.begin()
		g.send(object{"type": "call", "id": 1, "tool": "calculator__add", "args": object{"numbers": []int{1, 2}}})
		cancel()
		return g.killed()
	}}
	res, err := newRunner(t, up).Run(ctx, runner.Script{Name: "s.py", Language: sandbox.LangPython, Backend: backend})
	if err != nil {
		t.Fatal(err)
	}
	if res.ExitCode != 130 || res.Cause != runner.CauseInterrupted {
		t.Errorf("exit code %d, cause %q, want 130 and %q", res.ExitCode, res.Cause, runner.CauseInterrupted)
	}
}

func TestGuestThatNeverConnects(t *testing.T) {
	_, err := run(t, nil, runner.Script{}, func(*guest) sandbox.Exit { return sandbox.Exit{Code: 7} })
	var b *runner.BackendError
	if !errors.As(err, &b) || !strings.Contains(err.Error(), "code 7") {
		t.Errorf("error %v, want a BackendError that names the code", err)
	}
}

func TestWrongSecret(t *testing.T) {
	_, err := run(t, nil, runner.Script{}, func(g *guest) sandbox.Exit {
		g.spec.Secret = "guessed"
		g.begin()
		return g.killed()
	})
	if err == nil || !strings.Contains(err.Error(), "secret") {
		t.Errorf("error %v, want one about the secret", err)
	}
}

func TestCalls(t *testing.T) {
	result := func(text string) *upstream.CallResult {
		var res struct {
			Structured json.RawMessage   `json:"structuredContent"`
			Content    []json.RawMessage `json:"content"`
			IsError    bool              `json:"isError"`
		}
		if err := json.Unmarshal([]byte(text), &res); err != nil {
			t.Fatal(err)
		}
		return &upstream.CallResult{Raw: json.RawMessage(text), Structured: res.Structured, Content: res.Content, IsError: res.IsError}
	}
	for _, c := range []struct {
		name, tool, args string
		answer           *upstream.CallResult
		err              error
		want             string // the reply's value or error, without what differs
	}{
		{"structured content keeps its digits", "calculator__add", `{"numbers":[1,2]}`, result(`{"structuredContent":{"n":9007199254740993},"content":[]}`), nil, `{"n":9007199254740993}`},
		{"a single text", "calculator__add", `{"numbers":[1,2]}`, result(`{"content":[{"type":"text","text":"three"}]}`), nil, `"three"`},
		{"several blocks", "calculator__add", `{"numbers":[1,2]}`, result(`{"content":[{"type":"text","text":"a"},{"type":"weird","x":1}]}`), nil, `[{"type":"text","text":"a"},{"type":"weird","x":1}]`},
		{"no content", "calculator__add", `{"numbers":[1,2]}`, result(`{}`), nil, `[]`},
		{"a tool error", "calculator__add", `{"numbers":[1,2]}`, result(`{"isError":true,"content":[{"type":"text","text":"overflow"}]}`), nil, `"kind":"tool","message":"overflow"`},
		{"a protocol error", "calculator__add", `{"numbers":[1,2]}`, nil, &upstream.ProtocolError{Code: -32602, Message: "bad"}, `"kind":"protocol","message":"bad"`},
		{"a lost server", "calculator__add", `{"numbers":[1,2]}`, nil, errors.New("gone"), `"kind":"connection","message":"gone"`},
		{"an unknown server", "nope__add", `{}`, nil, nil, `there is no server \"nope\"; did you mean calculator__add?`},
		{"an unknown server and tool", "nope__nothing", `{}`, nil, nil, `no such server; the servers are: calculator,`},
		{"a tool that is nearly there", "calculator__ad", `{}`, nil, nil, `did you mean calculator__add?`},
		{"an unknown tool", "calculator__nope", `{}`, nil, nil, `has: calculator__add`},
		{"no id at all", "add", `{}`, nil, nil, `a tool id has the form server__tool`},
		{"arguments that do not fit", "calculator__add", `{"numbers":"12"}`, nil, nil, `"kind":"argument"`},
		{"an argument too many", "calculator__add", `{"numbers":[1,2],"numbrs":1}`, nil, nil, `numbrs`},
	} {
		t.Run(c.name, func(t *testing.T) {
			up := &fakeUpstreams{answers: map[string]*upstream.CallResult{"calculator/add": c.answer}, errs: map[string]error{"calculator/add": c.err}}
			var reply map[string]json.RawMessage
			res, err := run(t, up, runner.Script{}, func(g *guest) sandbox.Exit {
				g.begin()
				reply = g.call(1, c.tool, json.RawMessage(c.args))
				g.done(nil)
				return sandbox.Exit{}
			})
			if err != nil {
				t.Fatal(err)
			}
			got := string(reply["value"]) + string(reply["error"])
			if !strings.Contains(got, c.want) {
				t.Errorf("reply %s\nwant %s", got, c.want)
			}
			if refused := c.answer == nil && c.err == nil; refused != (len(up.seen) == 0) {
				t.Errorf("the server saw %q", up.seen)
			}
			if res.CallCount != 1 || len(res.Calls) != 1 || (res.Calls[0].Outcome == "ok") != (reply["error"] == nil) {
				t.Errorf("calls recorded: %+v", res.Calls)
			}
		})
	}
}

func TestCallTimeout(t *testing.T) {
	up := &fakeUpstreams{errs: map[string]error{"calculator/add": errHang}}
	r, err := runner.New(&runner.Options{Tree: "../servers", Upstreams: up, Servers: map[string]chain.ServerSettings{"calculator": {Timeout: 20 * time.Millisecond}}})
	if err != nil {
		t.Fatal(err)
	}
	var reply map[string]json.RawMessage
	_, err = r.Run(t.Context(), runner.Script{Name: "s.py", Language: sandbox.LangPython, Backend: &fakeBackend{guest: func(g *guest) sandbox.Exit {
		g.begin()
		reply = g.call(1, "calculator__add", object{"numbers": []int{1, 2}})
		g.done(nil)
		return sandbox.Exit{}
	}}})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(reply["error"]), `"kind":"timeout"`) {
		t.Errorf("reply %s, want a timeout", reply["error"])
	}
}

func TestCaptureFilesAndTokens(t *testing.T) {
	big := strings.Repeat("word ", 10_000)
	up := &fakeUpstreams{answers: map[string]*upstream.CallResult{"calculator/add": {Structured: json.RawMessage(`"` + big + `"`)}}}
	res, err := run(t, up, runner.Script{Code: "print(1)", Capture: true, Workspace: t.TempDir()}, func(g *guest) sandbox.Exit {
		job := g.begin()
		if string(job["name"]) != `"script.py"` || string(job["code"]) != `"print(1)"` {
			t.Errorf("job %s, want %q and %q", job, `"script.py"`, `"print(1)"`)
		}
		g.spec.Stdout.Write([]byte("short"))
		writeFile(t, g.spec.Workspace+"/out.csv", "a,b")
		g.call(1, "calculator__add", object{"numbers": []int{1, 2}})
		g.done(object{"result": object{"n": 1}})
		return sandbox.Exit{}
	})
	if err != nil {
		t.Fatal(err)
	}
	if res.Stdout != "short" || len(res.Files) != 1 || res.Files[0] != "out.csv" || string(res.Value) != `{"n":1}` {
		t.Errorf(`stdout %q, files %q, result %s, want "short", len(res.Files) 1, res.Files[0] "out.csv" and %q`, res.Stdout, res.Files, res.Value, `{"n":1}`)
	}
	tok := res.Tokens
	if tok.Results < 10_000 || tok.Wrappers == 0 || tok.Definitions == 0 || tok.Script == 0 || tok.Output == 0 {
		t.Errorf("tokens %+v", tok)
	}
	if tok.Used != tok.Script+tok.Wrappers+tok.Output || tok.Direct != tok.Definitions+tok.Arguments+tok.Results || tok.Saved != max(0, tok.Direct-tok.Used) {
		t.Errorf("the sums do not add up: %+v", tok)
	}
}

// TestNoCallSavesNothing: without a call to a tool that there is, the definitions would not have been needed either.
func TestNoCallSavesNothing(t *testing.T) {
	for name, tool := range map[string]string{"none": "", "unknown": "calculator__nothing", "known": "calculator__add"} {
		up := &fakeUpstreams{answers: map[string]*upstream.CallResult{"calculator/add": {Structured: json.RawMessage(`3`)}}}
		res, err := run(t, up, runner.Script{Code: "print(1)", Capture: true}, func(g *guest) sandbox.Exit {
			g.begin()
			if tool != "" {
				g.call(1, tool, object{"numbers": []int{1, 2}})
			}
			g.done(object{})
			return sandbox.Exit{}
		})
		if err != nil {
			t.Fatal(err)
		}
		if tok := res.Tokens; (tok.Definitions > 0) != (name == "known") || name == "none" && tok.Direct != 0 || tok.Saved != max(0, tok.Direct-tok.Used) {
			t.Errorf("%s: %+v", name, tok)
		}
	}
}
