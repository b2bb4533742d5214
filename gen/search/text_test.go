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

// TestStem has examples from the paper, and what it must not touch.
func TestStem(t *testing.T) {
	for word, want := range map[string]string{
		"caresses": "caress", "ponies": "poni", "caress": "caress", "cats": "cat", "feed": "feed", "agreed": "agre",
		"plastered": "plaster", "bled": "bled", "motoring": "motor", "sing": "sing", "conflated": "conflat", "troubled": "troubl",
		"sized": "size", "hopping": "hop", "tanned": "tan", "falling": "fall", "hissing": "hiss", "fizzed": "fizz",
		"failing": "fail", "filing": "file", "happy": "happi", "sky": "sky", "relational": "relat", "conditional": "condit",
		"rational": "ration", "digitizer": "digit", "operator": "oper", "feudalism": "feudal", "decisiveness": "decis",
		"hopefulness": "hope", "formaliti": "formal", "triplicate": "triplic", "formative": "form", "electrical": "electr",
		"goodness": "good", "revival": "reviv", "allowance": "allow", "inference": "infer", "airliner": "airlin",
		"adjustable": "adjust", "replacement": "replac", "adoption": "adopt", "homologous": "homolog", "effective": "effect",
		"bowdlerize": "bowdler", "probate": "probat", "rate": "rate", "cease": "ceas", "controll": "control", "roll": "roll",
		"creating": "creat", "creates": "creat", "is": "is", "s3": "s3", "naïve": "naïve", "微博": "微博",
		"ing": "ing", "ed": "ed",
	} {
		if got := stem(word); got != want {
			t.Errorf("stem(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	var d distances
	for _, tt := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"issue", "isseu", 1}, {"screenshot", "sceenshot", 1}, {"kitten", "sitting", 3}} {
		if got := d.between(tt.a, tt.b); got != tt.want {
			t.Errorf("between(%q, %q) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}

// TestWordLists finds what can't work in the lists: words that are split or dropped before they are looked up.
func TestWordLists(t *testing.T) {
	for _, list := range []string{formWords, sameWords, likeWords, impliedWords, phrases} {
		for line := range strings.Lines(list) {
			for w := range strings.FieldsSeq(strings.ReplaceAll(line, ">", " ")) {
				if got := words(w); !slices.Equal(got, []string{w}) {
					t.Errorf("%q is read as %q", w, got)
				}
			}
		}
	}
	for w := range weakWords {
		if stopWords[w] {
			t.Errorf("%q is both weak and dropped", w)
		}
	}
	for line := range strings.Lines(phrases) {
		if from, _, ok := strings.Cut(line, ">"); ok && len(strings.Fields(from)) > maxPhrase {
			t.Errorf("the phrase %q is too long", from)
		}
	}
}

func TestWish(t *testing.T) {
	for text, want := range map[string]wanted{
		"create issue":                   {action: actMake},
		"which issues were closed today": {actRead, true},
		"how many issues are open":       {actRead, true},
		"how do I close an issue":        {action: actChange},
		"show me the deleted files":      {action: actRead},
		"removing old branches":          {action: actRemove},
		"save a page":                    {action: actMake | actChange},
		"pull request":                   {},
		"which":                          {},
		"":                               {},
	} {
		if got := wish(words(text), stems(words(text))); got != want {
			t.Errorf("%q wants %+v, not %+v", text, got, want)
		}
	}
}

func FuzzStem(f *testing.F) {
	f.Add("relational")
	f.Add("yed")
	f.Fuzz(func(t *testing.T, text string) {
		for _, w := range words(text) {
			if s := stem(w); s == "" || len(s) > len(w)+1 {
				t.Errorf("stem(%q) = %q", w, s)
			}
		}
	})
}
