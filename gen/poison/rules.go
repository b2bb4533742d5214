package poison

// Rule is one thing that text may be found to do.
type Rule struct {
	// ID names it, for settings and reports.
	ID string
	// Says completes "the text …".
	Says string
}

// The ids of the rules.
const (
	override    = "override"
	conceal     = "conceal"
	exfiltrate  = "exfiltrate"
	secretFile  = "secret-file"
	pseudoTag   = "pseudo-tag"
	order       = "order"
	otherServer = "other-server"
	unseen      = "hidden-text"
	bidi        = "bidi"
	control     = "control"
	homoglyph   = "homoglyph"
	blank       = "blank-run"
	blob        = "blob"
	leakyURL    = "leaky-url"
	tooLong     = "too-long"
)

// Rules returns all rules, in the order of the documentation.
func Rules() []Rule {
	return []Rule{
		{override, "tells a model to disregard what it was told, or who it is"},
		{conceal, "asks to keep something from the user"},
		{exfiltrate, "asks for credentials, a conversation or a prompt to be handed over"},
		{secretFile, "names a file that holds secrets"},
		{pseudoTag, "holds a tag or mark by which models tell who speaks"},
		{order, "orders a tool to be used before, after or instead of others"},
		{otherServer, "speaks of another server's tools"},
		{unseen, "holds characters that can't be seen"},
		{bidi, "holds characters that change the order in which text is shown"},
		{control, "holds control characters or terminal escapes"},
		{homoglyph, "holds a word of letters that only look alike"},
		{blank, "pushes text out of sight with blanks"},
		{blob, "holds encoded data"},
		{leakyURL, "holds an address that would carry data away, or markup that loads one"},
		{tooLong, "is too long to be read whole"},
	}
}

func says(id string) string {
	for _, r := range Rules() {
		if r.ID == id {
			return r.Says
		}
	}
	return id
}
