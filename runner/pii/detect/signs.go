package detect

import "strings"

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
	ofPerson // the name of a sibling says so
	ofCompany
	ofPlace
	ofThing
	reachable // there is an e-mail address or a phone number
)

// Inside returns the signs of the objects in a member: those that the name of the member gives, or those of its own container if the name
// says nothing, as "items", "data" and "properties" do. The receiver has only what Inside returned for the outer object. The name of a tool,
// such as list_contacts, is a member's name too.
func (s Signs) Inside(member string) Signs {
	return 0
}

// MemberSigns returns what the name of a member tells about the object that it is in.
func MemberSigns(name string) Signs { return 0 }

// Hint returns what the name of a member of an object with these signs means for its value, as [FieldHint] does.
func (s Signs) Hint(name string) Type {
	plain := plainName(name)
	if plain == "" {
		return ""
	}
	if hint := valueHint(name, plain); hint != "" {
		return hint
	}
	for hint, section := range map[Type]string{Name: "person-name", Company: "company-name", Address: "address-name"} {
		if words()[section][plain] || strings.HasSuffix(plain, "firstname") && hint == Name {
			return hint
		}
	}
	return ""
}
