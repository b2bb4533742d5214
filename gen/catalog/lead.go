package catalog

import (
	"regexp"
	"strings"
)

const (
	// A lead is shared by at least minLeadTools tools of a server, and is at least minLead bytes long.
	minLeadTools, minLead = 3, 20
	// maxLead bounds a lead, in bytes.
	maxLead = 2_000
)

// Lead returns what the descriptions of a server's tools begin with, up to the end of a sentence or line or to a colon, or ""
// where they differ. At least three tools and more than half of all begin so, and say more than that.
func (s *Server) Lead() string {
	lead := ""
	for len(lead) < maxLead {
		times := map[string]int{}
		next := ""
		for i := range s.Tools {
			rest, ok := strings.CutPrefix(strings.TrimSpace(s.Tools[i].Description), lead)
			if !ok {
				continue
			}
			segment := rest[:segmentEnd(rest)]
			if segment == "" || len(segment) == len(rest) {
				continue
			}
			if times[segment]++; times[segment] > times[next] {
				next = segment
			}
		}
		if n := times[next]; n < minLeadTools || 2*n <= len(s.Tools) || deprecated.MatchString(next) {
			break
		}
		lead += next
	}
	if len(lead) < minLead || len(lead) > maxLead {
		return ""
	}
	return lead
}

// Own returns what a tool's description says beside the lead of its server.
func (t *Tool) Own(lead string) string {
	if own, ok := strings.CutPrefix(strings.TrimSpace(t.Description), lead); ok && lead != "" && own != "" {
		return own
	}
	return t.Description
}

// segmentEnd returns where the first sentence, line or words before a colon end, with the blanks after them; 0 where there is no
// such end.
func segmentEnd(text string) int {
	end := 0
	for _, mark := range []string{". ", ": ", "\n", "。"} {
		if i := strings.Index(text, mark); i >= 0 && (end == 0 || i+len(mark) < end) {
			end = i + len(mark)
		}
	}
	return len(text) - len(strings.TrimLeft(text[end:], " \t\r\n"))
}

// deprecated matches how servers say that a tool is deprecated, and not that it is about deprecated things.
var deprecated = regexp.MustCompile(`(?i)(?:^|[.!?\n])\W*deprecated(?:\W*$|\W*\n|\s*[\]):.!,;*–—-]|\s+(?:in|since|and|as|use)\b)` +
	`|[\[(]deprecated\b[^\])]*[\])]|\b(?:tool|function|method|endpoint|api|this) (?:is|has been) (?:now )?deprecated\b`)

// Deprecated reports whether a tool's title or description says that the tool is deprecated.
func (t *Tool) Deprecated() bool {
	for _, text := range []string{t.Title, t.Description[:min(len(t.Description), maxLead)]} {
		if strings.Contains(strings.ToLower(text), "deprecated") && deprecated.MatchString(text) {
			return true
		}
	}
	return false
}
