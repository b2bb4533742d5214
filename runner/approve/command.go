package approve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/gen/ident"
)

// Bounds of a command's output: the answer in bytes, and its reason in characters.
const (
	maxAnswer = 64 << 10
	maxReason = 300
)

// endTime is how long a command's children may hold its output open after its end.
const endTime = time.Second

// Command is a program that answers questions. It gets the question as a JSON object on standard input: the fields of Question, and
// "others", the calls that a batch would allow too. It prints an object {"answer": "once", "by": …, "reason": …}, whose answer is a Scope.
// If it prints nothing, the exit code 0 allows the call. Anything else refuses it: an unknown or unreadable answer, a failure, another exit
// code.
type Command struct {
	// Args are the program and its arguments, and Dir is its working directory. Env is its environment; nil means that of this process.
	Args []string
	Dir  string
	Env  []string
}

// Approve implements Approver.
func (c *Command) Approve(ctx context.Context, q *Question) (Answer, error) {
	by := filepath.Base(c.Args[0])
	in, err := json.Marshal(struct {
		*Question
		Digest string      `json:"sha256,omitempty"`
		Others []*Question `json:"others,omitempty"`
	}{q, digestOf(q), q.Others()})
	if err != nil {
		return Answer{}, err
	}
	cmd := exec.CommandContext(ctx, c.Args[0], c.Args[1:]...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = c.Dir, c.Env, endTime
	out, said := &bounded{}, &bounded{}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), out, said
	err = cmd.Run()
	switch {
	case ctx.Err() != nil:
		return Answer{}, ctx.Err()
	case err != nil:
		return Answer{By: by, Reason: "the approval command refused: " + reason(err, said)}, nil
	case len(bytes.TrimSpace(out.Bytes())) == 0:
		return Answer{Scope: Once, By: by}, nil
	}
	var a struct {
		Answer Scope
		By     string
		Reason string
	}
	dec := json.NewDecoder(out)
	err = dec.Decode(&a)
	if _, more := dec.Token(); err == nil && !errors.Is(more, io.EOF) {
		err = errors.New("it printed more than one JSON value")
	}
	if err != nil {
		return Answer{By: by, Reason: fmt.Sprintf("cannot read the approval command's answer: %v", err)}, nil
	}
	if a.By != "" {
		by = a.By
	}
	return Answer{Scope: a.Answer, By: short(visible(by)), Reason: short(visible(a.Reason))}, nil
}

func digestOf(q *Question) string {
	if q.Code == "" {
		return ""
	}
	return Digest(q.Code)
}

// reason describes how a command failed, by its output or else by its error.
func reason(err error, said *bounded) string {
	if text := visible(strings.TrimSpace(said.String())); text != "" {
		return ident.First(text, maxReason)
	}
	return err.Error()
}

// bounded is a buffer that drops what exceeds its limit.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if room := maxAnswer - b.Len(); room > 0 {
		b.Buffer.Write(p[:min(len(p), room)])
	}
	return len(p), nil
}
