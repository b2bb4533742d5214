package runner

import "testing"

func TestMissingMember(t *testing.T) {
	const list = `{"type":"object","properties":{"items":{"type":"array","items":{"$ref":"#/$defs/t"}},"byId":{"type":"object","additionalProperties":{"$ref":"#/$defs/t"}},
		"any":{"type":"object","properties":{"a":{}},"additionalProperties":true},"loose":{},"pair":{"type":"array","prefixItems":[{"type":"object","properties":{"x":{}}}]}},
		"$defs":{"t":{"type":"object","properties":{"title":{"type":"string"},"id":{"type":"integer"},"parent":{"anyOf":[{"$ref":"#/$defs/t"},{"type":"null"}]}}}}}`
	for path, want := range map[string]string{
		`["item"]`:                        `its result has no member "item"; did you mean "items"?`,
		`["items",null,"titel"]`:          `its result has no member "titel"; did you mean "title"?`,
		`["items",null,"parent","titel"]`: `its result has no member "titel"; did you mean "title"?`,
		`["items",null,"assignee"]`:       `its result has no member "assignee" there; it has: title, id, parent`,
		`["byId","7","titel"]`:            `its result has no member "titel"; did you mean "title"?`,
		`["pair",null,"y"]`:               "", // a tuple may have more
		`["structuredContent"]`:           `the call returns the structured content itself, which has no member "structuredContent"; it has: items, byId, any, loose, pair`,
		`["items",null,"title"]`:          "", // declared, and optional
		`["byId","8"]`:                    "", // keys are data
		`["any","b"]`:                     "",
		`["loose","b"]`:                   "",
		`["nothing","b"]`:                 "",
		`["items",null]`:                  "",
		`[]`:                              "",
		`{`:                               "",
	} {
		if got := missingMember([]byte(list), path); got != want {
			t.Errorf("missingMember(%s) = %q, want %q", path, got, want)
		}
	}
}
