package conformance

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// binVariable names the folder of the built programs. If it is set, this process is the suite's client.
const binVariable = "MCPGEN_CONFORMANCE_BIN"

// adapterTime bounds one scenario.
const adapterTime = 40 * time.Second

// client holds what the suite drives: one scenario's server, and the programs.
type client struct {
	ctx      context.Context
	bin, dir string
	url      string
	scenario string
	given    given
}

// byClient is the scenario in which nobody logs in.
const byClient = "auth/client-credentials-basic"

// given is what a scenario tells its client.
type given struct {
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
	ToolCalls    []struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"toolCalls"`
}

// serve is the client's main function: the scenario's name is in the environment, its address the last argument.
func serve() error {
	ctx, cancel := context.WithTimeout(context.Background(), adapterTime)
	defer cancel()
	dir, err := os.MkdirTemp("", "mcpgen-conformance-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	c := &client{ctx: ctx, bin: os.Getenv(binVariable), dir: dir, url: os.Args[len(os.Args)-1], scenario: os.Getenv("MCP_CONFORMANCE_SCENARIO")}
	if text := os.Getenv("MCP_CONFORMANCE_CONTEXT"); text != "" {
		if err := json.Unmarshal([]byte(text), &c.given); err != nil {
			return fmt.Errorf("read the scenario's context: %w", err)
		}
	}
	if err := c.configure(); err != nil {
		return err
	}
	if strings.HasPrefix(c.scenario, "auth/") && c.scenario != byClient {
		return c.authorized()
	}
	if err := c.run(nil, "mcpgen", "sync"); err != nil {
		return err
	}
	return c.call()
}

// configure writes the project's configuration.
func (c *client) configure() error {
	server := map[string]any{"type": "http", "url": c.url}
	switch {
	case c.scenario == byClient:
		server["oauth"] = map[string]any{"grant": "client_credentials", "clientId": c.given.ClientID, "clientSecret": c.given.ClientSecret}
	case c.given.ClientID != "":
		server["oauth"] = map[string]any{"clientId": c.given.ClientID, "clientSecret": c.given.ClientSecret}
	case c.scenario == "auth/basic-cimd":
		server["oauth"] = map[string]any{"clientMetadataUrl": "https://conformance-test.local/client-metadata.json"}
	}
	text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"conformance": server}})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(c.dir, ".mcp.json"), text, 0o600)
}

// authorized logs in, syncs and calls the tool. If the login turns out to be too narrow, it does what the program says: log in
// once more, and try again. A person would not do so for ever.
func (c *client) authorized() error {
	if err := c.login(); err != nil {
		return err
	}
	if err := c.run(nil, "mcpgen", "sync"); err != nil {
		return err
	}
	for try := 1; ; try++ {
		err := c.call()
		if err == nil || try == 3 || !strings.Contains(err.Error(), "mcpgen login conformance") {
			return err
		}
		if err := c.login(); err != nil {
			return err
		}
	}
}

// toolCall is one call of the script.
type toolCall struct {
	Name string
	File string // the module of the tool's wrapper, below the tree
	Args json.RawMessage
}

// find finds the wrappers of the tools in the tree.
func (c *client) find(calls []toolCall) error {
	out, err := c.command("mcpgen", "list", "--json").Output()
	if err != nil {
		return fmt.Errorf("mcpgen list: %w", err)
	}
	var list struct {
		Servers []struct {
			Tools []struct {
				Name  string
				Files struct{ TypeScript string }
			}
		}
	}
	if err := json.Unmarshal(out, &list); err != nil {
		return err
	}
	files := map[string]string{}
	for _, s := range list.Servers {
		for _, t := range s.Tools {
			files[t.Name] = t.Files.TypeScript
		}
	}
	for i := range calls {
		if calls[i].File = files[calls[i].Name]; calls[i].File == "" {
			return fmt.Errorf("the tree has no tool %q", calls[i].Name)
		}
	}
	return nil
}

// call calls the tools that the scenario is about, all of them in a script.
func (c *client) call() error {
	calls := []toolCall{}
	none := json.RawMessage(`{}`)
	switch c.scenario {
	case "initialize", "request-metadata", "json-schema-ref-no-deref":
		return nil // these scenarios are about the list of tools
	case "http-custom-headers":
		for _, call := range c.given.ToolCalls {
			args, err := withoutNulls(call.Arguments)
			if err != nil {
				return err
			}
			calls = append(calls, toolCall{Name: call.Name, Args: args})
		}
	case "json-schema-2020-12-preservation":
		schema, err := c.storedSchema("json_schema_2020_12_tool")
		if err != nil {
			return err
		}
		calls = []toolCall{{Name: "json_schema_echo", Args: schema}}
	case "tools_call":
		calls = []toolCall{{Name: "add_numbers", Args: json.RawMessage(`{"a":5,"b":3}`)}}
	default:
		tools, err := c.storedTools()
		if err != nil {
			return err
		}
		for _, t := range tools {
			args := none
			if c.scenario == "http-invalid-tool-headers" {
				args = json.RawMessage(`{"region":"us-west1"}`)
			}
			calls = append(calls, toolCall{Name: t.Name, Args: args})
		}
	}
	if err := c.find(calls); err != nil {
		return err
	}
	answers := filepath.Join(c.dir, "answers.json")
	if err := os.WriteFile(answers, []byte(`{"action":"accept","content":{}}`), 0o600); err != nil {
		return err
	}
	return c.run(strings.NewReader(script(calls)), "mcprun", "--sandbox", "embedded", "--timeout", "15", "--elicit", answers, "-")
}

// script calls the wrappers. A failed call does not stop the next one; at the end the script fails.
func script(calls []toolCall) string {
	var imports, made strings.Builder
	for i, call := range calls {
		fmt.Fprintf(&imports, "import * as tool%d from %q;\n", i, "./servers/"+call.File)
		fmt.Fprintf(&made, "await attempt(tool%d, %s);\n", i, call.Args)
	}
	return imports.String() + `let failed = "";
async function attempt(module: object, args: unknown) {
  try {
    const wrapper = Object.values(module).find((value) => typeof value === "function");
    console.log(JSON.stringify(await wrapper(args)));
  } catch (error) {
    failed = String(error);
    console.error(failed);
  }
}
` + made.String() + `if (failed) throw new Error(failed);
`
}

// withoutNulls leaves out members that are null: the tool's own schema does not allow null, and mcprun refuses to send it. The
// suite treats an absent parameter like one that is null.
func withoutNulls(arguments json.RawMessage) (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(arguments, &fields); err != nil {
		return nil, err
	}
	for name, value := range fields {
		if string(value) == "null" {
			delete(fields, name)
		}
	}
	return json.Marshal(fields)
}

// storedTool is a tool as the tree has it.
type storedTool struct {
	Name        string          `json:"name"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

func (c *client) storedTools() ([]storedTool, error) {
	text, err := os.ReadFile(filepath.Join(c.dir, "servers", ".mcpgen", "conformance.json"))
	if err != nil {
		return nil, err
	}
	var stored struct {
		Tools []storedTool `json:"tools"`
	}
	return stored.Tools, json.Unmarshal(text, &stored)
}

// storedSchema is the argument of the echoing tool: the schema of another tool, as the tree has it.
func (c *client) storedSchema(tool string) (json.RawMessage, error) {
	tools, err := c.storedTools()
	for _, t := range tools {
		if t.Name == tool {
			return json.RawMessage(`{"schema":` + string(t.InputSchema) + `}`), nil
		}
	}
	return nil, errors.Join(err, fmt.Errorf("the tree has no tool %q", tool))
}

// command returns a command with an environment of its own: without the user's logins and keyring.
func (c *client) command(name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(c.ctx, filepath.Join(c.bin, name), args...)
	cmd.Dir = c.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.dir, "XDG_STATE_HOME=" + filepath.Join(c.dir, "state"), "MCPGEN_KEYRING=off", "MCPGEN_TRUST=1"}
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// run runs a program. Its output goes to ours, and into the error if it fails.
func (c *client) run(in io.Reader, name string, args ...string) error {
	cmd := c.command(name, args...)
	var out, said bytes.Buffer // each stream has its own writer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, io.MultiWriter(os.Stdout, &out), io.MultiWriter(os.Stderr, &said)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w: %s%s", name, strings.Join(args, " "), err, out.String(), said.String())
	}
	return nil
}

// login runs mcpgen login and opens the address that it prints. The suite's authorization server asks nobody.
func (c *client) login() error {
	cmd := c.command("mcpgen", "login", "conformance", "--no-browser")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	cmd.Stdout = os.Stdout
	if err := cmd.Start(); err != nil {
		return err
	}
	var said strings.Builder
	var visits sync.WaitGroup
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		line := lines.Text()
		fmt.Fprintln(os.Stderr, line)
		fmt.Fprintln(&said, line)
		if strings.HasPrefix(line, "http://") || strings.HasPrefix(line, "https://") {
			visits.Go(func() { visit(c.ctx, line) })
		}
	}
	err = cmd.Wait()
	visits.Wait()
	if err != nil {
		return fmt.Errorf("mcpgen login: %w: %s", err, said.String())
	}
	return nil
}

// visit opens an address and follows redirects, as a browser does. Errors show in the login.
func visit(ctx context.Context, address string) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	resp.Body.Close()
}
