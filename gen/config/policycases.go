package config

import (
	"bytes"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// PolicyCase is a call with the effect that a policy must have on it.
type PolicyCase struct {
	// Name is shown when the case fails. It may be empty.
	Name string
	// Tool is the tool's id, and Args are its arguments.
	Tool string
	Args map[string]any
	// Customer, Session and Risk belong to the run. Taint lists the servers whose data it has received, and Calls is the number of calls it
	// has made.
	Customer, Session, Risk string
	Taint                   []string
	Calls                   int
	// Times is how often the call is made; the last call is checked. 0 means once.
	Times int
	// Expect is allow, ask or deny. Rule is the name of the rule that must decide, or empty if any may.
	Expect, Rule string
	// Line is where the case begins.
	Line int `yaml:"-"`
}

// UnmarshalYAML reads a case with its line.
func (c *PolicyCase) UnmarshalYAML(n *yaml.Node) error {
	type plain PolicyCase
	c.Line = n.Line
	return n.Decode((*plain)(c))
}

// ReadPolicyCases reads the list cases: of a file.
func ReadPolicyCases(path string) ([]PolicyCase, error) {
	text, err := readFile(path)
	if err != nil {
		return nil, fmt.Errorf("read cases: %w", err)
	}
	file := newSettingsFile(path, text)
	root, err := file.ParseYAML()
	if err != nil {
		return nil, err
	}
	if err := checkSettings(file, settingsSchema().Defs["cases"], root, ""); err != nil {
		return nil, err
	}
	var out struct{ Cases []PolicyCase }
	if err := yaml.NewDecoder(bytes.NewReader(file.Text)).Decode(&out); err != nil {
		return nil, file.YAMLError(err)
	}
	return out.Cases, nil
}
