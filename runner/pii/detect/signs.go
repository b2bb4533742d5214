package detect

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/char"
	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/lexicon"
)

// Signs tell what a JSON object, or a row of a table, describes: a person, an organization, a postal address or a thing. Whether "name" is
// the name of a person depends on them. The zero value knows nothing.
//
//	container := detect.Signs(0).Inside("contacts") // {"contacts": [{"name": …, "email": …}]}
//	object := container | detect.MemberSigns("name") | detect.MemberSigns("email")
//	hint := object.Hint("name") // Name: Find returns the whole value
type Signs uint16

const (
	inPerson Signs = 1 << iota // the container's name says so
	inCompany
	inPlace
	inThing
	inName   // the container is the name of a person: {"name": {"first": …}}
	ofPerson // the name of a sibling says so
	ofCompany
	ofPlace
	ofThing
	affiliated // the organization of someone is named
	reachable  // there is an e-mail address, a phone number or a login
	addressed  // there is a member for just that: email, unlike author_email
	located    // there is a part of a postal address that other things have too: address, city
	valued     // there is a value: {"name": …, "value": …}
)

// Hints of fields whose values are names or addresses if they have the form of one.
const (
	party    Type = "party"       // a person or an organization
	place    Type = "place"       // a postal address, or that of a machine
	postcode Type = "postal code" // digits are enough
)

// fields are the hints of whole names of members.
var fields = sync.OnceValue(func() map[string]Type {
	hints := map[string]Type{}
	for _, s := range []struct {
		section string
		hint    Type
	}{{"person", party}, {"organization", party}, {"form-name", party}, {"any-address", place}, {"person-name", Name}, {"company-name", Company}, {"address-name", Address}} {
		for w := range lexicon.Words()[s.section] {
			hints[w] = s.hint
		}
	}
	return hints
})

// MemberSigns returns what the name of a member tells about the object that it is in.
func MemberSigns(name string) Signs {
	plain := plainName(name)
	switch {
	case plain == "":
		return 0
	case lexicon.Words()["person-sign"][plain]:
		return ofPerson
	case lexicon.Words()["reach-sign"][plain]:
		return reachable | addressed
	case lexicon.Words()["login-sign"][plain], strings.HasSuffix(plain, "email"):
		return reachable
	case lexicon.Words()["company-sign"][plain]:
		return ofCompany
	case lexicon.Words()["thing-sign"][plain]:
		return ofThing
	case plain == "value":
		return valued
	case lexicon.Words()["postcode"][plain]:
		return ofPlace
	case lexicon.Words()["address-part"][plain]:
		return located
	}
	switch Signs(0).Hint(name) {
	case Name:
		if plain == "fullname" { // of a repository too
			return affiliated
		}
		return ofPerson
	case Company:
		return affiliated
	case Address:
		return ofPlace
	case place:
		return located
	case Phone:
		return reachable
	}
	return 0
}

// containers are the signs that containers give by the words of their names.
var containers = sync.OnceValue(func() map[string]Signs {
	signs := map[string]Signs{}
	for _, s := range []struct {
		section string
		signs   Signs
	}{{"thing-container", inThing}, {"person", inPerson}, {"organization", inCompany}, {"place", inPlace}, {"name-container", inName}} {
		for w := range lexicon.Words()[s.section] {
			signs[w] |= s.signs
		}
	}
	for w := range lexicon.Words()["weak-person"] {
		delete(signs, w)
	}
	signs["user"] = inPerson
	return signs
})

// Inside returns the signs of the objects in a member: those that the name of the member gives, or those of its own container if the name
// says nothing, as "items", "data" and "properties" do. The receiver has only what Inside returned for the outer object. The name of a tool,
// such as list_contacts, is a member's name too.
func (s Signs) Inside(member string) Signs {
	if len(member) > maxName {
		return 0
	}
	if strings.ContainsAny(member, "0123456789") || member == "" { // a number or an identifier as a name
		return s
	}
	var buf [12]string
	split := splitWords(member, buf[:0])
	if signs, ok := containers()[plainName(member)]; ok {
		return signs
	}
	for i, w := range split {
		switch w {
		case "by", "for", "with", "from", "in", "of", "to":
			if i > 0 {
				split = split[:i]
			}
		}
	}
	not := Signs(0)
	for i := len(split) - 1; i >= 0; i-- {
		singular := strings.TrimSuffix(split[i], "s")
		for _, w := range []string{split[i], singular} {
			if signs, ok := containers()[w]; ok {
				return signs &^ not
			}
		}
		switch {
		case lexicon.Words()["weak-person"][singular]:
			not = inThing // the members of a project are no projects
		case !lexicon.Words()["neutral"][split[i]] && !lexicon.Words()["neutral"][singular]:
			return 0
		}
	}
	return s &^ not
}

// splitWords appends the words of an identifier, in lower case: list_contacts, billingAddress.
func splitWords(name string, out []string) []string {
	start, before := 0, ' '
	flush := func(end int) {
		if end > start && len(out) < cap(out) {
			out = append(out, strings.ToLower(name[start:end]))
		}
	}
	for i, r := range name {
		switch {
		case strings.ContainsRune("_- ./:'’", r):
			flush(i)
			start = i + utf8.RuneLen(r)
		case unicode.IsUpper(r) && unicode.IsLower(before):
			flush(i)
			start = i
		}
		before = r
	}
	flush(len(name))
	return out
}

// Hint returns what the name of a member of an object with these signs, or the words before a value, mean for the value: a type, another hint
// that [Find] accepts, or "" if they mean nothing.
func (s Signs) Hint(name string) Type {
	plain := plainName(name)
	if plain == "" {
		return ""
	}
	if lexicon.Words()["any-name"][plain] {
		if hint := s.named(plain); hint != "" {
			return hint
		}
	}
	hint := fields()[plain]
	if hint == "" { // a list
		hint = fields()[strings.TrimSuffix(plain, "s")]
	}
	switch {
	case hint == party && lexicon.Words()["any-name"][plain] && s.isThing():
		return ""
	case hint == party && isWeakValue(plain) && s&(ofPerson|inPerson|addressed) == 0:
		return ""
	case hint != "":
		return hint
	case s&inName != 0 && lexicon.Words()["name-part"][plain]:
		return Name
	}
	if hint := valueHint(name, plain); hint != "" {
		return hint
	}
	if hint := nameHint(plain); hint != "" {
		return hint
	}
	return s.compound(name, plain)
}

// isWeakValue reports whether a value may also be the name of a program: {"client": "Visual Studio Code"}.
func isWeakValue(plain string) bool {
	return lexicon.Words()["weak-value"][strings.TrimSuffix(plain, "s")]
}

// compound returns the hint of names of several words, whose last one counts (MailingCity), or the first one before a preposition (Name des
// Kunden, Adresse de livraison), or both (고객 이름, nombre_cliente).
func (s Signs) compound(name, plain string) Type {
	var buf [8]string
	split := splitWords(name, buf[:0])
	last := plain
	if len(split) > 1 && lexicon.Words()["not-street"][split[0]] { // a sentence: "the company"
		return ""
	}
	if len(split) > 1 {
		last = split[len(split)-1]
		if lexicon.Words()["postcode"][split[len(split)-2]+last] {
			last = split[len(split)-2] + last
		}
	}
	switch {
	case s&(inPlace|ofPlace) != 0 && lexicon.Words()["address-part"][last]:
		return Address
	case s&(inPlace|ofPlace|ofPerson|inPerson) != 0 && lexicon.Words()["postcode"][last]:
		return postcode
	case len(split) > 2 && lexicon.Words()["preposition"][split[1]]:
		switch first := fields()[split[0]]; {
		case first == Address || first == place:
			return Address
		case !lexicon.Words()["any-name"][split[0]]:
		case fields()[last] == Company || lexicon.Words()["organization"][last]:
			return Company
		case fields()[last] == party || fields()[last] == Name || lexicon.Words()["person"][strings.TrimSuffix(last, "n")]:
			return Name
		}
		return ""
	case len(split) == 2 && (isNameOf(split[0], split[1]) || isNameOf(split[1], split[0])):
		return Name
	}
	switch hint := fields()[last]; hint {
	case Name, Company, Address:
		return hint
	}
	for i := range plain { // scripts without spaces
		if i == 0 || plain[i] < utf8.RuneSelf || len(plain)-i <= 3 {
			continue
		}
		hint := fields()[plain[i:]]
		if lexicon.Words()["any-name"][plain[i:]] { // 고객이름
			if hint = fields()[plain[:i]]; hint == party && lexicon.Words()["person"][plain[:i]] {
				hint = Name
			}
		}
		if hint != "" && hint != party {
			return hint
		}
	}
	return ""
}

// isNameOf reports whether one word is "name" and the other a person: nombre_cliente, cliente_nombre. Short words, and the English ones, mean too
// much: ad_lead, username_owner.
func isNameOf(name, whose string) bool {
	return len(name) > 2 && lexicon.Words()["any-name"][name] && !strings.HasSuffix(name, "name") && lexicon.Words()["person"][strings.TrimSuffix(whose, "s")]
}

// Columns returns the hints of the columns of a table with these names, or nil if none is of a person or an organization. Other columns have the
// hint "".
func Columns(names []string) (hints []Type) {
	var signs Signs
	for _, name := range names {
		signs |= MemberSigns(name)
	}
	useful := false
	for _, name := range names {
		hint := signs.Hint(name)
		if !IsWhole(hint) {
			hint = ""
		}
		useful = useful || hint != ""
		hints = append(hints, hint)
	}
	if !useful {
		return nil
	}
	return hints
}

// isThing reports whether the object is a thing, such as a file or a property.
func (s Signs) isThing() bool {
	switch {
	case s&inThing != 0:
		return true
	case s&(ofPerson|addressed) != 0:
		return false
	case s&valued != 0: // also in a person: {"contact": {"properties": [{"name": "color", "value": …}]}}
		return true
	}
	return s&ofThing != 0 && s&inPerson == 0 && s&(inCompany|ofCompany) != inCompany|ofCompany
}

// named returns the hint of "name" and the like.
func (s Signs) named(plain string) Type {
	switch {
	case lexicon.Words()["login-sign"][plain] || s.isThing():
		return ""
	case s&(ofPerson|inPerson) != 0:
		return Name
	case s&inCompany != 0:
		return Company
	case s&affiliated != 0 && s&reachable != 0, s&inPlace != 0 && s&(ofPlace|located) != 0:
		return Name
	case s&affiliated != 0: // a project has a company too
		return party
	case s&ofCompany != 0:
		return Company
	case s&reachable != 0:
		return Name
	}
	return ""
}

// nameHint returns the hint of compound names: billingFirstName, customer_name, supplier-names.
func nameHint(plain string) Type {
	if char.HasAnySuffix(plain, "streetaddress", "mailingaddress", "shippingaddress", "billingaddress", "homeaddress", "postaladdress", "addressline1", "addressline2") {
		return Address
	}
	plain = strings.TrimSuffix(plain, "s")
	if char.HasAnySuffix(plain, "firstname", "lastname", "fullname", "surname", "givenname", "familyname", "middlename", "accountowner") {
		return Name
	}
	if stem, ok := strings.CutSuffix(plain, "name"); ok {
		for i := max(0, len(stem)-16); i < len(stem); i++ {
			switch w := stem[i:]; {
			case lexicon.Words()["weak-person"][w]:
				return party
			case lexicon.Words()["person"][w]:
				return Name
			case lexicon.Words()["organization"][w] && i == 0, strings.HasSuffix(stem, "company"):
				return Company
			}
		}
	}
	for _, start := range []string{"firstname", "lastname", "fullname", "displayname"} { // fullNameEnglish
		if strings.HasPrefix(plain, start) {
			return party
		}
	}
	if char.HasAnySuffix(plain, "owner", "assignee", "createdby", "assignedto", "manager", "contact") {
		return party
	}
	return ""
}
