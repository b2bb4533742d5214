package upstream

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/config"
)

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
			t.Errorf("Conceal(base64 of %s) = %s, want [TOKEN] and little else", text, got)
		}
	}
}
