package soundness

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ident"
)

// Verdict is the result of one checker for one module.
type Verdict struct {
	Module *Module
	// Compile lists the errors in the declarations themselves.
	Compile []string
	// Rejected lists values that the schema accepts and the checker rejects.
	Rejected []Finding
	// Loose lists values that the schema refuses and the checker accepts.
	Loose []Finding
	// Refused is the number of values tried that the schema refuses.
	Refused int
}

// Finding is a value, and the checker's message for it, if any.
type Finding struct {
	Value   json.RawMessage
	Message string
}

// Sound reports whether there are declarations, they compile, and no valid value is rejected.
func (v *Verdict) Sound() bool {
	return v.Module.Crash == "" && len(v.Compile) == 0 && len(v.Rejected) == 0
}

// Exact reports whether v is sound and every invalid value is rejected.
func (v *Verdict) Exact() bool { return v.Sound() && len(v.Loose) == 0 }

// Score sums up verdicts.
type Score struct {
	Cases, Crashes, CompileErrors int
	// Accepted and Refused count values by their schema. Rejected and Loose count those that the checker gets wrong.
	Accepted, Rejected, Refused, Loose int
	// Sound and Exact count cases.
	Sound, Exact int
}

// Add adds a verdict.
func (s *Score) Add(v *Verdict) {
	s.Cases++
	if v.Module.Crash != "" {
		s.Crashes++
	}
	if len(v.Compile) > 0 {
		s.CompileErrors++
	}
	s.Accepted += len(v.Module.Case.Accept)
	s.Refused += v.Refused
	s.Rejected += len(v.Rejected)
	s.Loose += len(v.Loose)
	if v.Sound() {
		s.Sound++
	}
	if v.Exact() {
		s.Exact++
	}
}

// ExactShare returns the percentage of cases that are exact.
func (s Score) ExactShare() float64 {
	if s.Cases == 0 {
		return 0
	}
	return 100 * float64(s.Exact) / float64(s.Cases)
}

func (s Score) String() string {
	return fmt.Sprintf("%5d schemas  %2d crashes  %2d compile errors  %4d of %5d valid values rejected  %5d of %5d invalid values accepted  sound %5d  exact %5d (%.1f %%)",
		s.Cases, s.Crashes, s.CompileErrors, s.Rejected, s.Accepted, s.Loose, s.Refused, s.Sound, s.Exact, s.ExactShare())
}

// BySource returns scores by the source of the cases, and the sources in order.
func BySource(verdicts []*Verdict) (sources []string, scores map[string]Score) {
	scores = map[string]Score{}
	for _, v := range verdicts {
		s := scores[v.Module.Case.Source]
		s.Add(v)
		scores[v.Module.Case.Source] = s
	}
	for source := range scores {
		sources = append(sources, source)
	}
	slices.Sort(sources)
	return sources, scores
}

// Describe returns the errors of a verdict with its schema and declarations, in at most about 60 lines.
func (v *Verdict) Describe() string {
	const most = 5
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n  schema: %s\n", v.Module.Case.ID(), ident.Clip(string(v.Module.Case.Schema), 1500))
	if v.Module.Crash != "" {
		fmt.Fprintf(&b, "  CRASH %s\n", v.Module.Crash)
	}
	for _, m := range v.Compile[:min(len(v.Compile), most)] {
		fmt.Fprintf(&b, "  DOES NOT COMPILE %s\n", ident.Clip(m, 400))
	}
	for _, f := range v.Rejected[:min(len(v.Rejected), most)] {
		fmt.Fprintf(&b, "  VALID BUT REJECTED %s\n    %s\n", ident.Clip(string(f.Value), 600), ident.Clip(f.Message, 600))
	}
	for _, f := range v.Loose[:min(len(v.Loose), most)] {
		way := v.Module.Case.Ways[string(f.Value)]
		fmt.Fprintf(&b, "  INVALID BUT ACCEPTED %s  %s\n", ident.Clip(string(f.Value), 600), way)
	}
	fmt.Fprintf(&b, "  declarations:\n    %s\n", strings.ReplaceAll(ident.Clip(strings.TrimSpace(string(v.Module.Source)), 2500), "\n", "\n    "))
	return b.String()
}
