package guest

import "github.com/mcpgen/mcpgen/runner/sandbox/embedded/internal/engine"

// native is a host function of the prelude. The prelude checks and converts arguments before it calls one.
type native func(a args) (engine.Value, error)

// args are the arguments of a native.
type args struct {
	g *guest
	v []engine.Value
}

func (a args) value(i int) engine.Value {
	if i >= len(a.v) {
		return engine.Undefined()
	}
	return a.v[i]
}

func (a args) text(i int) string {
	s, err := a.g.vm.Text(a.value(i))
	if err != nil {
		return ""
	}
	return s
}

func (a args) number(i int) float64 { n, _ := a.value(i).Number(); return n }

func (a args) bool(i int) bool { return a.value(i).Bool() }

// bytes returns a string as UTF-8, or the bytes of a buffer.
func (a args) bytes(i int) ([]byte, error) {
	if v := a.value(i); v.IsString() {
		s, err := a.g.vm.Text(v)
		return []byte(s), err
	}
	return a.g.vm.Data(a.value(i))
}
