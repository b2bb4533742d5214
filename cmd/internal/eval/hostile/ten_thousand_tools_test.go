package hostile

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/gen"
)

// serveTools is the environment variable that turns this test binary into a server with that many tools.
const serveTools = "HOSTILE_TEST_SERVE_TOOLS"

func TestMain(m *testing.M) {
	if n, err := strconv.Atoi(os.Getenv(serveTools)); err == nil {
		serve(n)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// serve is an MCP server on the standard streams, of protocol 2025-06-18, that lists tools in pages of 1,000.
func serve(tools int) {
	const page = 1000
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	for in.Scan() {
		var request struct {
			ID     json.RawMessage
			Method string
			Params struct{ Cursor string }
		}
		if json.Unmarshal(in.Bytes(), &request) != nil || len(request.ID) == 0 {
			continue
		}
		result := ""
		switch request.Method {
		case "initialize":
			result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"many","version":"1"}}`
		case "ping":
			result = "{}"
		case "tools/list":
			from, _ := strconv.Atoi(request.Params.Cursor)
			to := min(from+page, tools)
			result = `{"tools":[` + joined(to-from, func(i int) string { return realisticTool(from + i) }) + `]`
			if to < tools {
				result += `,"nextCursor":"` + strconv.Itoa(to) + `"`
			}
			result += "}"
		}
		if result == "" {
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"method not found"}}`+"\n", request.ID)
		} else {
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", request.ID, result)
		}
		if out.Flush() != nil {
			return
		}
	}
}

// realisticTool returns a tool of about 2.3 KB, the mean of recorded ones.
func realisticTool(i int) string {
	verb := []string{"get", "list", "create", "update", "delete", "search"}[i%6]
	words := strings.Repeat("It takes effect at once and is recorded with the name of the one who asked for it. ", 3)
	return fmt.Sprintf(`{"name":"%s_record_%d","title":"%s record %d","description":"Does %s with the records of kind %d in a project. %s","inputSchema":{"type":"object","properties":{`+
		`"project_id":{"type":"string","description":"The id of the project, as list_projects gives it. Ids are stable and never used twice.","minLength":1,"maxLength":64},`+
		`"record_id":{"type":"integer","description":"The number of the record in its project.","minimum":1},`+
		`"state":{"type":"string","enum":["open","closed","merged","draft"],"description":"Only records in this state.","default":"open"},`+
		`"labels":{"type":"array","items":{"type":"string"},"description":"Labels that all must be there. Unknown labels are an error."},`+
		`"filter":{"type":"object","description":"Further conditions.","properties":{"after":{"type":"string","format":"date-time","description":"Changed after this time."},"before":{"type":"string","format":"date-time","description":"Changed before this time."},"author":{"type":["string","null"],"description":"Login of the author."}}},`+
		`"page":{"type":"integer","description":"Which page of results, from 1.","minimum":1,"default":1},"per_page":{"type":"integer","description":"Results on a page.","minimum":1,"maximum":100,"default":30}},"required":["project_id","record_id"],"additionalProperties":false},`+
		`"outputSchema":{"type":"object","properties":{"id":{"type":"integer"},"title":{"type":"string"},"items":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"value":{"type":"number"}},"required":["name"]}}},"required":["id"]},"annotations":{"readOnlyHint":%v}}`,
		verb, i, verb, i, verb, i, words, i%2 == 0)
}

// TestTenThousandTools runs the real program against a real server process. The goal is 10 s and 512 MiB on a machine with
// four free cores; the test bounds processor time instead, because test machines are smaller and loaded.
func TestTenThousandTools(t *testing.T) {
	const tools = 10_000
	dir := t.TempDir()
	program := filepath.Join(dir, "mcpgen")
	build := exec.Command("go", "build", "-trimpath", "-o", program, "github.com/mcpgen/mcpgen/cmd/mcpgen")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"many": map[string]any{"command": self, "env": map[string]string{serveTools: strconv.Itoa(tools)}}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".mcp.json"), cfg, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, run := range []struct {
		name string
		args []string
	}{{"first", []string{"sync"}}, {"again", []string{"sync"}}, {"check", []string{"sync", "--check"}}, {"offline", []string{"sync", "--check", "--offline"}}} {
		cmd := exec.CommandContext(t.Context(), program, run.args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "MCPGEN_TRUST=1")
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		start := time.Now()
		err := cmd.Run()
		took := time.Since(start)
		if err != nil {
			t.Fatalf("%s: %v\n%s", run.name, err, clip(out.String()))
		}
		memory, cpu := maxMemory(cmd.ProcessState), cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()
		t.Logf("%s: %s, %d MiB at most, %s of CPU; %s", run.name, took.Round(time.Millisecond), memory>>20,
			cpu.Round(time.Millisecond), clip(out.String()))
		if cpu > 60*time.Second {
			t.Errorf("%s took %s of processor time, want at most 60s", run.name, cpu)
		}
		if memory > 512<<20 {
			t.Errorf("%s used %d MiB of memory, want at most 512", run.name, memory>>20)
		}
		if memory == 0 && runtime.GOOS == "linux" {
			t.Error("memory was not measured")
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "servers", "many", "*"))
	if err != nil || len(files) != 2*tools+2 {
		t.Errorf("got %d files of %d tools in two languages, want %d: %v", len(files), tools, 2*tools+2, err)
	}
}

// BenchmarkTenThousandTools syncs as many tools in one process, without a server.
func BenchmarkTenThousandTools(b *testing.B) {
	const tools = 10_000
	var definitions []string
	for i := range tools {
		definitions = append(definitions, realisticTool(i))
	}
	p := newProject(b, map[string]*gen.Listing{"many": listing(definitions...)})
	p.sync(b)
	for b.Loop() {
		opts := p.options()
		opts.Check = true
		if _, err := gen.Sync(b.Context(), opts); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/tools, "µs/tool")
}
