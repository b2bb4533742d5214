package runner

import (
	"github.com/mcpgen/mcpgen/gen/schema/validate"
)

// validators are a tool's schemas, compiled; nil where there is none, or it cannot be compiled.
type validators struct {
	input, output *validate.Validator
}

// validators compiles a tool's schemas once.
func (r *Runner) validators(id string) *validators {
	r.mu.Lock()
	defer r.mu.Unlock()
	if v, ok := r.compiled[id]; ok {
		return v
	}
	_, tool, ok := r.catalog.Lookup(id)
	if !ok {
		return &validators{}
	}
	v := &validators{}
	var err error
	if v.input, err = validate.Compile(tool.Input); err != nil {
		r.log.Warn("arguments are not checked: the schema does not compile", "tool", id, "error", err)
	}
	if len(tool.Output) > 0 {
		if v.output, err = validate.Compile(tool.Output); err != nil {
			r.log.Warn("results are not checked: the schema does not compile", "tool", id, "error", err)
		}
	}
	r.compiled[id] = v
	return v
}
