package policy

import (
	"path/filepath"
	"testing"
)

// BenchmarkCount makes calls that count for a day and for a session.
func BenchmarkCount(b *testing.B) { benchmarkCount(b, filepath.Join(b.TempDir(), "state.db")) }

func benchmarkCount(b *testing.B, place string) {
	const text = "rules: [{name: day, deny: \"*\", over: {day: 1000000000}}, {name: session, deny: \"*\", over: {session: 1000000000}}]\n"
	p := parse(b, text, NewRates().In(Counts{State: openState(b, place)}))
	run := &Run{Subject: Subject{Session: "s"}}
	for b.Loop() {
		if d := p.Decide(b.Context(), of(run, "crm__put", `{}`, Hints{})); d.Effect != Allow {
			b.Fatal(d)
		}
	}
}
