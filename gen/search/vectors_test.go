package search_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/gen/search"
)

// meaning is an embedder with one dimension for each of a few topics.
type meaning struct {
	topics [][]string
	name   string
	wrong  func(made [][]float32) ([][]float32, error) // changes the answer, if not nil
	wait   time.Duration

	mu    sync.Mutex
	texts []string // all texts of all calls
	calls int
}

func (m *meaning) Name() string { return "meaning " + m.name }

func (m *meaning) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	m.mu.Lock()
	m.texts = append(m.texts, texts...)
	m.calls++
	m.mu.Unlock()
	if m.wait > 0 {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(m.wait):
		}
	}
	if len(texts) > search.EmbedBatch {
		return nil, fmt.Errorf("%d texts at once", len(texts))
	}
	out := make([][]float32, len(texts))
	for i, text := range texts {
		out[i] = make([]float32, len(m.topics)+1)
		out[i][len(m.topics)] = 0.01
		for j, words := range m.topics {
			for _, w := range words {
				out[i][j] += float32(strings.Count(strings.ToLower(text), w))
			}
		}
	}
	if m.wrong != nil {
		return m.wrong(out)
	}
	return out, nil
}

func (m *meaning) asked() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.texts)
}

func topics() [][]string {
	return [][]string{{"pull request", "contribution"}, {"issue", "trouble"}, {"repository", "codebase"}, {"e-mail", "correspondence"}, {"screen", "photograph"}}
}

// TestMeaning checks that search finds tools that share no word with the query, and still finds tools by words.
func TestMeaning(t *testing.T) {
	m := &meaning{topics: topics()}
	x := index(t, small(t), &search.Options{Embedder: m})
	for text, want := range map[string]string{
		"my correspondence":     "mail__send_message",
		"photograph":            "mail__take_screenshot",
		"merge a contribution":  "git_hub__merge_pull_request",
		"merge pull request":    "git_hub__merge_pull_request",
		"trouble with git hub ": "git_hub__list_issues",
	} {
		a, err := x.Answer(t.Context(), search.Query{Text: text})
		if err != nil || a.Degraded != nil || len(a.Hits) == 0 || a.Hits[0].ID != want {
			t.Errorf("Answer(%q) = %v, degraded %v (%v), want %s", text, ids(a.Hits), a.Degraded, err, want)
		}
	}
	if n := m.asked(); n != 7+7+5 {
		t.Errorf("%d texts were embedded, want 19: each tool, each name and each query once", n)
	}
	hits, err := x.Search(t.Context(), search.Query{Text: "correspondence", Server: "git-hub"})
	if err != nil || slices.ContainsFunc(hits, func(h search.Hit) bool { return h.Server.Key != "git-hub" }) {
		t.Errorf("the filter lets through %v (%v)", ids(hits), err)
	}
}

// TestDegraded checks that, if the embedder fails, the answer is by words only, and the failure is reported.
func TestDegraded(t *testing.T) {
	plain := index(t, small(t), nil)
	want, err := plain.Search(t.Context(), search.Query{Text: "merge pull request"})
	if err != nil {
		t.Fatal(err)
	}
	for name, wrong := range map[string]func([][]float32) ([][]float32, error){
		"down":  func([][]float32) ([][]float32, error) { return nil, errors.New("down") },
		"few":   func(v [][]float32) ([][]float32, error) { return v[1:], nil },
		"empty": func(v [][]float32) ([][]float32, error) { v[0] = nil; return v, nil },
		"uneven": func(v [][]float32) ([][]float32, error) {
			v[len(v)-1] = []float32{1}
			v[0] = []float32{1, 2}
			return v, nil
		},
		"zero":    func(v [][]float32) ([][]float32, error) { clear(v[0]); return v, nil },
		"no way":  func(v [][]float32) ([][]float32, error) { v[0][0] = float32(math.NaN()); return v, nil },
		"far":     func(v [][]float32) ([][]float32, error) { v[0][0] = float32(math.Inf(1)); return v, nil },
		"another": func(v [][]float32) ([][]float32, error) { return [][]float32{make([]float32, len(v)+1)}, nil },
	} {
		t.Run(name, func(t *testing.T) {
			var said []error
			x := index(t, small(t), &search.Options{Embedder: &meaning{topics: topics(), wrong: wrong}, Degraded: func(err error) { said = append(said, err) }})
			a, err := x.Answer(t.Context(), search.Query{Text: "merge pull request"})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(ids(a.Hits), ids(want)) {
				t.Errorf("hits %v, by words %v", ids(a.Hits), ids(want))
			}
			if a.Degraded == nil || !strings.Contains(a.Degraded.Error(), "search by meaning") || len(said) != 1 {
				t.Errorf("degraded: %v, said %v", a.Degraded, said)
			}
		})
	}
}

// TestPause checks that a dead endpoint is called again only after a pause.
func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := true
		m := &meaning{topics: topics(), wrong: func(v [][]float32) ([][]float32, error) {
			if down {
				return nil, errors.New("down")
			}
			return v, nil
		}}
		x := index(t, small(t), &search.Options{Embedder: m})
		ask := func() error {
			a, err := x.Answer(t.Context(), search.Query{Text: "photograph"})
			if err != nil {
				t.Fatal(err)
			}
			return a.Degraded
		}
		for range 3 {
			if err := ask(); err == nil || !strings.Contains(err.Error(), "down") {
				t.Fatalf(`degraded: %v, want an error and "down" in it`, err)
			}
		}
		if m.calls != 1 {
			t.Errorf("a dead endpoint was asked %d times at once, want 1", m.calls)
		}
		down = false
		time.Sleep(time.Minute)
		if err := ask(); err != nil {
			t.Errorf("when it is back: %v", err)
		}
	})
}

// TestSlow checks that the wait of a search is bounded, and that vectors computed in the meantime are kept.
func TestSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tools []tool
		for i := range 3 * search.EmbedBatch {
			tools = append(tools, tool{name: fmt.Sprintf("screen_%d", i)})
		}
		m := &meaning{topics: topics(), wait: 2 * time.Second}
		x := index(t, catalogOf(t, server(t, "s", tools...)), &search.Options{Embedder: m, EmbedTime: 10 * time.Second})
		start := time.Now()
		a, err := x.Answer(t.Context(), search.Query{Text: "screen 7"})
		if err != nil || a.Degraded == nil || !strings.Contains(a.Degraded.Error(), "160 of 192 texts are done") || len(a.Hits) == 0 {
			t.Errorf("hits %v, degraded %v, %v", ids(a.Hits), a.Degraded, err)
		}
		if took := time.Since(start); took != 10*time.Second {
			t.Errorf("it took %s, want %s", took, 10*time.Second)
		}
		time.Sleep(time.Minute)
		if a, err = x.Answer(t.Context(), search.Query{Text: "photograph"}); err != nil || a.Degraded != nil {
			t.Errorf("later: %v, %v, want nil and no error", a.Degraded, err)
		}
		// A canceled search is not a failure of the endpoint.
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err = x.Answer(ctx, search.Query{Text: "photograph"}); !errors.Is(err, context.Canceled) {
			t.Errorf("when the caller is gone: %v, want %v", err, context.Canceled)
		}
		if a, err = x.Answer(t.Context(), search.Query{Text: "photograph"}); err != nil || a.Degraded != nil {
			t.Errorf("after that: %v, %v, want nil and no error", a.Degraded, err)
		}
	})
}

// TestCache checks that a tool is embedded only once while its text and the embedder stay the same.
func TestCache(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "odd ?name%20#", "cache")
	ask := func(m *meaning) {
		t.Helper()
		x := index(t, small(t), &search.Options{Embedder: m, CacheDir: dir})
		if err := x.Warm(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	m := &meaning{topics: topics()}
	ask(m)
	ask(m)
	if n := m.asked(); n != 14 {
		t.Errorf("%d texts were embedded, want 14", n)
	}
	other := &meaning{topics: topics(), name: "other"}
	ask(other)
	if n := other.asked(); n != 14 {
		t.Errorf("another model embedded %d texts, want 14", n)
	}
	files, err := filepath.Glob(filepath.Join(filepath.Dir(dir), "*", "embeddings-*.bin"))
	if err != nil || len(files) != 2 {
		t.Fatalf("files %q, %v, want one for each model", files, err)
	}
	if info, err := os.Stat(files[0]); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info, err)
	}
	// Several at once.
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() { ask(&meaning{topics: topics(), name: "third"}) })
	}
	group.Wait()
}

// TestDamagedCache checks that search works with a damaged cache, and reports it.
func TestDamagedCache(t *testing.T) {
	dir := t.TempDir()
	if err := index(t, small(t), &search.Options{Embedder: &meaning{topics: topics()}, CacheDir: dir}).Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.bin"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files %q, %v, want len(files) 1 and no error", files, err)
	}
	if err := os.Truncate(files[0], 100); err != nil {
		t.Fatal(err)
	}
	x := index(t, small(t), &search.Options{Embedder: &meaning{topics: topics()}, CacheDir: dir})
	for range 2 {
		a, err := x.Answer(t.Context(), search.Query{Text: "photograph"})
		if err != nil || len(a.Hits) == 0 || a.Hits[0].ID != "mail__take_screenshot" {
			t.Errorf("hits %v (%v)", ids(a.Hits), err)
		}
		if a.Degraded == nil || !strings.Contains(a.Degraded.Error(), files[0]) {
			t.Errorf("degraded: %v", a.Degraded)
		}
	}
}
