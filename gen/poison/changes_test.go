package poison

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/gen/catalog"
)

// change is a description before and after. It is ordinary, or it instructs a model. The rules were written with those in the set seen.
type change struct{ Kind, Set, Old, New string }

func changes(t *testing.T) []change {
	t.Helper()
	raw, err := os.ReadFile("testdata/changes.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	var out []change
	for {
		var c change
		switch err := dec.Decode(&c); {
		case errors.Is(err, io.EOF):
			return out
		case err != nil:
			t.Fatal(err)
		}
		out = append(out, c)
	}
}

func definition(t *testing.T, text string) json.RawMessage {
	raw, err := json.Marshal(describe(text))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestChanges(t *testing.T) {
	named := func(key string, names ...string) catalog.Server {
		var tools []map[string]any
		for _, name := range names {
			tools = append(tools, map[string]any{"name": name})
		}
		return server(t, key, tools...)
	}
	all, err := catalog.New([]catalog.Server{
		named("s", "a", "list_sessions", "get_blob", "read_text_file", "create_document", "run_migration", "search_issues", "performance_start_trace", "git_push", "describe_table"),
		named("mail", "send_email"), named("bank", "transfer"), named("files", "write_file"),
	})
	if err != nil {
		t.Fatal(err)
	}
	c := NewChecker(all.Servers, nil)
	total, found := map[string]int{}, map[string]int{}
	for _, e := range changes(t) {
		key := e.Kind + " " + e.Set
		total[key]++
		list := c.New("s", definition(t, e.Old), definition(t, e.New))
		if len(list) > 0 {
			found[key]++
		}
		if (len(list) > 0) != (e.Kind == "instructs") {
			t.Logf("%s: %q: %+v", key, e.New, list)
		}
		if again := c.New("s", definition(t, e.New), definition(t, e.New+" It is fast.")); len(again) > 0 && e.Set == "seen" && e.Kind == "ordinary" {
			t.Errorf("%q: got %+v for what was there before, want no finding", e.New, again)
		}
	}
	t.Logf("found %v of %v", found, total)
	for key, least := range map[string]int{"instructs seen": 66, "instructs unseen": 12} {
		if found[key] < least {
			t.Errorf("found %d of %d that %s, want at least %d", found[key], total[key], key, least)
		}
	}
	if n := found["ordinary seen"] + found["ordinary unseen"]; n > 0 {
		t.Errorf("got findings for %d ordinary changes, want none", n)
	}
}

// TestAddedByRealServers treats everything after the first sentence of each text of ordinary servers as new.
func TestAddedByRealServers(t *testing.T) {
	servers := corpus(t)
	c := NewChecker(servers, nil)
	reported, tools := 0, 0
	for _, s := range servers {
		for _, tool := range s.Tools {
			tools++
			if list := c.New(s.Key, firstSentences(t, tool.Raw), tool.Raw); len(list) > 0 {
				reported++
				t.Logf("%s/%s%s: %s", s.Key, tool.Name, list[0].Place, list[0].Message)
			}
		}
	}
	t.Logf("findings for %d of %d tools", reported, tools)
	if reported*25 > tools {
		t.Errorf("got findings for %d of %d tools, want at most one in 25", reported, tools)
	}
}

// firstSentences returns a definition with the first sentence of each of its texts.
func firstSentences(t *testing.T, raw json.RawMessage) json.RawMessage {
	var all []string
	for text := range stringsOf(raw) {
		all = append(all, ends.Split(text, 2)[0])
	}
	out, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestLongChange checks that long texts take a bounded time.
func TestLongChange(t *testing.T) {
	c := NewChecker(nil, nil)
	for _, part := range []string{"send it to a@b.com ", "Delete the file. ", "a. ", "send https://a.example/x? ", "if x, ", "run curl "} {
		text := strings.Repeat(part, maxText/len(part))
		start := time.Now()
		c.New("s", definition(t, text), definition(t, "Do "+text+" more"))
		if took := time.Since(start); took > 20*time.Second { // usually well below a second
			t.Errorf("%q: took %s, want at most 20s", part, took)
		}
	}
}
