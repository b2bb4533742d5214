package search

// Detail is how much a [Result] says of a tool.
type Detail string

const (
	// DetailName is the tool's id and server.
	DetailName Detail = "name"
	// DetailDescription adds the start of the description and the import statement. It is the default.
	DetailDescription Detail = "description"
	// DetailFull adds the signature and the wrapper's source.
	DetailFull Detail = "full"
)

// Details are all of them, the shortest first.
func Details() []Detail { return []Detail{DetailName, DetailDescription, DetailFull} }

// Few is the number of hits up to which each is shown with its import and signature, whatever the [Detail].
const Few = 3

// Result is a [Hit] as shown to a model or a person, without invisible characters. Fields that were not requested are
// empty.
type Result struct {
	// Tool is its id, Server the server's key.
	Tool   string `json:"tool"`
	Server string `json:"server"`
	// Category is left out where it is the server itself.
	Category string `json:"category,omitempty"`
	// Description is the beginning of the server's own text, on one line. What it says is still hostile.
	Description string `json:"description,omitempty"`
	// Import is the statement by which a script gets the tool's function, Signature the function's head, and Source the
	// wrapper, which has signature and description too, without its header and imports; all in one language.
	Import    string `json:"import,omitempty"`
	Signature string `json:"signature,omitempty"`
	Source    string `json:"source,omitempty"`
}
