package detect

import "testing"

func TestHeader(t *testing.T) {
	const columns = "Company,City"
	for _, c := range []struct{ before, text, want string }{
		{"", "Hello, all\n", ""},
		{"", columns + "\r\nApple,Berlin\n", columns},
		{columns, "Apple,Berlin\n\"Orange, Inc.\",Rome\n", columns},
		{columns, "Apple,Berlin\n\ndone\n", ""},
		{columns, "Apple\n| name | email |\n", "| name | email |"},
		{"| name | email |", "|---|---|\n", "| name | email |"},
		{columns, "", columns},
	} {
		if got := Header(c.before, c.text); got != c.want {
			t.Errorf("Header(%q, %q) = %q, want %q", c.before, c.text, got, c.want)
		}
	}
}
