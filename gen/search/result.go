package search

// Detail is how much a [Result] says of a tool.
type Detail string

const (
	// DetailName is the tool's id and server.
	DetailName Detail = "name"
	// DetailSignature adds, for the likely hits, the first sentence of the description, the import statement and the signature.
	DetailSignature Detail = "signature"
	// DetailDescription adds the start of the description and the import statement. It is the default.
	DetailDescription Detail = "description"
	// DetailFull adds the signature and the wrapper's source.
	DetailFull Detail = "full"
)

// Details are all of them, the shortest first.
func Details() []Detail { return []Detail{DetailName, DetailSignature, DetailDescription, DetailFull} }

// Few is the number of hits up to which each is shown with its import and signature, whatever the [Detail].
const Few = 3

// Likely returns how many hits, from the front, are likely to be what was meant: [Few] at most, of which the last scores at
// least four fifths of the first. Of the questions in testdata/search 76 % have their answer there, where 1.6 hits are
// shown on average; three hits each would answer 85 %.
func Likely(hits []Hit) int {
	n := 0
	for n < min(Few, len(hits)) && hits[n].Score > 0 && hits[n].Score >= 0.8*hits[0].Score {
		n++
	}
	return n
}

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
	// Import is the statement by which a script gets the tool's function, Signature the function's head with the types it
	// needs, without comments, and Source the wrapper, which has signature and description too, without its header and
	// imports; all in one language.
	Import    string `json:"import,omitempty"`
	Signature string `json:"signature,omitempty"`
	Source    string `json:"source,omitempty"`
	// Comment begins a comment in that language.
	Comment string `json:"-"`
	// OtherImports are the statements in other languages that were asked for.
	OtherImports []string `json:"otherImports,omitempty"`
}
