package detect

import (
	"slices"
	"strings"
	"testing"
)

func TestHint(t *testing.T) {
	for hint, names := range map[Type]string{
		Name: "fullName,full_name,full-name,Full Name,FULL NAME,first_name,lastName,contactName,accountOwner,customer_name,billingFirstName,patient-last-name,guest names,apellido,Vorname,Nachname,prénom," +
			"cognome,sobrenome,achternaam,förnamn,etternavn,imię,фамилия,氏名,姓名,고객이름,お名前",
		Company: "company,companyName,company_name,Company Name,organization,organisation,employer,accountName,supplier_name,Firma,société,empresa,ragione sociale,会社名,公司,회사",
		Address: "street,address1,mailing_address,Shipping Address,addressLine2,customerBillingAddress,Anschrift,Straße,calle,indirizzo,住所,地址,주소",
		party:   "owner,assignee,author,created_by,attendees,contact,leadOwner,nombre,nom",
		place:   "address,adresse",
		Phone:   "phone,mobilePhone,phoneNumbers,telefon,contactNumber",
		Email:   "",
		"": "name,title,fileName,hostname,tool_name,projectName,columnName,ip_address,emailAddress,walletAddress,city,postal_code,country,state,nickel,rename,username2,from,to," +
			"client,clients,agent,driver,creator,fname,이름,상품이름,имя,jméno,tên,单位",
	} {
		for name := range strings.SplitSeq(names, ",") {
			if got := Signs(0).Hint(name); got != hint && name != "" {
				t.Errorf("Hint(%q) = %q, want %q", name, got, hint)
			}
		}
	}
}

func TestColumns(t *testing.T) {
	for names, want := range map[string][]Type{
		"id,name,email,company":  {"", Name, "", Company},
		"customer,amount":        {party, ""},
		"name,size,path":         nil,
		"metric,value":           nil,
		"file,owner,vendor,size": {"", party, party, ""},
	} {
		if got := Columns(strings.Split(names, ",")); !slices.Equal(got, want) {
			t.Errorf("Columns(%s) = %q, want %q", names, got, want)
		}
	}
}

func TestInside(t *testing.T) {
	for container, want := range map[string]Signs{
		"contacts": inPerson, "list_contacts": inPerson, "crm__search-people": inPerson, "assignedUser": inPerson, "user_info": inPerson, "get_owner_by_repository": inPerson,
		"accounts": inCompany, "vendor": inCompany, "billingAddress": inPlace,
		"files": inThing, "list_user_files": inThing, "tools": inThing, "packages": inThing, "workflow": inThing,
		"items": ofPlace, "data": ofPlace, "results": ofPlace, "0": ofPlace, "c1": ofPlace, "": ofPlace, // as the outer object
		"whatever": 0, "customer_preferences": 0,
	} {
		if got := ofPlace.Inside(container); got != want {
			t.Errorf("Inside(%q) = %b, want %b", container, got, want)
		}
	}
	for container, want := range map[string]Signs{"client": 0, "members": 0, "data": inThing, "user_profile": inPerson, "account_members": inCompany, "list_project_members": 0} {
		if got := inThing.Inside(container); got != want {
			t.Errorf("in a thing: Inside(%q) = %b, want %b", container, got, want)
		}
	}
}

// TestWholeValue finds values that are whole a match under a hint.
func TestWholeValue(t *testing.T) {
	for _, tt := range []struct {
		hint    Type
		yes, no []string
	}{
		{Name, []string{"Jane", "jane", "X Æ A-12", "Mark", "J. R. R. Tolkien", "O'Brien", " Jane ", "My Nguyen"},
			[]string{"", " ", "12345", "https://x.example", "true", "null", "N/A", "550e8400-e29b-41d4-a716-446655440000", "{{name}}", "${name}", "<name>", "[NAME_1]", "2026-01-15",
				strings.Repeat("long ", 30), "octocat/Hello", "user_id", "a\nb", "string", "jane@example.com", "My name", "My Customer", "Your Nguyen"}},
		{Company, []string{"Apple", "3M", "7-Eleven", "AT&T", "Marks & Hale plc"}, []string{"42", "www://x", "none", "sales@example.com", "550e8400e29b41d4a716"}},
		{Address, []string{"9 Elm Ct", "Hauptstraße", "1 Road\nTown"}, []string{"12", "none", ""}},
		{postcode, []string{"97301", "SW1A 2AA", "100-0005"}, []string{"none", "Salem", "9730112345678"}},
		{place, []string{"9 Elm Ct", "Rome, Italy", "東京都"}, []string{"0x7ffe12ab", "localhost", "unix socket"}},
		{party, []string{"Jane Whitaker", "佐々木健太"}, []string{"jane", "Jane", "platform-team", "Data Platform Team", "jane whitaker", "system"}},
		{Phone, []string{"555-0142", "5550142", "0000000", "123 456 789 012 345"}, []string{"12345", "2026-01-15", "192.168.100.100", "call me", "1234567.5", "1234567890123456"}},
	} {
		for _, text := range tt.yes {
			start := len(text) - len(strings.TrimLeft(text, " "))
			if got := Find(text, tt.hint); len(got) != 1 || got[0].Start != start || got[0].End != start+len(strings.TrimSpace(text)) {
				t.Errorf("Find(%q, %q) = %v, want the whole value", text, tt.hint, got)
			}
		}
		for _, text := range tt.no {
			if got := Find(text, tt.hint); slices.ContainsFunc(got, func(m Match) bool { return m.Type != Email && m.Type != IP }) {
				t.Errorf("Find(%q, %q) = %v, want no match", text, tt.hint, got)
			}
		}
	}
	for text, want := range map[string]Match{"jane@example.com": {0, 16, Email}, "Acme Inc.": {0, 9, Company}} {
		if got := Find(text, Name); !slices.Equal(got, []Match{want}) {
			t.Errorf("Find(%q, %q) = %v, want %v", text, Name, got, want)
		}
	}
}
