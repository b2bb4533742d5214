package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestServeCache has two servers that share a state, and personal data in results. Equal calls reach the server once, whichever of the two is
// asked; what scripts and clients get has tokens, and the state has nothing in the clear.
func TestServeCache(t *testing.T) {
	p := newPeople(t, "cache: {ttl: 1h}\nrun: {state: state.db}\n")
	calls := func(want int) {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(p.dir, "calls.txt"))
		if got := strings.Count(string(text), "\n"); err != nil || got != want {
			t.Fatalf("the server got %d calls, %v, want %d:\n%s", got, err, want, text)
		}
	}
	const script = `import { listContacts } from "./servers/people"; const { contacts } = await listContacts({}); console.log(contacts[0].name, contacts[0].email);`
	run := func() {
		t.Helper()
		if text, failed := p.call("execute_code", map[string]any{"code": script, "language": "typescript"}); failed || !strings.Contains(text, "[EMAIL_1]") {
			t.Fatalf("execute_code failed: %v, %s, want the token of the address", failed, text)
		}
	}
	describe := func() {
		t.Helper()
		if text, failed := p.call("call_tool", map[string]any{"tool": "people__describe", "arguments": map[string]any{"to": "[EMAIL_1]"}}); failed || !strings.Contains(text, "[EMAIL_1]") {
			t.Fatalf("call_tool failed: %v, %s, want the token of the address", failed, text)
		}
	}
	p.serve("--tools", "all", "--pii", "bridge")
	run()
	run()
	calls(1)
	describe()
	describe()
	calls(2)
	if text, _ := p.call("get_execution_stats", nil); !strings.Contains(text, `"cache":{"hits":2,"misses":2,"bytes":`) {
		t.Errorf("get_execution_stats: %s, want 2 hits and 2 misses", text)
	}
	_ = p.cs.Close()
	p.serve("--tools", "all", "--pii", "bridge")
	run()
	describe()
	calls(2)
	for range 2 {
		p.call("call_tool", map[string]any{"tool": "people__ask"}) // what a person answers is for one call
	}
	calls(4)
	if text, failed := p.call("call_tool", map[string]any{"tool": "people__send", "arguments": map[string]any{"to": "[EMAIL_1]"}}); failed {
		t.Fatalf("call_tool failed: %s", text)
	}
	run()
	calls(6) // the call that changes something, and the one after it
	_ = p.cs.Close()
	p.hasNoCanary("what the clients received", p.got.String())
	files, _ := filepath.Glob(filepath.Join(p.dir, "state.db*"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p.hasNoCanary(file, string(text))
	}
	if len(files) == 0 {
		t.Error("there is no state")
	}
}
