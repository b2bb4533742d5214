package main

import (
	"errors"
	"fmt"

	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/trace"
)

// traceColumns is the width of a waterfall that goes to no terminal.
const traceColumns = 100

// showTrace shows the calls of a run as --trace says.
func (o *runOptions) showTrace(res *runner.Result, script string) error {
	switch o.trace {
	case "":
		return nil
	case traceHere:
		width := o.app.ErrColumns()
		if width == 0 {
			width = traceColumns
		}
		return trace.Text(o.app.Stderr, res.Trace(script), width)
	}
	f, err := create(o.app.Path(o.trace))
	if err != nil {
		return fmt.Errorf("write the trace: %w", err)
	}
	return errors.Join(trace.HTML(f, res.Trace(script)), f.Close())
}
