package soundness

import (
	"fmt"

	"github.com/mcpgen/mcpgen/gen/render"
	"github.com/mcpgen/mcpgen/gen/schema"
)

// TypeName is what the types of cases are called.
const TypeName = "T"

// Module is the types that a generator made of a case.
type Module struct {
	Case *Case
	// Source declares Type, which is TypeName unless the generator chooses names itself.
	Source []byte
	Type   string
	// Crash is why there is no source: an error or a panic of the generator.
	Crash string
}

// Print makes the types of every case with a target of mcpgen.
func Print(cases []*Case, target render.Target) []*Module {
	modules := make([]*Module, len(cases))
	for i, c := range cases {
		modules[i] = printOne(c, target)
	}
	return modules
}

func printOne(c *Case, target render.Target) (m *Module) {
	m = &Module{Case: c, Type: TypeName}
	defer func() {
		if p := recover(); p != nil {
			m.Crash = fmt.Sprintf("panic: %v", p)
		}
	}()
	converted, _ := schema.Convert(c.Schema)
	source, err := target.Types(m.Type, converted)
	if err != nil {
		m.Crash = err.Error()
	}
	m.Source = source
	return m
}
