// Package searchtest evaluates a search with questions whose answers are known. Start with [Load] and [Judge]; [Substring] is a plain
// search to compare with.
//
// The questions are in testdata/search, one per line: the question, a tab, and the tools that answer it, each as server/tool, separated by
// spaces. Any one of these counts as the answer. The questions were written from what the tools do, before anything was tuned on them; for
// heldout.tsv and unseen.tsv, only the totals were looked at. wordings.tsv has second wordings of the questions in these two files.
// phrases.json has phrases for all tools of some servers, in the form used in a tree.
package searchtest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/search"
)

// DemoPrefix begins the names of the demo servers in the questions, because a recorded server may have the same name.
const DemoPrefix = "demo-"

// Question is a question whose answers are known.
type Question struct {
	Text string
	// Also are other wordings of it.
	Also []string
	// Tools are the ids of tools that answer it.
	Tools []string
}

// Set holds the questions that a catalog can answer.
type Set struct {
	// Tuning are the questions on which the ranking was tuned, and HeldOut the others.
	Tuning, HeldOut []Question
	// Fresh are from a later set, which was written without looking at the others or at the word lists; afterwards, general faults of the
	// ranking were looked for in them. Unseen are more such questions, of which only the totals were looked at.
	Fresh, Unseen []Question
	// Reworded are the questions in HeldOut and Unseen with a second wording each, such as a model writes that knows the service but has
	// not seen its tools.
	Reworded []Question
	// Absent is the number of questions without an answer in the catalog, because a server's list is missing.
	Absent int
}

// Load reads the questions in folder, and finds their answers in a catalog.
func Load(folder string, c *catalog.Catalog) (*Set, error) {
	ids := map[string]string{}
	for i := range c.Servers {
		s := &c.Servers[i]
		for _, t := range s.Tools {
			ids[s.Key+"/"+t.Name] = t.ID
		}
	}
	set := &Set{}
	for file, to := range map[string]*[]Question{
		"tuning.tsv": &set.Tuning, "heldout.tsv": &set.HeldOut, "fresh.tsv": &set.Fresh, "unseen.tsv": &set.Unseen,
	} {
		questions, absent, err := read(filepath.Join(folder, file), ids)
		if err != nil {
			return nil, err
		}
		*to, set.Absent = questions, set.Absent+absent
	}
	also, err := wordings(filepath.Join(folder, "wordings.tsv"))
	for _, q := range slices.Concat(set.HeldOut, set.Unseen) {
		q.Also = also[q.Text]
		set.Reworded = append(set.Reworded, q)
	}
	return set, err
}

// wordings reads the other wordings of questions: one line per question, separated by tabs.
func wordings(file string) (map[string][]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	out := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		all := strings.Split(strings.TrimSpace(line), "\t")
		out[all[0]] = all[1:]
	}
	return out, nil
}

func read(file string, ids map[string]string) (out []Question, absent int, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, 0, err
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		question, tools, ok := strings.Cut(lines.Text(), "\t")
		if !ok || strings.TrimSpace(tools) == "" {
			return nil, 0, fmt.Errorf("%s:%d: it is not a question, a tab, and tools", file, n)
		}
		q := Question{Text: question}
		for name := range strings.FieldsSeq(tools) {
			if id, there := ids[name]; there {
				q.Tools = append(q.Tools, id)
			}
		}
		if len(q.Tools) == 0 {
			absent++
			continue
		}
		out = append(out, q)
	}
	return out, absent, lines.Err()
}

// Catalog reads recorded tool lists, and the demo servers of the generated tree, which every checkout contains. Without lists it returns
// the demo servers alone.
func Catalog(lists []string, tree string) (*catalog.Catalog, error) {
	demo, _, err := catalog.LoadTree(tree)
	if err != nil {
		return nil, err
	}
	var servers []catalog.Server
	for _, s := range demo.Servers {
		raw := make([]json.RawMessage, len(s.Tools))
		for i, t := range s.Tools {
			raw[i] = t.Raw
		}
		server, _ := catalog.NewServer(DemoPrefix+s.Key, s.Title, s.Instructions, raw)
		servers = append(servers, server)
	}
	recorded, err := ReadLists(lists)
	if err != nil {
		return nil, err
	}
	for _, l := range recorded {
		servers = append(servers, l.Server())
	}
	return catalog.New(servers)
}

// Phrased returns a catalog of the servers for which phrases.json in folder has phrases, and the phrases by tool id. Beside tools without
// phrases, these tools would have an advantage that they do not have in a real tree.
func Phrased(folder string, c *catalog.Catalog) (*catalog.Catalog, map[string][]string, error) {
	raw, err := os.ReadFile(filepath.Join(folder, "phrases.json"))
	if err != nil {
		return nil, nil, err
	}
	var known map[string]map[string]catalog.Phrases
	if err := json.Unmarshal(raw, &known); err != nil {
		return nil, nil, fmt.Errorf("read the phrases: %w", err)
	}
	var servers []catalog.Server
	for _, s := range c.Servers {
		if _, ok := known[s.Key]; ok {
			s.Tools = slices.Clone(s.Tools)
			servers = append(servers, s)
		}
	}
	some, err := catalog.New(servers)
	if err != nil {
		return nil, nil, err
	}
	phrases := map[string][]string{}
	for _, s := range some.Servers {
		for _, t := range s.Tools {
			phrases[t.ID] = known[s.Key][t.Name].Phrases
		}
	}
	return some, phrases, nil
}

// Find is a search. It returns the ids of at most limit tools, the best first. The wordings are of a single question.
type Find func(ctx context.Context, wordings []string, limit int) ([]string, error)

// Index returns the search of an index.
func Index(x *search.Index) Find {
	return func(ctx context.Context, wordings []string, limit int) ([]string, error) {
		q := search.Wordings(wordings).Query()
		q.Limit = limit
		hits, err := x.Search(ctx, q)
		ids := make([]string, len(hits))
		for i, h := range hits {
			ids[i] = h.ID
		}
		return ids, err
	}
}

// Score is the performance of a search.
type Score struct {
	Questions int
	// At3, At5 and At10 are the shares of questions, from 0 to 1, with an answer among the first three, five (the number that serve shows)
	// and ten hits.
	At3, At5, At10 float64
	// Missed are the questions without an answer among the first ten hits, and Late those without one among the first three.
	Missed, Late []Question
}

// Judge asks a search all questions.
func Judge(ctx context.Context, find Find, questions []Question) (*Score, error) {
	s := &Score{Questions: len(questions)}
	for _, q := range questions {
		found, err := find(ctx, append([]string{q.Text}, q.Also...), 10)
		if err != nil {
			return nil, fmt.Errorf("ask %q: %w", q.Text, err)
		}
		place := slices.IndexFunc(found, func(id string) bool { return slices.Contains(q.Tools, id) })
		if place >= 0 {
			s.At10++
		} else {
			s.Missed = append(s.Missed, q)
		}
		if place >= 0 && place < 5 {
			s.At5++
		}
		if place >= 0 && place < 3 {
			s.At3++
		} else {
			s.Late = append(s.Late, q)
		}
	}
	if n := float64(len(questions)); n > 0 {
		s.At3, s.At5, s.At10 = s.At3/n, s.At5/n, s.At10/n
	}
	return s, nil
}
