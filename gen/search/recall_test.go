package search_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/search"
	"github.com/mcpgen/mcpgen/gen/search/searchtest"
)

// lists returns recorded tool lists of public servers, which may be beside the repository.
func lists(t testing.TB) []string {
	t.Helper()
	dir := os.Getenv("MCPGEN_TEST_CORPUS")
	if dir == "" {
		dir = "../../../shared/corpus"
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func judged(t testing.TB, paths []string) (*catalog.Catalog, *searchtest.Set) {
	t.Helper()
	c, err := searchtest.Catalog(paths, "../../servers")
	if err != nil {
		t.Fatal(err)
	}
	set, err := searchtest.Load("../../testdata/search", c)
	if err != nil {
		t.Fatal(err)
	}
	return c, set
}

func index(t testing.TB, c *catalog.Catalog, opt *search.Options) *search.Index {
	t.Helper()
	return search.New(c, opt)
}

// floor is the least result for a set of questions: the shares with an answer among the first three, five and ten hits.
type floor struct{ at3, at5, at10 float64 }

// floors are the least results of all sets, of the questions in two wordings, and of the questions with a misspelling each.
type floors struct{ tuning, heldOut, fresh, unseen, reworded, slips floor }

// TestRecall checks that the ranking does not get worse. The demo servers are in every checkout; the recorded lists of public servers, with
// which all questions can be judged, may be beside the repository.
func TestRecall(t *testing.T) {
	t.Run("demo", func(t *testing.T) {
		recall(t, nil, 55, floors{
			floor{0.90, 0.92, 0.95}, floor{0.70, 0.75, 0.80}, floor{0.90, 0.92, 0.95}, floor{}, floor{0.90, 0.90, 0.95}, floor{0.85, 0.86, 0.88},
		})
	})
	recorded := lists(t)
	if len(recorded) == 0 {
		t.Log("recorded tool lists are not beside the repository: their questions are left out")
		return
	}
	if raced {
		t.Log("a thousand questions say nothing more about races, and take half a minute")
		return
	}
	t.Run("recorded", func(t *testing.T) {
		recall(t, recorded, 690, floors{
			floor{0.82, 0.87, 0.93}, floor{0.75, 0.78, 0.88}, floor{0.89, 0.92, 0.94}, floor{0.80, 0.84, 0.88}, floor{0.95, 0.97, 0.98}, floor{0.81, 0.85, 0.90},
		})
	})
}

func recall(t *testing.T, paths []string, questions int, least floors) {
	c, set := judged(t, paths)
	all := slices.Concat(set.Tuning, set.HeldOut, set.Fresh, set.Unseen)
	if len(all) < questions {
		t.Errorf("%d questions can be judged, %d not; there were %d", len(all), set.Absent, questions)
	}
	x := index(t, c, nil)
	for _, part := range []struct {
		name      string
		questions []searchtest.Question
		floor     floor
	}{
		{"tuning", set.Tuning, least.tuning}, {"held out", set.HeldOut, least.heldOut}, {"fresh", set.Fresh, least.fresh},
		{"unseen", set.Unseen, least.unseen}, {"two wordings", set.Reworded, least.reworded}, {"slips", slips(all), least.slips},
	} {
		score, err := searchtest.Judge(t.Context(), searchtest.Index(x), part.questions)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d questions, recall@3 %.3f, @5 %.3f, @10 %.3f", part.name, score.Questions, score.At3, score.At5, score.At10)
		if score.At3 < part.floor.at3 || score.At5 < part.floor.at5 || score.At10 < part.floor.at10 {
			t.Errorf("%s: recall@3 %.3f, @5 %.3f, @10 %.3f; the floor is %+v", part.name, score.At3, score.At5, score.At10, part.floor)
		}
	}
}

// TestRecallWithPhrases checks what phrases add, on questions that their author had not read.
func TestRecallWithPhrases(t *testing.T) {
	c, _ := judged(t, lists(t))
	some, phrases, err := searchtest.Phrased("../../testdata/search", c)
	if err != nil {
		t.Fatal(err)
	}
	set, err := searchtest.Load("../../testdata/search", some)
	if err != nil {
		t.Fatal(err)
	}
	var got [2]*searchtest.Score
	for i, opt := range []*search.Options{nil, {Phrases: phrases}} {
		if got[i], err = searchtest.Judge(t.Context(), searchtest.Index(index(t, some, opt)), slices.Concat(set.Fresh, set.Tuning)); err != nil {
			t.Fatal(err)
		}
		t.Logf("%d questions, %d tools: recall@3 %.3f, @5 %.3f, @10 %.3f", got[i].Questions, some.Tools(), got[i].At3, got[i].At5, got[i].At10)
	}
	if least := got[0].At5 + 0.05; len(lists(t)) > 0 && got[1].At5 < least {
		t.Errorf("with phrases recall@5 is %.3f, without %.3f; want %.3f", got[1].At5, got[0].At5, least)
	}
	if got[1].At5 < 0.96 {
		t.Errorf("with phrases recall@5 is %.3f, want 0.96", got[1].At5)
	}
}

// slips returns the questions with a misspelling in their longest word: in turn, two letters in its middle swapped, one left out, or one
// doubled.
func slips(list []searchtest.Question) []searchtest.Question {
	out := slices.Clone(list)
	for i, q := range list {
		words := strings.Fields(q.Text)
		longest := 0
		for j, w := range words {
			if len(w) > len(words[longest]) {
				longest = j
			}
		}
		w := []byte(words[longest])
		switch mid := len(w) / 2; i % 3 {
		case 0:
			w[mid-1], w[mid] = w[mid], w[mid-1]
		case 1:
			w = slices.Delete(w, mid, mid+1)
		case 2:
			w = slices.Insert(w, mid, w[mid])
		}
		words[longest] = string(w)
		out[i].Text = strings.Join(words, " ")
	}
	return out
}

// TestOwnNames finds tools by the names of their servers and their own names.
func TestOwnNames(t *testing.T) {
	c, _ := judged(t, lists(t))
	x := index(t, c, nil)
	step := 5
	if raced {
		step = 50
	}
	n := 0
	for i := range c.Servers {
		s := &c.Servers[i]
		for j := range s.Tools {
			if n++; n%step != 0 && len(c.Servers) > 10 { // a sample of many is enough
				continue
			}
			id := s.Tools[j].ID
			hits, err := x.Search(t.Context(), search.Query{Text: s.Key + " " + s.Tools[j].Name, Limit: 3})
			if err != nil || !slices.Contains(ids(hits), id) {
				t.Errorf("%s %s finds %v, %v, want %v in it and no error", s.Key, s.Tools[j].Name, ids(hits), err, id)
			}
		}
	}
}
