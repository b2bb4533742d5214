package node

import (
	"strings"
	"testing"
)

func TestFileJSON(t *testing.T) {
	for text, want := range map[string]string{
		"{b: 1, a: [x, 2.50, true, null, ~]}": `{"b":1,"a":["x",2.50,true,null,null]}`,
		"a: 2026-12-31\n1: 0x10\nyes: no":     `{"a":"2026-12-31","1":16,"yes":"no"}`,
		"a: &x {b: 1}\nc: *x":                 `{"a":{"b":1},"c":{"b":1}}`,
		"a: \"<&>\\u2028\"":                   "{\"a\":\"\\u003c\\u0026\\u003e\\u2028\"}",
		"{}":                                  `{}`,
		"[]":                                  `[]`,
	} {
		if got, err := asJSON(t, text); err != nil || got != want {
			t.Errorf("JSON of %q = %s, %v, want %s", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"a:\n  b: .inf":          "f.yaml:2: x.a.b: the value cannot be written as JSON",
		"a: &x {}\nb:\n  <<: *x": "f.yaml:3: x.b: a merge key (<<) is not supported here",
		"a: &x " + strings.Repeat("y", 100_000) + "\nb: [" + strings.TrimSuffix(strings.Repeat("*x, ", 20), ", ") + "]": "f.yaml:2: x.b: the value is larger than 1 MiB",
	} {
		if got, err := asJSON(t, text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("JSON of %.30q = %.30s, %v, want %s", text, got, err, want)
		}
	}
}

func asJSON(t *testing.T, text string) (string, error) {
	t.Helper()
	f := &File{Name: "f.yaml", Text: []byte(text)}
	n, err := f.ParseYAML()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := f.JSON(n, "x")
	return string(raw), err
}
