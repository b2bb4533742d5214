package elicit

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestReadForm(t *testing.T) {
	fields, err := readForm(json.RawMessage(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","additionalProperties":false,"required":["z"],"properties":{
		"z":{"type":"string","title":"Z","description":"the z","minLength":2,"maxLength":3,"format":"email","default":"a@b.c"},
		"a":{"type":"integer","minimum":0,"maximum":1e3,"default":3},
		"f":{"type":"number","default":"no number"},
		"b":{"type":"boolean","default":true},
		"e":{"type":"string","enum":["x","y"],"enumNames":["The x","The y"],"default":"y"},
		"o":{"type":"string","oneOf":[{"const":"p","title":"The p"},{"const":"q"}]},
		"m":{"type":"array","items":{"type":"string","enum":["u","v"]},"minItems":1,"maxItems":2,"default":["u"]},
		"n":{"type":"array","items":{"anyOf":[{"const":"w","title":"The w"}]}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(fields)
	const want = `[{"name":"z","kind":"text","title":"Z","description":"the z","required":true,"format":"email","minLength":2,"maxLength":3},` +
		`{"name":"a","kind":"integer","default":3,"minimum":0,"maximum":1000},{"name":"f","kind":"number"},{"name":"b","kind":"boolean","default":true},` +
		`{"name":"e","kind":"choice","default":"y","choices":[{"value":"x","title":"The x"},{"value":"y","title":"The y"}]},` +
		`{"name":"o","kind":"choice","choices":[{"value":"p","title":"The p"},{"value":"q"}]},` +
		`{"name":"m","kind":"choices","default":["u"],"choices":[{"value":"u"},{"value":"v"}],"minItems":1,"maxItems":2},` +
		`{"name":"n","kind":"choices","choices":[{"value":"w","title":"The w"}]}]`
	if err != nil || string(text) != want {
		t.Errorf("readForm() =\n%s, want\n%s, %v", text, want, err)
	}
}

func TestReadFormRefuses(t *testing.T) {
	property := func(schema string) string { return `{"type":"object","properties":{"p":` + schema + `}}` }
	var many []string
	for i := range maxFormFields + 1 {
		many = append(many, fmt.Sprintf(`"f%d":{"type":"string"}`, i))
	}
	for name, schema := range map[string]string{
		"nothing":          ``,
		"null":             `null`,
		"true":             `true`,
		"a list":           `[]`,
		"a text":           `{"type":"string"}`,
		"types":            `{"type":["object"]}`,
		"a reference":      `{"$ref":"#"}`,
		"definitions":      `{"type":"object","$defs":{}}`,
		"a union":          `{"type":"object","anyOf":[{}]}`,
		"a condition":      `{"type":"object","if":{}}`,
		"open with schema": `{"type":"object","additionalProperties":{"type":"string"}}`,
		"required":         `{"type":"object","required":{}}`,
		"required unknown": `{"type":"object","required":["p"]}`,
		"properties":       `{"type":"object","properties":[]}`,
		"no schema":        property(`true`),
		"no type":          property(`{}`),
		"null type":        property(`{"type":"null"}`),
		"two types":        property(`{"type":["string","null"]}`),
		"nested":           property(`{"type":"object"}`),
		"nested in a text": property(`{"type":"string","properties":{}}`),
		"property refers":  property(`{"type":"string","$ref":"#"}`),
		"property unites":  property(`{"type":"string","anyOf":[{"type":"string"}]}`),
		"list of texts":    property(`{"type":"array","items":{"type":"string"}}`),
		"list of lists":    property(`{"type":"array","items":{"type":"array","items":{"enum":["a"]}}}`),
		"list of anything": property(`{"type":"array"}`),
		"list that refers": property(`{"type":"array","items":{"$ref":"#","enum":["a"]}}`),
		"enum of numbers":  property(`{"type":"string","enum":[1]}`),
		"number enum":      property(`{"type":"number","enum":["1"]}`),
		"empty enum":       property(`{"type":"string","enum":[]}`),
		"choice of none":   property(`{"type":"string","oneOf":[{"title":"x"}]}`),
		"odd bound":        property(`{"type":"string","minLength":"3"}`),
		"fractional bound": property(`{"type":"string","minLength":1.5}`),
		"long pattern":     property(`{"type":"string","pattern":"` + strings.Repeat("a", 2000) + `"}`),
		"twice":            `{"type":"object","properties":{"p":{"type":"string"},"p":{"type":"number"}}}`,
		"many fields":      `{"type":"object","properties":{` + strings.Join(many, ",") + `}}`,
		"many choices":     property(`{"type":"string","enum":["a"` + strings.Repeat(`,"a"`, maxFormChoices) + `]}`),
		"large":            property(`{"type":"string","description":"` + strings.Repeat("a", maxForm) + `"}`),
		"deep":             property(`{"type":"string","default":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `,"$ref":"#"}`),
	} {
		if fields, err := readForm(json.RawMessage(schema)); err == nil {
			t.Errorf("%s: readForm() = %+v, want an error", name, fields)
		}
	}
}

func TestCheck(t *testing.T) {
	q := &Question{Schema: json.RawMessage(`{"type":"object","required":["name","sure"],"properties":{
		"name":{"type":"string","minLength":2,"maxLength":4,"pattern":"^[a-zé]+$"},
		"sure":{"type":"boolean"},
		"age":{"type":"integer","minimum":1,"maximum":120,"default":30},
		"size":{"type":"number"},
		"mail":{"type":"string","format":"email"},"site":{"type":"string","format":"uri"},"day":{"type":"string","format":"date"},"at":{"type":"string","format":"date-time"},
		"odd":{"type":"string","format":"color","pattern":"(?!x)"},
		"one":{"type":"string","enum":["x","y"]},
		"some":{"type":"array","items":{"type":"string","enum":["u","v"]},"minItems":1,"maxItems":2}}}`)}
	good := func(more string) string { return `{"sure":true,"name":"anné"` + more + `}` }
	for given, want := range map[string]string{
		good(``):                       `{"name":"anné","sure":true,"age":30}`,
		good(`,"age":null`):            `{"name":"anné","sure":true,"age":30}`,
		good(`,"age":120`):             `{"name":"anné","sure":true,"age":120}`,
		good(`,"age":1.0`):             `{"name":"anné","sure":true,"age":1.0}`,
		good(`,"size":1e400`):          `"size" must be a number`,
		good(`,"size":-0.5`):           `{"name":"anné","sure":true,"age":30,"size":-0.5}`,
		good(`,"odd":"anything"`):      `{"name":"anné","sure":true,"age":30,"odd":"anything"}`,
		good(`,"mail":"a@b.c"`):        `{"name":"anné","sure":true,"age":30,"mail":"a@b.c"}`,
		good(`,"some":["v","u"]`):      `{"name":"anné","sure":true,"age":30,"some":["v","u"]}`,
		good(`,"one":"y"`):             `{"name":"anné","sure":true,"age":30,"one":"y"}`,
		``:                             "\"name\" is missing\n\"sure\" is missing",
		`{"name":null,"sure":1}`:       "\"name\" is missing\n\"sure\" must be true or false",
		`[]`:                           "the answer is not an object",
		`{"name":`:                     "the answer is not an object",
		`null`:                         "the answer is not an object",
		good(`,"b":2,"extra":[1]`):     `{"name":"anné","sure":true,"age":30} without b extra`,
		`{"sure":true,"extra":1}`:      `"name" is missing`,
		good(`,"age":0`):               `"age" must be at least 1`,
		good(`,"age":121`):             `"age" must be at most 120`,
		good(`,"age":1.5`):             `"age" must be a whole number`,
		good(`,"age":"1"`):             `"age" must be a number`,
		good(`,"age":true`):            `"age" must be a number`,
		good(`,"age":[1]`):             `"age" must be a number`,
		good(`,"mail":"nobody"`):       `"mail" must be of the format email`,
		good(`,"mail":"A <a@b.c>"`):    `"mail" must be of the format email`,
		good(`,"site":"/x"`):           `"site" must be of the format uri`,
		good(`,"day":"2026-02-30"`):    `"day" must be of the format date`,
		good(`,"at":"2026-02-03"`):     `"at" must be of the format date-time`,
		good(`,"one":"z"`):             `"one" must be one of "x", "y"`,
		good(`,"one":1`):               `"one" must be one of "x", "y"`,
		good(`,"some":[]`):             `"some" must have at least 1 of "u", "v"`,
		good(`,"some":["u","u","v"]`):  `"some" must have at most 2 of "u", "v"`,
		good(`,"some":["w"]`):          `"some" must be a list of some of "u", "v"`,
		good(`,"some":"u"`):            `"some" must be a list of some of "u", "v"`,
		`{"sure":true,"name":"a"}`:     `"name" must have at least 2 characters`,
		`{"sure":true,"name":"aaaaa"}`: `"name" must have at most 4 characters`,
		`{"sure":true,"name":"AAA"}`:   `"name" must match ^[a-zé]+$`,
		`{"sure":true,"name":7}`:       `"name" must be a text`,
	} {
		got, unknown, err := q.Check(json.RawMessage(given))
		said := string(got)
		if len(unknown) > 0 {
			said += " without " + strings.Join(unknown, " ")
		}
		if err != nil {
			said = err.Error()
		}
		if said != want {
			t.Errorf("Check(%s) = %s, want %s", given, said, want)
		}
	}
	if _, _, err := q.Check(json.RawMessage(`{"name":"` + strings.Repeat("a", maxAnswer) + `"}`)); err == nil {
		t.Error("a large answer is taken: got no error, want an error")
	}
	// A question that went through JSON, as between programs, is still the same.
	text, err := json.Marshal(q)
	var again Question
	if err != nil || json.Unmarshal(text, &again) != nil {
		t.Fatal(err)
	}
	if got, _, err := again.Check(json.RawMessage(good(``))); err != nil || string(got) != `{"name":"anné","sure":true,"age":30}` {
		t.Errorf("%s, %v, want %q and no error", got, err, `{"name":"anné","sure":true,"age":30}`)
	}
}

func TestFieldCheckRefuses(t *testing.T) {
	for _, kind := range []FieldKind{FieldText, FieldNumber, FieldInteger, FieldBoolean, FieldChoice, FieldChoices, ""} {
		f := Field{Kind: kind}
		for _, raw := range []string{``, ` `, `x`, `{`, `"`, `nul`, `[`, `0x10`, `NaN`, `inf`, `1_0`} {
			if err := f.Check(json.RawMessage(raw)); err == nil && kind != "" {
				t.Errorf("%s takes %q", kind, raw)
			}
		}
	}
}

func FuzzForm(f *testing.F) {
	f.Add([]byte(`{"type":"object","required":["a"],"properties":{"a":{"type":"string","minLength":1,"default":"x"},"b":{"type":"array","items":{"enum":["u"]}}}}`), []byte(`{"a":"y","b":["u"]}`))
	f.Add([]byte(`{"properties":{"n":{"type":"integer","minimum":-1e308,"default":1e308},"e":{"type":"string","oneOf":[{"const":"x"}]}}}`), []byte(`{"n":1e5,"e":"x"}`))
	f.Add([]byte(`{"properties":{"p":{"type":"string","pattern":"(a|b)+$","format":"uri"}}}`), []byte(`{"p":null}`))
	f.Fuzz(func(t *testing.T, schema, content []byte) {
		if !json.Valid(schema) {
			return // a question that cannot be read has no schema
		}
		q := &Question{Schema: schema}
		got, _, err := q.Check(content)
		if err != nil {
			return
		}
		if !json.Valid(got) {
			t.Fatalf("%s with %s: %s", schema, content, got)
		}
		again, unknown, err := q.Check(got)
		if err != nil || string(again) != string(got) || len(unknown) > 0 {
			t.Fatalf("%s with %s: %s, then %s, %v, want %v, len(unknown) at most 0 and no error", schema, content, got, again, err, string(got))
		}
	})
}
