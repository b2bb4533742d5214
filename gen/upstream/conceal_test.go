package upstream

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/config"
)

func TestConcealIn(t *testing.T) {
	values := map[string]string{"TOKEN": "s3cret/\"t0ken é", "LEVEL": "object"}
	_, secret, err := expand(config.Server{
		Key: "s", Transport: config.TransportStdio, Command: "x", Env: map[string]string{"T": "${TOKEN}", "L": "${LEVEL}", "P": "literal value"},
	}, func(name string) (string, bool) { v, ok := values[name]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	s := &Session{why: reasons{secret: secret}}
	for _, c := range []struct{ in, want string }{
		{`{"description":"uses s3cret/\"t0ken é.","n":1.50}`, `{"description":"uses [TOKEN].","n":1.50}`},
		{`{"a" : [ "\u00733cret\/\u0022t0ken \u00e9", {"b":"x\u003c"} ]}`, `{"a" : [ "[TOKEN]", {"b":"x\u003c"} ]}`},
		{`{"enum":["s3cret/\"t0ken é"],"default":"s3cret/\"t0ken é"}`, `{"enum":["s3cret/\"t0ken é"],"default":"[TOKEN]"}`},
		{`{"enum":["a"],"o":{"name":"n","x":{}},"s3cret/\"t0ken é":{"title":"s3cret/\"t0ken é"}}`, `{"enum":["a"],"o":{"name":"n","x":{}},"s3cret/\"t0ken é":{"title":"[TOKEN]"}}`},
		{`{"type":"object","description":"an object, literal value"}`, `{"type":"object","description":"an object, literal value"}`},
		{`"s3cret/\"t0ken é"`, `"[TOKEN]"`},
		{`[]`, `[]`},
	} {
		if got := string(s.ConcealIn(json.RawMessage(c.in))); got != c.want {
			t.Errorf("ConcealIn(%s)\n got %s\nwant %s", c.in, got, c.want)
		}
	}
}

func TestRedactorKnowsQuotedForms(t *testing.T) {
	const value = `s3cret/t+k n&%"\é`
	r := &redactor{replace: newReplacer(map[string]string{value: "[TOKEN]"})}
	for _, form := range []string{value, fmt.Sprintf("%q", value), url.QueryEscape(value), url.PathEscape(value)} {
		if got := strings.Trim(r.clean(form), `"`); got != "[TOKEN]" {
			t.Errorf("of %s is left %s", form, got)
		}
	}
}

// TestConcealForRecordings: others may get to see a recording, so it hides more than the tree does.
func TestConcealForRecordings(t *testing.T) {
	const token, password = "vtok-5f6e7d8c9b0a", `pa55 w/ord"x`
	values := map[string]string{"TOKEN": token, "PASSWORD": password, "PIN_KEY": "abc123", "WORD": "public"}
	p := NewPool([]config.Server{
		{
			Key: "a", Transport: config.TransportStdio, Command: "x", Args: []string{"--api-key", "argument-1", "--secret=argument-2", "--name", "an argument", "db://u:pa%24sword-3@h"},
			Env: map[string]string{"T": "${TOKEN}", "P": "${PASSWORD}", "K": "${PIN_KEY}", "W": "${WORD}", "MY_TOKEN": "literal-token", "MODE": "production", "D_TOKEN": "${D:-default-token}"},
		},
		{Key: "b", Transport: config.TransportHTTP, URL: "https://h/mcp?apiKey=parameter-1&page=2", Headers: map[string]string{"Authorization": "Bearer ${MISSING} literal-bearer", "X-Api-Key": "literal-key"}},
	}, &Options{Lookup: func(name string) (string, bool) { v, ok := values[name]; return v, ok }})
	defer p.Close()
	quoted := func(s string, times int) string {
		for range times {
			s = fmt.Sprintf("%q", s)
		}
		return s
	}
	for in, want := range map[string]string{
		"a " + token + "!":                                  "a [TOKEN]!",
		quoted(password, 2):                                 `"\"[PASSWORD]\""`,
		quoted(password, 3):                                 `"\"\\\"[PASSWORD]\\\"\""`,
		url.QueryEscape(password):                           "[PASSWORD]",
		hex.EncodeToString([]byte(token)):                   "[TOKEN]",
		base64.URLEncoding.EncodeToString([]byte(password)): "[PASSWORD]",
		"abc123 public":                                     "[PIN_KEY] public",
		"argument-1 argument-2 an argument":                 "[api-key] [secret] an argument",
		"pa$sword-3 literal-token production":               "[argument] [MY_TOKEN] production",
		"default-token":                                     "[D_TOKEN]",
		"parameter-1 literal-key":                           "[apiKey] [X-Api-Key]",
	} {
		if got := p.Conceal(in); got != want {
			t.Errorf("Conceal(%s)\n got %s\nwant %s", in, got, want)
		}
	}
	for before := range 4 { // as in Basic user:token
		text := strings.Repeat("u", before) + token + "more"
		got := p.Conceal(base64.StdEncoding.EncodeToString([]byte(text)))
		if !strings.Contains(got, "[TOKEN]") || len(got) > len("[TOKEN]")+16 {
			t.Errorf("of %s in base64 is left %s", text, got)
		}
	}
}
