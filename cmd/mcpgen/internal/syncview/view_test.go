package syncview

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/catalog/diff"
)

func TestAnnotationCommand(t *testing.T) {
	tests := []struct {
		in   annotation
		want string
	}{
		{annotation{level: "error", lines: []string{"plain"}}, "::error ::plain\n"},
		{annotation{level: "error", file: "a,b:c", line: 3, title: "100%\n::x", lines: []string{"one%0A", "two\r\n::error::"}},
			"::error file=a%2Cb%3Ac,line=3,title=100%25\\n%3A%3Ax::one%250A%0Atwo\\r\\n::error::\n"},
		{annotation{level: "warning", lines: strings.Split(strings.Repeat("x\n", 29)+"x", "\n")},
			"::warning ::" + strings.Repeat("x%0A", mostLines) + "and 10 more\n"},
	}
	for _, tt := range tests {
		if got := tt.in.command(); got != tt.want {
			t.Errorf("%+v:\n%q, want\n%q", tt.in, got, tt.want)
		}
	}
}

// hostile is text that would have an effect in a log, in Markdown or in HTML.
const hostile = "\n::error::x\n##[add-mask]y <script>alert(1)</script> ![i](https://evil.example/i) www.evil.example @team | `c` **b** &amp; \u202e \x1b[2J <!--"

// printer returns a view of a report about a server whose every text is hostile.
func printer(t *testing.T, tools int) (*View, *bytes.Buffer) {
	t.Helper()
	catalogs := make([]*catalog.Catalog, 2)
	for i := range catalogs {
		var raws []json.RawMessage
		for n := range tools {
			raw, err := json.Marshal(map[string]any{
				"name": fmt.Sprint("tool", n, hostile), "description": fmt.Sprint("says ", i, hostile),
				"inputSchema": map[string]any{"type": "object", "properties": map[string]any{"p" + hostile: map[string]any{"enum": []any{hostile, i}}}},
			})
			if err != nil {
				t.Fatal(err)
			}
			raws = append(raws, raw)
		}
		server, _ := catalog.NewServer("srv"+hostile, hostile, fmt.Sprint(i, hostile), raws)
		c, err := catalog.New([]catalog.Server{server})
		if err != nil {
			t.Fatal(err)
		}
		catalogs[i] = c
	}
	var out bytes.Buffer
	app := &cli.App{Stdout: &out, Stderr: &out, Dir: t.TempDir()}
	report := &gen.Report{Out: filepath.Join(app.Dir, "servers"), Config: ".mcp.json", Check: true, Changes: diff.Catalogs(catalogs[0], catalogs[1], nil),
		Servers:  []gen.ServerReport{{Key: "srv" + hostile, Status: gen.Failed, Err: fmt.Errorf("down%s", hostile)}},
		Warnings: []gen.Warning{{Place: "p" + hostile, Message: "m" + hostile}}, Kept: []string{"k" + hostile}}
	return &View{App: app, Report: report, Repair: "mcpgen sync"}, &out
}

// TestGitHubLogRunsNoForeignCommand checks that only our own workflow commands are executed, whatever servers say.
func TestGitHubLogRunsNoForeignCommand(t *testing.T) {
	p, out := printer(t, 30)
	if err := p.github(); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	token, ok := strings.CutPrefix(lines[0], "::stop-commands::")
	if !ok || len(token) < 20 {
		t.Fatalf("it begins with %q", lines[0])
	}
	stopped, byLevel := true, map[string]int{}
	command := regexp.MustCompile(`^::(error|warning|notice) ([^:]*)::[^\r\n]*$`)
	for _, line := range lines[1:] {
		switch {
		case line == "::"+token+"::":
			stopped = false
		case stopped:
		default:
			m := command.FindStringSubmatch(line)
			if m == nil {
				t.Fatalf("not an annotation: %q", line)
			}
			byLevel[m[1]]++
		}
	}
	if stopped || byLevel["error"] != mostAnnotations || byLevel["warning"] != 2 {
		t.Errorf("stopped %v, %v", stopped, byLevel)
	}
}

func TestSummaryHoldsForeignTextOnly(t *testing.T) {
	p, _ := printer(t, 30)
	for range 2 {
		if err := p.AppendSummary(filepath.Join(p.App.Dir, "s.md")); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(filepath.Join(p.App.Dir, "s.md"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Count(b, []byte("## mcpgen: ")) != 2 {
		t.Error("the second summary did not follow the first")
	}
	for _, bad := range []string{"<script", "](", "www.", "@team", "<!--", "::error", "##[", "\x1b", "\u202e", "**b**"} {
		if bytes.Contains(b, []byte(bad)) {
			t.Errorf("%q is in the summary", bad)
		}
	}
	tags := regexp.MustCompile(`<[^>]*>`)
	for _, tag := range tags.FindAllString(string(b), -1) {
		switch strings.Trim(tag, "</>") {
		case "code", "ins", "del", "details", "summary":
		default:
			t.Errorf("the tag %s", tag)
		}
	}
	for line := range strings.Lines(string(b)) { // every row of a table must have all its cells
		if strings.HasPrefix(line, "|") && strings.Count(line, "|") < 3 {
			t.Errorf("%q", line)
		}
	}
}

func TestSummaryIsBounded(t *testing.T) {
	p, _ := printer(t, 4000)
	for range 3 {
		if err := p.AppendSummary(filepath.Join(p.App.Dir, "s.md")); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(filepath.Join(p.App.Dir, "s.md"))
	if err != nil || info.Size() > 1<<20 || info.Size() < summaryBytes/2 {
		t.Errorf("%d bytes, %v", info.Size(), err)
	}
	b, _ := os.ReadFile(filepath.Join(p.App.Dir, "s.md"))
	if !bytes.Contains(b, []byte("more to say than fits")) {
		t.Error("it does not say that it was cut")
	}
}

// TestChangesForPeople checks that hostile text cannot steer a terminal, and that long lists are counted.
func TestChangesForPeople(t *testing.T) {
	p, _ := printer(t, mostTools+7)
	text := p.text()
	if !strings.Contains(text, "and 7 tools more; --json lists all") {
		t.Errorf(`%s, want "and 7 tools more; --json lists all" in it`, text[:2000])
	}
	for _, bad := range []string{"\x1b", "\u202e", "\r"} {
		if strings.Contains(text, bad) {
			t.Errorf("%q is in the text", bad)
		}
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "::") || strings.HasPrefix(line, "##[") {
			t.Errorf("%q", line)
		}
	}
}

// TestNotes checks that a note is no warning in any view.
func TestNotes(t *testing.T) {
	var out bytes.Buffer
	app := &cli.App{Stdout: &out, Stderr: &out, Dir: t.TempDir()}
	report := &gen.Report{Out: filepath.Join(app.Dir, "servers"), Config: ".mcp.json", Strict: true, Servers: []gen.ServerReport{{Key: "a", Status: gen.Listed}},
		Warnings: []gen.Warning{{Place: "a/one#/description", Message: "may order\nmore", Note: true}}}
	v := &View{App: app, Report: report}
	v.problems()
	if got, want := out.String(), "note: a/one#/description: may order"; !strings.HasPrefix(got, want) || strings.Count(got, "\n") != 1 || strings.Contains(got, "warning") {
		t.Errorf("text: got %q, want one line that begins with %q", got, want)
	}
	if list := v.annotations(); len(list) != 1 || list[0].level != "notice" {
		t.Errorf("GitHub: got %+v, want one notice", list)
	}
}
