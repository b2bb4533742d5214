package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/search"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// shellTool is the only tool that a model needs for the tree. It is counted although most agents have one anyway.
const shellTool = `{"name":"bash","description":"Run a shell command in the project's folder and get what it prints.","input_schema":{"type":"object","properties":{"command":{"type":"string","description":"The command."}},"required":["command"]}}`

// pointer is what a model reads about the tree if AGENTS.md does not have the paragraph of mcpgen.
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

// follow does what the paragraph in AGENTS.md says: it searches for all tools in one command, again with other queries for
// those that are not found, and reads their wrappers.
func (c *coder) follow(t task) error {
	missing := t.needs
	for round := 0; len(missing) > 0; round++ {
		var commands []string
		var output strings.Builder
		found := map[string]bool{}
		for _, n := range missing {
			queries := t.searches(n.tool)
			if round == len(queries) {
				return fmt.Errorf("no search finds %s", n.tool)
			}
			command, text, ids, err := c.search(queries[round])
			if err != nil {
				return err
			}
			commands = append(commands, command)
			output.WriteString(text)
			for _, id := range ids {
				found[id] = true
			}
		}
		c.shell(strings.Join(commands, "; "), output.String())
		missing = slices.DeleteFunc(slices.Clone(missing), func(n need) bool { return found[n.tool] })
	}
	return c.wrappers(t.needs)
}

// search returns a command that searches, and its output.
func (c *coder) search(query object) (command, text string, ids []string, err error) {
	const limit = 5
	command = fmt.Sprintf("mcpgen search --detail name --limit %d %s", limit, query["query"])
	category, _ := query["category"].(string)
	if category != "" {
		command += " --category " + category
	}
	hits, err := c.finder.index.Search(c.ctx, search.Query{Text: fmt.Sprint(query["query"]), Category: category, Limit: limit})
	if err != nil {
		return "", "", nil, err
	}
	results, err := c.tree.Results(hits, search.DetailName, config.TypeScript)
	if err != nil {
		return "", "", nil, err
	}
	var b strings.Builder
	for i, r := range results {
		ids = append(ids, r.Tool)
		if len(results) > search.Few {
			fmt.Fprintln(&b, r.Tool)
			continue
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s\n  %s\n  %s\n", r.Tool, r.Import, r.Signature)
	}
	return command, b.String(), ids, nil
}

// browse reads the README of the tree and does what that says, which is the same as [coder.follow].
func (c *coder) browse(t task) error {
	readme, err := c.file("README.md")
	if err != nil {
		return err
	}
	c.shell("cat servers/README.md", readme)
	return c.follow(t)
}

// wrappers reads the wrapper of each tool.
func (c *coder) wrappers(needs []need) error {
	var files []string
	for _, n := range needs {
		server, tool, ok := c.tree.Catalog.Lookup(n.tool)
		if !ok {
			return fmt.Errorf("the tree has no tool %s", n.tool)
		}
		files = append(files, c.tree.Lock.Servers[server.Key].Tools[tool.Name].Names["typescript"].File)
	}
	return c.cat(files)
}

// cat prints files in one turn.
func (c *coder) cat(files []string) error {
	var all strings.Builder
	command := "cat"
	for _, f := range files {
		text, err := c.file(f)
		if err != nil {
			return err
		}
		all.WriteString(text)
		command += " servers/" + f
	}
	c.shell(command, all.String())
	return nil
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
		res, err := c.runner.Run(c.ctx, runner.Script{
			Name: name, Code: code, Language: sandbox.LangTypeScript, Backend: c.with, Stdout: &stdout, Stderr: &stderr, Timeout: 2 * time.Minute,
		})
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
		answer = strings.TrimSpace(stdout.String())
	}
	c.led.write(c.count(answer))
	return answer, nil
}
