package upstreamtest

// Mode is a way to behave.
type Mode string

const (
	// Normal speaks both protocol eras, 2026-07-28 and 2025-11-25, and lists its tools on one page.
	Normal Mode = "normal"
	// LegacyOnly does not know server/discover and says so.
	LegacyOnly Mode = "legacy-only"
	// ModernOnly refuses initialize with an error.
	ModernOnly Mode = "modern-only"
	// SlowModern is ModernOnly, and answers server/discover after 3 s only.
	SlowModern Mode = "slow-modern"
	// HangOnProbe reads server/discover and never answers anything after it; begun with initialize it works.
	HangOnProbe Mode = "hang-on-probe"
	// IgnoreProbe knows the older era only, and does not answer server/discover.
	IgnoreProbe Mode = "ignore-probe"
	// SlowStart is Normal and reads nothing for 5 s, like a server that is installed first; SlowStartLegacy is LegacyOnly
	// and does the same.
	SlowStart       Mode = "slow-start"
	SlowStartLegacy Mode = "slow-start-legacy"
	// ExitOnProbe ends with status 1 on server/discover; begun with initialize it works.
	ExitOnProbe Mode = "exit-on-probe"
	// HangOnList never answers anything from the first tools/list on.
	HangOnList Mode = "hang-on-list"
	// ForeignVersion knows the older era only, and answers initialize with a version that does not exist.
	ForeignVersion Mode = "foreign-version"
	// HangAlways never answers.
	HangAlways Mode = "hang-always"
	// ExitAtOnce ends with status 7 before it reads anything, with "no licence found" on standard error.
	ExitAtOnce Mode = "exit-at-once"
	// Banner writes text to standard output before and between its messages.
	Banner Mode = "banner"
	// Deaf reads the handshake and nothing after it.
	Deaf Mode = "deaf"
	// Grandchild starts a process that ignores SIGTERM and outlives it; see [ToolPIDs].
	Grandchild Mode = "grandchild"
	// Stubborn ignores the end of its input and SIGTERM.
	Stubborn Mode = "stubborn"

	// Rich has resources and prompts, too: demo://one and demo://two on a page each, a template, demo://missing, which
	// is not there, demo://odd, which is no list, and the prompt "greet" with the argument "who".
	Rich Mode = "rich"
	// RichLegacy is Rich and speaks the older era only.
	RichLegacy Mode = "rich-legacy"
)

// Behaviour is what a mode of a test's own does differently from Normal. Each part may be nil.
type Behaviour struct {
	// List answers tools/list at a cursor with a result: see [Page].
	List func(cursor *string) string
	// Call comes before the answer to a call, over stdio. It may write lines to standard output.
	Call func(write func(line string))
}

// Behaviours are those of the test, by mode. The test sets them before it calls [Main].
var Behaviours map[Mode]Behaviour
