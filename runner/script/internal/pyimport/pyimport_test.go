package pyimport

import (
	"strings"
	"testing"
	"time"
)

func TestScan(t *testing.T) {
	for code, want := range map[string]string{
		"import a":                "a",
		"import a.b as c, d ,e.f": "a.b d e.f",
		"from a import b":         "a:b",
		"from a.b import (c as d,\n  e, # f\n  g,\n)":             "a.b:c,e,g",
		"from .a import b\nfrom . import c\nfrom ...d.e import f": ".a:b .:c ...d.e:f",
		"from .. import *":                                   "..:*",
		"x = 1; import a; from b import c":                   "a b:c",
		"try: import a\nexcept ImportError: import b":        "a b",
		"if x:\n\timport a\nelse:\n    from b import c":      "a b:c",
		"def f():\n  import a\n  return a":                   "a",
		"import a \\\n  .b":                                  "a.b",
		"from a \\\n import b":                               "a:b",
		"'import a'\n\"from b import c\"":                    "",
		"'''\nimport a\n'''\nimport b":                       "b",
		`"""a""" ; import b`:                                 "b",
		"# import a\nimport b # import c":                    "b",
		"r'\\'\nimport a":                                    "a",
		"r'\\\\'\nimport a":                                  "a",
		"rb'''x'''\nimport a":                                "a",
		"x = '\\''\nimport a":                                "a",
		"x = 'a\\\nimport b'\nimport c":                      "c",
		"x = f'{y}'\nimport a":                               "a",
		"x = f'{d[\"import b\"]}'\nimport a":                 "a",
		"x = f\"{d[\"k\"]}\"\nimport a":                      "a",
		"x = f'{{import b}}'\nimport a":                      "a",
		"x = f'{y:{w}.{p}}'\nimport a":                       "a",
		"x = f'''{\n y\n}\nimport b'''\nimport a":            "a",
		"x = f'{y!r}' f'{z:>10}'\nimport a":                  "a",
		"x = [\n'import b',\nimport_x\n]\nimport a":          "a",
		"def g():\n  yield from h\nimport a":                 "a",
		"raise X from Y\nimport a":                           "a",
		"x.import_module\nimport a":                          "a",
		"importlib.import_module('a.b')":                     "a.b",
		"importlib.import_module(name)":                      "",
		"importlib.import_module(f'a{b}')":                   "",
		"__import__('a')":                                    "a",
		"importlib.import_module('../a')":                    "",
		"import größe":                                       "größe",
		"from __future__ import annotations\r\nimport a\r\n": "__future__:annotations a",
		"import a\rimport b":                                 "a b",
		"import":                                             "",
		"from a import":                                      "a:",
		"from import b\nimport c":                            "c",
		"x = 'not closed\nimport a":                          "a",
		"\"\"\"not closed\nimport a":                         "",
		"class from_x: pass\nlambda: 0":                      "",
		"match x:\n  case 1: import a":                       "a",
		"@d\ndef f(a: int = 1, *, b): import c":              "c",
		"a = {'x': 1, 'y': [2]}; import b":                   "b",
	} {
		var got []string
		for _, im := range Scan(code) {
			text := strings.Repeat(".", im.Level) + strings.Join(im.Module, ".")
			if im.Names != nil || strings.Contains(code, "from a import") && len(code) < 14 {
				text += ":" + strings.Join(im.Names, ",")
			}
			got = append(got, text)
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("Scan(%q) = %q, want %q", code, text, want)
		}
	}
}

func FuzzScan(f *testing.F) {
	for _, code := range []string{"import a", "f'{x:{y}}'", "'''", "f\"{\"", "from .. import (a", "\\\n", "f'''{#\n'''"} {
		f.Add(code)
	}
	f.Fuzz(func(t *testing.T, code string) {
		for _, im := range Scan(code) {
			for _, name := range append(im.Module, im.Names...) {
				if strings.ContainsAny(name, "/\\.\x00") {
					t.Errorf("%q imports %q", code, name)
				}
			}
		}
	})
}

// TestScanLongLine scans lines of many strings, whose time grows with their length: it grew with its square when each quote was asked for the end
// of its line.
func TestScanLongLine(t *testing.T) {
	scan := func(strs int) time.Duration {
		best := time.Hour
		for range 3 {
			code := "f\"{" + strings.Repeat(`"a"`, strs) + "\"\nimport found\n"
			start := time.Now()
			found := Scan(code)
			best = min(best, time.Since(start))
			if len(found) != 1 || found[0].Line != 2 {
				t.Errorf("Scan() = %v, want one import in line 2", found)
			}
		}
		return best
	}
	if short, long := scan(5_000), scan(40_000); long > 24*short { // eight times as much
		t.Errorf("Scan() takes %v for a line, and %v for one that is eight times as long", short, long)
	}
}
