package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/internal/trust"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/runner/model/modeltest"
)

const modelKey = "sk-very-secret-0123456789"

// modelProject is a folder with a configuration, whose state is beside it.
type modelProject struct {
	dir, home string
	env       []string
}

func newModelProject(t *testing.T, files map[string]string) *modelProject {
	t.Helper()
	home := t.TempDir()
	p := &modelProject{dir: t.TempDir(), home: home, env: append(os.Environ(), "HOME="+home, "LOCALAPPDATA="+home, "XDG_STATE_HOME=", "XDG_CACHE_HOME=", "CI=1")}
	p.write(t, "mcpgen.json", `{"mcpServers": {}}`)
	for name, text := range files {
		p.write(t, name, text)
	}
	return p
}

func (p *modelProject) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// mcprun runs a command, and returns what it printed and its exit code.
func (p *modelProject) mcprun(t *testing.T, env []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.Command("mcprun", args...)
	var out, said strings.Builder
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = p.dir, append(p.env[:len(p.env):len(p.env)], env...), &out, &said
	err := cmd.Run()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return out.String(), said.String(), failed.ExitCode()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), said.String(), 0
}

// azure are the six variables of a .env.
func azure(url string) string {
	return "AZURE_OPENAI_ENDPOINT=" + url + "\nAZURE_OPENAI_API_KEY=" + modelKey + "\nAZURE_OPENAI_CHAT_DEPLOYMENT_NAME=our-chat\nAZURE_OPENAI_API_VERSION=2024-06-01\n" +
		"AZURE_OPENAI_EMBEDDER_NAME=our-embedder\nAZURE_OPENAI_EMBEDDER_VERSION=2023-05-15\n"
}

// TestModelCheck checks the ways in which a model is named, and what is printed of its answer.
func TestModelCheck(t *testing.T) {
	for _, c := range []struct {
		name, yaml, dotenv string
		env                []string
		path, header       string
	}{
		{"six variables in .env", "", azure("URL"), nil, "/openai/deployments/our-chat/chat/completions?api-version=2024-06-01", "Api-Key"},
		{"the environment comes first", "", azure("http://127.0.0.1:1"), []string{"AZURE_OPENAI_ENDPOINT=URL"}, "/openai/deployments/our-chat/chat/completions?api-version=2024-06-01", "Api-Key"},
		{"settings and variables", "model: {provider: azure, name: mine, api: responses}", azure("URL"), nil, "/openai/responses?api-version=2024-06-01", "Api-Key"},
		{"a name in the environment", "model: {provider: azure, name: mine, url: 'http://127.0.0.1:1'}", "ANTHROPIC_API_KEY=" + modelKey + "\n",
			[]string{"MCPRUN_MODEL=anthropic/claude-sonnet-5", "ANTHROPIC_BASE_URL=URL"}, "/v1/messages", "X-Api-Key"},
		{"a key in the environment", "model: {provider: openai, name: gpt-5, url: 'URL/v1', key: '${MY_KEY}'}", "", []string{"MY_KEY=" + modelKey}, "/v1/chat/completions", "Authorization"},
		{"a key that a program prints", "model: {provider: anthropic, name: claude-sonnet-5, url: URL, key: {command: [cat, key.txt]}}", "", nil, "/v1/messages", "X-Api-Key"},
		{"no key for an address of the settings", "model: {provider: openai, name: llama, url: 'URL/v1'}", "OPENAI_API_KEY=" + modelKey + "\n", nil, "/v1/chat/completions", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := modeltest.New(t, modeltest.Answer{Text: "ok", Model: "gpt-4o-2024-11-20", Input: 2000, Output: 100})
			here := func(text string) string { return strings.ReplaceAll(text, "URL", s.URL) }
			p := newModelProject(t, map[string]string{"mcpgen.yaml": "version: 1\n" + here(c.yaml) + "\n", ".env": here(c.dotenv), "key.txt": modelKey + "\n"})
			var env []string
			for _, v := range c.env {
				name, value, _ := strings.Cut(v, "=")
				env = append(env, name+"="+here(value))
			}
			out, said, code := p.mcprun(t, env, "model", "check", "--json")
			if code != 0 {
				t.Fatalf("exit code %d: %s", code, said)
			}
			var got struct {
				Model, Stop string
				Usage       struct{ Input, Output int }
			}
			if err := json.Unmarshal([]byte(out), &got); err != nil || got.Model != "gpt-4o-2024-11-20" || got.Stop != "end" || got.Usage.Input != 2000 || got.Usage.Output != 100 {
				t.Errorf("printed %s (%v), want what the endpoint said", out, err)
			}
			r := s.Requests()[0]
			path := r.Path
			if len(r.Query) > 0 {
				path += "?" + r.Query.Encode()
			}
			key := ""
			for _, name := range []string{"Api-Key", "X-Api-Key", "Authorization"} {
				if strings.TrimPrefix(r.Header.Get(name), "Bearer ") == modelKey {
					key = name
				}
			}
			if path != c.path || key != c.header {
				t.Errorf("the request went to %s with the key in %q, want %s and %q", path, key, c.path, c.header)
			}
		})
	}
}

// TestModelCheckText checks the text for people, and what a missing or wrong setting says.
func TestModelCheckText(t *testing.T) {
	s := modeltest.New(t, modeltest.Answer{Text: "ok", Input: 2000, Output: 100}, modeltest.Answer{Echo: true})
	p := newModelProject(t, map[string]string{"mcpgen.yaml": "version: 1\nmodel: {provider: anthropic, name: claude-sonnet-5, url: '" + s.URL + "', key: '${MY_KEY}'}\n"})
	out, said, _ := p.mcprun(t, []string{"MY_KEY=" + modelKey}, "model", "check")
	for _, want := range []string{"endpoint     anthropic claude-sonnet-5 at 127.0.0.1:", "answered by  claude-sonnet-5\n", " ms\n", "tokens       2000 read, 100 written\n", "cost         $0.005000\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("printed %q (%s), want %q in it", out, said, want)
		}
	}
	for _, c := range []struct{ yaml, env, want string }{
		{"", "X=", "no model is configured\nhint: write model: {provider: anthropic"},
		{"", "MCPRUN_MODEL=claude", `MCPRUN_MODEL: "claude" is not a provider and a model`},
		{"", "MCPRUN_MODEL=anthropic/claude-sonnet-5", "the variable ANTHROPIC_API_KEY is not set"},
		{"model: {provider: azure, name: x, url: 'http://example.com', key: '${MY_KEY}'}", "MY_KEY=" + modelKey, "model.url: a key is not sent without encryption"},
		{"model: {provider: openai, name: x, key: sk-123}", "X=", "mcpgen.yaml:2: model.key: a key must not be in this file"},
		{"model: {provider: openai, name: x, auth: entra}", "X=", "mcpgen.yaml:2: model.auth: only Azure"},
		{"model: {provider: openai, name: x, budget: {run: {cost: 0}}}", "X=", "mcpgen.yaml:2: model.budget.run.cost: it is not an amount of money"},
		{"model: {provider: openai, name: mine, budget: {day: {cost: 2.5}}}", "OPENAI_API_KEY=" + modelKey, `the prices of "mine" are unknown`},
		{"model: {provider: anthropic, name: x, url: '" + s.URL + "', key: '${MY_KEY}'}", "MY_KEY=" + modelKey, "401 Unauthorized"},
	} {
		p.write(t, "mcpgen.yaml", "version: 1\n"+c.yaml+"\n")
		_, said, code := p.mcprun(t, []string{c.env}, "model", "check")
		if code == 0 || !strings.Contains(said, c.want) || strings.Contains(said, modelKey) {
			t.Errorf("%s, %s: exit code %d, said %s, want an error with %q and without the key", c.yaml, c.env, code, said, c.want)
		}
	}
}

// TestModelConsent checks that a key goes nowhere that a person has not agreed to, whether mcpgen.yaml or .env names the address.
func TestModelConsent(t *testing.T) {
	s := modeltest.New(t, modeltest.Answer{Text: "ok"}, modeltest.Answer{Text: "ok"})
	for _, file := range []string{"mcpgen.yaml", ".env"} {
		write := func(p *modelProject, path string) {
			if file == ".env" {
				p.write(t, file, "AZURE_OPENAI_ENDPOINT="+s.URL+path+"\nAZURE_OPENAI_CHAT_DEPLOYMENT_NAME=chat\n")
			} else {
				p.write(t, file, "version: 1\nmodel: {provider: azure, name: chat, url: '"+s.URL+path+"', key: '${AZURE_OPENAI_API_KEY}'}\n")
			}
		}
		p := newModelProject(t, nil)
		write(p, "")
		key := []string{"AZURE_OPENAI_API_KEY=" + modelKey, "MCPGEN_TRUST="}
		before := len(s.Requests())
		if _, said, code := p.mcprun(t, key, "model", "check"); code != exit.Refused || !strings.Contains(said, "nobody has trusted") || len(s.Requests()) != before {
			t.Errorf("%s: exit code %d, %d requests, said %s; want that nobody has trusted it", file, code, len(s.Requests())-before, said)
		}
		cfg, err := config.Load(filepath.Join(p.dir, "mcpgen.json"))
		if err != nil {
			t.Fatal(err)
		}
		vars := map[string]string{"HOME": p.home, "LOCALAPPDATA": p.home}
		app := &cli.App{LookupEnv: func(name string) (string, bool) { v, ok := vars[name]; return v, ok }}
		if err := (trust.Gate{App: app}).Agree(cfg); err != nil {
			t.Fatal(err)
		}
		if _, said, code := p.mcprun(t, key, "model", "check"); code != 0 || len(s.Requests()) != before+1 {
			t.Errorf("%s, agreed: exit code %d: %s", file, code, said)
		}
		write(p, "/elsewhere")
		if _, said, code := p.mcprun(t, key, "model", "check"); code != exit.Refused || !strings.Contains(said, "has changed") || len(s.Requests()) != before+1 {
			t.Errorf("%s, changed: exit code %d, said %s; want that it has changed", file, code, said)
		}
	}
}

// TestModelBudget checks that processes count a day together, and that nothing is sent when it is used up.
func TestModelBudget(t *testing.T) {
	s := modeltest.New(t, modeltest.Answer{Input: 900, Output: 200})
	p := newModelProject(t, map[string]string{"mcpgen.yaml": "version: 1\nmodel: {budget: {day: {tokens: 1000}}}\n", ".env": azure(s.URL)})
	if _, said, code := p.mcprun(t, nil, "model", "check"); code != 0 {
		t.Fatalf("exit code %d: %s", code, said)
	}
	if out, said, _ := p.mcprun(t, nil, "doctor", "--no-speed"); !strings.Contains(out, "model     azure our-chat; mcprun model check") || strings.Contains(out+said, modelKey) {
		t.Errorf("doctor printed %s, want the model", out)
	}
	_, said, code := p.mcprun(t, nil, "model", "check")
	if code == 0 || !strings.Contains(said, "this day has used 1100 tokens of 1000\nhint: wait until 00:00 UTC, or raise model.budget.day in mcpgen.yaml") {
		t.Errorf("exit code %d, said %s; want that the budget is used up", code, said)
	}
}

// TestModelKeyStays checks that the key reaches neither a script nor any file: not the log, the record or the state.
func TestModelKeyStays(t *testing.T) {
	s := modeltest.New(t, modeltest.Answer{Text: "ok"}, modeltest.Answer{Echo: true})
	p := newModelProject(t, map[string]string{"mcpgen.yaml": "version: 1\nmodel: {budget: {day: {tokens: 1000000}}}\n", ".env": azure(s.URL)})
	env := []string{"LOG_LEVEL=debug", "LOG_FILE=" + filepath.Join(p.dir, "debug.log"), "OPENAI_API_KEY=" + modelKey}
	commands := [][]string{
		{"model", "check"}, {"model", "check"},
		{"--audit", "on", "--sandbox", "embedded", "-e", "console.log(JSON.stringify(process.env ?? {}), 'ran')"},
	}
	if runtime.GOOS == "linux" { // which has this sandbox
		commands = append(commands, []string{"--audit", "on", "--sandbox", "process", "-e", "console.log(JSON.stringify(process.env), 'ran')"})
	}
	for i, args := range commands {
		out, said, code := p.mcprun(t, env, args...)
		if strings.Contains(out+said, modelKey) || (code != 0) != (i == 1) || i > 1 && !strings.Contains(out, "ran") {
			t.Errorf("mcprun %q: exit code %d, printed %s\n%s\nwant no key", args, code, out, said)
		}
	}
	files := 0
	for _, dir := range []string{p.dir, p.home} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || d.Name() == ".env" {
				return err
			}
			files++
			if text, err := os.ReadFile(path); err == nil && strings.Contains(string(text), modelKey) {
				t.Errorf("%s has the key", path)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 4 {
		t.Errorf("%d files were read, want the log and the state among them", files)
	}
}
