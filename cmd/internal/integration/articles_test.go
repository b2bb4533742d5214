package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// articlesVariable turns the test binary into the server of that name in [serveArticles].
const articlesVariable = "MCPGEN_IT_ARTICLES"

// serveArticles is the main function of the servers in public articles about code that calls MCP servers. It returns false
// if the process is not one of them. Updates go to a file of the working directory.
func serveArticles() bool {
	name := os.Getenv(articlesVariable)
	if name == "" {
		return false
	}
	srv := mcp.NewServer(&mcp.Implementation{Name: name, Version: "1"}, nil)
	add := func(tool, schema, output string, answer func(args map[string]any) any) {
		t := &mcp.Tool{Name: tool, InputSchema: json.RawMessage(schema)}
		if output != "" {
			t.OutputSchema = json.RawMessage(output)
		}
		srv.AddTool(t, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var args map[string]any
			if err := json.Unmarshal(req.Params.Arguments, &args); err != nil {
				return nil, err
			}
			return &mcp.CallToolResult{StructuredContent: answer(args)}, nil
		})
	}
	strings := func(names ...string) string {
		properties := map[string]any{}
		for _, n := range names {
			properties[n] = map[string]any{"type": "string"}
		}
		text, _ := json.Marshal(map[string]any{"type": "object", "properties": properties, "required": names})
		return string(text)
	}
	const rows = `{"type": "array", "items": {"type": "object", "additionalProperties": {"type": "string"}}}`
	switch name {
	case "google-drive":
		add("get_document", strings("documentId"), strings("title", "content"), func(args map[string]any) any {
			return map[string]any{"title": fmt.Sprint("Title of ", args["documentId"]), "content": transcript()}
		})
		add("get_sheet", strings("sheetId"), rows, func(map[string]any) any { return orders() })
		add("get_sheet_rows", strings("sheetId"), `{"type": "object", "properties": {"rows": `+rows+`}, "required": ["rows"]}`, func(map[string]any) any {
			return map[string]any{"rows": leads()}
		})
	case "salesforce":
		add("update_record", `{"type": "object", "properties": {"objectType": {"type": "string"}, "recordId": {"type": "string"}, "data": {"type": "object"}},
			"required": ["objectType", "recordId", "data"]}`, "", func(args map[string]any) any { return recordUpdate(args) })
		add("query", strings("query"), rows, func(map[string]any) any { return leads() })
	case "slack":
		var asked atomic.Int32
		add("get_channel_history", strings("channel"), rows, func(map[string]any) any {
			if asked.Add(1) < 2 {
				return []any{map[string]any{"text": "deploying"}}
			}
			return []any{map[string]any{"text": "deploying"}, map[string]any{"text": "deployment complete"}}
		})
	}
	if err := srv.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return true
}

// transcript returns a text that must not appear in the output.
func transcript() string {
	return strings.Repeat("[00:01] We talked about prices for a long time. ", 4000)
}

func orders() []any {
	var all []any
	for i := range 10_000 {
		status := "done"
		if i%100 == 7 {
			status = "pending"
		}
		all = append(all, map[string]any{"Order": fmt.Sprint(i), "Status": status})
	}
	return all
}

func leads() []any {
	var all []any
	for i := range 50 {
		all = append(all, map[string]any{
			"Id": fmt.Sprint(i), "Email": fmt.Sprintf("lead%d@example.com", i), "salesforceId": fmt.Sprint("00Q", i),
			"email": fmt.Sprintf("lead%d@example.com", i), "phone": "555", "name": fmt.Sprint("Lead ", i),
		})
	}
	return all
}

func recordUpdate(args map[string]any) any {
	text, err := json.Marshal(args)
	if err == nil {
		var f *os.File
		if f, err = os.OpenFile(os.Getenv("UPDATES"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
			_, err = f.Write(append(text, '\n'))
			f.Close()
		}
	}
	return map[string]any{"updated": err == nil}
}

// TestArticles runs scripts from public articles, unchanged.
func TestArticles(t *testing.T) {
	t.Parallel()
	for _, where := range places() {
		t.Run(where.String(), func(t *testing.T) {
			t.Parallel()
			where.need(t)
			p := newArticles(t)
			for _, c := range articles() {
				if (filepath.Ext(c.script) == ".py") != (where.language == "python") {
					continue
				}
				t.Run(c.script, func(t *testing.T) {
					res := p.runJSON(t, where, 0, c.script)
					if res.Cause != "exit" || res.Stderr != "" {
						t.Errorf(`cause %q, %s, stderr %q, want "exit" and Stderr ""`, res.Cause, res.Message, clip(res.Stderr))
					}
					if got := strings.TrimSpace(res.Stdout); !strings.HasPrefix(got, c.stdout) || len(got) > 1500 {
						t.Errorf("stdout %q, want %q", clip(got), c.stdout)
					}
					if res.CallCount != c.calls {
						t.Errorf("%d calls, want %d", res.CallCount, c.calls)
					}
					for _, name := range c.files {
						if !slices.Contains(res.Files, name) {
							t.Errorf("it wrote %q, not %q", res.Files, name)
						}
					}
				})
			}
			updates, err := os.ReadFile(p.path("updates.jsonl"))
			if err != nil || !strings.Contains(string(updates), "We talked about prices") {
				t.Errorf(`the transcript is not where it should be: %v, want "We talked about prices" in it and no error`, err)
			}
		})
	}
}

// article is one script and its expected result.
type article struct {
	script, stdout string
	calls          int
	files          []string
}

// articles returns the articles in the order in which they run. Some use files that earlier ones wrote.
func articles() []article {
	return []article{
		{"transcript.ts", "", 2, nil},
		{"sheet.ts", "Found 100 pending orders\n[", 1, nil},
		{"poll.ts", "Deployment notification received", 2, nil},
		{"leads.ts", "Updated 50 leads", 51, nil},
		{"save.ts", "", 1, []string{"leads.csv"}},
		{"resume.ts", "50", 0, nil},
		{"skill.ts", "./workspace/sheet-abc123.csv", 1, []string{"sheet-abc123.csv"}},
		{"discover.ts", "google_drive getDocument,getSheet,getSheetRows\nsalesforce query,updateRecord\nslack getChannelHistory\ntrue\nTitle of abc123", 1, nil},
		{"commonjs.js", "Title of abc123", 1, []string{"title.txt"}},
		{"transcript.py", "", 2, nil},
		{"sheet.py", "Found 100 pending orders\n{'", 1, nil},
		{"parallel.py", "['google_drive', 'salesforce', 'slack']\n['Title of abc123', 'Title of def456', 'Title of ghi789']\nTrue", 6, nil},
		{"files.py", "['leads.json']\n50\n50", 1, []string{"leads.csv"}},
	}
}

// newArticles returns a project with the servers of the articles, their tree, the scripts and a skill.
func newArticles(t *testing.T) *project {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	servers := map[string]server{}
	for _, name := range []string{"google-drive", "salesforce", "slack"} {
		servers[name] = server{Command: self, Env: map[string]string{articlesVariable: name, "UPDATES": "updates.jsonl", "GORACE": "atexit_sleep_ms=0"}}
	}
	p := newProject(t, servers)
	p.sync()
	for _, c := range articles() {
		p.write(c.script, testdata(t, "articles/"+c.script))
	}
	p.write("skills/save-sheet-as-csv.ts", testdata(t, "articles/skills/save-sheet-as-csv.ts"))
	return p
}
