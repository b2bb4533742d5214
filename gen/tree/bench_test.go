package tree

import (
	"fmt"
	"strings"
	"testing"
)

// twentyThousand returns as many files as ten thousand tools in two languages have.
func twentyThousand(text string) Tree {
	t := Tree{".meta/lock": []byte(text)}
	for i := range 20_000 {
		t[fmt.Sprintf("server%d/file%d.ts", i%20, i)] = []byte(strings.Repeat("a line of code, "+text+"\n", 60))
	}
	return t
}

func BenchmarkApplyMany(b *testing.B) {
	for b.Loop() {
		p, err := MakePlan(b.TempDir(), twentyThousand("x"), options(nil))
		if err != nil {
			b.Fatal(err)
		}
		if err := p.Apply(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPlanUnchanged(b *testing.B) {
	dir, t := b.TempDir(), twentyThousand("x")
	p, err := MakePlan(dir, t, options(nil))
	if err != nil {
		b.Fatal(err)
	}
	if err := p.Apply(b.Context()); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if p, err := MakePlan(dir, t, options(t)); err != nil || !p.Empty() {
			b.Fatal(err)
		}
	}
}
