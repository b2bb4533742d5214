package detect

import (
	"strings"
	"unicode"

	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/char"
	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/lexicon"
)

const (
	maxObject  = 600 // bytes before and after a member that tell what its object is
	maxMembers = 500 // names whose hints one text remembers
)

// object is a part of a text that is written like an object: {'name': 'Jane', 'email': …}, Contact(name="Jane"). Programs print such text.
type object struct {
	start, end int
	signs      Signs
}

// member is what the name of a member means.
type member struct {
	hint  Type // in an object without signs
	signs Signs
	any   bool // the hint depends on the object
}

// afterMember returns the name, company or address in quotes after the ':' or '=' at i, if the member's name and its object say that it is one.
func (f *finder) afterMember(i int) Match {
	s, at := f.s, i+1
	if at < len(s) && s[at] == ' ' {
		at++
	}
	if at+2 >= len(s) || strings.IndexByte("'\"`", s[at]) < 0 {
		return Match{}
	}
	name := memberName(s[max(f.from, i-maxName):i])
	m := f.member(name)
	hint := m.hint
	if m.any {
		hint = (f.objectAt(i).signs | f.object.container(s)).Hint(name)
	}
	switch hint {
	case Name, Company, Address, party, place, postcode:
	default:
		return Match{}
	}
	length := strings.IndexByte(s[at+1:min(len(s), at+1+maxAddressValue)], s[at])
	if length < 1 {
		return Match{}
	}
	value := s[at+1 : at+1+length]
	typ := valueType(value, hint)
	if typ == "" || isLabelOfField(value) || strings.ContainsAny(value, "\n;={}()") || hint != postcode && strings.IndexFunc(value, isCapitalOrCaseless) < 0 {
		return Match{}
	}
	return Match{at + 1, at + 1 + length, typ}
}

// isLabelOfField reports whether a value is itself the name of a field, as in {firstName: "First name"}.
func isLabelOfField(value string) bool {
	plain := plainName(value)
	return fields()[plain] != "" || lexicon.Words()["any-name"][plain] || lexicon.Words()["reach-sign"][plain]
}

// isCapitalOrCaseless reports whether a letter is not lower case.
func isCapitalOrCaseless(r rune) bool { return unicode.IsLetter(r) && !unicode.IsLower(r) }

// memberName returns the name of a member at the end of a text, without its quotes.
func memberName(before string) string {
	before = strings.TrimRight(before, " ")
	if before == "" {
		return ""
	}
	if quote := before[len(before)-1]; quote == '"' || quote == '\'' {
		before = before[:len(before)-1]
		return before[strings.LastIndexByte(before, quote)+1:]
	}
	return before[strings.LastIndexFunc(before, func(r rune) bool { return !char.IsWordRune(r) && r != '_' && r != '-' })+1:]
}

// member returns what a name means. It remembers names, because records have the same ones again and again.
func (f *finder) member(name string) member {
	m, ok := f.members[name]
	if !ok {
		plain := plainName(name)
		m = member{hint: Signs(0).Hint(name), signs: MemberSigns(name)}
		m.any = lexicon.Words()["any-name"][plain] || lexicon.Words()["address-part"][plain] || lexicon.Words()["postcode"][plain] || isWeakValue(plain) || m.hint == party
		if f.members == nil {
			f.members = map[string]member{}
		}
		if len(f.members) < maxMembers {
			f.members[name] = m
		}
	}
	return m
}

// objectAt returns the object around the mark at i.
func (f *finder) objectAt(i int) object {
	if f.object.start <= i && i < f.object.end {
		return f.object
	}
	s, low, high := f.s, max(0, i-maxObject), min(len(f.s), i+maxObject)
	start := low + strings.LastIndexAny(s[low:i], "{(") + 1
	end := high
	if n := strings.IndexAny(s[i:high], "})"); n >= 0 {
		end = i + n
	}
	f.object = object{start: start, end: end}
	for at := start; at < end; at++ {
		n := strings.IndexAny(s[at:end], ":=")
		if n < 0 {
			break
		}
		at += n
		if at > start {
			f.object.signs |= f.member(memberName(s[max(start, at-maxName):at])).signs
		}
	}
	return f.object
}

// container returns the signs of the member that has the object or the list that the object begins.
func (o object) container(s string) Signs {
	before := strings.TrimRight(s[max(0, o.start-maxName):o.start], " \n\t[{(")
	name, ok := strings.CutSuffix(before, ":")
	if !ok {
		name, ok = strings.CutSuffix(before, "=")
	}
	if !ok {
		return 0
	}
	return Signs(0).Inside(memberName(name))
}
