package search

// Detail says how much a [Result] contains about a tool.
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

// Details returns all of them, the shortest first.
func Details() []Detail { return []Detail{DetailName, DetailSignature, DetailDescription, DetailFull} }

// Few is the largest number of hits that are all shown with import and signature, whatever the [Detail].
const Few = 3

// Likely returns how many hits, from the front, are likely to be what was meant. These are at most [Few], all with at least four fifths of
// the first one's score. For 76 % of the questions in testdata/search the answer is among them, with 1.6 hits shown on average; three hits
// each would answer 85 %.
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
	// Tool is the tool's id, and Server the server's key.
	Tool   string `json:"tool"`
	Server string `json:"server"`
	// Category is left out if it is the server itself.
	Category string `json:"category,omitempty"`
	// Description is the beginning of the server's own text, on one line. Its content is still hostile.
	Description string `json:"description,omitempty"`
	// UseCases are from the project's settings.
	UseCases []string `json:"useCases,omitempty"`
	// UsedTogether are tools and skills that runs used with this one, and how often, if mcprun is told to recommend them.
	UsedTogether []string `json:"usedTogether,omitempty"`
	// Import is the statement with which a script imports the tool's function. Signature is the function's head with the types it needs,
	// without comments. Source is the wrapper without its header and imports; it includes signature and description. All are in one
	// language.
	Import    string `json:"import,omitempty"`
	Signature string `json:"signature,omitempty"`
	Source    string `json:"source,omitempty"`
	// Comment begins a comment in that language.
	Comment string `json:"-"`
	// OtherImports are the statements in other requested languages.
	OtherImports []string `json:"otherImports,omitempty"`
}
