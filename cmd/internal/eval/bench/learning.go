package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/learn"
	"github.com/mcpgen/mcpgen/gen/upstream"
)

const (
	// learnCalls is how often each tool is called.
	learnCalls = 20
	// shapeRuns is the number of measurements for each reply. They measure a tool's first replies, which cost the most.
	shapeRuns = 2000
)

// learning measures for how many demo tools runs would learn a type if the tools declared none, and what keeping a shape costs a call.
func (b *bench) learning(ctx context.Context) error {
	got, err := b.learned(ctx)
	if err != nil {
		return err
	}
	b.table.add("demo tools typed from 20 calls of each, declared outputs ignored", "%", "", []float64{100 * float64(got.typed) / float64(got.tools)})
	b.table.add("members of their replies that the types have", "%", "", []float64{100 * float64(got.kept) / float64(got.members)})
	for _, of := range []struct {
		name  string
		items int
	}{{"of 1 record", 1}, {"of 10 records", 10}, {"of 100 records", 100}, {"of 3,000 records, 1 MB", 3000}} {
		reply := records(of.items)
		traffic := learn.NewTraffic()
		n := 0
		took, err := sample(0, shapeRuns, func(took time.Duration) float64 { return float64(took.Nanoseconds()) / 1e3 }, func(int) error {
			if n++; n%100 == 0 {
				traffic = learn.NewTraffic()
			}
			return traffic.Observe(&learn.Observation{Tool: learn.Tool{Server: "s", Name: "t"}, Reply: learn.Reply{Value: reply}})
		})
		if err != nil {
			return err
		}
		b.table.add("keep the shape of a reply "+of.name, "µs", "", took)
	}
	return nil
}

// learnedOf counts what was learned of replies.
type learnedOf struct {
	tools, typed  int
	members, kept int // names of members in replies, and how many of them are in the types
	untyped       []string
}

// learned calls demo tools, ignores their declared outputs, and derives types from the replies as runs do.
func (b *bench) learned(ctx context.Context) (*learnedOf, error) {
	cfg, err := config.Load(filepath.Join(b.root, ".mcp.json"))
	if err != nil {
		return nil, err
	}
	cat, _, err := catalog.LoadTree(filepath.Join(b.root, "servers"))
	if err != nil {
		return nil, err
	}
	data := filepath.Join(b.temp, "learning")
	if err := os.MkdirAll(data, 0o755); err != nil {
		return nil, err
	}
	pool := upstream.NewPool(cfg.Servers, &upstream.Options{ClientName: "bench", Lookup: func(name string) (string, bool) {
		if name == "MCPGEN_DEMO_DATA" {
			return data, true
		}
		return os.LookupEnv(name)
	}})
	defer func() { _ = pool.Close() }()
	traffic := learn.NewTraffic()
	replies := map[learn.Tool][]learn.Reply{}
	for _, calls := range demoCalls() {
		server, name, _ := strings.Cut(calls.tool, ".")
		key := learn.Tool{Server: server, Name: name}
		_, definition, ok := cat.Lookup(server + "__" + name)
		if !ok {
			return nil, fmt.Errorf("the tree has no tool %s", calls.tool)
		}
		for i := range learnCalls {
			args := calls.args(i)
			res, err := pool.Call(ctx, server, name, json.RawMessage(args), nil)
			if err != nil {
				return nil, fmt.Errorf("call %s: %w", calls.tool, err)
			}
			if res.IsError || res.Structured == nil {
				return nil, fmt.Errorf("call %s %s: %s", calls.tool, args, res.Raw)
			}
			reply := learn.Reply{Value: res.Structured, Text: true}
			replies[key] = append(replies[key], reply)
			words := func() map[string]bool {
				return learn.Words(definition.Description, definition.Input, name, definition.Title)
			}
			if err := traffic.Observe(&learn.Observation{Tool: key, Reply: reply, Words: words}); err != nil {
				return nil, err
			}
		}
	}
	out := &learnedOf{}
	for _, p := range traffic.Proposals() {
		schema, err := p.Schema(nil)
		if err != nil {
			return nil, err
		}
		whole, err := learn.Infer(replies[p.Tool], nil)
		if err != nil {
			return nil, err
		}
		out.tools++
		have, all := members(schema), members(whole)
		if have > 0 {
			out.typed++
		} else {
			out.untyped = append(out.untyped, p.Tool.Server+"."+p.Tool.Name+": "+string(schema))
		}
		out.members, out.kept = out.members+all, out.kept+min(have, all)
	}
	return out, nil
}

// members counts the properties in a schema.
func members(schema json.RawMessage) int {
	var v struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Items      json.RawMessage            `json:"items"`
		Values     json.RawMessage            `json:"additionalProperties"`
	}
	if json.Unmarshal(schema, &v) != nil {
		return 0
	}
	n := members(v.Items) + members(v.Values)
	for _, one := range v.Properties {
		n += 1 + members(one)
	}
	return n
}

// calls are the calls of one demo tool, with the arguments of each.
type calls struct {
	tool string
	args func(i int) string
}

// demoCalls returns the calls in the order in which they are made.
func demoCalls() []calls {
	always := func(args string) func(int) string { return func(int) string { return args } }
	each := func(format string) func(int) string {
		return func(i int) string { return strings.ReplaceAll(format, "%", fmt.Sprint(i+1)) }
	}
	of := func(format string, values ...string) func(int) string {
		return func(i int) string { return strings.ReplaceAll(format, "%", values[i%len(values)]) }
	}
	objects := []string{"Account", "Contact", "Lead", "Opportunity"}
	return []calls{
		{"filesystem.write_file", each(`{"path":"made-%.txt","content":"x"}`)},
		{"calculator.add", each(`{"numbers":[1,%]}`)},
		{"calculator.divide", each(`{"dividend":7,"divisor":%}`)},
		{"calculator.evaluate", each(`{"expression":"1+%"}`)},
		{"calculator.multiply", each(`{"numbers":[2,%]}`)},
		{"calculator.power", each(`{"base":2,"exponent":%}`)},
		{"calculator.root", each(`{"value":%}`)},
		{"calculator.statistics", each(`{"values":[1,2,%]}`)},
		{"calculator.subtract", each(`{"a":1,"b":%}`)},
		{"crm.describe_objects", of(`{"object_type":"%"}`, objects...)},
		{"crm.query_records", of(`{"object_type":"%","limit":5}`, objects...)},
		{"database.list_tables", always(`{}`)},
		{"database.query", each(`{"sql":"SELECT name, type FROM sqlite_master LIMIT %"}`)},
		{"drive.list_documents", each(`{"limit":%}`)},
		{"drive.list_sheets", each(`{"limit":%}`)},
		{"drive.create_document", each(`{"title":"T%","content":"c"}`)},
		{"drive.create_sheet", each(`{"title":"S%","columns":[{"name":"a","type":"string"}]}`)},
		{"filesystem.create_directory", each(`{"path":"folder-%"}`)},
		{"filesystem.directory_tree", always(`{}`)},
		{"filesystem.list_directory", always(`{}`)},
		{"filesystem.search_files", always(`{"name_pattern":"*"}`)},
		{"filesystem.get_file_info", always(`{"path":"."}`)},
		{"filesystem.read_file", each(`{"path":"made-%.txt"}`)},
		{"filesystem.read_multiple_files", each(`{"paths":["made-%.txt"]}`)},
		{"weather.find_nearest_city", each(`{"latitude":%,"longitude":10}`)},
		{"weather.get_climate", of(`{"city":"%"}`, "Berlin", "Tokyo")},
		{"weather.get_forecast", of(`{"city":"%"}`, "Berlin", "Tokyo")},
		{"weather.list_cities", of(`{"continent":"%"}`, "Africa", "Asia", "Europe")},
	}
}
