package search_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/search"
)

// tool is a definition of a fake tool.
type tool struct{ name, title, description, input string }

func server(t testing.TB, key string, tools ...tool) catalog.Server {
	t.Helper()
	var raw []json.RawMessage
	for _, x := range tools {
		if x.input == "" {
			x.input = `{"type": "object"}`
		}
		b, err := json.Marshal(map[string]any{"name": x.name, "title": x.title, "description": x.description, "inputSchema": json.RawMessage(x.input)})
		if err != nil {
			t.Fatal(err)
		}
		raw = append(raw, b)
	}
	s, _ := catalog.NewServer(key, "", "", raw)
	return s
}

func catalogOf(t testing.TB, servers ...catalog.Server) *catalog.Catalog {
	t.Helper()
	c, err := catalog.New(servers)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func small(t testing.TB) *catalog.Catalog {
	return catalogOf(t,
		server(t, "git-hub", tool{name: "createPullRequest", description: "Open a pull request."},
			tool{name: "mergePullRequest", description: "Merge a pull request."},
			tool{name: "list_issues", description: "Issues of a repository, newest first."},
			tool{name: "delete-repository", description: "Remove a repository for good."}),
		server(t, "mail", tool{name: "send_message", description: "Send an e-mail.", input: `{"type":"object","properties":{"recipientAddress":{"type":"string"}}}`},
			tool{name: "take_screenshot", description: "Capture the screen."},
			tool{name: "who_am_i"}),
		server(t, "empty"),
	)
}

func ids(hits []search.Hit) []string {
	out := make([]string, len(hits))
	for i, h := range hits {
		out[i] = h.ID
	}
	return out
}

func first(t *testing.T, x *search.Index, text string) string {
	t.Helper()
	hits, err := x.Search(t.Context(), search.Query{Text: text})
	if err != nil {
		t.Fatalf("search %q: %v", text, err)
	}
	if len(hits) == 0 {
		return ""
	}
	return hits[0].ID
}

func TestSearch(t *testing.T) {
	x := index(t, small(t), nil)
	for text, want := range map[string]string{
		"merge pull request":       "git_hub__merge_pull_request",
		"MERGING pull requests":    "git_hub__merge_pull_request",
		"mergePullRequest":         "git_hub__merge_pull_request",
		"merge_pull-request":       "git_hub__merge_pull_request",
		"merge a PR":               "git_hub__merge_pull_request",
		"erase my repo":            "git_hub__delete_repository",
		"screen shot":              "mail__take_screenshot",
		"sceenshot":                "mail__take_screenshot",
		"snd mesage":               "mail__send_message",
		"post a message":           "mail__send_message",
		"recipient address":        "mail__send_message",
		"who am I":                 "mail__who_am_i",
		"repos":                    "git_hub__delete_repository",
		"git hub issues":           "git_hub__list_issues",
		"zzzz qqqq":                "",
		"":                         "git_hub__create_pull_request",
		"?!":                       "git_hub__create_pull_request",
		"the of and":               "",
		"list_issues\" OR \"merge": "git_hub__list_issues",
	} {
		if got := first(t, x, text); got != want {
			t.Errorf("%q finds %q first, want %q", text, got, want)
		}
	}
}

func TestFilters(t *testing.T) {
	x := index(t, small(t), &search.Options{Categories: map[string]string{"git-hub": "Code hosting", "mail": " ", "gone": "x"}})
	want := []search.Category{
		{Name: "Code hosting", About: "createPullRequest, delete-repository, list_issues, mergePullRequest", Servers: []string{"git-hub"}, Tools: 4},
		{Name: "empty", Servers: []string{"empty"}},
		{Name: "mail", About: "send_message, take_screenshot, who_am_i", Servers: []string{"mail"}, Tools: 3},
	}
	if diff := cmp.Diff(want, x.Categories()); diff != "" {
		t.Errorf("categories (-want +got):\n%s", diff)
	}
	for _, tt := range []struct {
		query search.Query
		want  []string
	}{
		{search.Query{Server: "mail"}, []string{"mail__send_message", "mail__take_screenshot", "mail__who_am_i"}},
		{search.Query{Server: "GIT_HUB", Text: "issue"}, []string{"git_hub__list_issues"}},
		{search.Query{Category: "code-hosting", Text: "issue"}, []string{"git_hub__list_issues"}},
		{search.Query{Category: "mail", Text: "issue"}, []string{}},
		{search.Query{Category: "mail", Server: "git-hub"}, []string{}},
		{search.Query{Server: "empty"}, []string{}},
		{search.Query{Text: "", Limit: 1}, []string{"git_hub__create_pull_request"}},
		{search.Query{Text: "hosting of code", Limit: 2}, []string{"git_hub__delete_repository", "git_hub__list_issues"}},
	} {
		hits, err := x.Search(t.Context(), tt.query)
		if err != nil {
			t.Errorf("%+v: %v", tt.query, err)
		}
		got := ids(hits)
		slices.Sort(got)
		if tt.query.Limit == 0 && !slices.Equal(got, tt.want) || len(got) != len(tt.want) {
			t.Errorf("%+v finds %v, want %v", tt.query, got, tt.want)
		}
	}
	for _, tt := range []struct {
		query search.Query
		hint  string
	}{
		{search.Query{Server: "mial"}, "did you mean mail?"},
		{search.Query{Category: "nothing like it"}, "there are Code hosting, empty, mail"},
	} {
		_, err := x.Search(t.Context(), tt.query)
		var unknown *search.UnknownError
		if !errors.As(err, &unknown) || unknown.Hint() != tt.hint || unknown.ExitCode() != 2 {
			t.Errorf("%+v: %v, hint %q", tt.query, err, unknown.Hint())
		}
	}
}

// TestUseCases finds tools by what people use them for, and by the description of their category. Neither changes other answers.
func TestUseCases(t *testing.T) {
	opt := &search.Options{
		Categories: map[string]string{"git-hub": "code"}, About: map[string]string{"code": "Software\u200b we ship", "gone": "x"},
		UseCases: map[string]map[string][]string{"git-hub": {"list_issues": {"weekly triage", strings.Repeat("x", 200)}, "*": {"stand-up meeting"}}, "gone": {"*": {"x"}}},
	}
	x, plain := index(t, small(t), opt), index(t, small(t), nil)
	for text, want := range map[string]string{"weekly triage": "git_hub__list_issues", "standup meeting": "git_hub__create_pull_request", "ship software": "git_hub__create_pull_request"} {
		if got := first(t, plain, text); got != "" {
			t.Errorf("without settings, %q finds %q", text, got)
		}
		if got := first(t, x, text); got != want {
			t.Errorf("%q finds %q first, want %q", text, got, want)
		}
	}
	if got := x.Categories()[0]; got.Name != "code" || got.About != "Software we ship" {
		t.Errorf("category %+v, want the description of the settings", got)
	}
	h, ok := x.Hit("git_hub__list_issues")
	if want := []string{"weekly triage", strings.Repeat("x", 100), "stand-up meeting"}; !ok || !slices.Equal(h.UseCases, want) {
		t.Errorf("Hit() = %+v, %v, want use cases %q", h, ok, want)
	}
	if _, ok := x.Hit("git_hub__nothing"); ok {
		t.Error("Hit() found a tool that is not there")
	}
}

// TestLimits checks that the number of hits is at most the requested one.
func TestLimits(t *testing.T) {
	var tools []tool
	for i := range 150 {
		tools = append(tools, tool{name: fmt.Sprintf("list_things_%03d", i)})
	}
	x := index(t, catalogOf(t, server(t, "s", tools...)), nil)
	for limit, want := range map[int]int{0: search.DefaultLimit, -1: search.DefaultLimit, 7: 7, 1000: search.MaxLimit} {
		for _, text := range []string{"", "things"} {
			hits, err := x.Search(t.Context(), search.Query{Text: text, Limit: limit})
			if err != nil || len(hits) != want {
				t.Errorf("limit %d of %q: %d hits (%v), want %d", limit, text, len(hits), err, want)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := x.Search(ctx, search.Query{Text: "things"}); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context: %v, want %v", err, context.Canceled)
	}
}

// TestEmpty searches a catalog without tools.
func TestEmpty(t *testing.T) {
	x := index(t, catalogOf(t), nil)
	for _, text := range []string{"", "anything"} {
		if hits, err := x.Search(t.Context(), search.Query{Text: text}); err != nil || len(hits) != 0 {
			t.Errorf("%q: %v, %v, want len(hits) 0 and no error", text, hits, err)
		}
	}
	if got := x.Categories(); len(got) != 0 {
		t.Errorf("categories %v, want len(got) 0", got)
	}
}

// TestDeterministic searches two indexes of one catalog, with its servers in different orders, at the same time.
func TestDeterministic(t *testing.T) {
	c, set := judged(t, nil)
	turned := slices.Clone(c.Servers)
	slices.Reverse(turned)
	again, err := catalog.New(turned)
	if err != nil {
		t.Fatal(err)
	}
	a, b := index(t, c, nil), index(t, again, nil)
	var group sync.WaitGroup
	for _, q := range slices.Concat(set.Tuning, set.HeldOut) {
		group.Go(func() {
			one, err1 := a.Search(t.Context(), search.Query{Text: q.Text, Limit: 100})
			two, err2 := b.Search(t.Context(), search.Query{Text: q.Text, Limit: 100})
			if err1 != nil || err2 != nil || !slices.Equal(ids(one), ids(two)) {
				t.Errorf("%q: %v and %v (%v, %v)", q.Text, ids(one), ids(two), err1, err2)
			}
		})
	}
	group.Wait()
}

// TestLongQuery asks for many different words at once, each with all the terms that may stand for it, in a catalog that contains them.
func TestLongQuery(t *testing.T) {
	c, set := judged(t, lists(t))
	x := index(t, c, nil)
	var all strings.Builder
	for _, q := range slices.Concat(set.Tuning, set.HeldOut) {
		all.WriteString(q.Text + " ")
	}
	for _, q := range []search.Query{{Text: all.String()}, {Text: all.String(), Category: c.Servers[0].Key}} {
		if hits, err := x.Search(t.Context(), q); err != nil || len(hits) == 0 {
			t.Errorf("%d hits, %v", len(hits), err)
		}
	}
}

// TestEndedSearches ends searches at arbitrary moments; the index must stay intact.
func TestEndedSearches(t *testing.T) {
	x := index(t, small(t), nil)
	var group sync.WaitGroup
	for i := range 100 {
		group.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*20*time.Microsecond)
			defer cancel()
			if _, err := x.Search(ctx, search.Query{Text: "merge pull request"}); err != nil && !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if got := first(t, x, "merge pull request"); got != "git_hub__merge_pull_request" {
		t.Errorf(`afterwards it finds %q, want "git_hub__merge_pull_request"`, got)
	}
}

// hostile are texts that try to escape from their place.
var hostile = []string{
	`" OR 1=1 --`, `') ; DROP TABLE names; --`, `a AND`, `NOT`, `NEAR(a b, 3)`, `name:x`, `^x`, `x*`, `"`, `""`, `'`, "\x00", "\xff\xfe",
	`{name} : x`, `- a`, `+`, `(((((`, `a OR OR b`, "server : s0", "t0", "none", "\u202e\u0000", "💥", "ﬁ ligature", "İstanbul",
	strings.Repeat("a ", 100_000), strings.Repeat("(", 10_000), strings.Repeat("get ", 5000) + "list", strings.Repeat("界", 50_000),
}

func TestHostile(t *testing.T) {
	var tools []tool
	for _, text := range hostile {
		tools = append(tools, tool{name: text, title: text, description: text, input: `{"type":"object","properties":` + `{` + string(mustJSON(t, text)) + `: true}}`})
	}
	x := index(t, catalogOf(t, server(t, `x" OR "y`, tools...)), &search.Options{Categories: map[string]string{`x" OR "y`: hostile[1]}})
	for _, text := range hostile {
		if _, err := x.Search(t.Context(), search.Query{Text: text}); err != nil {
			t.Errorf("%.40q: %v", text, err)
		}
		var unknown *search.UnknownError
		if _, err := x.Search(t.Context(), search.Query{Text: text, Server: text + "1", Category: text}); err != nil && !errors.As(err, &unknown) {
			t.Errorf("filter %.40q: %v", text, err)
		}
	}
	// FTS5's own words and symbols mean nothing in a query: only words distinguish these two tools.
	y := index(t, catalogOf(t, server(t, "s", tool{name: "alpha"}, tool{name: "beta"})), nil)
	for _, text := range []string{"alpha NOT beta", "alpha AND beta", "alph* bet*", `"alpha beta"`, "NEAR(alpha beta)", "-alpha beta"} {
		hits, err := y.Search(t.Context(), search.Query{Text: text})
		if err != nil || len(hits) != 2 {
			t.Errorf("%q finds %v (%v), want both", text, ids(hits), err)
		}
	}
}

func mustJSON(t testing.TB, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func FuzzSearch(f *testing.F) {
	for _, text := range hostile {
		f.Add(text[:min(len(text), 100)])
	}
	x := search.New(small(f), nil)
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := x.Search(t.Context(), search.Query{Text: text}); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	})
}
