package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream"
)

// The goals for the tokens of serve's own definitions: all of them, and with --tools code and no index.
const (
	goalServe = 1000
	goalBare  = 200
)

// fixed is the number of tokens that the definitions of mcprun serve cost a model before it does anything.
type fixed struct {
	Tools int // of the catalog
	All   int // all tools, with the index of the catalog
	Code  int // --tools code, with the index
	Bare  int // --tools code --index-tokens 0
}

// Variables that name the demo servers and their data in the configuration of the tree.
const (
	demoVariable = "PROOF_MCPDEMO"
	dataVariable = "PROOF_DATA"
)

// service is a running mcprun serve, and its tools.
type service struct {
	pool  *upstream.Pool
	tools []catalog.Tool
	index string // the description of execute_code
}

const serviceKey = "mcprun"

// serve starts mcprun serve in a project's folder, over the demo servers' data in another.
func (p *proof) serve(ctx context.Context, dir, data string, flags ...string) (s *service, err error) {
	s = &service{pool: upstream.NewPool([]config.Server{{
		Key: serviceKey, Transport: config.TransportStdio, Command: p.mcprun, Args: append([]string{"serve", "--sandbox", "embedded"}, flags...), Dir: dir,
		Env: map[string]string{demoVariable: p.mcpdemo, dataVariable: data},
	}}, &upstream.Options{ClientName: "proof"})}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.pool.Close())
		}
	}()
	session, err := s.pool.Connect(ctx, serviceKey)
	if err != nil {
		return nil, err
	}
	list, err := session.ListTools(ctx)
	if err != nil {
		return nil, err
	}
	server, _ := catalog.NewServer(serviceKey, "", "", list)
	c, err := catalog.New([]catalog.Server{server})
	if err != nil {
		return nil, err
	}
	s.tools = c.Servers[0].Tools
	for i, t := range s.tools {
		s.tools[i].ID = t.Name // its own name, without the prefix that hosts add
		if t.Name == "execute_code" {
			s.index = t.Description
		}
	}
	return s, nil
}

// cost counts the tokens of the definitions.
func (s *service) cost(count func(string) int) int {
	n := 0
	for i := range s.tools {
		n += count(definition(&s.tools[i]))
	}
	return n
}

// fixedCost counts the tokens of serve's definitions in a project.
func (p *proof) fixedCost(ctx context.Context, b *project) (*fixed, error) {
	f := &fixed{Tools: b.tools}
	for _, each := range []struct {
		into  *int
		flags []string
	}{{&f.All, nil}, {&f.Code, []string{"--tools", "code"}}, {&f.Bare, []string{"--tools", "code", "--index-tokens", "0"}}} {
		s, err := p.serve(ctx, b.dir, p.seed, each.flags...)
		if err != nil {
			return nil, err
		}
		*each.into = s.cost(p.count.count)
		if err := s.pool.Close(); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// call calls a tool of the service.
func (s *service) call(ctx context.Context, tool string, args any) (text string, failed bool, err error) {
	raw, err := encode(args)
	if err != nil {
		return "", false, err
	}
	res, err := s.pool.Call(ctx, serviceKey, tool, raw, nil)
	if err != nil {
		return "", false, fmt.Errorf("call %s of mcprun serve: %w", tool, err)
	}
	text, err = textOf(res)
	return text, res.IsError, err
}

// names reports whether the index names a tool, so that no search is needed.
func (s *service) names(b *project, tool string) bool {
	server, t, ok := b.tree.Catalog.Lookup(tool)
	if !ok {
		return false
	}
	function := b.tree.Lock.Servers[server.Key].Tools[t.Name].Names["typescript"].Function
	return regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(server.Dir) + `: (.* )?` + regexp.QuoteMeta(function) + `( |$)`).MatchString(s.index)
}

// viaServe does a task as a client of mcprun serve: one call with call_tool, everything else with execute_code.
func (p *proof) viaServe(ctx context.Context, b *project, t task, world *world, led *ledger) (d *done, err error) {
	s, err := p.serve(ctx, b.dir, world.data)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.pool.Close()) }()
	led.define(s.cost(p.count.count))
	led.read(p.count.count(t.prompt))
	m := &model{ctx: ctx, world: world, led: led, count: p.count.count, tools: b.tree.Catalog, found: map[string]bool{}}
	m.look = func(tool string) { m.keep(s.learn(m, b, t, tool)) }
	m.invoke = func(tool string, args json.RawMessage) (string, bool, error) {
		return s.call(ctx, "call_tool", object{"tool": tool, "arguments": args})
	}
	m.write = func(tool string, args json.RawMessage) string {
		return written("call_tool", object{"tool": tool, "arguments": args})
	}
	began := time.Now()
	if t.kind == oneCall {
		answer := t.direct(m)
		m.answer(answer)
		return &done{led, answer, m.calls, m.wrote, time.Since(began)}, m.err
	}
	answer := ""
	for _, n := range t.needs {
		m.find(n.tool)
	}
	for i, code := range t.scripts {
		if m.err != nil {
			break
		}
		args := object{"code": code, "language": "typescript"}
		led.write(m.count(written("execute_code", args)))
		text, failed, err := s.call(ctx, "execute_code", args)
		if m.keep(err); failed && i == len(t.scripts)-1 {
			m.keep(fmt.Errorf("script %d failed: %s", i+1, text))
		}
		led.read(m.count(text))
		m.calls++
		answer = strings.TrimSpace(text)
	}
	m.answer(answer)
	return &done{led, answer, m.calls, m.wrote, time.Since(began)}, m.err
}

// learn reads the wrapper of a tool, after a search if the index does not name the tool.
func (s *service) learn(m *model, b *project, t task, tool string) error {
	ask := func(name string, args object) (string, error) {
		m.led.write(m.count(written(name, args)))
		m.calls++
		text, failed, err := s.call(m.ctx, name, args)
		if err == nil && failed {
			err = errors.New(text)
		}
		m.led.read(m.count(text))
		return text, err
	}
	known := s.names(b, tool)
	for _, query := range t.searches(tool) {
		if known {
			break
		}
		text, err := ask("search_tools", query)
		if err != nil {
			return err
		}
		known = regexp.MustCompile(`\b` + regexp.QuoteMeta(tool) + `\b`).MatchString(text)
	}
	if !known {
		return fmt.Errorf("neither the index nor a search names %s", tool)
	}
	_, err := ask("get_tool_definition", object{"tool_name": tool})
	return err
}

// demoEntry returns the configuration of a demo server whose program and data the environment names.
func demoEntry(name string) object {
	return object{"command": "${" + demoVariable + "}", "args": []string{name, "--data", "${" + dataVariable + "}"}}
}
