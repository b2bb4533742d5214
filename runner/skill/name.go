package skill

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ident"
)

// NameError reports that a text cannot be the name of a skill.
type NameError struct {
	Name string
	Why  string
}

func (e *NameError) Error() string { return fmt.Sprintf("skill name %.80q: %s", e.Name, e.Why) }

// Hint returns the rule for names.
func (e *NameError) Hint() string {
	return "use words of letters and digits, such as save-sheet-as-csv, save_sheet_as_csv or saveSheetAsCsv"
}

var (
	wellWritten = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
	kebab       = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
)

// Canonical converts a name in any style to the name under which the skill is stored: save_sheet_as_csv, saveSheetAsCsv and
// save-sheet-as-csv become save-sheet-as-csv. The error is a *NameError.
func Canonical(name string) (string, error) {
	refuse := func(why string) (string, error) { return "", &NameError{Name: name, Why: why} }
	switch {
	case name == "":
		return refuse("it is empty")
	case len(name) > MaxName:
		return refuse(fmt.Sprintf("it has %d characters; at most %d are allowed", len(name), MaxName))
	case strings.ContainsAny(name, `/\`) || strings.Contains(name, ".."):
		return refuse("it is a path, not a name")
	case !wellWritten.MatchString(name):
		return refuse("it has characters other than letters, digits, - and _")
	}
	canonical := canonical(name)
	switch {
	case !kebab.MatchString(canonical):
		return refuse("it has no letters or digits")
	case len(canonical) > MaxName:
		return refuse(fmt.Sprintf("written as %s it has %d characters; at most %d are allowed", canonical, len(canonical), MaxName))
	case strings.Trim(name, "-_") == "":
		return refuse("it has no letters or digits")
	case strings.IndexByte("0123456789", strings.TrimLeft(name, "-_")[0]) >= 0:
		return refuse("it begins with a digit, so Python could not import it")
	case ident.ReservedFile(canonical):
		return refuse("it is a device name on Windows")
	case reserved(canonical):
		return refuse("it is reserved")
	}
	return canonical, nil
}

// reserved reports whether a canonical name has another meaning where skills are imported.
func reserved(name string) bool {
	return ident.ReservedDir(name) || name == "servers" || name == "scripts" || name == "skill"
}

// canonical converts the spelling of a name without checking it.
func canonical(name string) string { return strings.ReplaceAll(ident.Snake(name), "_", "-") }
