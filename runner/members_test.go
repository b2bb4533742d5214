package runner

import (
	"strings"
	"testing"
)

func TestMissingMember(t *testing.T) {
	const list = `{"type":"object","properties":{"items":{"type":"array","items":{"$ref":"#/$defs/t"}},"byId":{"type":"object","additionalProperties":{"$ref":"#/$defs/t"}},
		"any":{"type":"object","properties":{"a":{}},"additionalProperties":true},"loose":{},"pair":{"type":"array","prefixItems":[{"type":"object","properties":{"x":{}}}]}},
		"$defs":{"t":{"type":"object","properties":{"title":{"type":"string"},"id":{"type":"integer"},"parent":{"anyOf":[{"$ref":"#/$defs/t"},{"type":"null"}]}}}}}`
	const tree = `{"$defs":{"n":{"anyOf":[{"type":"object","properties":{"kind":{"const":"a"},"child":{"$ref":"#/$defs/n"}}},{"type":"object","properties":{"kind":{"const":"b"},"child":{"$ref":"#/$defs/n"}}}]}},"$ref":"#/$defs/n"}`
	deep := "[" + strings.Repeat(`"child",`, 30) + `"foo"]`
	if got, want := missingMember([]byte(tree), deep), `its result has no member "foo" there; it has: kind, child`; got != want {
		t.Errorf("missingMember of a recursive schema = %q, want %q", got, want)
	}
	if got := missingMember([]byte(tree), strings.Replace(deep, "[", "["+strings.Repeat(`"child",`, 10), 1)); got != "" {
		t.Errorf("missingMember at a great depth = %q, want none", got)
	}
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

func TestMentionsFailure(t *testing.T) {
	for output, want := range map[string]bool{
		"2 tickets could not be read": true, "failed: 1": true, "Error: x": true, "No ticket 9 here": true, `{"errors": ["x"]}`: true, "1 error, no failures": true,
		"3 rows": false, "no errors, 3 rows": false, `{"rows": 3, "errors": 0}`: false, `{"failed": []}`: false, "0 failed calls": false, "errors=None": false,
	} {
		if got := mentionsFailure(output, "no ticket 9"); got != want {
			t.Errorf("mentionsFailure(%q) = %v, want %v", output, got, want)
		}
	}
}
