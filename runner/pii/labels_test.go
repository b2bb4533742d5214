package pii

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// labelled is a line whose finds are known. hard says that it has none, and looks as if it had one of that type.
type labelled struct {
	typ   Type
	hard  bool
	text  string
	wants []Match
	place string
}

func readLabels(t *testing.T, name string) []labelled {
	t.Helper()
	raw, err := os.ReadFile("testdata/labels/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var out []labelled
	n := 0
	for line := range strings.Lines(string(raw)) {
		n++
		if line = strings.TrimSuffix(line, "\n"); line == "" || line[0] == '#' {
			continue
		}
		parts := strings.SplitN(line, "\t", 3)
		if len(parts) != 3 {
			t.Fatalf("%s:%d: %q", name, n, line)
		}
		l := labelled{typ: Type(parts[0]), hard: parts[1] == "-", place: fmt.Sprintf("%s:%d", name, n)}
		text := strings.NewReplacer("¦", "", `\n`, "\n").Replace(parts[2])
		for {
			before, rest, ok := strings.Cut(text, "«")
			l.text += before
			if !ok {
				break
			}
			value, after, _ := strings.Cut(rest, "»")
			l.wants = append(l.wants, Match{len(l.text), len(l.text) + len(value), l.typ})
			l.text += value
			text = after
		}
		if l.hard != (len(l.wants) == 0) {
			t.Fatalf("%s: %q", l.place, line)
		}
		out = append(out, l)
	}
	return out
}

// score counts finds that are right, that are wrong, and those that are missing.
type score struct{ right, wrong, missing, hard int }

func (s score) precision() float64 { return percent(s.right, s.right+s.wrong) }
func (s score) recall() float64    { return percent(s.right, s.right+s.missing) }

func percent(n, of int) float64 {
	if of == 0 {
		return 100
	}
	return 100 * float64(n) / float64(of)
}

// finds are those of a line, which is read as JSON where it is some: values, each with its type.
func finds(l labelled) []string {
	var out []string
	m := &masker{name: func(typ Type, value string, _ bool) string {
		out = append(out, shownFind(typ, value))
		return ""
	}}
	top := jsonMasker{masker: m}
	top.value(l.text)
	return out
}

func shownFind(typ Type, value string) string {
	if typ == Secret {
		typ = Key // a credential either way
	}
	return string(typ) + " " + value
}

func measure(t *testing.T, lines []labelled, show bool) map[Type]*score {
	scores := map[Type]*score{}
	for _, l := range lines {
		s := scores[l.typ]
		if s == nil {
			s = &score{}
			scores[l.typ] = s
		}
		if l.hard {
			s.hard++
		}
		got := finds(l)
		var wants []string
		for _, m := range l.wants {
			wants = append(wants, shownFind(m.Type, l.text[m.Start:m.End]))
		}
		for _, m := range got {
			if at := slices.Index(wants, m); at >= 0 {
				wants = slices.Delete(wants, at, at+1)
				s.right++
				continue
			}
			s.wrong++
			if show {
				t.Logf("%s: wrong: %s in %.200q", l.place, m, l.text)
			}
		}
		for _, m := range wants {
			s.missing++
			if show {
				t.Logf("%s: missing: %s in %.200q", l.place, m, l.text)
			}
		}
	}
	return scores
}

// TestLabelled measures precision and recall on labelled lines: dev.txt, which the rules were made with, and held.txt, which
// was put aside before.
func TestLabelled(t *testing.T) {
	var found, hard int
	for _, name := range []string{"dev.txt", "held.txt", "late.txt"} {
		lines := readLabels(t, name)
		scores := measure(t, lines, true)
		var types []Type
		for typ := range scores {
			types = append(types, typ)
		}
		slices.Sort(types)
		for _, typ := range types {
			s := scores[typ]
			t.Logf("%-8s %-8s %3d values, %3d hard lines: precision %6.2f %%, recall %6.2f %%", name, typ, s.right+s.missing, s.hard, s.precision(), s.recall())
			found, hard = found+s.right+s.missing, hard+s.hard
			if s.precision() < 99 || s.recall() < 99 {
				t.Errorf("%s, %s: precision and recall are to be 99 %% at least", name, typ)
			}
		}
	}
	if found < 300 || hard < 300 {
		t.Errorf("%d values and %d hard lines are too few", found, hard)
	}
}
