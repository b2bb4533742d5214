package detect

// Type is a kind of personal data.
type Type string

const (
	Email  Type = "EMAIL"
	Phone  Type = "PHONE"
	SSN    Type = "SSN"     // social security number (United States)
	Card   Type = "CARD"    // payment card number
	IBAN   Type = "IBAN"    // bank account number
	IP     Type = "IP"      // IPv4 or IPv6 address, except loopback, unspecified and reserved ones
	Key    Type = "API_KEY" // credential in its vendor's form, private key, token, password in a URL
	Secret Type = "SECRET"  // value under, or assigned to, a name such as "password"

	Name    Type = "NAME"    // name of a person, or a part of it
	Company Type = "COMPANY" // name of an organization
	Address Type = "ADDRESS" // postal address, or a part of it
)

// Types returns all types, ordered by name.
func Types() []Type {
	return []Type{Address, Key, Card, Company, Email, IBAN, IP, Name, Phone, Secret, SSN}
}

// Match is one piece of personal data.
type Match struct {
	Start, End int // byte offsets in the text, End exclusive
	Type       Type
}
