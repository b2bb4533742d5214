package docker

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/container"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/folder"
)

// bindingEngine is a fake one that finds folders as Docker does, or none, and calls hindered before it looks for those of
// a run. It makes containers and starts none.
func bindingEngine(t *testing.T, blind bool, hindered func()) *Backend {
	t.Helper()
	refuse := func(w http.ResponseWriter, code int, format string, args ...any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		json.NewEncoder(w).Encode(map[string]string{"message": fmt.Sprintf(format, args...)})
	}
	b := served(t, func(w http.ResponseWriter, r *http.Request) {
		switch _, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v"), "/"); {
		case r.URL.Path == "/_ping":
			w.Header().Set("API-Version", "1.44")
		case strings.HasPrefix(rest, "images/"):
			w.Write([]byte(`{"Id": "img"}`))
		case r.Method == http.MethodDelete, r.Method == http.MethodGet:
			refuse(w, http.StatusNotFound, "no such container")
		case rest == "containers/create":
			var made struct{ HostConfig container.HostConfig }
			if err := json.NewDecoder(r.Body).Decode(&made); err != nil {
				t.Error(err)
			}
			if r.URL.Query().Get("name") != "" {
				hindered()
			}
			for _, m := range made.HostConfig.Mounts {
				if _, err := os.Stat(m.Source); m.Type == "bind" && (blind || err != nil) {
					refuse(w, http.StatusBadRequest, "invalid mount config for type %q: %s: %s", "bind", noSource, m.Source)
					return
				}
			}
			w.WriteHeader(http.StatusCreated)
			w.Write([]byte(`{"Id": "made"}`))
		default:
			refuse(w, http.StatusInternalServerError, "no containers are started here")
		}
	})
	b.opt.Image, b.opt.RuntimeDir = "img", filepath.Join(t.TempDir(), "r")
	b.engine = &engine{}
	return b
}

// A folder of a run that vanishes says nothing of the engine.
func TestVanishedFolders(t *testing.T) {
	for name, c := range map[string]struct {
		blind  bool
		hinder func(t *testing.T, b *Backend, s sandbox.Spec)
		want   func(b *Backend, s sandbox.Spec) string
	}{
		"workspace": {hinder: func(t *testing.T, _ *Backend, s sandbox.Spec) { remove(t, s.Workspace) }, want: func(_ *Backend, s sandbox.Spec) string { return s.Workspace }},
		"tree":      {hinder: func(t *testing.T, _ *Backend, s sandbox.Spec) { remove(t, s.Tree) }, want: func(_ *Backend, s sandbox.Spec) string { return s.Tree }},
		"folder of all runs": {hinder: func(t *testing.T, b *Backend, _ sandbox.Spec) { remove(t, b.opt.RuntimeDir) },
			want: func(b *Backend, _ sandbox.Spec) string { return b.opt.RuntimeDir }},
		"engine that sees none": {blind: true, hinder: func(*testing.T, *Backend, sandbox.Spec) {}},
	} {
		for _, way := range []string{"start", "warm"} {
			if c.blind && way == "warm" {
				continue
			}
			t.Run(name+", "+way, func(t *testing.T) {
				s := sandbox.Spec{ID: "x", Runtime: sandbox.Python, Workspace: t.TempDir(), Tree: t.TempDir(), Guest: map[string][]byte{sandbox.GuestMain(sandbox.Python): nil}}
				for _, dir := range []string{s.Workspace, s.Tree} {
					if err := os.Chmod(dir, 0o755); err != nil {
						t.Fatal(err)
					}
				}
				var b *Backend
				b = bindingEngine(t, c.blind, func() { c.hinder(t, b, s) })
				b.triedEnter, b.noEnter = true, errors.ErrUnsupported
				var err error
				if way == "start" {
					_, err = b.Start(t.Context(), s)
				} else {
					_, err = b.Warm(t.Context(), s)
				}
				if c.blind {
					if b.engine.apart == "" {
						t.Errorf("the engine is not known to be apart: %v", err)
					}
					return
				}
				gone, ok := errors.AsType[*folder.Error](err)
				if !ok || !strings.HasPrefix(gone.Path, c.want(b, s)) || gone.Hint() == "" {
					t.Errorf("error %v does not name %s", err, c.want(b, s))
				}
				if b.engine.apart != "" {
					t.Errorf("the engine is apart: %s", b.engine.apart)
				}
			})
		}
	}
}

func remove(t *testing.T, dir string) {
	t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		t.Error(err)
	}
}

// A folder may be there again when it is looked for, and have the number of the one that vanished.
func TestFolderThatIsBack(t *testing.T) {
	b := bindingEngine(t, false, func() {})
	ws := t.TempDir()
	create := b.created(t.Context(), sandbox.Spec{ID: "x", Runtime: sandbox.Python, Workspace: ws}, b.engine, image{id: "img"}, &runDir{path: t.TempDir()}, "me")
	create.HostConfig.Mounts = create.HostConfig.Mounts[len(create.HostConfig.Mounts)-1:]
	missed := b.createError(errors.New("invalid mount config: " + noSource + ": " + ws))
	gone, ok := errors.AsType[*folder.Error](b.vanished(t.Context(), missed, create, image{id: "img"}, sources(create)))
	if !ok || gone.Path != ws {
		t.Errorf("error %v does not name %s", gone, ws)
	}
	if err := b.vanished(t.Context(), errors.New("another"), create, image{id: "img"}, sources(create)); err != nil {
		t.Errorf("%v explains another error", err)
	}
}

// An engine that ends lets go of its socket while it still answers on the connections it has.
func TestEngineEndsBeforeItIsAttachedTo(t *testing.T) {
	for name, hangUp := range map[string]bool{"refused": false, "hung up": true} {
		t.Run(name, func(t *testing.T) {
			var b *Backend
			b = served(t, func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Path == "/_ping":
					w.Header().Set("API-Version", "1.44")
				case strings.HasSuffix(r.URL.Path, "/attach"):
					panic(http.ErrAbortHandler)
				default:
					if !hangUp {
						remove(t, strings.TrimPrefix(b.opt.Host, "unix://"))
					}
					w.WriteHeader(http.StatusCreated)
					w.Write([]byte(`{"Id": "made"}`))
				}
			})
			p := newProcess(b, &runDir{container: "x"}, "")
			create := b.created(t.Context(), sandbox.Spec{Runtime: sandbox.Python}, &engine{}, image{id: "img"}, p.dir, "me")
			err := p.make(t.Context(), create)
			defer p.stopWatching()
			down, ok := errors.AsType[*EngineError](err)
			if !ok || down.Hint() == "" || down.ExitCode() != 127 || !strings.Contains(err.Error(), "does not answer at unix://") {
				t.Errorf("error %v", err)
			}
			t.Log(err)
		})
	}
	b := &Backend{}
	if _, ok := errors.AsType[*EngineError](b.askedToConnect(errors.New("unable to upgrade"))); ok {
		t.Error("an answer is taken for none")
	}
	if _, ok := errors.AsType[*EngineError](b.askedToConnect(&net.OpError{Op: "dial", Err: os.ErrNotExist})); !ok {
		t.Error("a refusal is taken for an answer")
	}
}
