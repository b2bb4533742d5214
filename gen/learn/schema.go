package learn

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
)

// MarshalJSON writes the shape as a JSON Schema, draft 2020-12. What was seen of an object need not be all of it, so
// undeclared properties are nowhere forbidden.
func (s *shape) MarshalJSON() ([]byte, error) {
	if s == nil || s.any {
		return []byte("{}"), nil
	}
	var b bytes.Buffer
	b.WriteByte('{')
	if err := s.writeTypes(&b); err != nil {
		return nil, err
	}
	if s.list && s.items != nil {
		if err := writeMember(&b, "items", s.items); err != nil {
			return nil, err
		}
	}
	if s.object && s.asMap {
		if err := writeMember(&b, "additionalProperties", s.values); err != nil {
			return nil, err
		}
	}
	if err := s.writeProperties(&b); err != nil {
		return nil, err
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func (s *shape) writeTypes(b *bytes.Buffer) error {
	var types []string
	for _, t := range []struct {
		seen bool
		name string
	}{
		{s.object, "object"}, {s.list, "array"}, {s.text, "string"}, {s.float, "number"}, {s.integer && !s.float, "integer"},
		{s.boolean, "boolean"}, {s.null, "null"},
	} {
		if t.seen {
			types = append(types, t.name)
		}
	}
	if len(types) == 1 {
		return writeMember(b, "type", types[0])
	}
	return writeMember(b, "type", types)
}

func (s *shape) writeProperties(b *bytes.Buffer) error {
	if !s.object || len(s.properties) == 0 {
		return nil
	}
	b.WriteString(`,"properties":{`)
	var required []string
	for i, p := range s.properties {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := writePair(b, p.name, p.shape); err != nil {
			return err
		}
		if p.required {
			required = append(required, p.name)
		}
	}
	b.WriteByte('}')
	if len(required) == 0 {
		return nil
	}
	return writeMember(b, "required", required)
}

func writeMember(b *bytes.Buffer, name string, value any) error {
	if b.Len() > 1 {
		b.WriteByte(',')
	}
	return writePair(b, name, value)
}

func writePair(b *bytes.Buffer, name string, value any) error {
	for i, part := range []any{name, value} {
		text, err := json.Marshal(part)
		if err != nil {
			return err
		}
		if i > 0 {
			b.WriteByte(':')
		}
		b.Write(text)
	}
	return nil
}

// UnmarshalJSON reads a schema that MarshalJSON wrote.
func (s *shape) UnmarshalJSON(raw []byte) error { return s.unmarshal(raw, 0) }

func (s *shape) unmarshal(raw []byte, depth int) error {
	var file struct {
		Type       json.RawMessage `json:"type"`
		Items      json.RawMessage `json:"items"`
		Values     json.RawMessage `json:"additionalProperties"`
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		return err
	}
	*s = shape{}
	if file.Type == nil || depth > maxDepth {
		s.any = true
		return nil
	}
	if err := s.types(file.Type); err != nil {
		return err
	}
	for _, sub := range []struct {
		raw json.RawMessage
		out **shape
	}{{file.Items, &s.items}, {file.Values, &s.values}} {
		if sub.raw != nil {
			*sub.out = &shape{}
			if err := (*sub.out).unmarshal(sub.raw, depth+1); err != nil {
				return err
			}
		}
	}
	s.asMap = s.values != nil
	return s.readProperties(file.Properties, file.Required, depth)
}

func (s *shape) types(raw json.RawMessage) error {
	var names []string
	if err := json.Unmarshal(raw, &names); err != nil {
		var one string
		if err := json.Unmarshal(raw, &one); err != nil {
			return err
		}
		names = []string{one}
	}
	for _, name := range names {
		flag, known := map[string]*bool{
			"object": &s.object, "array": &s.list, "string": &s.text, "number": &s.float, "integer": &s.integer,
			"boolean": &s.boolean, "null": &s.null,
		}[name]
		if !known {
			return errors.New("it has a type that no shape has")
		}
		*flag = true
	}
	return nil
}

// readProperties keeps the order of the file.
func (s *shape) readProperties(raw json.RawMessage, required []string, depth int) error {
	if raw == nil {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return errors.New("its properties are no object")
	}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return err
		}
		var sub json.RawMessage
		if err := dec.Decode(&sub); err != nil {
			return err
		}
		name, _ := token.(string)
		p := property{name: name, required: slices.Contains(required, name), shape: &shape{}}
		if err := p.shape.unmarshal(sub, depth+1); err != nil {
			return err
		}
		s.properties = append(s.properties, p)
	}
	return nil
}
