package record_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/pii"
	"github.com/mcpgen/mcpgen/runner/record"
)

func masks() record.Mask {
	return record.Mask{
		Text: func(s string) string { return strings.ReplaceAll(s, `s3"cret`, "[TOKEN]") },
		JSON: pii.New().MaskJSON,
	}
}

// recorded writes entries and returns the file.
func recorded(t *testing.T, entries ...record.Entry) string {
	t.Helper()
	var b bytes.Buffer
	w, err := record.NewWriter(&b, masks())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if err := w.Write(e); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

func entry(n int, tool, args, value string) record.Entry {
	return record.Entry{Call: n, Tool: tool, Args: json.RawMessage(args), Value: json.RawMessage(value)}
}

func player(t *testing.T, file string, loose bool) *record.Player {
	t.Helper()
	p, err := record.Read(strings.NewReader(file), loose, masks())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestNothingInTheClear(t *testing.T) {
	e := entry(1, "crm__get", `{"to":"ann@example.com","key":"s3\"cret","escaped":"s3\u0022cr\u0065t"}`, `{"n":9007199254740993,"mail":"bob@example.com","card":4111111111111111}`)
	failed := record.Entry{Call: 2, Tool: "crm__get", Args: json.RawMessage(`{}`), Error: &call.Error{
		Kind: call.KindTool, Message: `no s3"cret for ann@example.com`, Content: json.RawMessage(`[{"type":"text","text":"ann@example.com"}]`)}}
	unknown := record.Entry{Call: 3, Tool: `crm__s3"cret`, Args: json.RawMessage(`{}`), Error: &call.Error{Kind: call.KindArgument, Tool: `crm__s3"cret`}}
	file := recorded(t, e, failed, unknown)
	for _, secret := range []string{"example.com", `s3\"cret`, `s3\u0022`, "41111"} {
		if strings.Contains(file, secret) {
			t.Errorf("%s is in the file:\n%s", secret, file)
		}
	}
	if !strings.Contains(file, "9007199254740993") || !strings.Contains(file, "[EMAIL_1]") || !strings.Contains(file, "[TOKEN]") {
		t.Errorf("the file, want \"9007199254740993\" in it, \"[EMAIL_1]\" in it and \"[TOKEN]\" in it:\n%s", file)
	}
	if failed.Error.Message != `no s3"cret for ann@example.com` {
		t.Errorf("the script's own error was changed: got %v, want %q", failed.Error.Message, `no s3"cret for ann@example.com`)
	}
}

func TestStrict(t *testing.T) {
	file := recorded(t,
		entry(3, "a__x", `{"n":2}`, `"two"`), entry(1, "a__x", `{"n":1}`, `"one"`), // in the order in which they ended
		entry(2, "a__y", `{"to":"ann@example.com"}`, `"mailed"`))
	p := player(t, file, false)
	for _, c := range []struct {
		tool, args string
		rank       int
		raw        bool
		want       string
	}{
		{"a__x", `{"n":1}`, 0, false, `"one"`},
		{"a__y", `{"to":"ann@example.com"}`, 0, false, `"mailed"`},
		{"a__y", `{"to":"[EMAIL_7]"}`, 0, false, `"mailed"`},   // what a replayed script passes on
		{"a__y", `{"to":"ann at home"}`, 0, false, `"mailed"`}, // nor is it known what the value was
		{"a__y", `{"to":"ann","cc":"bob"}`, 0, false, `call 1 of a__y was recorded differently: cc was missing`},
		{"a__y", `{"to":"ann","with":"bob"}`, 0, false, `call 1 of a__y was recorded differently: to was "[EMAIL_1]" and is "ann", with was missing`},
		{"a__y", `{"to":"ann \"at\" home"}`, 0, false, `"mailed"`},
		{"a__x", ` {"n" : 2}`, 1, false, `"two"`},
		{"a__x", `{"n":2}`, 0, false, `call 1 of a__x was recorded differently: n was 1 and is 2`},
		{"a__x", `{"n":1}`, 0, true, `call 1 of a__x was recorded differently: the option raw was false and is true`},
		{"a__x", `{"n":3}`, 2, false, "it has 2 calls of a__x, and this is number 3"},
		{"a__x", `{"m":"` + strings.Repeat("x", 100) + `"}`, 0, false, `m was missing and is "` + strings.Repeat("x", 79) + `…, n was 1 and is missing`},
		{"a__z", `{}`, 0, false, "it has no call of a__z; it has a__x, a__y"},
	} {
		got, err := p.Answer(&call.Request{Tool: c.tool, Args: json.RawMessage(c.args), Raw: c.raw}, c.rank)
		var none *record.NoMatchError
		switch {
		case err == nil && string(got.Value) != c.want:
			t.Errorf("%+v: %s", c, got.Value)
		case err != nil && (!errors.As(err, &none) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestListsAreNoTokens: a list of one word looks like the replacement of a secret.
func TestListsAreNoTokens(t *testing.T) {
	p := player(t, recorded(t, entry(1, "a__x", `{"flags":[true]}`, `1`)), true)
	for args, want := range map[string]string{`{"flags":[true]}`: "1", `{"flags":[false]}`: "flags was [true] and is [false]"} {
		got, err := p.Answer(&call.Request{Tool: "a__x", Args: json.RawMessage(args)}, 0)
		if text := textOf(got, err); !strings.Contains(text, want) {
			t.Errorf("%s: %s, want %q in it", args, text, want)
		}
	}
}

// TestReplayWithoutTheVariables: a replay connects to nothing, and does not know the values of variables.
func TestReplayWithoutTheVariables(t *testing.T) {
	file := recorded(t, entry(1, "a__x", `{"text":"to ann@example.com with s3\"cret!"}`, `1`))
	p, err := record.Read(strings.NewReader(file), false, record.Mask{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.Answer(&call.Request{Tool: "a__x", Args: json.RawMessage(`{"text":"to ann@example.com with s3\"cret!"}`)}, 0)
	if textOf(got, err) != "1" {
		t.Error(textOf(got, err))
	}
}

func TestLoose(t *testing.T) {
	file := recorded(t,
		entry(1, "a__x", `{"n":1,"m":1}`, `"first"`), entry(2, "a__x", `{"m":1,"n":1}`, `"second"`), entry(3, "a__x", `{"n":2}`, `"two"`),
		entry(4, "a__y", `{"to":"ann@example.com"}`, `"ann"`), entry(5, "a__y", `{"to":"bob@example.com"}`, `"bob"`))
	p := player(t, file, true)
	for _, c := range []struct{ tool, args, want string }{
		{"a__x", `{"n":2}`, `"two"`},
		{"a__x", `{"n":1,"m":1}`, `"first"`},
		{"a__x", `{"n":1,"m":1}`, `"second"`},
		{"a__x", `{"n":1,"m":1}`, `"second"`}, // the last entry answers further calls
		{"a__y", `{"to":"[EMAIL_2]"}`, `"bob"`},
		{"a__y", `{"to":"[EMAIL_9]"}`, `"ann"`},
		{"a__x", `{"n":1,"m":2}`, `the nearest is call 1, of a__x: m was 1 and is 2`},
	} {
		got, err := p.Answer(&call.Request{Tool: c.tool, Args: json.RawMessage(c.args)}, 0)
		if text := textOf(got, err); !strings.Contains(text, c.want) {
			t.Errorf("%+v: %s, want %q in it", c, text, c.want)
		}
	}
}

func textOf(e *record.Entry, err error) string {
	if err != nil {
		return err.Error()
	}
	return string(e.Value)
}

func TestBadFiles(t *testing.T) {
	head := `{"mcprun":"recording","version":1}` + "\n"
	for file, want := range map[string]string{
		`{"a":1}`:                                 "line 1: this is not a recording",
		`{"mcprun":"recording","version":9}`:      "version 9",
		head + `{"call":1`:                        "line 2:",
		head + "\n" + `{"tool":"a__x","args":{}}`: "line 3: a call has a tool",
		head + `{"tool":"a__x","args":{},"value":1,"error":{"kind":"tool"}}`: "either a value or an error",
	} {
		if _, err := record.Read(strings.NewReader(file), false, record.Mask{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", file, err, want)
		}
	}
	if _, err := record.Read(strings.NewReader(""), false, record.Mask{}); err != nil {
		t.Error("an empty file: a run that made no call left it", err)
	}
}

func TestWriterStopsAtAnError(t *testing.T) {
	full := errors.New("disk full")
	lines := 0
	w, err := record.NewWriter(writer(func(p []byte) (int, error) {
		if lines++; lines > 2 {
			return 0, full
		}
		return len(p), nil
	}), record.Mask{})
	if err != nil {
		t.Fatal(err)
	}
	e := entry(1, "a__x", `{}`, `1`)
	for i, want := range []error{nil, full, full} {
		if err := w.Write(e); !errors.Is(err, want) {
			t.Errorf("write %d: %v, want %v", i, err, want)
		}
	}
	if lines != 3 {
		t.Errorf("%d lines were tried, want 3", lines)
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }
