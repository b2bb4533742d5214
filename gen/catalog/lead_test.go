package catalog

import "testing"

func TestLead(t *testing.T) {
	const files = "This tool belongs to the file system, which has one folder. Tool description: "
	for _, tt := range []struct {
		name         string
		descriptions []string
		lead, own    string // own of the first tool
	}{
		{"all", []string{files + "List files. With sizes.", files + "Make a file.", files + "Remove a file."}, files, "List files. With sizes."},
		{"most", []string{files + "List files.", files + "Make a file.", files + "Remove a file.", "Log in.", "Log out."}, files, "List files."},
		{"half", []string{files + "List files.", files + "Make a file.", files + "Remove a file.", "Log in.", "Log out.", "Who is it?"}, "", files + "List files."},
		{"two", []string{files + "List files.", files + "Make a file."}, "", files + "List files."},
		{"nothing of their own", []string{files, files, files}, "This tool belongs to the file system, which has one folder. ", "Tool description:"},
		{"a line", []string{"Of the weather service\n\n  Gets rain.", "Of the weather service\n\n  Gets sun.", "Of the weather service\n\n  Gets wind."}, "Of the weather service\n\n  ", "Gets rain."},
		{"short", []string{"Read: a file.", "Read: a line.", "Read: a word."}, "", "Read: a file."},
		{"deprecated", []string{"DEPRECATED: will be removed. Reads a.", "DEPRECATED: will be removed. Reads b.", "DEPRECATED: will be removed. Reads c."}, "", "DEPRECATED: will be removed. Reads a."},
		{"none", nil, "", ""},
	} {
		var s Server
		for _, d := range tt.descriptions {
			s.Tools = append(s.Tools, Tool{Description: d})
		}
		if got := s.Lead(); got != tt.lead {
			t.Errorf("%s: Lead() = %q, want %q", tt.name, got, tt.lead)
		}
		if len(s.Tools) > 0 {
			if got := s.Tools[0].Own(s.Lead()); got != tt.own {
				t.Errorf("%s: Own() = %q, want %q", tt.name, got, tt.own)
			}
		}
	}
}

func TestDeprecated(t *testing.T) {
	for description, want := range map[string]bool{
		"DEPRECATED: use get_b. Gets a.":             true,
		"**Deprecated** Gets a.":                     true,
		"Deprecated in favor of get_b.":              true,
		"[DEPRECATED] Gets a.":                       true,
		"Gets a (deprecated, use get_b).":            true,
		"Gets a. DEPRECATED. Use get_b.":             true,
		"Gets a.\n\n@deprecated: use get_b":          true,
		"Gets a. This tool is deprecated.":           true,
		"Lists deprecated packages.":                 false,
		"Deprecated packages of a project":           false,
		"Lists models: ACTIVE, DEPRECATED or LEGACY": false,
		"Says whether a package is deprecated.":      false,
		"":                                           false,
	} {
		if got := (&Tool{Description: description}).Deprecated(); got != want {
			t.Errorf("%q: Deprecated() = %t, want %t", description, got, want)
		}
	}
	if !(&Tool{Title: "Get a (Deprecated)"}).Deprecated() {
		t.Error("a deprecated title does not count")
	}
}
