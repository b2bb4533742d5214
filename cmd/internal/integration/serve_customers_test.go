package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
)

// remote is a hand-written client of the newest revision over HTTP: one POST for each call.
type remote struct{ url, token string }

// call calls a tool and returns its text, and whether that is an error.
func (r remote) call(t *testing.T, tool string, args map[string]any) (string, bool) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{
		"name": tool, "arguments": args,
		"_meta": map[string]any{
			"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": map[string]any{},
			"io.modelcontextprotocol/clientInfo": map[string]any{"name": "x", "version": "1"},
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": "Bearer " + r.token,
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool,
	} {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %v: %s, want %d and no error", tool, res.StatusCode, err, text, http.StatusOK)
	}
	for line := range strings.Lines(string(text)) {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok && !strings.HasPrefix(line, "{") {
			continue
		}
		var said struct {
			Result *struct {
				Content []struct{ Text string }
				IsError bool
			}
		}
		if json.Unmarshal([]byte(data), &said) == nil && said.Result != nil {
			return said.Result.Content[0].Text, said.Result.IsError
		}
	}
	t.Fatalf("%s: no result in %s", tool, text)
	return "", false
}

// TestServeCustomers checks that customers' files, skills, tokens of personal data and logs are kept apart, even while their runs
// are in progress at the same time.
func TestServeCustomers(t *testing.T) {
	t.Parallel()
	needSandbox(t, "process", "python")
	p := serveProject(t)
	names := []string{"acme", "globex"}
	var tokens strings.Builder
	for _, name := range names {
		fmt.Fprintf(&tokens, "token-of-%s-for-tests %s\n", name, name)
	}
	if err := os.Chmod(p.write("tokens.txt", tokens.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	url := p.serveHTTP(t, "--sandbox", "process", "--token-file", "tokens.txt", "--parallel", "4", "--pii", "off") // for restore_pii
	var all sync.WaitGroup
	for i, name := range names {
		r := remote{url, "token-of-" + name + "-for-tests"}
		mail := name + "@example.com"
		for n := range 3 {
			all.Go(func() {
				code := fmt.Sprintf("import os\nopen('%s-%d.txt', 'w').write('x')\nfor d, _, f in os.walk('.'):\n  if 'servers' not in d: print(d, f)", name, n)
				out, failed := r.call(t, "execute_code", map[string]any{"code": code, "language": "python"})
				_, written, _ := strings.Cut(out, "files written: ") // files of the customer's other runs may be among them
				if failed || strings.Contains(out, names[1-i]) || !strings.Contains(written, fmt.Sprintf("%s-%d.txt", name, n)) {
					t.Errorf("%s: %v %s", name, failed, out)
				}
			})
		}
		all.Go(func() {
			if out, failed := r.call(t, "save_skill", map[string]any{"name": name + "_skill", "code": "def go():\n  return '" + name + "'\n", "language": "python", "description": "d"}); failed {
				t.Error(out)
			}
			if out, failed := r.call(t, "sanitize_pii", map[string]any{"text": mail}); failed || !strings.HasPrefix(out, "[EMAIL_1]") {
				t.Errorf("%v %s", failed, out)
			}
		})
	}
	all.Wait()
	for i, name := range names {
		r, other := remote{url, "token-of-" + name + "-for-tests"}, names[1-i]
		for _, tool := range []string{"list_workspace_files", "list_skills"} {
			if out, failed := r.call(t, tool, nil); failed || !strings.Contains(out, name) || strings.Contains(out, other) {
				t.Errorf("%s, %s: %v %s", name, tool, failed, out)
			}
		}
		if out, _ := r.call(t, "restore_pii", map[string]any{"text": "[EMAIL_1]"}); out != name+"@example.com" {
			t.Errorf("%s: [EMAIL_1] is %q, want %q", name, out, name+"@example.com")
		}
		if out, failed := r.call(t, "execute_code", map[string]any{"code": fmt.Sprintf("from skills.%s_skill import go\nprint(go())", name), "language": "python"}); failed || !strings.HasPrefix(out, name) {
			t.Errorf("%s: its skill: %v %s", name, failed, out)
		}
		if out, failed := r.call(t, "execute_code", map[string]any{"code": fmt.Sprintf("from skills.%s_skill import go\nprint(go())", other), "language": "python"}); !failed {
			t.Errorf("%s: the other's skill: %s", name, out)
		}
		if out, failed := r.call(t, "get_execution_stats", nil); failed || !strings.Contains(out, `"runs":5`) || !strings.Contains(out, `"sessions":1`) {
			t.Errorf("%s: %v %s", name, failed, out)
		}
	}
}
