package script

import "context"

// task is a bundle to be made: of a script, or of one module more that a running script asks for.
type task struct {
	Src    Source
	Opt    Options
	Module string            // the id of the module; empty: the script
	Known  map[string]module // with Module: what the guest has
}

// bundler makes bundles. Seen, unless nil, is told what one stands on.
type bundler interface {
	make(ctx context.Context, t task, seen *reads) (*bundle, error)
}

// bundle makes it here. Look is as in files.
func (t task) bundle(seen *reads, look func(id, text string) error) (*bundle, error) {
	if t.Module != "" {
		return moduleBundle(t, look)
	}
	return newBundle(t.Src, t.Opt, seen, look)
}

// inProcess makes bundles in this process, in slots of which nil is any number.
type inProcess chan struct{}

func (slots inProcess) make(ctx context.Context, t task, seen *reads) (*bundle, error) {
	made, err := within(ctx, slots, func() (*bundle, error) { return t.bundle(seen, nil) })
	return made, tooCostly(t.Src.Name, err)
}
