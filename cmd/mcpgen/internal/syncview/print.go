package syncview

import (
	"bytes"
	"fmt"
	"io"
	"os"
)

// Print writes the report in one of the forms: what was found and done to standard output, and problems to standard
// error.
func (v *View) Print(form string) error {
	switch form {
	case JSON:
		v.problems()
		to := *v.App
		to.Stdout = inertJSON{v.App.Stdout}
		return to.JSON(v.json())
	case GitHub:
		return v.github()
	}
	v.problems()
	text := v.text()
	if v.App.Env("GITHUB_ACTIONS") == "true" {
		text = withoutCommands(text)
	}
	_, err := io.WriteString(v.App.Stdout, text)
	return err
}

// WriteJSON writes the report as JSON to a file.
func (v *View) WriteJSON(path string) error {
	var out bytes.Buffer
	to := *v.App
	to.Stdout = &out
	if err := to.JSON(v.json()); err != nil {
		return err
	}
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}
