// Package reading reads what scripts have to do with tools: imports from the tree, uses of what they import, and calls with what they
// pass. Places are ranges of bytes in the script's text. Start with [TypeScript] and [Python].
package reading

// Module is what a file has to do with tools, in either language.
type Module struct {
	Imports []Import `json:"imports"`
	Calls   []Call   `json:"calls"`
	Refs    []Ref    `json:"refs"`
	// Names are the identifiers of the file: a new name must not be one.
	Names []string `json:"names"`
	// Mentions are the names of members that the file may read, and texts that may be such names.
	Mentions []Mention `json:"mentions"`
}

// Mention is the name of a member in x.name, x["name"] or { name } = x, or a text.
type Mention struct {
	Name string `json:"name"`
	Line int    `json:"line"`
}

// Span is a range of bytes.
type Span struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// Import is one name that a file imports from the tree, or a module of it.
type Import struct {
	// Path is what stands behind "servers": google_drive, getDocument. Module is where it is written.
	Path   []string `json:"path"`
	Module Span     `json:"module"`
	// Name is the imported name, empty for the module itself, and At where it stands. Local is the name in the file.
	Name  string `json:"name"`
	At    Span   `json:"at"`
	Local string `json:"local"`
	// Exported reports a name that the file only passes on.
	Exported bool `json:"exported"`
	// Taken reports a name that is taken out of a module with { name: local }.
	Taken bool `json:"taken"`
}

// Ref is a use of a name, or of a member of one: drive.getDocument.
type Ref struct {
	Local  string   `json:"local"`
	Member []string `json:"member"` // empty: the name itself
	At     Span     `json:"at"`     // of the last part
	// Short reports an object's member that is written once for its name and value.
	Short bool `json:"short"`
}

// Call is a call.
type Call struct {
	Callee Ref `json:"callee"`
	// ID is the tool's id in a call by name; its text is a literal at IDAt.
	ID   string `json:"id"`
	IDAt Span   `json:"idAt"`
	// Input is what the tool gets; nil if the call has no argument.
	Input *Value `json:"input"`
	// Open is where arguments begin, behind the parenthesis.
	Open int `json:"open"`
	Line int `json:"line"`
}

// Value is an expression, as far as it can be read.
type Value struct {
	// Kind is "object", "array", "string", "choice" (one of Items), "plain" (another literal) or "other".
	Kind string `json:"kind"`
	At   Span   `json:"at"`
	Line int    `json:"line"`
	Text string `json:"text"` // of a string
	// Keywords reports an object that is a list of Python's keyword arguments.
	Keywords bool     `json:"keywords"`
	Members  []Member `json:"members"`
	Items    []*Value `json:"items"`
	// Spread reports that the object or array has further parts.
	Spread bool `json:"spread"`
}

// Member is one member of an object.
type Member struct {
	Name  string `json:"name"`
	At    Span   `json:"at"`
	Short bool   `json:"short"`
	Value *Value `json:"value"`
}
