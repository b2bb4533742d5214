package gvisor

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// fakeEngine records what it was asked to run.
type fakeEngine struct {
	Engine
	status  sandbox.Status
	err     error
	started []string
}

func (e *fakeEngine) Probe(context.Context) sandbox.Status { return e.status }

func (e *fakeEngine) Start(_ context.Context, spec sandbox.Spec) (sandbox.Process, error) {
	e.started = append(e.started, spec.ID)
	return nil, e.err
}

func TestEngineTakesThePlaceOfRunsc(t *testing.T) {
	engine := &fakeEngine{status: sandbox.Status{Usable: true, Detail: "Docker Engine 28, runtime runsc", Languages: []sandbox.Language{sandbox.LangPython}}}
	b := New(Options{Runsc: "/nonexistent", Engine: engine})
	if st := b.Probe(t.Context()); !st.Usable || st.Detail != engine.status.Detail || len(st.Holds) == 0 {
		t.Errorf("Probe() = %+v, want the engine's status and what gVisor holds", st)
	}
	spec := sandbox.Spec{ID: "run", Runtime: sandbox.Python}
	if _, err := b.Start(t.Context(), spec); err != nil || len(engine.started) != 1 {
		t.Errorf("Start() = %v, the engine started %v, want run", err, engine.started)
	}
	engine.err, engine.status = errors.New("no runtime"), sandbox.Status{Detail: "no runtime"}
	var missing *UnavailableError
	if _, err := b.Start(t.Context(), spec); !errors.As(err, &missing) || missing.Hint() == "" || !strings.Contains(err.Error(), "no runtime") {
		t.Errorf("Start() = %v, want an *UnavailableError with both reasons", err)
	}
	if st := b.Probe(t.Context()); st.Usable || st.Remedy == "" || !strings.Contains(st.Detail, "no runtime") {
		t.Errorf("Probe() = %+v, want both reasons and a remedy", st)
	}
}
