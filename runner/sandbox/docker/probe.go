package docker

import (
	"context"
	"errors"
	"fmt"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/folder"
)

// Probe asks the engine and looks for the image.
func (b *Backend) Probe(ctx context.Context) sandbox.Status {
	ctx, cancel := context.WithTimeout(ctx, busyTime)
	defer cancel()
	e, img, err := b.probe(ctx)
	if err != nil {
		err = b.asked(err) // whosever patience has ended
		st := sandbox.Status{Detail: err.Error()}
		var hinter interface{ Hint() string }
		if errors.As(err, &hinter) {
			st.Remedy = hinter.Hint()
		}
		return st
	}
	st := sandbox.Status{
		Usable:    true,
		Detail:    fmt.Sprintf("%s %s, image %s", e.product(), e.version, img.name),
		Languages: []sandbox.Language{sandbox.LangTypeScript, sandbox.LangPython},
		Missing:   e.missing,
		Holds:     holds(), Lacks: lacks(),
	}
	if e.cgroup != "" {
		st.Detail += ", cgroup v" + e.cgroup
	}
	if e.rootless {
		st.Detail += ", rootless"
	}
	if e.apart != "" {
		st.Detail += ", files travel as archives because " + e.apart
	}
	return st
}

// probe asks anew each time: a person may have put right what was wrong.
func (b *Backend) probe(ctx context.Context) (*engine, image, error) {
	if b.broken != nil {
		return nil, image{}, b.broken
	}
	e, err := b.askFacts(ctx)
	if err != nil {
		return nil, image{}, err
	}
	if e.apart == "" {
		if err := folder.Private(b.opt.RuntimeDir); err != nil {
			return nil, image{}, err
		}
	}
	img, err := b.image(ctx, e.arch)
	return e, img, err
}
