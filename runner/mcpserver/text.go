package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ident"
)

// joinOutput joins texts, each beginning on a new line. Empty ones are left out.
func joinOutput(texts ...string) string {
	var b strings.Builder
	endsLine := true
	for _, text := range texts {
		if text == "" {
			continue
		}
		if !endsLine {
			b.WriteByte('\n')
		}
		b.WriteString(text)
		endsLine = strings.HasSuffix(text, "\n")
	}
	return b.String()
}

// compactJSON marshals without spaces, and without escapes for HTML.
func compactJSON(v any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// formatNumber writes a number without an exponent.
func formatNumber(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// cutText cuts a text after most characters, and says that it was cut.
func cutText(text string, most int) string {
	if begin := ident.First(text, most); begin != text {
		return fmt.Sprintf("%s\n[cut: %d more bytes]", begin, len(text)-len(begin))
	}
	return text
}

// cleanLines turns each text into one line without invisible characters.
func cleanLines(texts []string) []string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = ident.CleanLine(text)
	}
	return out
}

// firstOf returns the first n elements, or all if there are fewer.
func firstOf[T any](list []T, n int) []T { return list[:min(n, len(list))] }

// mentions reports whether one of the texts contains the query, ignoring case.
func mentions(query string, texts ...string) bool {
	query = strings.ToLower(strings.TrimSpace(query))
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(strings.ToLower(text), query) })
}
