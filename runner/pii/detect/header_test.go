package detect

import "testing"

func TestHeader(t *testing.T) {
	const columns, frame, drawn = "Company,City", "   company           name", "│ (index) │ company │"
	for _, c := range []struct{ before, text, want string }{
		{"", "Hello, all\n", ""},
		{"", columns + "\r\nApple,Berlin\n", columns},
		{columns, "Apple,Berlin\n\"Orange, Inc.\",Rome\n", columns},
		{columns, "Apple,Berlin\n\ndone\n", ""},
		{columns, "Apple\n| name | email |\n", "| name | email |"},
		{"| name | email |", "|---|---|\n", "| name | email |"},
		{columns, "", columns},
		{"", frame + "\n0   Apple  Jane Whitaker\n", frame},
		{frame, "1  Target     Tom Okafor\n", frame},
		{"", "┌─────────┬─────────┐\n" + drawn + "\n├─────────┼──────┤\n", drawn},
		{drawn, "├─────────┼──────┤\n│ 0       │ 'Apple' │\n", drawn},
	} {
		if got := Header(c.before, c.text); got != c.want {
			t.Errorf("Header(%q, %q) = %q, want %q", c.before, c.text, got, c.want)
		}
	}
}
