package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/policy"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// shellTool is the only tool that a model needs for the tree. It is counted although most agents have one anyway.
const shellTool = `{"name":"bash","description":"Run a shell command in the project's folder and get what it prints.","input_schema":{"type":"object","properties":{"command":{"type":"string","description":"The command."}},"required":["command"]}}`

// pointer is what a model reads about the tree if AGENTS.md does not have mcpgen's paragraph.
const pointer = "This project's MCP tools are code in the folder servers; servers/README.md says how to use them."

// coder is a scripted model that reads files of the tree and writes scripts.
type coder struct {
	ctx    context.Context
	led    *ledger
	count  func(string) int
	tree   *gen.Tree
	finder *finder
	runner *runner.Runner
	with   sandbox.Backend
	calls  int
	wrote  []string // tools it called that may change something
	took   time.Duration
}

// shell counts a turn with one command and its output.
func (c *coder) shell(command, output string) {
	c.led.write(c.count(written("bash", object{"command": command})))
	c.led.read(c.count(output))
}

// follow does what the paragraph in AGENTS.md says. It searches for all tools in one command, then with other queries for tools
// that were not found, and by id for tools whose signatures were not shown.
func (c *coder) follow(t task) error {
	l := &lookup{
		led: c.led, count: c.count,
		search:   func(query object) (found, error) { return c.finder.signatures(c.ctx, query) },
		asSearch: func(queries []object) string { return written("bash", object{"command": searchCommand(queries)}) },
	}
	return l.tools(t)
}

// searchCommand returns a command that searches with each of the queries.
func searchCommand(queries []object) string {
	var commands []string
	for _, q := range queries {
		command := "mcpgen search --detail signature"
		if text, ok := q["query"]; ok {
			command += fmt.Sprintf(" --limit %d %s", hits, text)
		} else {
			command += " --limit 100"
		}
		if category, ok := q["category"]; ok {
			command += fmt.Sprintf(" --category %s", category)
		}
		commands = append(commands, command)
	}
	return strings.Join(commands, "; ")
}

// browse reads the README of the tree and does what it says, which is the same as [coder.follow].
func (c *coder) browse(t task) error {
	readme, err := c.file("README.md")
	if err != nil {
		return err
	}
	c.shell("cat servers/README.md", readme)
	return c.follow(t)
}

func (c *coder) file(name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(c.tree.Dir, filepath.FromSlash(name)))
	return string(text), err
}

// run writes and runs scripts in turn, and returns the output of the last one. All but the last may fail.
func (c *coder) run(scripts []string) (string, error) {
	const name = "script.ts"
	answer := ""
	for i, code := range scripts {
		var stdout, stderr bytes.Buffer
		began := time.Now()
		res, err := c.runner.Launch(c.ctx, &runner.Script{
			Name: name, Code: code, Language: sandbox.LangTypeScript, Stdout: &stdout, Stderr: &stderr, Timeout: 2 * time.Minute,
			Calls: chain.Settings{Policy: policy.WithConsent(policy.Default(), []string{"*"})}, // the tasks change records
		}, runner.LaunchOptions{Sandboxes: []sandbox.Backend{c.with}, Sandbox: c.with.Name()})
		c.took += time.Since(began)
		if err != nil {
			return "", err
		}
		output := stdout.String() + stderr.String()
		if res.Message != "" {
			output += "mcprun: " + res.Message + "\n"
		}
		if res.ExitCode != 0 && i == len(scripts)-1 {
			return "", fmt.Errorf("script %d ended with exit code %d: %s", i+1, res.ExitCode, output)
		}
		c.shell("cat > "+name+" <<'EOF'\n"+code+"EOF\nmcprun "+name, output)
		c.calls += res.CallCount
		for _, call := range res.Calls {
			if _, tool, ok := c.tree.Catalog.Lookup(call.Tool); ok && (tool.Hints.ReadOnly == nil || !*tool.Hints.ReadOnly) {
				c.wrote = append(c.wrote, call.Tool)
			}
		}
		answer = strings.TrimSuffix(stdout.String(), "\n")
	}
	c.led.write(c.count(answer))
	return answer, nil
}
