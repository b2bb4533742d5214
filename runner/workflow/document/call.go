package document

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"go.yaml.in/yaml/v3"

	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/gen/config/node"
	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/internal/safeopen"
)

// foreign are the functions that Serverless Workflow defines and mcprun does not have.
var foreign = []string{"http", "grpc", "openapi", "asyncapi", "a2a", "mcp"}

// call returns the code of a call.
func (c *compiler) call(t *task, s *scope) []string {
	name, with := at(t.node, "call"), at(t.node, "with")
	if after := at(t.node, "timeout"); after != nil && slices.Contains([]string{"script", "skill", "form"}, name.Value) {
		c.wrong(after, fmt.Sprintf("call: %s has no timeout", name.Value), "calls of tools, ask and listen have one")
	}
	s.output = cel.DynType // unless the result has a type
	switch name.Value {
	case "ask":
		return c.ask(t, with, s)
	case "script", "skill":
		return c.module(t, name.Value, with, s)
	case "form":
		c.keys(t, with, []string{"form"}, "data")
		form, _ := c.value(value(with, "form"), s)
		if at := at(with, "form"); at != nil && c.opt.Form != nil && !strings.Contains(at.Value, "${") {
			if err := c.opt.Form(at.Value); err != nil {
				c.failed(at, err)
			}
		}
		data := "{}"
		if n := at(with, "data"); n != nil {
			data, _ = c.value(n, s)
		}
		c.library["fillForm"] = true
		arrow := "(data: any) => "
		if strings.Contains(form, "await ") {
			arrow = "async " + arrow
		}
		return c.step(t, s, arrow+"fillForm("+form+", data)", data)
	}
	if slices.Contains(foreign, name.Value) {
		c.wrong(name, fmt.Sprintf("Serverless Workflow's call: %s is not supported", name.Value), "add an MCP server that does it, and name its tool: call: SERVER.TOOL")
		return nil
	}
	return c.tool(t, name, with, s)
}

// failed reports an error of a lookup, with its hint.
func (c *compiler) failed(n *yaml.Node, err error) {
	if unknown, ok := errors.AsType[*gen.UnknownToolError](err); ok {
		for i, id := range unknown.Near { // as documents write it
			unknown.Near[i] = strings.Replace(id, "__", ".", 1)
		}
	}
	c.wrong(n, err.Error(), exit.Hint(err))
}

// keys checks which keys with: has for a call that is not a tool.
func (c *compiler) keys(t *task, with *yaml.Node, required []string, optional ...string) {
	call := at(t.node, "call")
	known := slices.Concat(required, optional)
	for key := range node.Pairs(with) {
		if !slices.Contains(known, key.Value) {
			hint := "known here: " + strings.Join(known, ", ")
			if near := ident.Nearest(key.Value, known, 1); len(near) > 0 {
				hint = fmt.Sprintf("did you mean %s?", near[0])
			}
			c.wrong(key, fmt.Sprintf("call: %s has no argument %q", call.Value, key.Value), hint)
		}
	}
	for _, name := range required {
		if node.Value(with, name) == nil {
			c.wrong(call, fmt.Sprintf("the argument %s of call: %s is missing", name, call.Value), "write it below with:")
		}
	}
}

// tool returns the code of a tool's call.
func (c *compiler) tool(t *task, name, with *yaml.Node, s *scope) []string {
	args, types := "{}", map[string]*cel.Type{}
	if with != nil {
		var members []string
		for key, v := range node.Pairs(with) {
			code, of := c.value(v, s)
			members = append(members, keyed(key.Value, code))
			types[key.Value] = of
		}
		args = bracketed("{ ", members, " }")
	}
	limit := ""
	if after := at(t.node, "timeout", "after"); after != nil {
		limit = c.duration(after, s)
	}
	if c.opt.Tree == nil {
		c.wrong(name, fmt.Sprintf("the tool %q is not known: there is no generated tree", name.Value), "make one with mcpgen sync, or name it with --servers")
		return nil
	}
	d, err := c.opt.Tree.Find(name.Value)
	if err != nil {
		c.failed(name, err)
		return nil
	}
	i := slices.IndexFunc(d.Wrappers, func(w gen.Wrapper) bool { return w.Language == "typescript" })
	if i < 0 {
		c.wrong(name, fmt.Sprintf("the tree has no TypeScript for %s", d.Tool.ID), "add typescript to languages: in mcpgen.yaml")
		return nil
	}
	c.arguments(name, with, d.Tool, types)
	c.tools[d.Tool.ID] = true
	if d.Tool.Output != nil {
		s.output = c.types.of(d.Tool.Output)
	}
	if limit != "" { // wrappers take no options
		c.library["callMCPTool"] = true
		arrow := "(input: any) => "
		if strings.Contains(limit, "await ") {
			arrow = "async " + arrow
		}
		return c.step(t, s, arrow+"callMCPTool("+quote(d.Tool.ID)+", input, { timeoutMs: 1000 * "+limit+" })", args)
	}
	function := c.importing("./servers/"+d.Server.Dir, d.Wrappers[i].Function, d.Server.Dir)
	return c.step(t, s, function, args)
}

func keyed(name, code string) string { return key(name) + ": " + code }

// importing returns what an imported function is called in the script.
func (c *compiler) importing(module, function, from string) string {
	id := module + "\x00" + function
	if known := c.known[id]; known != "" {
		return known
	}
	name := function
	if c.taken[name] || name == "default" {
		name = ident.Camel(from + "_" + function)
	}
	name = c.unique(name)
	c.known[id] = name
	what := function
	if name != function {
		what += " as " + name
	}
	c.imports[module] = append(c.imports[module], what)
	slices.Sort(c.imports[module])
	return name
}

// ask returns the code of a question to a person.
func (c *compiler) ask(t *task, with *yaml.Node, s *scope) []string {
	c.keys(t, with, []string{"question"}, "schema")
	question, of := c.value(value(with, "question"), s)
	if of.Kind() != cel.StringKind && of.Kind() != cel.DynKind {
		c.wrong(at(with, "question"), "the question is not a text", "")
	}
	var options []string
	s.output = cel.StringType
	if n := at(with, "schema"); n != nil {
		raw := c.schema(n)
		options = append(options, "schema: "+c.constant(n))
		s.output = c.types.of(raw)
	}
	if after := at(t.node, "timeout", "after"); after != nil {
		options = append(options, "timeout: "+c.duration(after, s))
	}
	c.library["workflow"] = true
	code := "output = await workflow.ask(" + question
	if len(options) > 0 {
		code += ", " + bracketed("{ ", options, " }")
	}
	return []string{code + ");"}
}

// constant returns the code of a value in which texts hold no expressions.
func (c *compiler) constant(n *yaml.Node) string {
	n = follow(n)
	var parts []string
	switch n.Kind {
	case yaml.MappingNode:
		for k, v := range node.Pairs(n) {
			parts = append(parts, keyed(k.Value, c.constant(v)))
		}
		return bracketed("{ ", parts, " }")
	case yaml.SequenceNode:
		for _, v := range n.Content {
			parts = append(parts, c.constant(v))
		}
		return bracketed("[", parts, "]")
	}
	if kindOf(n) == "string" {
		return quote(n.Value)
	}
	return c.literal(n)
}

// module returns the code of a call of a function that a script or a skill exports.
func (c *compiler) module(t *task, kind string, with *yaml.Node, s *scope) []string {
	named := map[string]string{"script": "file", "skill": "skill"}[kind]
	c.keys(t, with, []string{named}, "function", "input", "arguments")
	target := at(with, named)
	if target == nil {
		return nil
	}
	module := "./skills/" + target.Value
	if kind == "script" {
		module = "./" + path.Clean(filepath.ToSlash(target.Value))
		c.file(target, module)
	} else if err := c.skill(target.Value); err != nil {
		c.failed(target, err)
	}
	function := value(with, "function").Value
	if function == "" {
		function = "default"
	}
	if function != "default" && (!ident.IsIdentifier(function) || ident.TypeScriptReserved(function)) {
		c.wrong(at(with, "function"), fmt.Sprintf("%q is not the name of a function", function), "write the name of a function that it exports")
		return nil
	}
	var args []string
	switch list, input := at(with, "arguments"), at(with, "input"); {
	case list != nil && input != nil:
		c.wrong(list, "there are both input and arguments", "write input for one argument, or arguments for several")
	case list != nil && list.Kind != yaml.SequenceNode:
		c.wrong(list, "arguments is not a list", "write a list, or input for one argument")
	case list != nil:
		for _, v := range list.Content {
			code, _ := c.value(v, s)
			args = append(args, code)
		}
	case input != nil:
		code, _ := c.value(input, s)
		args = append(args, code)
	}
	if c.modules[module] == nil {
		c.modules[module] = target
	}
	name := c.importing(module, function, strings.TrimSuffix(path.Base(target.Value), path.Ext(target.Value)))
	if len(args) == 1 {
		return c.step(t, s, name, args[0])
	}
	code := bracketed(name+"(", args, ")")
	if strings.Contains(code, "await ") {
		return c.step(t, s, "async () => "+code, "")
	}
	return c.step(t, s, "() => "+code, "")
}

func (c *compiler) skill(name string) error {
	if c.opt.Skill == nil {
		return fmt.Errorf("there are no skills here, so not %q", name)
	}
	return c.opt.Skill(name)
}

// file checks that a script exists below the document's folder.
func (c *compiler) file(n *yaml.Node, module string) {
	switch ext := path.Ext(module); {
	case strings.HasPrefix(module, "./../") || path.IsAbs(n.Value):
		c.wrong(n, fmt.Sprintf("%q is not below the folder of the workflow", n.Value), "move the script beside the workflow")
		return
	case ext == ".py":
		c.wrong(n, "a workflow cannot call functions of Python", "write the function in TypeScript, or run the script on its own")
		return
	case !slices.Contains([]string{".ts", ".js", ".mts", ".mjs"}, ext):
		c.wrong(n, fmt.Sprintf("%q is neither TypeScript nor JavaScript", n.Value), "name a file with .ts, .mts, .js or .mjs")
		return
	case c.opt.Dir == "":
		return
	}
	root, err := safeopen.Root(c.opt.Dir)
	if err == nil {
		defer root.Close()
		_, err = root.Stat(strings.TrimPrefix(module, "./"))
	}
	if err != nil {
		c.wrong(n, fmt.Sprintf("there is no script %q beside the workflow", n.Value), "")
	}
}
