package script

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// ran is what a script did in a real node.
type ran struct {
	log    []string
	result string // JSON
	err    string
	ids    []string // of the modules that were sent while it ran, in order
}

func (r *ran) text() string { return strings.Join(r.log, "\n") }

// message is one line from or to testdata/guest.mjs.
type message struct {
	Job       string          `json:"job,omitempty"`
	N         int             `json:"n,omitempty"`
	Specifier string          `json:"specifier,omitempty"`
	From      string          `json:"from,omitempty"`
	ID        string          `json:"id,omitempty"`
	Code      string          `json:"code,omitempty"`
	Error     string          `json:"error,omitempty"`
	Log       *string         `json:"log,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	Done      bool            `json:"done,omitempty"`
}

// run prepares a script and runs it in node.
func run(t *testing.T, src Source, opt Options) *ran {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip("node is not installed")
	}
	src.Language = sandbox.LangTypeScript
	if src.Name == "" {
		src.Name = "script.ts"
	}
	prepared, err := Read(t.Context(), src, opt)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), node, "--no-warnings", "testdata/guest.mjs")
	cmd.WaitDelay = 10 * time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	say := func(m message) {
		line, err := json.Marshal(m)
		if err != nil {
			t.Error(err)
		}
		_, _ = stdin.Write(append(line, '\n'))
	}
	say(message{Job: prepared.Code})
	r := &ran{}
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 16<<20)
	done := false
	for lines.Scan() {
		var m message
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		switch {
		case m.Log != nil:
			r.log = append(r.log, *m.Log)
		case m.N > 0:
			answer := message{N: m.N}
			if prepared.Import == nil {
				answer.Error = "this script asks for no modules"
			} else if id, code, err := prepared.Import(t.Context(), m.Specifier, m.From); err != nil {
				answer.Error = err.Error()
			} else {
				answer.ID, answer.Code = id, code
				r.ids = append(r.ids, id)
			}
			say(answer)
		case m.Done:
			done = true
		default:
			r.result, r.err = string(m.Result), m.Error
		}
	}
	stdin.Close()
	if err := cmd.Wait(); err != nil || !done {
		t.Fatalf("node: %v\n%s\nlog: %s", err, stderr.String(), r.text())
	}
	return r
}
