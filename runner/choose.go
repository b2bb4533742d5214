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

// BackendError says that no sandbox could take the script. Its exit code is 127.
type BackendError struct {
	Name    string // the sandbox that was asked for
	Message string
	Remedy  string
}

func (e *BackendError) Error() string { return e.Message }

// Hint tells what to do.
func (e *BackendError) Hint() string {
	if e.Remedy == "" {
		return "see which sandboxes work here with: mcprun doctor"
	}
	return e.Remedy
}

// ExitCode is that of a shell that finds no command.
func (e *BackendError) ExitCode() int { return ExitNoBackend }

// Choice is the backend for a script, and why it was chosen; Reason is empty when it was named.
type Choice struct {
	Backend sandbox.Backend
	Reason  string
}

// Choose picks a backend by name, or for Auto the first that is usable for lang of: docker, then for Python process,
// then for TypeScript embedded. A named backend is taken as it is, usable or not: its Start says what is wrong.
func Choose(ctx context.Context, backends []sandbox.Backend, name string, lang sandbox.Language) (Choice, error) {
	if name != Auto {
		i := slices.IndexFunc(backends, func(b sandbox.Backend) bool { return b.Name() == name })
		if i < 0 {
			return Choice{}, unknownBackend(backends, name)
		}
		if _, ok := backends[i].Runtime(lang); !ok {
			return Choice{}, &BackendError{Name: name, Message: fmt.Sprintf("sandbox %q does not run %s", name, lang)}
		}
		return Choice{Backend: backends[i]}, nil
	}
	order := []string{"docker", "embedded"}
	if lang == sandbox.LangPython {
		order = []string{"docker", "process"}
	}
	var why, remedies []string
	for _, want := range order {
		i := slices.IndexFunc(backends, func(b sandbox.Backend) bool { return b.Name() == want })
		if i < 0 {
			continue
		}
		st := backends[i].Probe(ctx)
		if st.Usable && slices.Contains(st.Languages, lang) {
			if why == nil {
				why = []string{"chosen automatically"}
			}
			return Choice{Backend: backends[i], Reason: strings.Join(why, "; ")}, nil
		}
		reason := st.Detail
		if st.Usable {
			reason = fmt.Sprintf("it has no %s here", lang)
		}
		why = append(why, fmt.Sprintf("%s is not usable: %s", want, reason))
		if st.Remedy != "" {
			remedies = append(remedies, want+": "+st.Remedy)
		}
	}
	return Choice{}, &BackendError{Name: Auto, Message: fmt.Sprintf("no sandbox can run %s here: %s", lang, strings.Join(why, "; ")), Remedy: strings.Join(remedies, "\n")}
}

func unknownBackend(backends []sandbox.Backend, name string) error {
	names := []string{Auto}
	for _, b := range backends {
		names = append(names, b.Name())
	}
	return &BackendError{Name: name, Message: fmt.Sprintf("unknown sandbox %q", name), Remedy: "choose one of: " + strings.Join(names, ", ")}
}
