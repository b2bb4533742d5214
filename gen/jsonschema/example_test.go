package jsonschema_test

import (
	"fmt"

	"github.com/mcpgen/mcpgen/gen/jsonschema"
)

func ExampleDocument_Resolve() {
	root, err := jsonschema.Parse([]byte(`{"properties": {"who": {"$ref": "#/$defs/Name"}}, "$defs": {"Name": {"type": "string", "minLength": 1}}}`), jsonschema.Limits{})
	if err != nil {
		panic(err)
	}
	document := jsonschema.NewDocument(root)
	who := root.Get("properties").Get("who")
	found, err := document.Resolve(who.Str("$ref"), document.Homes[who].Res)
	if err != nil {
		panic(err)
	}
	fmt.Println(found.Target.Str("type"), jsonschema.LengthBounds(found.Target, "minLength", "maxLength", " characters"))
	// Output: string not empty
}
