// Package searchtest judges a search by questions whose answers are known. Start with [Load] and [Judge]; [Substring]
// is a plain search to compare with.
//
// The questions are in testdata/search, a line each: the question, a tab, and the tools that answer it, each as
// server/tool, with spaces between them. Any one of these counts. They were written by looking at what tools do, before
// anything was tuned on them; of heldout.tsv and unseen.tsv only the totals were looked at. wordings.tsv has second wordings
// of the questions of these two. phrases.json has phrases for all tools of some servers, in the form of a tree.
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

// DemoPrefix is what the demo servers' names begin with in the questions: a recorded server may have the same name.
const DemoPrefix = "demo-"

// Question is one whose answers are known.
type Question struct {
	Text string
	// Also are other wordings of it.
	Also []string
	// Tools are ids of the catalog.
	Tools []string
}

// Set is the questions to which a catalog has an answer.
type Set struct {
	// Tuning are those that the ranking was tuned on, HeldOut the others.
	Tuning, HeldOut []Question
	// Fresh are of a later set, which was written without a look at the others and at the word lists; general faults of
	// the ranking were then looked for in them. Unseen are more such questions, of which only the totals were looked at.
	Fresh, Unseen []Question
	// Reworded are HeldOut and Unseen with a second wording each, as a model gives it that knows the service but has not seen
	// its tools.
	Reworded []Question
	// Absent is how many have no answer in the catalog, because a server's list is not there.
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

// wordings reads the other wordings of questions: a line for each question, with tabs between them.
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

// Catalog reads recorded tool lists, and the demo servers of the tree in tree, which are in every checkout. Without
// lists it is the demo servers alone.
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

// Phrased returns the servers of a catalog for which phrases.json in folder has phrases, as a catalog of their own, and the
// phrases by the ids of tools. Beside tools without phrases, those with phrases would have an advantage that no tree gives
// them.
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

// Find is a search: the ids of at most limit tools, the best first. The wordings are of one question.
type Find func(ctx context.Context, wordings []string, limit int) ([]string, error)

// Index is the search of an index.
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

// Score is how a search did.
type Score struct {
	Questions int
	// At3, At5 and At10 are the shares of questions that had an answer among the first three, five (which serve shows), and
	// ten; of 1.
	At3, At5, At10 float64
	// Missed are those that had none among the first ten, Late those that had none among the first three.
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
