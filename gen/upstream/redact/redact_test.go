package redact

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/config"
)

func TestConcealJSON(t *testing.T) {
	values := map[string]string{"TOKEN": "s3cret/\"t0ken é", "LEVEL": "object"}
	_, secret, err := Expand(config.Server{
		Key: "s", Transport: config.TransportStdio, Command: "x", Env: map[string]string{"T": "${TOKEN}", "L": "${LEVEL}", "P": "literal value"},
	}, func(name string) (string, bool) { v, ok := values[name]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ in, want string }{
		{`{"description":"uses s3cret/\"t0ken é.","n":1.50}`, `{"description":"uses [TOKEN].","n":1.50}`},
		{`{"a" : [ "\u00733cret\/\u0022t0ken \u00e9", {"b":"x\u003c"} ]}`, `{"a" : [ "[TOKEN]", {"b":"x\u003c"} ]}`},
		{`{"enum":["s3cret/\"t0ken é"],"default":"s3cret/\"t0ken é"}`, `{"enum":["s3cret/\"t0ken é"],"default":"[TOKEN]"}`},
		{`{"enum":["a"],"o":{"name":"n","x":{}},"s3cret/\"t0ken é":{"title":"s3cret/\"t0ken é"}}`, `{"enum":["a"],"o":{"name":"n","x":{}},"s3cret/\"t0ken é":{"title":"[TOKEN]"}}`},
		{`{"type":"object","description":"an object, literal value"}`, `{"type":"object","description":"an object, literal value"}`},
		{`"s3cret/\"t0ken é"`, `"[TOKEN]"`},
		{`[]`, `[]`},
	} {
		if got := string(secret.ConcealJSON(json.RawMessage(c.in))); got != c.want {
			t.Errorf("ConcealJSON(%s)\n got %s\nwant %s", c.in, got, c.want)
		}
	}
}

func TestRedactorKnowsQuotedForms(t *testing.T) {
	const value = `s3cret/t+k n&%"\é`
	r := &Redactor{}
	r.Add(value, "TOKEN")
	for _, form := range []string{value, fmt.Sprintf("%q", value), url.QueryEscape(value), url.PathEscape(value)} {
		if got := strings.Trim(r.Clean(form), `"`); got != "[TOKEN]" {
			t.Errorf("Clean(%s) = %s, want [TOKEN]", form, got)
		}
	}
}
