package search_test

import (
	"testing"

	"github.com/mcpgen/mcpgen/gen/search"
)

// TestSpelling finds tools whose names are spelled differently from the query.
func TestSpelling(t *testing.T) {
	c := catalogOf(t,
		server(t, "git",
			tool{name: "git_cherry_pick", description: "Apply single commits to the current branch."},
			tool{name: "git_commit", description: "Record a commit."},
			tool{name: "git_log", description: "Show commits."}),
		server(t, "hub",
			tool{name: "merge_pull_request", description: "Bring it in."},
			tool{name: "create_pull_request", description: "Open a PR from a branch. A PR can be merged later."},
			tool{name: "list_pull_requests", description: "All of a repository."},
			tool{name: "update_pull_request_state", description: "Open or close one that is open or closed."}),
		server(t, "store",
			tool{name: "delete_order", description: "For good."},
			tool{name: "get_order", description: "One."},
			tool{name: "edit_order", description: "Change what is in it."}),
	)
	x := index(t, c, nil)
	for text, want := range map[string]string{
		"cherrypick commit":              "git__git_cherry_pick",    // two words in one
		"merge pr":                       "hub__merge_pull_request", // a short form
		"merge PRs":                      "hub__merge_pull_request", //
		"which pull requests are open":   "hub__list_pull_requests", // a question wants to read
		"remvoe order":                   "store__delete_order",     // a misspelling of a word that has synonyms
		"order modifcation":              "store__edit_order",       // and of a form of such a word
		"who opened which pull requests": "hub__list_pull_requests", //
	} {
		hits, err := x.Search(t.Context(), search.Query{Text: text, Limit: 1})
		if err != nil || len(hits) != 1 || hits[0].ID != want {
			t.Errorf("%q finds %v, %v; want %s", text, ids(hits), err, want)
		}
	}
}

// TestStopWordsInNames finds tools by two words, one of which says nothing on its own.
func TestStopWordsInNames(t *testing.T) {
	c := catalogOf(t,
		server(t, "pager",
			tool{name: "list_oncall_schedules", description: "Rotations."},
			tool{name: "get_on_call_users", description: "People."}),
		server(t, "phone",
			tool{name: "make_call", description: "Call somebody on the phone."},
			tool{name: "list_calls", description: "Calls of a day."},
			tool{name: "call_api", description: "Make any call on behalf of a user."}),
	)
	x := index(t, c, nil)
	for _, text := range []string{"on call", "who is on call", "on-call", "oncall", "who is on call this week?"} {
		hits, err := x.Search(t.Context(), search.Query{Text: text, Limit: 2})
		if err != nil || len(hits) != 2 || hits[0].Server.Key != "pager" || hits[1].Server.Key != "pager" {
			t.Errorf("Search(%q) = %v, %v, want the two tools of pager", text, ids(hits), err)
		}
	}
}
