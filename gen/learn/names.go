package learn

import (
	"regexp"
	"strings"
	"sync"
)

// dataName matches names that are data, not names of properties: numbers, hashes and UUIDs, dates, addresses, paths, and
// names with white space.
var dataName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:` + strings.Join([]string{
		`[+-]?\d[\d.,:_-]*`,                      // 42, 2026-11-21, 10.0.0.1
		`(?i:[0-9a-f]{8}(?:-?[0-9a-f]{4,}){1,})`, // hashes, UUIDs
		`\d{4}-\d\d-\d\d.*`,
		`[^@\s]+@[^@\s]+`, // ada@example.org
		`.*[/\\].*`,       // paths, URLs
		`.*\s.*`,          // Ada Lovelace
		`.{65,}`,
	}, "|") + `)$`)
})

// codeName matches names that are data if all names of an object match: item_0042, INV1001.
var codeName = regexp.MustCompile(`^[A-Za-z]{1,12}[_-]?\d{2,}$`)

// namesAreData reports whether the names of an object's properties are data: there are too many, one cannot be the name of
// a property, all are numbered, or there are many and all are optional.
func namesAreData(of []property) bool {
	if len(of) > maxProperties {
		return true
	}
	always, codes := 0, 0
	for _, p := range of {
		if dataName().MatchString(p.name) {
			return true
		}
		if p.required {
			always++
		}
		if codeName.MatchString(p.name) {
			codes++
		}
	}
	const many = 24
	return always == 0 && len(of) > many || codes > 1 && codes == len(of)
}
