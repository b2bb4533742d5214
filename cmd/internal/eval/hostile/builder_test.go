package hostile

import (
	"encoding/json"
	"fmt"
	"strings"
)

// builder writes tool definitions as a hostile server might.
type builder struct {
	*source
	budget int
	names  []string // every name of a tool, a property or a definition
	defs   []string // of the current schema
}

// server returns the definitions of a server with that many tools.
func (b *builder) server(tools int) []json.RawMessage {
	out := make([]json.RawMessage, tools)
	for i := range out {
		out[i] = json.RawMessage(b.tool())
	}
	return out
}

func (b *builder) newName() string {
	name := b.name()
	b.names = append(b.names, name)
	return name
}

func (b *builder) tool() string {
	members := []string{`"name":` + b.quoted(b.newName())}
	for _, key := range []string{"title", "description"} {
		if !b.oneIn(4) {
			members = append(members, `"`+key+`":`+b.quoted(b.text()))
		}
	}
	if !b.oneIn(12) {
		members = append(members, `"inputSchema":`+b.rootSchema())
	}
	if b.oneIn(3) {
		members = append(members, `"outputSchema":`+b.rootSchema())
	}
	if b.oneIn(4) {
		members = append(members, fmt.Sprintf(`"annotations":{"readOnlyHint":%v,"destructiveHint":%s,"title":%s}`, b.oneIn(2), pick(b.source, []string{"true", "false", `"true"`, "null"}), b.quoted(b.text())))
	}
	return "{" + strings.Join(members, ",") + "}"
}

// rootSchema returns a schema with its own definitions.
func (b *builder) rootSchema() string {
	b.budget = 25
	b.defs = nil
	for range b.below(3) {
		b.defs = append(b.defs, b.newName())
	}
	if b.oneIn(20) {
		return pick(b.source, []string{"null", "true", "false", "[]", `""`, "0", "{}", `{"type":"object"}`, `{"type":"object","additionalProperties":false}`})
	}
	members := []string{}
	if b.oneIn(3) {
		members = append(members, `"$schema":`+pick(b.source, []string{`"http://json-schema.org/draft-07/schema#"`, `"https://json-schema.org/draft/2020-12/schema"`, `"http://json-schema.org/draft-04/schema#"`, b.quoted(b.text())}))
	}
	members = append(members, b.object(3)...)
	if len(b.defs) > 0 {
		var defs []string
		for _, name := range b.defs {
			defs = append(defs, b.quoted(name)+":"+b.schema(2))
		}
		members = append(members, pick(b.source, []string{`"$defs":{`, `"definitions":{`})+strings.Join(defs, ",")+"}")
	}
	return "{" + strings.Join(members, ",") + "}"
}

// object returns the members of an object schema.
func (b *builder) object(depth int) []string {
	members := []string{`"type":"object"`}
	var properties, required []string
	for range b.below(5) {
		name := b.newName()
		properties = append(properties, b.quoted(name)+":"+b.schema(depth-1))
		if b.oneIn(2) {
			required = append(required, b.quoted(name))
		}
	}
	if b.oneIn(8) {
		required = append(required, b.quoted(b.newName()))
	}
	members = append(members, `"properties":{`+strings.Join(properties, ",")+"}")
	if len(required) > 0 {
		members = append(members, `"required":[`+strings.Join(required, ",")+"]")
	}
	switch b.below(5) {
	case 0:
		members = append(members, `"additionalProperties":false`)
	case 1:
		members = append(members, `"additionalProperties":`+b.schema(depth-1))
	case 2:
		members = append(members, `"patternProperties":{`+b.quoted(b.text())+":"+b.schema(depth-1)+"}")
	}
	if b.oneIn(5) {
		members = append(members, `"title":`+b.quoted(b.text()), `"description":`+b.quoted(b.text()))
	}
	return members
}

func (b *builder) list(n int, f func() string) string {
	var items []string
	for range n {
		items = append(items, f())
	}
	return "[" + strings.Join(items, ",") + "]"
}

// schema returns any schema.
func (b *builder) schema(depth int) string {
	if b.budget--; b.budget < 0 || depth < 0 {
		return pick(b.source, []string{`{"type":"string"}`, "{}", "true", `{"type":["integer","null"]}`})
	}
	var members []string
	switch b.below(13) {
	case 0, 1:
		members = b.object(depth)
	case 2:
		members = []string{`"enum":` + b.list(1+b.below(4), b.value)}
	case 3:
		members = []string{`"const":` + b.value()}
	case 4:
		members = []string{`"type":"array","items":` + b.schema(depth-1)}
	case 5:
		members = []string{pick(b.source, []string{`"prefixItems":`, `"items":`}) + b.list(1+b.below(3), func() string { return b.schema(depth - 1) })}
	case 6:
		members = []string{pick(b.source, []string{`"anyOf":`, `"oneOf":`, `"allOf":`}) + b.list(1+b.below(3), func() string { return b.schema(depth - 1) })}
	case 7:
		members = []string{`"$ref":` + b.reference()}
	case 8:
		members = []string{`"type":"number","minimum":-1e400,"maximum":` + pick(b.source, []string{"1", "9007199254740993", "1e999", "-0"})}
	case 9:
		members = []string{`"if":` + b.schema(depth-1) + `,"then":` + b.schema(depth-1) + `,"not":` + b.schema(depth-1)}
	case 10:
		members = []string{`"type":` + pick(b.source, []string{`"integer"`, `"boolean"`, `"null"`, `["string","null"]`, `"any"`, b.quoted(b.text())})}
	default:
		members = []string{`"type":"string"`}
	}
	for _, key := range []string{"description", "title", "default", "pattern", "format", "$comment", "$id", "$anchor", "examples", "contentMediaType", "deprecated"} {
		switch {
		case key == "description" && b.oneIn(2), b.oneIn(14):
		default:
			continue
		}
		value := b.quoted(b.text())
		switch key {
		case "default":
			value = b.value()
		case "examples":
			value = "[" + b.value() + "]"
		case "deprecated":
			value = "true"
		}
		members = append(members, `"`+key+`":`+value)
	}
	return "{" + strings.Join(members, ",") + "}"
}

// value returns any JSON value.
func (b *builder) value() string {
	switch b.below(8) {
	case 0:
		return pick(b.source, []string{"null", "true", "false"})
	case 1:
		return pick(b.source, []string{"0", "-0", "1", "-1.5", "1e400", "9007199254740993", "123456789012345678901234567890", "0.1e-7"})
	case 2:
		return "[" + b.quoted(b.text()) + "]"
	case 3:
		return "{" + b.quoted(b.newName()) + ":" + b.quoted(b.text()) + "}"
	}
	return b.quoted(b.text())
}

func (b *builder) reference() string {
	switch {
	case len(b.defs) > 0 && !b.oneIn(3):
		name := strings.NewReplacer("~", "~0", "/", "~1").Replace(pick(b.source, b.defs))
		return b.quoted(pick(b.source, []string{"#/$defs/", "#/definitions/"}) + name)
	case b.oneIn(2):
		return pick(b.source, []string{`"#"`, `"#/properties/a"`, `"#/properties/zqxname/anyOf/0"`, `"#/allOf/0"`, `"#/$defs/missing"`, `"file:///etc/passwd"`, `"http://127.0.0.1:1/zqxname"`, `"../../x.json"`, `"zqxname.json#/a"`})
	}
	return b.quoted(b.text())
}
