package poison

// Rule describes one kind of suspicious text.
type Rule struct {
	// ID identifies the rule in settings and reports.
	ID string
	// Description says what the text does. It completes a sentence that begins with "the text".
	Description string
}

// The ids of the rules.
const (
	override    = "override"
	conceal     = "conceal"
	exfiltrate  = "exfiltrate"
	secretFile  = "secret-file"
	pseudoTag   = "pseudo-tag"
	otherServer = "other-server"
	unseen      = "hidden-text"
	bidi        = "bidi"
	control     = "control"
	instruction = "instruction"
)

// TooLong is the id of the rule for text that is too long to be checked completely.
const TooLong = "too-long"

// Rules returns all rules, in the order in which the documentation lists them.
func Rules() []Rule {
	return []Rule{
		{override, "tells a model to disregard its instructions"},
		{conceal, "asks to keep something from the user"},
		{exfiltrate, "asks for credentials, a conversation or a prompt, or sends them to an address"},
		{secretFile, "asks to read or send a file that contains secrets"},
		{pseudoTag, "contains a marker that models use to separate roles"},
		{otherServer, "gives instructions for another server's tools"},
		{unseen, "contains invisible characters"},
		{bidi, "contains characters that change the order in which text is displayed"},
		{control, "contains control characters or terminal escapes"},
		{instruction, "orders something that the definition did not order before"},
		{TooLong, "is too long to check completely"},
	}
}

// description returns the description of a rule.
func description(id string) string {
	for _, r := range Rules() {
		if r.ID == id {
			return r.Description
		}
	}
	return id
}
