package key

// What tests make keys from.
type (
	Charset = charset
	Form    struct {
		Prefix   string
		Alphabet *charset
		Min      int
	}
)

var (
	Charsets = charsets
	URLSet   = urlSet
)

// Forms returns the forms of keys.txt.
func Forms() (out []Form) {
	for _, forms := range keyForms() {
		for _, f := range forms {
			out = append(out, Form{f.prefix, f.alphabet, f.min})
		}
	}
	return out
}
