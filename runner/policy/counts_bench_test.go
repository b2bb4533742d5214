package policy

import (
	"path/filepath"
	"testing"
)

func BenchmarkCount(b *testing.B) {
	p := parse(b, "rules: [{name: day, deny: \"*\", over: {day: 1000000000}}]", NewRates().In(Counts{State: openState(b, filepath.Join(b.TempDir(), "state.db"))}))
	run := &Run{Subject: Subject{Session: "s"}}
	for b.Loop() {
		if d := p.Decide(b.Context(), of(run, "crm__put", `{}`, Hints{})); d.Effect != Allow {
			b.Fatal(d)
		}
	}
}
