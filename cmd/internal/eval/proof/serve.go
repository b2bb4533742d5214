package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream"
)

// The goals for the tokens of serve's own definitions: with index and instructions, and with --tools code and neither of them.
const (
	goalServe = 600
	goalBare  = 300
)

// fixed is the number of tokens that the definitions of mcprun serve cost a model before it does anything.
type fixed struct {
	Tools int // of the catalog
	All   int // those listed by default, with index and instructions
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
	pool         *upstream.Pool
	tools        []catalog.Tool
	instructions string
}

const serviceKey = "mcprun"

// serve starts mcprun serve in the folder of a project, with the demo servers' data in another folder. It has both languages, so
// that the definitions mention both. Destructive calls are allowed, because nobody is there to approve them.
func (p *proof) serve(ctx context.Context, dir, data string, flags ...string) (s *service, err error) {
	s = &service{pool: upstream.NewPool([]config.Server{{
		Key: serviceKey, Transport: config.TransportStdio, Command: p.mcprun, Args: append([]string{"serve", "--languages", "typescript,python", "--allow", "*", "--pii", "off"}, flags...), Dir: dir,
		Env: map[string]string{demoVariable: p.mcpdemo, dataVariable: data, "MCPGEN_TRUST": "1", "PATH": os.Getenv("PATH")},
	}}, &upstream.Options{ClientName: "proof"})}
	pool := s.pool
	defer func() {
		if err != nil {
			err = errors.Join(err, pool.Close())
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
	}
	s.instructions = session.Info().Instructions
	return s, nil
}

// cost counts the tokens of the definitions and the instructions.
func (s *service) cost(count func(string) int) int {
	n := count(s.instructions)
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

// viaServe does a task as a client of mcprun serve: one call with call_tool, everything else with execute_code.
func (p *proof) viaServe(ctx context.Context, b *project, t task, world *world, led *ledger) (d *done, err error) {
	s, err := p.serve(ctx, b.dir, world.data)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.pool.Close()) }()
	led.define(s.cost(p.count.count))
	led.read(p.count.count(t.prompt))
	look := s.lookup(ctx, b, &lookup{led: led, count: p.count.count})
	if err := look.tools(t); err != nil {
		return nil, err
	}
	m := &model{ctx: ctx, world: world, led: led, count: p.count.count, tools: b.tree.Catalog, calls: look.calls}
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
		return &done{led, answer, m.calls, m.wrote, time.Since(began), p.count.count(s.instructions)}, m.err
	}
	answer := ""
	for i, code := range t.scripts {
		if m.err != nil {
			break
		}
		args := object{"code": code, "language": "typescript"}
		led.write(m.count(written("execute_code", args)))
		text, failed, err := s.execute(ctx, m, args)
		if m.keep(err); failed && i == len(t.scripts)-1 {
			m.keep(fmt.Errorf("script %d failed: %s", i+1, text))
		}
		led.read(m.count(text))
		m.calls++
		answer = strings.TrimSuffix(text, "\n")
	}
	m.answer(answer)
	return &done{led, answer, m.calls, m.wrote, time.Since(began), p.count.count(s.instructions)}, m.err
}

// execute runs a script, and records the tools it called that may change something.
func (s *service) execute(ctx context.Context, m *model, args object) (text string, failed bool, err error) {
	raw, err := encode(args)
	if err != nil {
		return "", false, err
	}
	res, err := s.pool.Call(ctx, serviceKey, "execute_code", raw, nil)
	if err != nil {
		return "", false, fmt.Errorf("call execute_code of mcprun serve: %w", err)
	}
	var whole struct {
		Meta struct {
			Run struct{ Calls []struct{ Tool string } } `json:"com.github.mcpgen/run"`
		} `json:"_meta"`
	}
	if err := json.Unmarshal(res.Raw, &whole); err != nil {
		return "", false, err
	}
	for _, c := range whole.Meta.Run.Calls {
		m.note(c.Tool)
	}
	text, err = textOf(res)
	return text, res.IsError, err
}

// lookup sets how a client of the service finds tools.
func (s *service) lookup(ctx context.Context, b *project, l *lookup) *lookup {
	ask := func(tool string, args object) (string, error) {
		text, failed, err := s.call(ctx, tool, args)
		if err == nil && failed {
			err = errors.New(text)
		}
		return text, err
	}
	l.search = func(query object) (found, error) {
		text, err := ask("search_tools", query)
		return b.finder.read(text), err
	}
	l.asSearch = func(queries []object) string { return asCalls("search_tools", queries) }
	return l
}

// demoEntry returns the configuration of a demo server whose program and data the environment names.
func demoEntry(name string) object {
	return object{"command": "${" + demoVariable + "}", "args": []string{name, "--data", "${" + dataVariable + "}"}}
}
