package search

import (
	"slices"
	"strings"
	"testing"
)

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"getDocument":               "get document",
		"get_document-by.ID":        "get document by id",
		"HTTPServerError":           "http server error",
		"listIssues2":               "list issues2",
		"PRs, userIDs, getURLsOf":   "prs user ids get urls of",
		"APISearch":                 "api search",
		"What's the Wëather?":       "whats the weather",
		"don’t":                     "dont",
		"'quoted'":                  "quoted",
		"微博热搜":                      "微博 博热 热搜",
		"查 a":                       "查 a",
		"":                          "",
		"\x00\xff\u202e":            "",
		"ÅNGSTRÖM":                  "angstrom",
		"a\" OR b* NEAR(c) -d ^e:f": "a or b near c d e f",
		strings.Repeat("x", 65):     "",
	} {
		if got := strings.Join(words(text), " "); got != want {
			t.Errorf("words(%q) = %q, want %q", text, got, want)
		}
	}
}

// TestStem checks that the forms of a word get the same stem, and that other words do not.
func TestStem(t *testing.T) {
	for word, want := range map[string]string{
		"cats": "cat", "ponies": "poni", "creating": "creat", "creates": "creat", "failing": "fail", "filing": "file",
		"relational": "relat", "s3": "s3", "naïve": "naïv", "微博": "微博", "who": "who", "ing": "ing",
	} {
		if got := stem(word); got != want {
			t.Errorf("stem(%q) = %q, want %q", word, got, want)
		}
	}
}

// TestWordList finds words that cannot work because they are split or dropped before they are looked up.
func TestWordList(t *testing.T) {
	for _, w := range lists().all {
		if got := words(w); !slices.Equal(got, []string{w}) {
			t.Errorf("words(%q) = %q", w, got)
		}
	}
	for w := range lists().weak {
		if lists().stop[w] {
			t.Errorf("%q is both weak and dropped", w)
		}
	}
	for phrase := range lists().phrases {
		if n := len(strings.Fields(phrase)); n > maxPhrase {
			t.Errorf("the phrase %q has %d words, want at most %d", phrase, n, maxPhrase)
		}
	}
}

func TestIntent(t *testing.T) {
	for text, want := range map[string]question{
		"create issue":                   {action: actMake},
		"which issues were closed today": {action: actRead, asks: true},
		"how many issues are open":       {action: actRead, asks: true},
		"how do I close an issue":        {action: actChange},
		"show me the deleted files":      {action: actRead},
		"removing old branches":          {action: actRemove},
		"save a page":                    {action: actMake | actChange},
		"pull request":                   {},
		"which":                          {},
		"":                               {},
	} {
		var got question
		if got.intent(words(text), stems(words(text))); got.action != want.action || got.asks != want.asks {
			t.Errorf("intent(%q) = %v, %v, want %v, %v", text, got.action, got.asks, want.action, want.asks)
		}
	}
}
