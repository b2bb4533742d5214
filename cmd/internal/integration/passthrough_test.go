package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// passedResult is how the client of testdata/passthrough.mjs sees a call.
type passedResult struct {
	Text       string
	Structured map[string]any
	IsError    bool
	Thrown     string // the error, if the call was made and its result is lost
}

// TestPassthroughOfficialClient checks that the official TypeScript client, which is strict about output schemas, gets every
// result of tools that are passed through, even results that break their declared or learned schema.
func TestPassthroughOfficialClient(t *testing.T) {
	t.Parallel()
	needVersion(t, clientPackage, clientVersion)
	node := newNode(t)
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, map[string]server{
				"everything": {Command: "node", Args: []string{entry(t, everythingPackage), "stdio"}},
				"office":     toolServer(t, "office.json"),
			})
			definitions, err := json.Marshal([]tool{ticket(), invoice()})
			if err != nil {
				t.Fatal(err)
			}
			p.write("office.json", string(definitions))
			p.write("servers/.mcpgen/learned/office.json", `{"server":"office","tools":{"get_invoice":{"digest":"","replies":3,"schema":{"type":"object","properties":{"total":{"type":"integer"}},"required":["total"]}}}}`)
			p.sync()
			where := map[string]any{"command": binary("mcprun"), "args": []string{"serve", "--tools", "passthrough"}, "cwd": p.dir}
			if era == "modern" {
				where = map[string]any{"url": p.serveHTTP(t, "--tools", "passthrough", "--customer", "acme"), "token": serveToken}
			}
			target, _ := json.Marshal(where)
			calls := `[["office__create_ticket", {"title": "x"}], ["office__get_invoice", {"number": 7}], ["office__get_invoice", {"nomber": 7}],
				["everything__get_structured_content", {"location": "Chicago"}], ["everything__get_tiny_image", {}], ["everything__trigger_elicitation_request", {}], ["office__get_invoise", {}]]`
			ctx, cancel := context.WithTimeout(context.Background(), commandTime)
			defer cancel()
			cmd := exec.CommandContext(ctx, node, filepath.Join(root, "cmd", "internal", "integration", "testdata", "passthrough.mjs"),
				filepath.Dir(needNPM(t, "@modelcontextprotocol")), era, string(target), calls)
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &stdout, &stderr, 20*time.Second
			cmd.Env = p.command(ctx, "mcprun").Env
			if err := cmd.Run(); err != nil {
				t.Fatalf("%v\n%s%s", err, stdout.String(), stderr.String())
			}
			var seen struct {
				Asked, Names, Described []string
				Results                 []passedResult
			}
			if err := json.Unmarshal(stdout.Bytes(), &seen); err != nil || len(seen.Results) != 7 {
				t.Fatalf("%v, want len(seen.Results) 7 and no error\n%s", err, stdout.String())
			}
			if want := []string{"everything__get_structured_content", "office__create_ticket", "office__get_invoice"}; !slices.Equal(seen.Described, want) {
				t.Errorf("tools with output schemas are %q, want %q", seen.Described, want)
			}
			for _, name := range seen.Names {
				if !strings.HasPrefix(name, "everything__") && !strings.HasPrefix(name, "office__") {
					t.Errorf("%q is listed, which is no tool of the tree", name)
				}
			}
			for i, r := range seen.Results {
				if r.Thrown != "" {
					t.Errorf(`call %d: the client threw its result away: %s, want ""`, i+1, r.Thrown)
				}
			}
			r := seen.Results
			if r[0].Structured["title"] != "x" || r[1].Structured["number"] != 7.0 {
				t.Errorf(`results that do not fit their schemas: %+v, %+v, want "x" and 7.0`, r[0], r[1])
			}
			if !r[2].IsError || !strings.Contains(r[2].Text, `missing "number"`) {
				t.Errorf("a misspelt argument: %+v", r[2])
			}
			if r[3].Structured["temperature"] == nil || !strings.Contains(r[4].Text, "image") || r[4].Structured != nil {
				t.Errorf("results: %+v, %+v", r[3], r[4])
			}
			if len(seen.Asked) != 1 || !strings.HasPrefix(seen.Asked[0], "[everything] ") || r[5].IsError {
				t.Errorf("asked %q; the tool says %+v", seen.Asked, r[5])
			}
			if !r[6].IsError || !strings.Contains(r[6].Text, "did you mean office__get_invoice?") {
				t.Errorf("an unknown tool: %+v", r[6])
			}
		})
	}
}
