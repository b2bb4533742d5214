package guest

import (
	"bytes"
	"net"
	"testing"

	"github.com/mcpgen/mcpgen/runner/sandbox/embedded/internal/testhost"
)

// run is the result of a script.
type run struct {
	Outcome
	*testhost.Result
	stdout, stderr string
}

// script runs code in a guest with an empty workspace, in this process.
func script(t testing.TB, code string) run { return runWith(t, code, testhost.Host{}, Options{}) }

func runWith(t testing.TB, code string, h testhost.Host, o Options) run {
	t.Helper()
	if o.Files == nil {
		files, err := OpenFiles(Folders{Workspace: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		o.Files = files
	}
	if o.Memory == 0 {
		o.Memory = 200 << 20
	}
	h.Secret, o.Secret = "secret", "secret"
	ours, theirs := net.Pipe()
	var stdout, stderr bytes.Buffer
	o.Conn, o.Stdout, o.Stderr = theirs, &stdout, &stderr
	served := make(chan *testhost.Result)
	go func() {
		res, err := h.Serve(ours, code)
		if err != nil {
			t.Error(err)
		}
		served <- res
	}()
	out, err := Run(o)
	if err != nil {
		t.Fatalf("run: %v", err)
	}
	return run{out, <-served, stdout.String(), stderr.String()}
}

// expect checks what a script wrote.
func expect(t *testing.T, code, stdout string) {
	t.Helper()
	if r := script(t, code); r.stdout != stdout || r.stderr != "" || r.Code != 0 {
		t.Errorf("script %s\ngot  %q\nwant %q\nstderr %q, code %d", code, r.stdout, stdout, r.stderr, r.Code)
	}
}

func TestHello(t *testing.T) {
	expect(t, `console.log("hello", 1, {a: [1, "x"]})`, "hello 1 { a: [ 1, 'x' ] }\n")
}
