package runner

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// Auto is the name that lets Choose decide.
const Auto = "auto"

// BackendError says that no sandbox could take the script. Its exit code is 127, or 126 where the one that was asked for
// is refused.
type BackendError struct {
	Name    string // the sandbox that was asked for
	Message string
	Remedy  string
	Refused bool // it is there, and too weak
}

func (e *BackendError) Error() string { return e.Message }

// Hint tells what to do.
func (e *BackendError) Hint() string {
	if e.Remedy == "" {
		return "see which sandboxes work here with: mcprun doctor"
	}
	return e.Remedy
}

// ExitCode is that of a shell that finds no command, or may not execute it.
func (e *BackendError) ExitCode() int {
	if e.Refused {
		return ExitRefused
	}
	return ExitNoBackend
}

// Wish is what a script asks of its sandbox.
type Wish struct {
	Name     string // of the backend, or Auto
	Language sandbox.Language
	Risk     Risk // the sandbox must be good for it, whoever named it
}

// Choice is the backend for a script, and why it was chosen; Reason is empty when it was named. Usual is that no risk was
// named and no better one was passed over, so that there is nothing to explain.
type Choice struct {
	Backend sandbox.Backend
	Reason  string
	Usual   bool
}

// Choose picks a backend by name, or for Auto the first usable one in the order that the wish's risk and language give.
// One that is too weak for the risk is refused also when it was named. Apart from that a named backend is taken as it
// is, usable or not: its Start says what is wrong.
func Choose(ctx context.Context, backends []sandbox.Backend, w Wish) (Choice, error) {
	if w.Name == Auto {
		return chooseByRisk(ctx, backends, w)
	}
	b := named(backends, w.Name)
	if b == nil {
		return Choice{}, unknownBackend(backends, w.Name)
	}
	if !goodFor(w.Name, w.Risk) {
		return Choice{}, tooWeak(w)
	}
	if _, ok := b.Runtime(w.Language); !ok {
		return Choice{}, &BackendError{Name: w.Name, Message: fmt.Sprintf("sandbox %q does not run %s", w.Name, w.Language)}
	}
	return Choice{Backend: b}, nil
}

// order lists the kinds of sandbox from the one that is tried first. Without a risk that is the strongest of those that
// most machines have, and of a low one the lightest. The rest follows, weakest first: Choose passes over what is too weak.
func order(w Wish) []string {
	light := []string{"embedded", "process"}
	if w.Language == sandbox.LangPython {
		light = []string{"process", "embedded"}
	}
	if w.Risk == RiskUnset {
		return append(append([]string{"docker"}, light...), "gvisor")
	}
	return append(light, "docker", "gvisor")
}

func chooseByRisk(ctx context.Context, backends []sandbox.Backend, w Wish) (Choice, error) {
	var why, remedies []string
	for _, name := range order(w) {
		b := named(backends, name)
		if b == nil || !goodFor(name, w.Risk) {
			continue
		}
		rt, ok := b.Runtime(w.Language)
		if !ok {
			continue
		}
		st := b.Probe(ctx)
		if st.Usable && slices.Contains(st.Languages, w.Language) {
			return Choice{Backend: b, Reason: reason(w, why), Usual: why == nil && w.Risk == RiskUnset}, nil
		}
		detail := st.Detail
		if st.Usable {
			detail = fmt.Sprintf("it has no %s here", w.Language)
			st.Remedy = "install " + rt.Wanted()
		}
		why = append(why, fmt.Sprintf("%s is not usable: %s", name, detail))
		if st.Remedy != "" {
			remedies = append(remedies, name+": "+st.Remedy)
		}
	}
	e := &BackendError{Name: Auto, Message: fmt.Sprintf("no sandbox here can run %s", w.Language), Remedy: strings.Join(remedies, "\n")}
	if w.Risk != RiskUnset {
		e.Message += fmt.Sprintf(" of %s risk", w.Risk)
	}
	if why == nil {
		why = []string{"this program knows none for it"}
	}
	e.Message += ": " + strings.Join(why, "; ")
	return Choice{}, e
}

func reason(w Wish, passed []string) string {
	first := "chosen automatically"
	if w.Risk != RiskUnset {
		first = fmt.Sprintf("chosen for %s risk", w.Risk)
	}
	if passed == nil {
		return first
	}
	if w.Risk == RiskUnset {
		return strings.Join(passed, "; ")
	}
	return first + "; " + strings.Join(passed, "; ")
}

func named(backends []sandbox.Backend, name string) sandbox.Backend {
	i := slices.IndexFunc(backends, func(b sandbox.Backend) bool { return b.Name() == name })
	if i < 0 {
		return nil
	}
	return backends[i]
}

// tooWeak names those that would do, whether they are there or not.
func tooWeak(w Wish) error {
	var enough []string
	for _, name := range order(w) {
		if goodFor(name, w.Risk) {
			enough = append(enough, name)
		}
	}
	return &BackendError{
		Name: w.Name, Refused: true,
		Message: fmt.Sprintf("sandbox %q is too weak for code of %s risk: it is good for %s risk", w.Name, w.Risk, Strength(w.Name)),
		Remedy:  "use --sandbox " + strings.Join(enough, " or ") + ", or leave the choice to auto; mcprun doctor tells how to get it",
	}
}

func unknownBackend(backends []sandbox.Backend, name string) error {
	names := []string{Auto}
	for _, b := range backends {
		names = append(names, b.Name())
	}
	return &BackendError{Name: name, Message: fmt.Sprintf("unknown sandbox %q", name), Remedy: "choose one of: " + strings.Join(names, ", ")}
}
