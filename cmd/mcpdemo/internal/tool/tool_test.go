package tool

import (
	"encoding/json"
	"testing"
)

func TestSchemaFor(t *testing.T) {
	type inner struct {
		Unit *string `json:"unit,omitempty" enum:"m,ft" example:"m" jsonschema:"The unit."`
	}
	type input struct {
		Name  string            `json:"name" minlen:"1" maxlen:"9" pattern:"^a" format:"date" example:"a" jsonschema:"A name."`
		Count int               `json:"count,omitempty" min:"1" max:"5" default:"2" jsonschema:"A count."`
		Tags  []string          `json:"tags,omitempty" enum:"x,y" minitems:"1" maxitems:"3" jsonschema:"Tags."`
		Cells map[string]Scalar `json:"cells" jsonschema:"Cells."`
		Inner []inner           `json:"inner" jsonschema:"Nested."`
		Maybe *int              `json:"maybe,omitzero" nullable:"false" jsonschema:"Absent or a number."`
	}
	schema, err := schemaFor[input]()
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"type":"object","properties":{` +
		`"name":{"type":"string","description":"A name.","examples":["a"],"minLength":1,"maxLength":9,"pattern":"^a","format":"date"},` +
		`"count":{"type":"integer","description":"A count.","default":2,"minimum":1,"maximum":5},` +
		`"tags":{"type":"array","items":{"type":"string","enum":["x","y"]},"description":"Tags.","minItems":1,"maxItems":3},` +
		`"cells":{"type":"object","description":"Cells.","additionalProperties":{"type":["string","number","boolean","null"]}},` +
		`"inner":{"type":"array","items":{"type":"object","properties":{"unit":{"type":["null","string"],"description":"The unit.","examples":["m"],"enum":["m","ft",null]}},"additionalProperties":false},"description":"Nested."},` +
		`"maybe":{"type":"integer","description":"Absent or a number."}},` +
		`"required":["name","cells","inner"],"additionalProperties":false}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
