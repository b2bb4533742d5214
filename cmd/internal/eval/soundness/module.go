package soundness

import (
	"fmt"

	"github.com/mcpgen/mcpgen/gen/render"
	"github.com/mcpgen/mcpgen/gen/schema"
)

// TypeName is the name of the type of a case.
const TypeName = "T"

// Module holds the types that a generator made for a case.
type Module struct {
	Case *Case
	// Source declares Type, which is TypeName unless the generator chooses names itself.
	Source []byte
	Type   string
	// Crash is the error or panic of the generator if there is no source.
	Crash string
}

// Print generates the types of every case for one language of mcpgen.
func Print(cases []*Case, target *render.Language) []*Module {
	modules := make([]*Module, len(cases))
	for i, c := range cases {
		modules[i] = printOne(c, target)
	}
	return modules
}

func printOne(c *Case, target *render.Language) (m *Module) {
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
