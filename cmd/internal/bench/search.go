package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/search"
	"github.com/mcpgen/mcpgen/gen/search/searchtest"
)

const (
	searchPlain = "substring search"
	searchBM25  = "BM25 as SQLite has it"
	searchOurs  = "gen/search"
	// searchRounds is how often each question is asked where times are taken.
	searchRounds = 3
)

// searches measures the search for tools, beside plain searches: how often the right tool is among the first, and how long
// an answer takes among 10,000 tools.
func (b *bench) searches(ctx context.Context) error {
	paths, err := filepath.Glob(filepath.Join(b.root, "..", "shared", "corpus", "*.json"))
	if err != nil {
		return err
	}
	c, err := searchtest.Catalog(paths, filepath.Join(b.root, "servers"))
	if err != nil {
		return err
	}
	set, err := searchtest.Load(filepath.Join(b.root, "testdata", "search"), c)
	if err != nil {
		return err
	}
	if set.Absent > 0 {
		b.skip(fmt.Sprintf("%d questions about recorded servers, which are not beside the repository", set.Absent))
	}
	if err := b.recall(ctx, c, set); err != nil {
		return err
	}
	servers := repeat(c.Servers, manyTools)
	for i := range servers {
		servers[i].Tools = slices.Clone(servers[i].Tools) // each gets ids of its own
	}
	many, err := catalog.New(servers)
	if err != nil {
		return err
	}
	return b.searchTimes(ctx, many, slices.Concat(set.Tuning, set.HeldOut, set.Fresh, set.Unseen))
}

// finders are the searches that are compared, the baselines first.
type finders struct {
	names []string
	find  map[string]searchtest.Find
	close []func() error
}

func newFinders(c *catalog.Catalog) (_ *finders, err error) {
	f := &finders{names: []string{searchPlain, searchBM25, searchOurs}, find: map[string]searchtest.Find{searchPlain: searchtest.Substring(c)}}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	plain, closePlain, err := searchtest.BM25(c)
	if err != nil {
		return nil, err
	}
	f.find[searchBM25], f.close = plain, append(f.close, closePlain)
	index, err := search.New(c, nil)
	if err != nil {
		return nil, err
	}
	f.close = append(f.close, index.Close)
	f.find[searchOurs] = func(ctx context.Context, text string, limit int) ([]string, error) {
		hits, err := index.Search(ctx, search.Query{Text: text, Limit: limit})
		ids := make([]string, len(hits))
		for i, h := range hits {
			ids[i] = h.ID
		}
		return ids, err
	}
	return f, nil
}

// Close frees the indexes.
func (f *finders) Close() error {
	var errs []error
	for _, end := range f.close {
		errs = append(errs, end())
	}
	return errors.Join(errs...)
}

// recall measures the share of questions, in percent, that have an answer among the first three, and ten. The questions
// that were not looked at while the ranking was tuned are counted apart.
func (b *bench) recall(ctx context.Context, c *catalog.Catalog, set *searchtest.Set) (err error) {
	f, err := newFinders(c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	for _, part := range []struct {
		name      string
		questions []searchtest.Question
	}{{"tuned on", set.Tuning}, {"held out", set.HeldOut}, {"fresh", set.Fresh}, {"unseen", set.Unseen}} {
		baseline := ""
		for _, name := range f.names {
			score, err := searchtest.Judge(ctx, f.find[name], part.questions)
			if err != nil {
				return err
			}
			row := func(at int, name string) string {
				return fmt.Sprintf("recall@%d of %d tools, %d questions %s, %s", at, c.Tools(), score.Questions, part.name, name)
			}
			for _, m := range []struct {
				at    int
				share float64
			}{{3, score.At3}, {10, score.At10}} {
				beside := baseline
				if beside != "" {
					beside = row(m.at, baseline)
				}
				b.table.add(row(m.at, name), "%", beside, []float64{100 * m.share})
			}
			if name == searchPlain {
				baseline = name
			}
		}
	}
	return nil
}

// searchTimes measures making the index, and one answer after the other.
func (b *bench) searchTimes(ctx context.Context, c *catalog.Catalog, questions []searchtest.Question) (err error) {
	var made []float64
	for range searchRounds {
		start := time.Now()
		index, err := search.New(c, nil)
		if err != nil {
			return err
		}
		made = append(made, millis(time.Since(start)))
		if err := index.Close(); err != nil {
			return err
		}
	}
	f, err := newFinders(c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	baseline := ""
	for _, name := range f.names {
		var samples []float64
		for range searchRounds {
			for _, q := range questions {
				start := time.Now()
				if _, err := f.find[name](ctx, q.Text, search.DefaultLimit); err != nil {
					return err
				}
				samples = append(samples, millis(time.Since(start)))
			}
		}
		row := fmt.Sprintf("search in %d tools, %s", c.Tools(), name)
		b.table.add(row, "ms", baseline, samples)
		if baseline == "" {
			baseline = row
		}
	}
	b.table.add(fmt.Sprintf("make the index of %d tools", c.Tools()), "ms", "", made)
	return nil
}
