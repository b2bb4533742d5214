package upstream

// legacyVersion is the newest protocol revision with an initialize handshake. Asking for it skips the probe.
const legacyVersion = "2025-11-25"

// era is a generation of the protocol.
type era int

const (
	eraUnknown era = iota
	eraModern      // with server/discover
	eraLegacy      // with initialize
)

// The methods that this package handles itself.
const (
	methodDiscover      = "server/discover"
	methodInitialize    = "initialize"
	methodListTools     = "tools/list"
	methodCallTool      = "tools/call"
	methodListResources = "resources/list"
	methodListTemplates = "resources/templates/list"
	methodReadResource  = "resources/read"
	methodListPrompts   = "prompts/list"
	methodGetPrompt     = "prompts/get"
	methodElicit        = "elicitation/create"
	methodSubscribe     = "subscriptions/listen"
	methodGetTask       = "tasks/get"
	methodUpdateTask    = "tasks/update"
	methodCancelTask    = "tasks/cancel"

	methodCancelled    = "notifications/cancelled"
	methodProgress     = "notifications/progress"
	methodToolsChanged = "notifications/tools/list_changed"
)

// Members of _meta that this package sets.
const (
	metaProgressToken = "progressToken"
	metaCapabilities  = "io.modelcontextprotocol/clientCapabilities"
)

// subscriptionID is the id of the request for changes. The SDK numbers its own requests.
const subscriptionID = "tools-changed"
