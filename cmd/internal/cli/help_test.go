package cli

import "testing"

func TestHelpFitsTerminal(t *testing.T) {
	const text = `one two three four five six
seven

Usage:
  program command with many words stays

Examples:
  program         # what it does here
  program --long-name value   what it does here

Flags:
      --all        short text
      --some name  a text of many words
`
	const want = `one two three four five
six seven

Usage:
  program command with many words stays

Examples:
  program         # what
                  # it
                  # does
                  # here
  program --long-name value
          what it does
          here

Flags:
      --all        short
                   text
      --some name  a text
                   of
                   many
                   words
`
	defer func(was int) { minText = was }(minText)
	minText = 6
	if got := fit(text, 25); got != want {
		t.Errorf("fit() =\n%s\nwant\n%s", got, want)
	}
	if got := fit(text, 50); got != text {
		t.Errorf("fit() changed what fits, want %s:\n%s", text, got)
	}
}
