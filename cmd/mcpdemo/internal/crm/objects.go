package crm

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/cmd/mcpdemo/internal/tool"
)

// fieldType is what a field holds.
type fieldType string

const (
	typeID       fieldType = "id"        // of the record itself
	typeRef      fieldType = "reference" // the id of another record
	typeString   fieldType = "string"
	typeText     fieldType = "text" // long, for notes and transcripts
	typeNumber   fieldType = "number"
	typeInteger  fieldType = "integer"
	typeBoolean  fieldType = "boolean"
	typeDate     fieldType = "date"
	typeDateTime fieldType = "datetime"
	typePicklist fieldType = "picklist"
)

// The limits of texts, in characters.
const (
	maxString = 255
	maxText   = 1_000_000
)

// field is one field of an object.
type field struct {
	Name     string
	Type     fieldType
	Label    string
	Required bool
	// ReadOnly fields are set by the server.
	ReadOnly bool
	Values   []string // of a picklist
	Target   string   // the object a reference points to
}

// object is one kind of record. Ids start with its prefix, as in Salesforce,
// so an id alone tells what it belongs to.
type object struct {
	Name   string
	Label  string
	Prefix string
	Fields []field
}

var industries = []string{"Energy", "Facilities", "Logistics", "Manufacturing", "Retail", "Technology", "Utilities"}

// objects returns the data model. The first fields every object has are Id and
// Name, the last ones its times.
func objects() []object {
	id := field{Name: "Id", Type: typeID, Label: "Record id", ReadOnly: true}
	name := field{Name: "Name", Type: typeString, Label: "Full name or title", Required: true}
	owner := field{Name: "OwnerName", Type: typeString, Label: "Person in charge of the record"}
	created := field{Name: "CreatedDate", Type: typeDateTime, Label: "When the record was created", ReadOnly: true}
	modified := field{Name: "LastModifiedDate", Type: typeDateTime, Label: "When the record was last changed", ReadOnly: true}
	account := field{Name: "AccountId", Type: typeRef, Label: "The account it belongs to", Target: "Account"}
	notes := field{Name: "Notes", Type: typeText, Label: "Free notes; long texts such as call transcripts are welcome"}
	return []object{
		{"Account", "A company we sell to", "001", []field{
			id, name,
			{Name: "Industry", Type: typePicklist, Label: "Industry", Values: industries},
			{Name: "Website", Type: typeString, Label: "Web address"},
			{Name: "Phone", Type: typeString, Label: "Main telephone number"},
			{Name: "BillingCity", Type: typeString, Label: "City of the billing address"},
			{Name: "BillingCountry", Type: typeString, Label: "Country of the billing address"},
			{Name: "NumberOfEmployees", Type: typeInteger, Label: "Number of employees"},
			{Name: "AnnualRevenue", Type: typeNumber, Label: "Annual revenue in EUR"},
			notes, owner, created, modified,
		}},
		{"Contact", "A person at an account", "003", []field{
			id, name, account,
			{Name: "Title", Type: typeString, Label: "Job title"},
			{Name: "Email", Type: typeString, Label: "E-mail address"},
			{Name: "Phone", Type: typeString, Label: "Telephone number"},
			{Name: "OptedOut", Type: typeBoolean, Label: "Wants no marketing mail"},
			notes, owner, created, modified,
		}},
		{"Lead", "A person or company that may become a customer", "00Q", []field{
			id, name,
			{Name: "Company", Type: typeString, Label: "Company", Required: true},
			{Name: "Title", Type: typeString, Label: "Job title"},
			{Name: "Email", Type: typeString, Label: "E-mail address"},
			{Name: "Phone", Type: typeString, Label: "Telephone number"},
			{Name: "Country", Type: typeString, Label: "Country"},
			{Name: "Status", Type: typePicklist, Label: "How far the lead is", Required: true, Values: []string{"New", "Contacted", "Qualified", "Unqualified", "Converted"}},
			{Name: "LeadSource", Type: typePicklist, Label: "Where the lead came from", Values: []string{"Web", "Referral", "Trade Show", "Partner", "Cold Call"}},
			{Name: "Score", Type: typeInteger, Label: "Interest from 0 to 100"},
			notes, owner, created, modified,
		}},
		{"Opportunity", "A sale in progress", "006", []field{
			id, name, account,
			{Name: "StageName", Type: typePicklist, Label: "Stage of the sale", Required: true, Values: []string{"Prospecting", "Discovery", "Proposal", "Negotiation", "Closed Won", "Closed Lost"}},
			{Name: "Amount", Type: typeNumber, Label: "Expected value in EUR"},
			{Name: "Probability", Type: typeInteger, Label: "Chance of winning in percent"},
			{Name: "CloseDate", Type: typeDate, Label: "Expected date of closing", Required: true},
			{Name: "NextStep", Type: typeString, Label: "What happens next"},
			notes, owner, created, modified,
		}},
		{"SalesMeeting", "A meeting or call about an opportunity", "00U", []field{
			id, name,
			{Name: "OpportunityId", Type: typeRef, Label: "The opportunity it was about", Target: "Opportunity"},
			{Name: "StartDateTime", Type: typeDateTime, Label: "When it started", Required: true},
			{Name: "DurationMinutes", Type: typeInteger, Label: "Length in minutes"},
			{Name: "Attendees", Type: typeString, Label: "Who took part, separated by commas"},
			{Name: "TranscriptUrl", Type: typeString, Label: "Where the recording's transcript is kept"},
			notes, owner, created, modified,
		}},
	}
}

func (o *object) field(name string) (*field, error) {
	for i := range o.Fields {
		if strings.EqualFold(o.Fields[i].Name, name) {
			return &o.Fields[i], nil
		}
	}
	return nil, fmt.Errorf("%s has no field %q; its fields are %s", o.Name, name, strings.Join(o.fieldNames(), ", "))
}

func (o *object) fieldNames() []string {
	names := make([]string, len(o.Fields))
	for i, f := range o.Fields {
		names[i] = f.Name
	}
	return names
}

// check returns a value from a client as SQLite stores it, or says what is
// wrong with it.
func (f *field) check(value tool.Scalar) (any, error) {
	bad := func(want string) (any, error) {
		return nil, fmt.Errorf("field %s must be %s, not %.60q", f.Name, want, fmt.Sprint(value))
	}
	if f.ReadOnly {
		return nil, fmt.Errorf("field %s is set by the CRM and cannot be written", f.Name)
	}
	if value == nil {
		if f.Required {
			return nil, fmt.Errorf("field %s is required and cannot be null", f.Name)
		}
		return nil, nil
	}
	switch f.Type {
	case typeNumber, typeInteger:
		n, ok := value.(float64)
		switch {
		case !ok:
			return bad("a number")
		case f.Type == typeInteger && (n != math.Trunc(n) || math.Abs(n) >= 1<<53):
			return bad("a whole number")
		case f.Type == typeInteger:
			return int64(n), nil
		}
		return n, nil
	case typeBoolean:
		b, ok := value.(bool)
		if !ok {
			return bad("true or false")
		}
		return b, nil
	}
	text, ok := value.(string)
	if !ok {
		return bad("a string")
	}
	return f.checkText(text)
}

// checkText is check for the types that are strings in JSON.
func (f *field) checkText(text string) (any, error) {
	limit := maxString
	switch f.Type {
	case typeText:
		limit = maxText
	case typePicklist:
		if !slices.Contains(f.Values, text) {
			return nil, fmt.Errorf("field %s must be one of %s, not %.60q", f.Name, strings.Join(f.Values, ", "), text)
		}
	case typeDate:
		if _, err := time.Parse(time.DateOnly, text); err != nil {
			return nil, fmt.Errorf("field %s must be a date such as 2026-07-31, not %.60q", f.Name, text)
		}
	case typeDateTime:
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return nil, fmt.Errorf("field %s must be a time such as 2026-07-31T09:30:00Z, not %.60q", f.Name, text)
		}
		return at.UTC().Format(time.RFC3339), nil
	}
	if n := len([]rune(text)); n > limit {
		return nil, fmt.Errorf("field %s takes at most %d characters, not %d", f.Name, limit, n)
	}
	if f.Required && strings.TrimSpace(text) == "" {
		return nil, fmt.Errorf("field %s is required and cannot be empty", f.Name)
	}
	return text, nil
}
