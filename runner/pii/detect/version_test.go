package detect

import "testing"

// TestPlaces: words such as "from" before an address do not make a version of it.
func TestPlaces(t *testing.T) {
	for text, want := range map[string]string{
		"from 203.0.113.7": "203.0.113.7", "From 52.14.33.7": "52.14.33.7", "(at 52.14.33.7": "52.14.33.7", "Download from 203.0.113.7 failed": "203.0.113.7",
		"build on 192.168.1.50 is green": "192.168.1.50", "New version installed from 203.0.113.7": "203.0.113.7", "upgrade to version 1.2.3.4": "",
	} {
		got := ""
		for _, m := range Find(text, "") {
			got += text[m.Start:m.End]
		}
		if got != want {
			t.Errorf("Find(%q) finds %q, want %q", text, got, want)
		}
	}
}
