package cli

// Style colours text, or leaves it alone. The zero value leaves it alone.
type Style struct{ on bool }

// OutStyle returns the style for Stdout.
func (a *App) OutStyle() Style { return Style{a.colour(a.Terminal.Stdout)} }

// ErrStyle returns the style for Stderr.
func (a *App) ErrStyle() Style { return Style{a.colour(a.Terminal.Stderr)} }

// colour follows no-color.org first, then the two usual ways to force colour, then the terminal.
func (a *App) colour(terminal bool) bool {
	if a.Env("NO_COLOR") != "" {
		return false
	}
	for _, name := range []string{"FORCE_COLOR", "CLICOLOR_FORCE"} {
		if v := a.Env(name); v != "" && v != "0" {
			return true
		}
	}
	return terminal && a.Env("TERM") != "dumb"
}

func (s Style) wrap(code, text string) string {
	if !s.on {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Bold makes text stand out.
func (s Style) Bold(text string) string { return s.wrap("1", text) }

// Dim makes text recede.
func (s Style) Dim(text string) string { return s.wrap("2", text) }

// Red is for errors and removals.
func (s Style) Red(text string) string { return s.wrap("31", text) }

// Green is for success and additions.
func (s Style) Green(text string) string { return s.wrap("32", text) }

// Yellow is for warnings and changes.
func (s Style) Yellow(text string) string { return s.wrap("33", text) }

// Cyan is for places.
func (s Style) Cyan(text string) string { return s.wrap("36", text) }
