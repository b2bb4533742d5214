package runner

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/runner/risk"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// Auto is the name that lets Choose decide.
const Auto = "auto"

// BackendError reports that no sandbox can run the script. Its exit code is 127, or 126 if the sandbox that was named is refused.
type BackendError struct {
	Name    string // the sandbox that was named
	Message string
	Remedy  string
	Refused bool // it works, and is too weak
}

func (e *BackendError) Error() string { return e.Message }

// Hint says what to do.
func (e *BackendError) Hint() string {
	if e.Remedy == "" {
		return "see which sandboxes work here with: mcprun doctor"
	}
	return e.Remedy
}

// ExitCode is the exit code of a shell that does not find a command, or may not execute it.
func (e *BackendError) ExitCode() int {
	if e.Refused {
		return exit.Refused
	}
	return exit.NoBackend
}

// Need describes the sandbox that a script needs.
type Need struct {
	Name     string // of the backend, or Auto
	Language sandbox.Language
	// Risk is that of the script. A sandbox that is too weak for Risk.Set is refused, even if it is named. Auto prefers one that is
	// strong enough for Risk.Shown, and takes the usual one if there is none.
	Risk risk.Assessment
}

// Choice is the backend for a script, and why it was chosen. Reason is empty when the backend was named. Usual reports that
// there is nothing to explain: no risk was given, and the first preference works.
type Choice struct {
	Backend sandbox.Backend
	Reason  string
	Usual   bool
	// Raised reports that only Need.Risk.Shown led to this sandbox. If it does not start, choose again without Need.Risk.Shown.
	Raised bool
}

// Choose returns the backend with the name n.Name, or for Auto the first usable one in the order of preference. A backend that is too weak
// for the risk is refused, even if it is named. Otherwise a named backend is returned whether it is usable or not: its Start reports what
// is wrong.
func Choose(ctx context.Context, backends []sandbox.Backend, n Need) (Choice, error) {
	if n.Name == Auto {
		return chooseAuto(ctx, backends, n)
	}
	i := slices.IndexFunc(backends, func(b sandbox.Backend) bool { return b.Name() == n.Name })
	if i < 0 {
		return Choice{}, unknownBackend(backends, n.Name)
	}
	b := backends[i]
	if !goodFor(b, n.Risk.Set) {
		return Choice{}, tooWeak(backends, b, n.Risk.Set)
	}
	if _, ok := b.Runtime(n.Language); !ok {
		return Choice{}, &BackendError{Name: n.Name, Message: fmt.Sprintf("sandbox %q does not run %s", n.Name, n.Language)}
	}
	return Choice{Backend: b}, nil
}

// GoodFor returns the greatest risk that a sandbox of the given strength may run.
func GoodFor(s sandbox.Strength) risk.Risk {
	switch s {
	case sandbox.OwnKernel:
		return risk.Critical
	case sandbox.Container:
		return risk.High
	}
	return risk.Low
}

// goodFor reports whether a backend may run code of the given risk.
func goodFor(b sandbox.Backend, r risk.Risk) bool { return GoodFor(b.Strength()) >= r }

// preferred returns the backends in the order in which they are tried. With a risk, that is from the weakest, which starts fastest, to the
// strongest. Without one, a container comes first, as the strongest that most machines have, and a sandbox with its own kernel last.
func preferred(backends []sandbox.Backend, least risk.Risk) []sandbox.Backend {
	rank := func(b sandbox.Backend) int {
		if least == risk.None && b.Strength() == sandbox.Container {
			return 0
		}
		return int(b.Strength())
	}
	return slices.SortedStableFunc(slices.Values(backends), func(a, b sandbox.Backend) int { return cmp.Compare(rank(a), rank(b)) })
}

// chooseAuto prefers a sandbox that is strong enough for what the script shows.
func chooseAuto(ctx context.Context, backends []sandbox.Backend, n Need) (Choice, error) {
	if n.Risk.Shown >= risk.High && n.Risk.Shown > n.Risk.Set { // lower ones change nothing, since a container is preferred anyway
		strong := slices.DeleteFunc(slices.Clone(backends), func(b sandbox.Backend) bool { return !goodFor(b, n.Risk.Shown) })
		if c, err := chooseUsable(ctx, strong, n); err == nil {
			c.Usual, c.Raised = false, true
			c.Reason = fmt.Sprintf("chosen for a script of %s risk", n.Risk.Shown)
			return c, nil
		}
	}
	return chooseUsable(ctx, backends, n)
}

func chooseUsable(ctx context.Context, backends []sandbox.Backend, n Need) (Choice, error) {
	var why, remedies []string
	for _, b := range preferred(backends, n.Risk.Set) {
		rt, ok := b.Runtime(n.Language)
		if !ok || !goodFor(b, n.Risk.Set) {
			continue
		}
		st := b.Probe(ctx)
		if st.Usable && slices.Contains(st.Languages, n.Language) {
			return Choice{Backend: b, Reason: reason(n, why), Usual: why == nil && n.Risk.Set == risk.None}, nil
		}
		detail := st.Detail
		if st.Usable {
			detail = fmt.Sprintf("it has no %s here", n.Language)
			st.Remedy = "install " + rt.Wanted()
		}
		why = append(why, fmt.Sprintf("%s is not usable: %s", b.Name(), detail))
		if st.Remedy != "" {
			remedies = append(remedies, b.Name()+": "+st.Remedy)
		}
	}
	e := &BackendError{Name: Auto, Message: fmt.Sprintf("no sandbox here can run %s", n.Language), Remedy: strings.Join(remedies, "\n")}
	if n.Risk.Set != risk.None {
		e.Message += fmt.Sprintf(" of %s risk", n.Risk.Set)
	}
	if why == nil {
		why = []string{"this program has no sandbox for it"}
	}
	e.Message += ": " + strings.Join(why, "; ")
	return Choice{}, e
}

// reason explains why a backend was chosen, and why others were not.
func reason(n Need, passed []string) string {
	first := "chosen automatically"
	if n.Risk.Set != risk.None {
		first = fmt.Sprintf("chosen for %s risk", n.Risk.Set)
	}
	switch {
	case passed == nil:
		return first
	case n.Risk.Set == risk.None:
		return strings.Join(passed, "; ")
	}
	return first + "; " + strings.Join(passed, "; ")
}

// tooWeak returns the error for a backend that is too weak. It names those that are strong enough, usable or not.
func tooWeak(backends []sandbox.Backend, b sandbox.Backend, least risk.Risk) error {
	var enough []string
	for _, other := range preferred(backends, least) {
		if goodFor(other, least) {
			enough = append(enough, other.Name())
		}
	}
	remedy := "leave the choice to auto"
	if enough != nil {
		remedy = "use --sandbox " + strings.Join(enough, " or ") + ", or " + remedy
	}
	return &BackendError{
		Name: b.Name(), Refused: true, Remedy: remedy + "; mcprun doctor says how to get it",
		Message: fmt.Sprintf("sandbox %q is too weak for code of %s risk: it is good for %s risk", b.Name(), least, GoodFor(b.Strength())),
	}
}

func unknownBackend(backends []sandbox.Backend, name string) error {
	names := []string{Auto}
	for _, b := range backends {
		names = append(names, b.Name())
	}
	return &BackendError{Name: name, Message: fmt.Sprintf("unknown sandbox %q", name), Remedy: "choose one of: " + strings.Join(names, ", ")}
}
