package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/search"
	"github.com/mcpgen/mcpgen/gen/search/searchtest"
)

const (
	searchPlain = "substring search"
	searchOurs  = "gen/search"
	// searchRounds is how often each question is asked when times are measured.
	searchRounds = 3
)

// searches measures the search for tools, beside a plain search: how often the right tool is among the first hits, and how
// long an answer takes among 10,000 tools.
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
		b.skip(fmt.Sprintf("%d questions about recorded servers, whose lists are not beside the repository", set.Absent))
	}
	if err := b.recall(ctx, c, set); err != nil {
		return err
	}
	if model := b.env("BENCH_EMBEDDINGS"); model != "" {
		if err := b.embeddings(ctx, c, set, model); err != nil {
			return err
		}
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

// finder is one of the searches that are compared.
type finder struct {
	name string
	find searchtest.Find
}

// finders returns the baseline and the search over an index.
func finders(c *catalog.Catalog, index *search.Index) []finder {
	return []finder{{searchPlain, searchtest.Substring(c)}, {searchOurs, searchtest.Index(index)}}
}

// recall measures the percentage of questions that have an answer among the first three, five and ten hits. Questions that were
// not looked at while the ranking was tuned are counted separately.
func (b *bench) recall(ctx context.Context, c *catalog.Catalog, set *searchtest.Set) error {
	index := search.New(c, nil)
	for _, part := range []struct {
		name      string
		questions []searchtest.Question
	}{{"tuned on", set.Tuning}, {"held out", set.HeldOut}, {"fresh", set.Fresh}, {"unseen", set.Unseen}, {"held out or unseen, in two wordings", set.Reworded}} {
		if err := b.judge(ctx, c, part.name, part.questions, finders(c, index)); err != nil {
			return err
		}
	}
	questions := filepath.Join(b.root, "testdata", "search")
	some, phrases, err := searchtest.Phrased(questions, c)
	if err != nil {
		return err
	}
	if set, err = searchtest.Load(questions, some); err != nil {
		return err
	}
	return b.judge(ctx, some, "fresh or tuned on", slices.Concat(set.Fresh, set.Tuning), []finder{
		{searchOurs + " without phrases", searchtest.Index(search.New(some, nil))},
		{searchOurs + " with phrases", searchtest.Index(search.New(some, &search.Options{Phrases: phrases}))},
	})
}

// embeddings measures what a model for embeddings adds, with the weight that the self-test gives it.
func (b *bench) embeddings(ctx context.Context, c *catalog.Catalog, set *searchtest.Set, model string) error {
	endpoint, err := search.NewEndpoint(search.EndpointOptions{URL: b.env("BENCH_EMBEDDINGS_URL"), Model: model, Key: b.env("BENCH_EMBEDDINGS_KEY")})
	if err != nil {
		return err
	}
	var degraded error // an answer by words alone must not count
	index := search.New(c, &search.Options{Embedder: endpoint, Degraded: func(err error) { degraded = err }})
	if err := index.Warm(ctx); err != nil {
		return err
	}
	answer, err := index.Answer(ctx, search.Query{Text: "close a ticket"})
	if err != nil {
		return err
	}
	err = b.judge(ctx, c, "held out or unseen", slices.Concat(set.HeldOut, set.Unseen), []finder{
		{"words alone", searchtest.Index(search.New(c, nil))},
		{fmt.Sprintf("%s with weight %v", model, answer.Weight), searchtest.Index(index)},
	})
	return errors.Join(err, degraded)
}

// judge adds rows for the finders. The first one is the baseline of the others.
func (b *bench) judge(ctx context.Context, c *catalog.Catalog, name string, questions []searchtest.Question, finders []finder) error {
	baselines := map[int]string{} // by the number of hits
	for _, f := range finders {
		score, err := searchtest.Judge(ctx, f.find, questions)
		if err != nil {
			return err
		}
		for _, m := range []struct {
			at    int
			share float64
		}{{3, score.At3}, {5, score.At5}, {10, score.At10}} {
			row := fmt.Sprintf("recall@%d of %d tools, %d questions %s, %s", m.at, c.Tools(), score.Questions, name, f.name)
			b.table.add(row, "%", baselines[m.at], []float64{100 * m.share})
			baselines[m.at] = row
		}
	}
	return nil
}

// searchTimes measures building the index, and answering one question after the other.
func (b *bench) searchTimes(ctx context.Context, c *catalog.Catalog, questions []searchtest.Question) error {
	var index *search.Index
	made, err := sample(0, searchRounds, millis, func(int) error {
		index = search.New(c, nil)
		return nil
	})
	if err != nil {
		return err
	}
	baseline := ""
	for _, f := range finders(c, index) {
		samples, err := sample(0, searchRounds*len(questions), millis, func(i int) error {
			_, err := f.find(ctx, []string{questions[i%len(questions)].Text}, search.DefaultLimit)
			return err
		})
		if err != nil {
			return err
		}
		row := fmt.Sprintf("search in %d tools, %s", c.Tools(), f.name)
		b.table.add(row, "ms", baseline, samples)
		baseline = row
	}
	b.table.add(fmt.Sprintf("make the index of %d tools", c.Tools()), "ms", "", made)
	return nil
}
