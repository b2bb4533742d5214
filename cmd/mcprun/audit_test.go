package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
)

// recordServer is an MCP server whose tool look writes, to the file that the second argument names, which rows the record in the first has
// while it is called. Its tool hold does so too, and never answers.
func recordServer() {
	srv := mcp.NewServer(&mcp.Implementation{Name: "rec", Version: "1"}, nil)
	for _, name := range []string{"look", "hold"} {
		srv.AddTool(&mcp.Tool{Name: name, Description: "Does " + name + ".", InputSchema: json.RawMessage(`{"type": "object", "properties": {"to": {"type": "string"}}}`)}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			rows, err := recordOf(ctx, os.Args[1])
			if err != nil && !os.IsNotExist(err) { // nothing is recorded
				return nil, err
			}
			if err := os.WriteFile(os.Args[2]+".new", []byte(kindsOf(rows)), 0o600); err != nil {
				return nil, err
			}
			if err := os.Rename(os.Args[2]+".new", os.Args[2]); err != nil {
				return nil, err
			}
			calls, err := os.OpenFile(os.Args[2]+".calls", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
			if err != nil {
				return nil, err
			}
			if _, err := fmt.Fprintln(calls, name); err != nil {
				return nil, err
			}
			if err := calls.Close(); err != nil {
				return nil, err
			}
			if name == "hold" {
				<-ctx.Done()
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ok"}}}, nil
		})
	}
	if err := srv.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// recordOf returns the rows of a record, read by a connection of its own, without those about changes of the project. Behind those in the
// database are those in the write-ahead files.
func recordOf(ctx context.Context, path string) (rows []audit.Row, err error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	s, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return nil, err
	}
	add := func(r store.Row) error {
		row, err := audit.Decode(r)
		if row.Kind != audit.KindChange {
			rows = append(rows, row)
		}
		return err
	}
	err = errors.Join(s.Rows(ctx, store.Range{}, add), s.Close())
	files, _ := filepath.Glob(path + "-ahead-*.[01]") // the pattern is valid
	for _, f := range files {
		text, e := os.ReadFile(f)
		err = errors.Join(err, e)
		for line := range bytes.Lines(text) {
			err = errors.Join(err, add(store.Row{Content: line}))
		}
	}
	return rows, err
}

func kindsOf(rows []audit.Row) string {
	var kinds []string
	for _, r := range rows {
		kinds = append(kinds, string(r.Kind))
	}
	return strings.Join(kinds, " ")
}

// recorded is a project whose server looks at the record.
type recorded struct {
	dir, db, seen string
	env           []string
}

func newRecorded(t *testing.T) *recorded {
	t.Helper()
	if err := buildMcpgen(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	w := &recorded{
		dir, filepath.Join(dir, "state.db"), filepath.Join(dir, "seen"),
		append(os.Environ(), "MCPGEN_TRUST=1", "HOME="+t.TempDir(), "XDG_STATE_HOME=", "XDG_CACHE_HOME=", "XDG_RUNTIME_DIR=", "CI=1", "MCPRUN_SANDBOX=embedded", "MCPRUN_STATE="+filepath.Join(dir, "state.db")),
	}
	for name, text := range map[string]string{
		".mcp.json":   fmt.Sprintf(`{"mcpServers": {"rec": {"command": "recordmcp", "args": [%q, %q]}}}`, w.db, w.seen),
		"mcpgen.yaml": "version: 1\nservers: {rec: {protocol: legacy, trusted: true}}\n",
		"hold.ts":     "import { hold } from \"./servers/rec\";\nawait hold({ to: \"ann@example.org\" });\n",
		"look.ts":     "import { look } from \"./servers/rec\";\nconsole.log(await look({ to: \"ann@example.org\" }));\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sync := exec.CommandContext(t.Context(), filepath.Join(programs, "mcpgen"), "sync")
	sync.Dir, sync.Env = dir, w.env
	if out, err := sync.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return w
}

func (w *recorded) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "mcprun", args...)
	cmd.Dir, cmd.Env = w.dir, w.env
	return cmd
}

// wait returns what the server has seen, once it has.
func (w *recorded) wait() (seen []byte, err error) {
	deadline := time.Now().Add(time.Minute)
	for seen, err = os.ReadFile(w.seen); err != nil && time.Now().Before(deadline); seen, err = os.ReadFile(w.seen) {
		time.Sleep(20 * time.Millisecond)
	}
	return seen, err
}

// TestRecordSurvivesKill: when a server gets a call, another process finds the intents of the run and the call in the database. A mcprun that
// is killed then leaves them there without an end: their outcome is unknown.
func TestRecordSurvivesKill(t *testing.T) {
	for _, args := range [][]string{
		{"--audit", "hold.ts"}, {"--customer", "acme", "hold.ts"}, {"call", "--audit", "rec__hold", "to=ann@example.org"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			w := newRecorded(t)
			cmd := w.command(t.Context(), args...)
			cmd.Stderr = t.Output()
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			seen, err := w.wait()
			if err := cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
			_ = cmd.Wait() // it was killed
			if string(seen) != "run call" {
				t.Errorf("the server saw %q, %v; want %q", seen, err, "run call")
			}
			if out, err := w.command(t.Context(), "audit", "list").CombinedOutput(); err != nil || !strings.Contains(string(out), "unknown") {
				t.Errorf("mcprun audit list: %v\n%s", err, out)
			}
			if left, _ := filepath.Glob(w.db + "-ahead-*"); left != nil {
				t.Errorf("mcprun audit list left %q", left)
			}
			rows, err := recordOf(t.Context(), w.db)
			if err != nil || kindsOf(rows) != "run call" {
				t.Fatalf("the record has %q, %v, want %q", kindsOf(rows), err, "run call")
			}
			unknown, err := audit.Unknown(rows)
			if err != nil || len(unknown) != 2 {
				t.Errorf("%d actions have an unknown outcome, %v, want 2", len(unknown), err)
			}
			if text := string(rows[1].Body); !strings.Contains(text, `"[EMAIL #1]"`) || strings.Contains(text, "ann@example.org") || rows[1].Run != rows[0].Run {
				t.Errorf("the call is %s, in run %s, want tokens, and run %s", text, rows[1].Run, rows[0].Run)
			}
			if rows[0].Who.User == "" || (args[0] == "--customer") != (rows[0].Who.Customer == "acme" && rows[0].Who.Session != "") {
				t.Errorf("the run is of %+v", rows[0].Who)
			}
		})
	}
}

// TestRecordOfCommands: runs are recorded with the exit code that the command gave, and only if they are to be.
func TestRecordOfCommands(t *testing.T) {
	w := newRecorded(t)
	for _, c := range []struct {
		args string
		exit int
		more string // kinds of rows
	}{
		{"look.ts", 0, ""},
		{"--customer acme --audit=false look.ts", 0, ""},
		{"--audit look.ts", 0, "run call call.end run.end"},
		{"--audit --json --pii output look.ts", 0, "run call call.end run.end"},
		{"call --audit rec__look", 0, "run call call.end run.end"},
		{"--audit --dry-run look.ts", 0, "run call.end run.end"},
		{"--audit -e process.exit(7)", 7, "run run.end"},
		{"--audit --restricted -e eval('1')", 126, "run.end"},
		{"--audit --timeout 1s -e for(;;);", 124, "run run.end"},
	} {
		had, _ := recordOf(t.Context(), w.db)
		cmd := w.command(t.Context(), strings.Fields(c.args)...)
		out, err := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != c.exit {
			t.Errorf("mcprun %s: %v, want exit code %d\n%s", c.args, err, c.exit, out)
		}
		rows, err := recordOf(t.Context(), w.db)
		if err != nil && (c.more != "" || !os.IsNotExist(err)) {
			t.Fatal(err)
		}
		rows = rows[len(had):]
		if got := kindsOf(rows); got != c.more {
			t.Errorf("mcprun %s: the record has %q, want %q", c.args, got, c.more)
			continue
		}
		if len(rows) == 0 {
			continue
		}
		var end audit.RunEnd
		if err := json.Unmarshal(rows[len(rows)-1].Body, &end); err != nil || end.ExitCode != c.exit || end.Success != (c.exit == 0) {
			t.Errorf("mcprun %s: the end is %s, %v, want the exit code %d", c.args, rows[len(rows)-1].Body, err, c.exit)
		}
	}
}

// TestRecordCannotBeOpened: a run that is to be recorded is refused, with what to do.
func TestRecordCannotBeOpened(t *testing.T) {
	w := newRecorded(t)
	if err := os.WriteFile(w.db, []byte(strings.Repeat("no database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := w.command(t.Context(), "--audit", "look.ts")
	out, _ := cmd.CombinedOutput()
	if _, err := os.Stat(w.seen); err == nil || cmd.ProcessState.ExitCode() != 125 || !strings.Contains(string(out), "--audit=false") {
		t.Errorf("exit code %d, want 125; %v\n%s", cmd.ProcessState.ExitCode(), err, out)
	}
}

// TestRecordOfServe: mcprun serve records, and knows its client.
func TestRecordOfServe(t *testing.T) {
	w := newRecorded(t)
	cmd := w.command(t.Context(), "serve", "--pii", "off")
	cmd.Stderr = t.Output()
	client := mcp.NewClient(&mcp.Implementation{Name: "claude", Version: "9"}, nil)
	cs, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string]map[string]any{
		"execute_code": {"code": `import { look } from "./servers/rec"; export const result = await look({ to: "ann@example.org" });`},
		"call_tool":    {"tool": "rec__look", "arguments": map[string]any{"to": "ann@example.org"}},
	} {
		res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
		if err != nil || res.IsError {
			t.Fatalf("%s: %v %+v", name, err, res)
		}
	}
	uses := []struct {
		tool string
		args map[string]any
		row  string
	}{
		{"sanitize_pii", map[string]any{"text": "ann@example.org"}, ""},
		{"restore_pii", map[string]any{"text": "[EMAIL_1] and [EMAIL_1]"}, `{"action":"restore_pii","count":1,"names":["[EMAIL_1]"]}`},
		{"write_workspace_file", map[string]any{"filename": "ann@example.org", "content": "x"}, `{"action":"write_workspace_file","count":1,"names":["[EMAIL #1]"]}`},
		{"read_workspace_file", map[string]any{"filename": "ann@example.org"}, `{"action":"read_workspace_file","count":1,"names":["[EMAIL #1]"]}`},
		{"save_skill", map[string]any{"name": "sums", "code": "export const one = 1;"}, `{"action":"save_skill","count":1,"names":["sums"]}`},
		{"load_skill", map[string]any{"name": "sums"}, `{"action":"load_skill","count":1,"names":["sums"]}`},
	}
	accesses := []string{}
	for _, u := range uses {
		if res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: u.tool, Arguments: u.args}); err != nil || res.IsError {
			t.Fatalf("%s: %v %+v", u.tool, err, res)
		}
		if u.row != "" {
			accesses = append(accesses, u.row)
		}
	}
	if err := cs.Close(); err != nil {
		t.Fatal(err)
	}
	rows, err := recordOf(t.Context(), w.db)
	if want := "run call call.end run.end run call call.end run.end access access access access access"; err != nil || kindsOf(rows) != want {
		t.Fatalf("the record has %q, %v, want %q", kindsOf(rows), err, want)
	}
	sessions := map[audit.Text]bool{}
	got := []string{}
	for _, row := range rows {
		if sessions[row.Who.Session] = true; row.Kind == audit.KindAccess {
			got = append(got, string(row.Body))
		}
		if row.Who.Client != "claude" || row.Who.ClientVersion != "9" || row.Who.User == "" || strings.Contains(string(row.Body), "ann@example.org") {
			t.Errorf("%s of %+v: %s", row.Kind, row.Who, row.Body)
		}
	}
	if !slices.Equal(got, accesses) {
		t.Errorf("the rows of kind access are %q, want %q", got, accesses)
	}
	if len(sessions) != 1 || sessions[""] {
		t.Errorf("the sessions are %v, want one", sessions)
	}
	actions := slices.DeleteFunc(rows, func(r audit.Row) bool { return r.Kind != audit.KindRunEnd })
	if all := string(actions[0].Body) + string(actions[1].Body); !strings.Contains(all, `"execute_code"`) || !strings.Contains(all, `"call_tool"`) {
		t.Errorf("the ends are %s", all)
	}
}

// TestRecordOfLogins: a client's first request over HTTP, and a token that is not accepted.
func TestRecordOfLogins(t *testing.T) {
	w := newRecorded(t)
	tokens := filepath.Join(w.dir, "tokens.txt")
	if err := os.WriteFile(tokens, []byte(strings.Repeat("a", 40)+" acme\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Run("serve", func(t *testing.T) { // to its end
		url := serveURL(t, w.command(context.WithoutCancel(t.Context()), "serve", "--http", "127.0.0.1:0", "--token-file", tokens))
		for _, token := range []string{strings.Repeat("b", 40), strings.Repeat("a", 40)} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+token)
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Accept", "application/json, text/event-stream")
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
		}
	})
	rows, err := recordOf(t.Context(), w.db)
	if err != nil || kindsOf(rows) != "login login" {
		t.Fatalf("the record has %q, %v, want two logins", kindsOf(rows), err)
	}
	if got, want := string(rows[0].Body), `{"event":"refused","subject":"127.0.0.1"}`; got != want || rows[0].Who.Customer != "" {
		t.Errorf("the first is %s of %+v, want %s", got, rows[0].Who, want)
	}
	if got, want := string(rows[1].Body), `{"event":"login","subject":"127.0.0.1"}`; got != want || rows[1].Who.Customer != "acme" {
		t.Errorf("the second is %s of %+v, want %s", got, rows[1].Who, want)
	}
}
