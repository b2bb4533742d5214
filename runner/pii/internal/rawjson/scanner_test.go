package rawjson

import (
	"strings"
	"testing"
	"time"
)

func TestParts(t *testing.T) {
	for _, c := range []struct {
		text string
		want string // the parts, joined with a bar
	}{
		{`no JSON`, ``},
		{`a {"b":1} c ["d", {"e":null}] f`, `{"b":1}|["d", {"e":null}]`},
		{`[note: {"a":{"b":[]}}, {"c":"]}\"{"}`, `{"a":{"b":[]}}|{"c":"]}\"{"}`},
		{`{"a":1 {"b":2}}`, `{"b":2}`},
		{`{"a":01} {"b":"\x"} {"c":tru} {"d":1,} ["e" "f"] {"g"} {:1} {"h":"` + "\n" + `"} {"i":1}`, `{"i":1}`},
		{`"[1]" x {} [ ]`, `[1]|{}|[ ]`},
		{`{"a":[1,-2.5e3,true,false,null]}`, `{"a":[1,-2.5e3,true,false,null]}`},
		{`[INFO] "x" [1/3] {x} [}`, ``},
	} {
		var got []string
		for _, p := range Parts(c.text) {
			got = append(got, c.text[p.Start:p.End])
		}
		if strings.Join(got, "|") != c.want {
			t.Errorf("Parts(%s) = %q, want %s", c.text, got, c.want)
		}
	}
}

// TestPartsAreLinear: no text takes long, whatever is in it.
func TestPartsAreLinear(t *testing.T) {
	for _, piece := range []string{"[", `{"a":`, `{"`, `{"a{`, `[{"a":[`, `["\`, `{"a":1}`, `[[1],`, `{"a":{"b":1}x`} {
		start := time.Now()
		Parts(`"` + strings.Repeat(piece, 1<<20/len(piece)) + `"`)
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("a megabyte of %s takes %v", piece, took)
		}
	}
}
