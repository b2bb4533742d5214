package docker

import (
	"errors"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// An engine that ends lets go of its socket while it still answers on the connections it has.
func TestEngineEndsBeforeItIsAttachedTo(t *testing.T) {
	for name, want := range map[string]string{"refused": "no docker engine at unix://", "hung up": "does not answer: "} {
		t.Run(name, func(t *testing.T) {
			var b *Backend
			b = served(t, func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Path == "/_ping":
					w.Header().Set("API-Version", "1.44")
				case strings.HasSuffix(r.URL.Path, "/attach"):
					panic(http.ErrAbortHandler)
				default:
					if name == "refused" {
						os.Remove(strings.TrimPrefix(b.opt.Host, "unix://"))
					}
					w.WriteHeader(http.StatusCreated)
					w.Write([]byte(`{"Id": "made"}`))
				}
			})
			p := newProcess(b, "x", "")
			create := b.commonOptions(t.Context(), sandbox.Spec{Runtime: sandbox.Python}, &engine{}, image{id: "img"}, p.name)
			err := p.make(t.Context(), create)
			defer p.stopWatching()
			down, ok := errors.AsType[*EngineError](err)
			if !ok || down.Hint() == "" || down.ExitCode() != 127 || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v", err)
			}
			t.Log(err)
		})
	}
	b := &Backend{}
	if _, ok := errors.AsType[*EngineError](b.engineError(errors.New("unable to upgrade"))); ok {
		t.Error("an answer is taken for none")
	}
	if _, ok := errors.AsType[*EngineError](b.engineError(&net.OpError{Op: "dial", Err: os.ErrNotExist})); !ok {
		t.Error("a refusal is taken for an answer")
	}
}
