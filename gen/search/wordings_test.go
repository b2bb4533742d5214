package search_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/search"
)

// TestWordings checks how the rankings of several wordings are combined.
func TestWordings(t *testing.T) {
	x := index(t, small(t), nil)
	for _, tt := range []struct {
		name  string
		texts []string
		want  []string // the first hits
		hits  int      // number of hits; 0 means any
	}{
		{"a second wording finds what the first doesn't", []string{"zyxwv", "pull request"}, []string{"git_hub__create_pull_request", "git_hub__merge_pull_request"}, 2},
		{"what both find is first", []string{"merge", "request of a pull"}, []string{"git_hub__merge_pull_request"}, 0},
		{"two wishes", []string{"pull request", "send mail"}, []string{"git_hub__create_pull_request", "git_hub__merge_pull_request", "mail__send_message"}, 0},
		{"an empty wording says nothing", []string{"", "screenshot", " ?"}, []string{"mail__take_screenshot"}, 1},
		{"ids", []string{"mail__who_am_i", "git_hub__list_issues"}, []string{"git_hub__list_issues", "mail__who_am_i"}, 2},
		{"only empty ones", []string{"", "?"}, []string{"git_hub__create_pull_request"}, 7},
		{"more than are read", append(slices.Repeat([]string{"screenshot"}, search.MaxWordings), "issues"), []string{"mail__take_screenshot"}, 1},
	} {
		q := search.Wordings(tt.texts).Query()
		hits, err := x.Search(t.Context(), q)
		if got := ids(hits); err != nil || len(got) < len(tt.want) || !slices.Equal(got[:len(tt.want)], tt.want) || tt.hits > 0 && len(got) != tt.hits {
			t.Errorf("%s: Search(%q) = %v (%v), want first %v", tt.name, tt.texts, got, err, tt.want)
		}
	}
}

// TestWordingsByMeaning checks that each wording is embedded, in one request.
func TestWordingsByMeaning(t *testing.T) {
	m := &meaning{topics: topics()}
	x := index(t, small(t), &search.Options{Embedder: m})
	if err := x.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	calls := m.calls
	hits, err := x.Search(t.Context(), search.Query{Text: "correspondence", Also: []string{"photograph"}, Limit: 2})
	if got, want := ids(hits), []string{"mail__send_message", "mail__take_screenshot"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("Search() = %v (%v), want %v", got, err, want)
	}
	if m.calls != calls+1 {
		t.Errorf("the embedder was called %d times, want 1", m.calls-calls)
	}
}

func TestWordingsFromJSON(t *testing.T) {
	many, _ := json.Marshal(slices.Repeat([]string{"a"}, search.MaxWordings+1))
	for text, want := range map[string]search.Wordings{
		`"a"`: {"a"}, `["a","b"]`: {"a", "b"}, `null`: nil, `[]`: {}, `""`: {""}, `5`: nil, `["a",5]`: nil, `{}`: nil, string(many): nil,
	} {
		var got search.Wordings
		err := json.Unmarshal([]byte(text), &got)
		if fails := want == nil && text != "null"; !slices.Equal(got, want) || (err != nil) != fails || fails && !strings.Contains(err.Error(), "query ") {
			t.Errorf("Unmarshal(%s) = %v, %v, want %v", text, got, err, want)
		}
	}
}

// TestPhrases checks that a tool is found by those of its phrases that are within the bounds.
func TestPhrases(t *testing.T) {
	long := strings.Repeat("x ", catalog.MaxPhrase/2) + "zebra"
	x := index(t, small(t), &search.Options{Phrases: map[string][]string{
		"mail__who_am_i":       {"tell me my umbrella", long},
		"mail__send_message":   append(slices.Repeat([]string{"parasol stand"}, catalog.MaxPhrases), "giraffe"),
		"none__of_these_tools": {"umbrella"},
	}})
	if got := first(t, x, "my umbrella"); got != "mail__who_am_i" {
		t.Errorf(`my umbrella finds %q, want "mail__who_am_i"`, got)
	}
	for _, text := range []string{"zebra", "giraffe"} {
		if got := first(t, x, text); got != "" {
			t.Errorf("%s finds %q, want nothing: it is beyond the bounds", text, got)
		}
	}
	if got := first(t, x, "send a message"); got != "mail__send_message" {
		t.Errorf(`send a message finds %q, want "mail__send_message"`, got)
	}
}

// TestPhrasesByMeaning checks that phrases are embedded with their tool.
func TestPhrasesByMeaning(t *testing.T) {
	m := &meaning{topics: topics()}
	x := index(t, small(t), &search.Options{Embedder: m, Phrases: map[string][]string{"mail__who_am_i": {"trouble with me"}}})
	if err := x.Warm(t.Context()); err != nil || !slices.ContainsFunc(m.texts, func(s string) bool { return strings.Contains(s, "who am i") && strings.Contains(s, "trouble with me") }) {
		t.Errorf("embedded %q (%v)", m.texts, err)
	}
}
