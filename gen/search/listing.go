package search

import "strings"

// Listing returns results as text for [DetailSignature]: first the ids, and then how those with a signature are imported and called.
func Listing(results []Result) string {
	var ids, calls strings.Builder
	for _, r := range results {
		ids.WriteString(r.Tool + "\n")
		if r.Signature == "" {
			continue
		}
		calls.WriteByte('\n')
		for _, statement := range append([]string{r.Import}, r.OtherImports...) {
			calls.WriteString(statement + "\n")
		}
		head, types, more := strings.Cut(r.Signature, "\n")
		calls.WriteString(head)
		if r.Description != "" {
			calls.WriteString(" " + r.Comment + " " + r.Description)
		}
		if more {
			calls.WriteString("\n" + types)
		}
		calls.WriteByte('\n')
	}
	return ids.String() + calls.String()
}
