package search

import "strings"

// Listing returns results as text for [DetailSignature]: first the ids, then how those with a signature are imported and called, and
// then what was used together.
func Listing(results []Result) string {
	var ids, calls, used strings.Builder
	for _, r := range results {
		ids.WriteString(r.Tool + "\n")
		if len(r.UsedTogether) > 0 {
			used.WriteString("\nUsed together with " + r.Tool + ": " + strings.Join(r.UsedTogether, ", "))
		}
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
	if used.Len() > 0 {
		used.WriteByte('\n')
	}
	return ids.String() + calls.String() + used.String()
}
