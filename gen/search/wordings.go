package search

import (
	"encoding/json"
	"fmt"
)

// Wordings are the texts of a query as models and scripts give them in JSON: a string, or a list of strings.
type Wordings []string

// WordingsError says why a value is not valid [Wordings], for the author of the value.
type WordingsError struct{ text string }

func (e *WordingsError) Error() string { return e.text }

// UnmarshalJSON accepts a string, a list of at most [MaxWordings] strings, or null for no wording. Errors are of type *WordingsError.
func (w *Wordings) UnmarshalJSON(b []byte) error {
	var one *string
	if json.Unmarshal(b, &one) == nil {
		if *w = nil; one != nil {
			*w = Wordings{*one}
		}
		return nil
	}
	var list []string
	if json.Unmarshal(b, &list) != nil {
		return &WordingsError{"query is a string or a list of strings"}
	}
	if len(list) > MaxWordings {
		return &WordingsError{fmt.Sprintf("query has %d wordings; it can have %d", len(list), MaxWordings)}
	}
	*w = list
	return nil
}

// Query returns the query with these wordings.
func (w Wordings) Query() Query {
	if len(w) == 0 {
		return Query{}
	}
	return Query{Text: w[0], Also: w[1:]}
}
