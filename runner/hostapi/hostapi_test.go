package hostapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/search"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/pii"
	"github.com/mcpgen/mcpgen/runner/pii/piitest"
	"github.com/mcpgen/mcpgen/runner/skill"
	"github.com/mcpgen/mcpgen/runner/workspace/customer"
)

// TestHostAnswers uses parameters that our libraries never send.
func TestHostAnswers(t *testing.T) {
	vault, err := piitest.Vault(t)()
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	var shown Images
	h := &Methods{
		Tools: func(_ context.Context, q search.Query, detail search.Detail) ([]search.Result, error) {
			if q.Server == "broken" {
				return nil, errors.New("the tree is gone: /secret/place")
			}
			return nil, nil
		},
		Skills: func() (*skill.Store, error) {
			return nil, fmt.Errorf("open the skills: %w", &fs.PathError{Op: "open", Path: "/secret/place", Err: fs.ErrPermission})
		},
		Vault:   func() (*pii.Vault, error) { return vault, nil },
		Image:   shown.Add,
		Trouble: func(err error) { told = append(told, err.Error()) },
	}
	methods := h.All()
	for _, c := range []struct{ method, params, want string }{
		{"tools/search", `{}`, `{"hits":[]}`},
		{"tools/search", `{"query":5}`, "argument tools/search: query is a string or a list of strings"},
		{"tools/search", `{"query":["a","b","c","d","e","f","g","h","i"]}`, "argument tools/search: query has 9 wordings; it can have 8"},
		{"tools/search", `[]`, "argument tools/search: invalid parameters"},
		{"tools/search", `{"limit":0}`, "argument tools/search: limit is 0; it can be 1 to 100"},
		{"tools/search", `{"detail":"all"}`, `argument tools/search: unknown detail "all"; use name, signature, description or full`},
		{"tools/search", `{"server":"broken"}`, "internal the catalogue of tools can't be used"},
		{"skills/list", `{}`, "internal the folder of skills can't be used"},
		{"pii/tokenize", `{}`, "argument pii/tokenize: there is no value"},
		{"pii/tokenize", `{"value":null}`, `{"found":{},"value":null}`},
		{"pii/tokenize", `{"value":{"a":["ann@example.com","ann@example.com"]},"types":null}`, `{"found":{"EMAIL":2},"value":{"a":["[EMAIL_1]","[EMAIL_1]"]}}`},
		{"pii/tokenize", `{"value":"ann@example.com","types":["IP"]}`, `{"found":{},"value":"ann@example.com"}`},
		{"pii/tokenize", `{"value":1,"types":["LITERAL"]}`, `argument pii/tokenize: there is no type "LITERAL"`},
		{"pii/tokenize", `{"value":1,"types":"EMAIL"}`, "argument pii/tokenize: types is a JSON string"},
		{"pii/tokenize", `{"value":1,"types":[` + strings.Repeat(`"IP",`, 100) + `"IP"]}`, "argument pii/tokenize: 101 types are too many"},
		{"pii/detokenize", `{"value":"[EMAIL_1]"}`, `{"value":"ann@example.com"}`},
		{"pii/detokenize", `{"value":"[EMAIL_2] [EMAIL_1]"}`, `{"value":"[EMAIL_2] ann@example.com"}`},
		{"pii/detokenize", `{}`, "argument pii/detokenize: there is no value"},
		{"output/image", `{"mimeType":"image/png","data":"AQI="}`, `{}`},
		{"output/image", `{"mimeType":"image/png","data":"?"}`, "argument output/image: "},
		{"output/image", `{"mimeType":"image/png","data":""}`, "argument output/image: the image is empty"},
		{"output/image", `{"mimeType":"image/png\nX: y","data":"AQI="}`, `argument output/image: "image/png\nX: y" is not an image type`},
		{"output/image", `{"mimeType":"text/html","data":"AQI="}`, "argument output/image: "},
	} {
		value, err := methods[c.method](t.Context(), json.RawMessage(c.params))
		got := string(value)
		if bad, ok := errors.AsType[*call.Error](err); ok {
			got = string(bad.Kind) + " " + bad.Message
		} else if err != nil {
			got = "unseen " + err.Error()
		}
		if !strings.HasPrefix(got, c.want) || err == nil && got != c.want || strings.Contains(got, "/secret/") {
			t.Errorf("%s %.200s\n got %s\nwant %s", c.method, c.params, got, c.want)
		}
	}
	if len(told) != 2 || !strings.Contains(told[0], "/secret/place") || !strings.Contains(told[1], "/secret/place") {
		t.Errorf(`told %q, want len(told) 2, "/secret/place" in it and "/secret/place" in it`, told)
	}
	if len(shown.list) != 1 {
		t.Errorf("%d images, want 1", len(shown.list))
	}
	h.Sealed = true
	if _, err := h.All()["pii/detokenize"](t.Context(), json.RawMessage(`{"value":"[EMAIL_1]"}`)); err == nil || !strings.Contains(err.Error(), "scripts have tokens only here") {
		t.Errorf("a sealed host answers pii/detokenize with %v, want a refusal", err)
	}
	if len((&Methods{}).All()) != 0 {
		t.Error("what is not there is offered")
	}
}

// TestSealedKeepsTokens: a script that has tokens in place of values does not lose them by tokenizing its text.
func TestSealedKeepsTokens(t *testing.T) {
	vault, err := piitest.Vault(t)()
	if err != nil {
		t.Fatal(err)
	}
	tokenize := (&Methods{Vault: func() (*pii.Vault, error) { return vault, nil }, Sealed: true}).All()[methodTokenize]
	for _, c := range []struct{ value, want string }{
		{`"ann@example.com"`, `"[EMAIL_1]"`},
		{`{"to":"[EMAIL_1] bob@example.com","fullName":"[EMAIL_1]"}`, `{"to":"[EMAIL_1] [EMAIL_2]","fullName":"[EMAIL_1]"}`},
	} {
		if got, err := tokenize(t.Context(), json.RawMessage(`{"value":`+c.value+`}`)); err != nil || string(got) != `{"found":{"EMAIL":1},"value":`+c.want+`}` {
			t.Errorf("%s: got %s, %v, want %s", c.value, got, err, c.want)
		}
	}
}

// TestSkills calls the methods for skills, including hostile parameters.
func TestSkills(t *testing.T) {
	store, err := skill.Open([]skill.Dir{{Path: t.TempDir(), Writable: true}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Save(t.Context(), skill.Draft{Name: "hers", Description: "Save as CSV.", Code: "export const n = 1;"}); err != nil {
		t.Fatal(err)
	}
	methods := (&Methods{Skills: func() (*skill.Store, error) { return store, nil }}).All()
	for _, c := range []struct{ method, params, want string }{
		{"skills/save", `{"name":"sumUp","code":"# Sum up.\nx = 1\n","language":"python"}`, `"path":"skills/sum-up/scripts/main.py"`},
		{"skills/load", `{"name":"sum_up"}`, `"code":"# Sum up.\nx = 1\n","path":"skills/sum-up/scripts/main.py","import":"import skills.sum_up"`},
		{"skills/list", `{}`, `{"name":"sum-up","description":"Sum up."`},
		{"skills/list", `{"query":"csv"}`, `"skills":[{"name":"hers"`},
		{"skills/save", `{"name":"hers","code":"1"}`, "a person saved"},
		{"skills/save", `{"name":"../x","code":"1"}`, "path"},
		{"skills/save", `{"name":"x1"}`, "code is missing"},
		{"skills/save", `[]`, "parameters"},
		{"skills/save", `{"name":"x1","code":"` + strings.Repeat("a", skill.MaxSavedSize+1) + `"}`, "at most"},
		{"skills/load", `{"name":"../../etc/passwd"}`, "path"},
		{"skills/load", `{"name":"nope"}`, "there is no skill"},
	} {
		got, err := methods[c.method](t.Context(), json.RawMessage(c.params))
		if text := fmt.Sprint(string(got), err); !strings.Contains(text, c.want) {
			t.Errorf("%s %.60s = %s, want %q", c.method, c.params, text, c.want)
		}
	}
	if k, err := store.Load("sum-up"); err != nil || k.Author != skill.AuthorScript {
		t.Errorf("%+v, %v, want Author %v and no error", k, err, skill.AuthorScript)
	}
}

// TestVaultLimits: what one run may add to the vault is bounded. The error names a remedy, and earlier values keep their tokens. Nothing is
// stored after the run has ended.
func TestVaultLimits(t *testing.T) {
	vault, err := piitest.Vault(t)()
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	h := &Methods{Vault: func() (*pii.Vault, error) { return vault, nil }, Trouble: func(err error) { told = append(told, err.Error()) }}
	tokenize := h.All()[methodTokenize]
	of := func(from, to int) json.RawMessage {
		var b strings.Builder
		for i := from; i < to; i++ {
			fmt.Fprintf(&b, ",\"a%d@example.com\"", i)
		}
		return json.RawMessage(`{"value":[` + b.String()[1:] + `]}`)
	}
	if _, err := tokenize(t.Context(), of(0, pii.RunValues-1)); err != nil {
		t.Fatal(err)
	}
	_, err = tokenize(t.Context(), of(pii.RunValues-1, pii.RunValues+1))
	bad, ok := errors.AsType[*call.Error](err)
	if !ok || bad.Kind != call.KindArgument || !strings.Contains(bad.Message, "at most 25000 values") || !strings.Contains(bad.Message, "in another run") {
		t.Errorf("%v", err)
	}
	if got, err := tokenize(t.Context(), of(7, 8)); err != nil || string(got) != `{"found":{"EMAIL":1},"value":["[EMAIL_8]"]}` {
		t.Errorf("a known value: %s %v, want %q and no error", got, err, `{"found":{"EMAIL":1},"value":["[EMAIL_8]"]}`)
	}
	if len(told) != 0 {
		t.Errorf("told %q, want len(told) 0", told)
	}
	next := h.All()[methodTokenize] // of another run
	over, end := context.WithCancel(t.Context())
	end()
	if got, err := next(over, of(100_000, 100_001)); err == nil {
		t.Errorf("after the run: %s: got no error, want an error", got)
	}
	vault.Limit(func(int64) error {
		return &customer.QuotaError{Customer: "acme", Quota: 5 << 20, For: "the vault of personal data"}
	})
	_, err = next(t.Context(), of(100_000, 100_001))
	if bad, ok := errors.AsType[*call.Error](err); !ok || !strings.Contains(bad.Message, "its quota of 5.0 MiB") || len(told) != 1 {
		t.Errorf("%v, told %q", err, told)
	}
	vault.Limit(nil)
	if got, err := next(t.Context(), of(100_000, 100_001)); err != nil || !strings.Contains(string(got), "[EMAIL_25000]") {
		t.Errorf(`%s %v, want "[EMAIL_25000]" in it and no error`, got, err)
	}
}
