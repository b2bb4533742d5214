package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/mcpgen/mcpgen/gen/catalog"
)

// model is a scripted model that calls tools one by one. It keeps its first error; later calls do nothing.
type model struct {
	ctx   context.Context
	world *world
	led   *ledger
	count func(string) int
	calls int
	wrote []string // tools it called that may change something
	err   error

	tools *catalog.Catalog
	// invoke makes a call. write returns the call as the model writes it; it is nil for direct calls.
	invoke func(tool string, args json.RawMessage) (text string, failed bool, err error)
	write  func(tool string, args json.RawMessage) string
}

// request is a call to be made.
type request struct {
	tool string
	args any
}

// reply is the outcome of a call.
type reply struct {
	text   string
	failed bool
}

// do makes one call in its own turn.
func (m *model) do(tool string, args any) reply {
	return m.all(request{tool, args})[0]
}

// all makes calls in one turn.
func (m *model) all(requests ...request) []reply {
	out := make([]reply, len(requests))
	size := 0
	var encoded []json.RawMessage
	for _, r := range requests {
		args, err := encode(r.args)
		m.keep(err)
		encoded = append(encoded, args)
		size += m.count(m.asCalled(r.tool, args))
	}
	if m.err != nil {
		return out
	}
	m.led.write(size)
	for i, r := range requests {
		text, failed, err := m.send(r.tool, encoded[i])
		if m.keep(err); m.err != nil {
			return out
		}
		m.calls++
		m.note(r.tool)
		m.led.read(m.count(text))
		out[i] = reply{text, failed}
	}
	return out
}

// note records a tool that was called, if it may change something.
func (m *model) note(id string) {
	_, tool, ok := m.tools.Lookup(id)
	switch {
	case !ok:
		m.keep(fmt.Errorf("the catalog has no tool %s", id))
	case tool.Hints.ReadOnly == nil || !*tool.Hints.ReadOnly:
		m.wrote = append(m.wrote, id)
	}
}

// asCalled returns what the model writes for a call.
func (m *model) asCalled(tool string, args json.RawMessage) string {
	if m.write == nil {
		return written(tool, args)
	}
	return m.write(tool, args)
}

func (m *model) send(tool string, args json.RawMessage) (string, bool, error) {
	if m.invoke == nil {
		return m.world.call(m.ctx, tool, args)
	}
	return m.invoke(tool, args)
}

// answer is the last turn.
func (m *model) answer(answer string) { m.led.write(m.count(answer)) }

func (m *model) keep(err error) {
	if m.err == nil {
		m.err = err
	}
}

// read makes a call in its own turn that must succeed, and decodes its result.
func read[T any](m *model, tool string, args any) T {
	return decoded[T](m, m.do(tool, args))
}

// decoded decodes a result that must not be an error.
func decoded[T any](m *model, r reply) (out T) {
	switch {
	case m.err != nil:
	case r.failed:
		m.keep(fmt.Errorf("a call failed: %s", r.text))
	default:
		m.keep(json.Unmarshal([]byte(r.text), &out))
	}
	return out
}

// definition returns what an API sends for a tool.
func definition(t *catalog.Tool) string { return string(bytes.TrimSpace([]byte(t.Definition()))) }

// written returns how a model writes a call: the name of the tool and the input, as compact JSON.
func written(tool string, input any) string {
	text, err := encode(struct {
		Name  string `json:"name"`
		Input any    `json:"input"`
	}{tool, input})
	if err != nil {
		return tool
	}
	return string(text)
}

// encode returns compact JSON without HTML escapes.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}
