package soundness

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Case is one schema with values that it accepts and values that it refuses.
type Case struct {
	// Source is where the case is from: "schemas", "suite/draft7", "corpus", "random". Name is unique within it.
	Source, Name string
	Schema       json.RawMessage
	// Accept holds values that fit the schema, and Refuse values that do not.
	Accept, Refuse []json.RawMessage
	// Ways maps the text of a refused value to how it was mutated: "/a/* string" is a string in the wrong place. It is empty for
	// values written by hand.
	Ways map[string]string
	// RefuseTS holds values that do not fit either, but only TypeScript types can express it.
	RefuseTS []json.RawMessage
	// Wide holds values that do not fit either, but no type of reasonable length expresses it.
	Wide []json.RawMessage
	// NoValidate means that the validator cannot compile the schema. Accept and Refuse are then what a reader of the schema would expect.
	NoValidate bool
}

// ID is Source and Name.
func (c *Case) ID() string { return c.Source + ": " + c.Name }

// caseFile is a case as the files below testdata/schemas have it.
type caseFile struct {
	Name       string            `json:"name"`
	Schema     json.RawMessage   `json:"schema"`
	Accept     []json.RawMessage `json:"accept"`
	Reject     []json.RawMessage `json:"reject"`
	RejectTS   []json.RawMessage `json:"rejectTS"`
	Wide       []json.RawMessage `json:"wide"`
	NoValidate bool              `json:"novalidate"`
}

// LoadCases reads every .json file of a folder: each a list of objects with name, schema, accept, reject, rejectTS (rejected in
// TypeScript only), wide (refused by the schema, but by no type) and novalidate. Unknown keys are an error.
func LoadCases(dir string) ([]*Case, error) {
	var cases []*Case
	err := eachJSON(dir, func(file string, raw []byte) error {
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.DisallowUnknownFields()
		var list []caseFile
		if err := dec.Decode(&list); err != nil {
			return err
		}
		for _, c := range list {
			cases = append(cases, &Case{
				Source: "schemas", Name: file + ": " + c.Name, Schema: c.Schema,
				Accept: c.Accept, Refuse: c.Reject, RefuseTS: c.RejectTS, Wide: c.Wide, NoValidate: c.NoValidate,
			})
		}
		return nil
	})
	return cases, err
}

// LoadSuite reads one draft of the official test suite: files with a list of schemas, each with a list of tests. Schemas that do
// not name their dialect get the given one.
func LoadSuite(dir, draft, dialect string) ([]*Case, error) {
	var cases []*Case
	err := eachJSON(dir, func(file string, raw []byte) error {
		var list []struct {
			Description string
			Schema      json.RawMessage
			Tests       []struct {
				Data  json.RawMessage
				Valid bool
			}
		}
		if err := json.Unmarshal(raw, &list); err != nil {
			return err
		}
		for i, s := range list {
			c := &Case{Source: "suite/" + draft, Name: fmt.Sprintf("%s#%d: %s", file, i, s.Description), Schema: inDialect(s.Schema, dialect)}
			for _, t := range s.Tests {
				if t.Valid {
					c.Accept = append(c.Accept, t.Data)
				} else {
					c.Refuse = append(c.Refuse, t.Data)
				}
			}
			cases = append(cases, c)
		}
		return nil
	})
	return cases, err
}

func inDialect(schema json.RawMessage, dialect string) json.RawMessage {
	text := strings.TrimSpace(string(schema))
	if !strings.HasPrefix(text, "{") || strings.Contains(text, `"$schema"`) {
		return schema
	}
	rest := strings.TrimSpace(text[1:])
	if rest != "}" {
		rest = ", " + rest
	}
	return json.RawMessage(fmt.Sprintf(`{"$schema": %q%s`, dialect, rest))
}

// LoadTools reads every recorded tool list of a folder: an object with a list tools, as servers send it. Each input
// and each output schema is a case, without values.
func LoadTools(dir, source string) ([]*Case, error) {
	var cases []*Case
	err := eachJSON(dir, func(file string, raw []byte) error {
		var list struct {
			Tools []struct {
				Name                      string
				InputSchema, OutputSchema json.RawMessage
			}
		}
		if err := json.Unmarshal(raw, &list); err != nil {
			return err
		}
		for _, t := range list.Tools {
			for part, schema := range map[string]json.RawMessage{"input": t.InputSchema, "output": t.OutputSchema} {
				if len(schema) > 0 {
					cases = append(cases, &Case{Source: source, Name: fmt.Sprintf("%s/%s#%s", file, t.Name, part), Schema: schema})
				}
			}
		}
		return nil
	})
	slices.SortStableFunc(cases, func(a, b *Case) int { return strings.Compare(a.Name, b.Name) })
	return cases, err
}

// eachJSON calls f with every .json file of a folder, in the order of their names, the ending cut off.
func eachJSON(dir string, f func(name string, raw []byte) error) error {
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return err
	}
	if len(paths) == 0 {
		return fmt.Errorf("no .json files in %s", dir)
	}
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := f(strings.TrimSuffix(filepath.Base(path), ".json"), raw); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}
