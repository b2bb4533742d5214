//go:build unix

package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mcpgen/mcpgen/runner/model/modeltest"
)

// TestAzureExample runs the example of a task with a stand-in for Azure, which the six variables of .env name: the chat and the embeddings have
// deployments and versions of their own, and nobody but the endpoint sees the key. [6.1, 6.2]
func TestAzureExample(t *testing.T) {
	const script = "```ts\nimport { calculate } from \"./servers/calculator\";\nexport const result = ((await calculate({ expression: \"5 + 3\" })) as any).result;\n```"
	s := modeltest.New(t, modeltest.Answer{Text: "ok"}, modeltest.Answer{Text: script}, modeltest.Answer{Text: script})
	var embedded []string
	var mu sync.Mutex
	azure := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/embeddings") {
			s.ServeHTTP(w, r)
			return
		}
		var in struct{ Input []string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Error(err)
		}
		mu.Lock()
		embedded = append(embedded, r.URL.String()+" "+r.Header.Get("Api-Key"))
		mu.Unlock()
		var vectors []map[string]any
		for _, text := range in.Input {
			near := 0.1
			if strings.Contains(strings.ToLower(text), "calculat") {
				near = 1
			}
			vectors = append(vectors, map[string]any{"embedding": []float64{near, 0.2}})
		}
		if err := json.NewEncoder(w).Encode(map[string]any{"data": vectors}); err != nil {
			t.Error(err)
		}
	}))
	defer azure.Close()
	env, err := os.ReadFile("../../examples/azure.env")
	if err != nil {
		t.Fatal(err)
	}
	filled := strings.NewReplacer("https://NAME.openai.azure.com", azure.URL, "=KEY\n", "="+modelKey+"\n", "NAME=gpt-5", "NAME=our-chat", "API_VERSION=2024-10-21", "API_VERSION=2024-06-01",
		"text-embedding-3-small", "our-embedder", "EMBEDDER_VERSION=2024-10-21", "EMBEDDER_VERSION=2023-05-15").Replace(string(env))
	p := newModelProject(t, map[string]string{"mcpgen.json": `{"mcpServers": {"calculator": {"command": "fourmcp", "args": ["calculator"]}, "weather": {"command": "fourmcp", "args": ["weather"]}}}`, ".env": filled})
	run := func(name string, args ...string) (stdout, stderr string) {
		t.Helper()
		cmd := exec.Command(name, args...)
		var out, said strings.Builder
		cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = p.dir, p.env, &out, &said
		if err := cmd.Run(); err != nil {
			t.Fatalf("%s: %v\n%s\n%s", name, err, out.String(), said.String())
		}
		return out.String(), said.String()
	}
	if err := buildMcpgen(); err != nil {
		t.Fatal(err)
	}
	run(filepath.Join(programs, "mcpgen"), "sync")
	file, err := filepath.Abs("../../examples/azure-task.sh")
	if err != nil {
		t.Fatal(err)
	}
	out, said := run("sh", file)
	if !strings.Contains(out, "answered by  our-chat") || !strings.Contains(out, "await calculate(") || !strings.HasSuffix(out, "\n8\n") || !strings.Contains(said, "by meaning: calculator (") {
		t.Errorf("printed %s\n%s\nwant the deployment, the script and 8, with tools by meaning", out, said)
	}
	all := s.Requests()
	for _, r := range all {
		if r.Path != "/openai/deployments/our-chat/chat/completions" || r.Query.Encode() != "api-version=2024-06-01" || r.Header.Get("Api-Key") != modelKey || r.Header.Get("Authorization") != "" {
			t.Errorf("request to %s?%s with %v, want the deployment of the chat", r.Path, r.Query.Encode(), r.Header)
		}
	}
	if len(all) != 3 || len(embedded) == 0 {
		t.Errorf("%d requests and %d for embeddings, want 3 and some", len(all), len(embedded))
	}
	for _, got := range embedded {
		if want := "/openai/deployments/our-embedder/embeddings?api-version=2023-05-15 " + modelKey; got != want {
			t.Errorf("request %s, want %s", got, want)
		}
	}
	if strings.Contains(out+said, modelKey) {
		t.Errorf("printed the key: %s\n%s", out, said)
	}
}
