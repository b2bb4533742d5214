package crm

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

var (
	firstNames = strings.Fields("Adaeze Bram Camille Dario Eszter Fatima Gregor Hanna Ivo Jasmin Kofi Lotte Marek Nadia Oskar Petra Rafael Saskia Tariq Ursula Viktor Wanda Yara Zeno Alma Bernd Celia Dunja Emil Frieda")
	lastNames  = strings.Fields("Achterberg Brandt Castellano Drăgan Eklund Ferreira Grabowski Haugen Ibsen Jurić Keller Lefèvre Mensah Novák Oduya Petrov Quintero Ruiz Steiner Tervo Urban Virtanen Wójcik Zeller Ahlgren Baptista Clausen")
	owners     = []string{"Maya Lindholm", "Daniel Osei", "Sofia Brandão", "Lukas Meier"}
	companies  = []string{"Alder Lifts", "Baltic Cold Chain", "Canopy Energy", "Delta Facility Care", "Elbe Water Works", "Fjord Heat Pumps", "Granite Elevators", "Harbor & Pine Logistics", "Isar Medical Devices", "Juniper Grid", "Kestrel Telecom", "Lowland Solar", "Meridian Escalators", "Northgate Vending", "Orchard Refrigeration", "Pennine Security", "Quay Crane Service", "Ridgeway Printers", "Sound HVAC", "Tidal Pumps", "Upland Fibre", "Vale Gas Networks", "Westwind Turbines", "Yarrow Hospital Services"}
	places     = []struct{ city, country string }{{"Rotterdam", "Netherlands"}, {"Bremen", "Germany"}, {"Gdynia", "Poland"}, {"Leith", "United Kingdom"}, {"Bergen", "Norway"}, {"Tallinn", "Estonia"}, {"Gothenburg", "Sweden"}, {"Antwerp", "Belgium"}, {"Aarhus", "Denmark"}}
)

// The numbers of first records. The sale in the shipped meeting transcript is
// HarborAndPine's opportunity, which therefore has a fixed place.
const (
	contactsPerAccount = 3
	leadCount          = 60
	harborAndPine      = 8 // the account's number
)

// fill creates the tables from the data model and the same records every time.
func fill(ctx context.Context, tx *sql.Tx) error {
	model := objects()
	for _, o := range model {
		if _, err := tx.ExecContext(ctx, createTable(o)); err != nil {
			return fmt.Errorf("create table %s: %w", o.Name, err)
		}
	}
	w := &seeder{ctx: ctx, tx: tx, rng: rand.New(rand.NewPCG(4711, 42)), objects: map[string]*object{}, counts: map[string]int{}}
	for i := range model {
		w.objects[model[i].Name] = &model[i]
	}
	w.accounts()
	w.leads()
	return w.err
}

func createTable(o object) string {
	sqlTypes := map[fieldType]string{typeNumber: "REAL", typeInteger: "INTEGER", typeBoolean: "INTEGER"}
	var lines []string
	for _, f := range o.Fields {
		line := f.Name + " " + sqlTypes[f.Type]
		if sqlTypes[f.Type] == "" {
			line = f.Name + " TEXT"
		}
		switch {
		case f.Type == typeID:
			line += " PRIMARY KEY NOT NULL"
		case f.Target != "":
			line += " REFERENCES " + f.Target + "(Id)"
		case f.Required:
			line += " NOT NULL"
		}
		lines = append(lines, line)
	}
	return "CREATE TABLE " + o.Name + " (" + strings.Join(lines, ", ") + ") WITHOUT ROWID"
}

type seeder struct {
	ctx     context.Context
	tx      *sql.Tx
	rng     *rand.Rand
	objects map[string]*object
	counts  map[string]int
	err     error
}

// add stores a record; values are pairs of field name and value.
func (w *seeder) add(kind string, values ...any) string {
	w.counts[kind]++
	id := newID(w.objects[kind], w.counts[kind])
	at := time.Date(2025, 1, 6, 8, 0, 0, 0, time.UTC).Add(time.Duration(w.rng.IntN(400*24)) * time.Hour).Format(time.RFC3339)
	names, args := "Id, CreatedDate, LastModifiedDate", []any{id, at, at}
	for i := 0; i < len(values); i += 2 {
		names += ", " + values[i].(string)
		args = append(args, values[i+1])
	}
	if w.err == nil {
		_, w.err = w.tx.ExecContext(w.ctx, "INSERT INTO "+kind+" ("+names+") VALUES (?"+strings.Repeat(", ?", len(args)-1)+")", args...)
	}
	return id
}

func (w *seeder) pick(from []string) string { return from[w.rng.IntN(len(from))] }

func (w *seeder) person() (name, email string) {
	first, last := w.pick(firstNames), w.pick(lastNames)
	return first + " " + last, fmt.Sprintf("%c%d@example.com", first[0]|0x20, 100+w.rng.IntN(900))
}

func (w *seeder) phone() string {
	return fmt.Sprintf("+00 %02d %06d", 10+w.rng.IntN(90), w.rng.IntN(1_000_000))
}

func (w *seeder) accounts() {
	titles := []string{"Head of Field Service", "Chief Operating Officer", "IT Director", "Procurement Manager", "Depot Manager", "Head of Dispatch"}
	for i, company := range companies {
		place, owner := places[w.rng.IntN(len(places))], w.pick(owners)
		domain := strings.ToLower(strings.NewReplacer(" & ", "-", " ", "-").Replace(company))
		employees := 60 + w.rng.IntN(4000)
		account := w.add("Account", "Name", company, "Industry", industries[w.rng.IntN(len(industries))],
			"Website", "https://"+domain+".example", "Phone", w.phone(), "BillingCity", place.city, "BillingCountry", place.country,
			"NumberOfEmployees", employees, "AnnualRevenue", float64(employees)*float64(90+w.rng.IntN(200))*1000, "OwnerName", owner)
		for range contactsPerAccount {
			name, email := w.person()
			w.add("Contact", "Name", name, "AccountId", account, "Title", w.pick(titles), "Email", email, "Phone", w.phone(), "OptedOut", w.rng.IntN(6) == 0, "OwnerName", owner)
		}
		w.opportunities(i+1, company, account, owner)
	}
}

func (w *seeder) opportunities(number int, company, account, owner string) {
	stages := []struct {
		name        string
		probability int
		next        any
	}{{"Prospecting", 10, "First call"}, {"Discovery", 25, "Send summary of the workshop"}, {"Proposal", 50, "Walk through the offer"}, {"Negotiation", 75, "Answer the legal questions"}, {"Closed Won", 100, nil}, {"Closed Lost", 0, nil}}
	for i := range 1 + w.rng.IntN(3) {
		stage, title := stages[w.rng.IntN(len(stages))], w.pick([]string{"pilot", "rollout", "renewal", "extension", "second region"})
		meeting := company + " first call"
		if number == harborAndPine && i == 0 {
			stage, title, meeting = stages[1], "scheduling rollout, 14 depots", "Harbor & Pine discovery workshop"
		}
		opportunity := w.add("Opportunity", "Name", company+" "+title, "AccountId", account, "StageName", stage.name,
			"Amount", float64(5000+w.rng.IntN(400)*500), "Probability", stage.probability,
			"CloseDate", time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC).AddDate(0, 0, w.rng.IntN(300)).Format(time.DateOnly),
			"NextStep", stage.next, "OwnerName", owner)
		if i == 0 {
			w.add("SalesMeeting", "Name", meeting, "OpportunityId", opportunity,
				"StartDateTime", time.Date(2026, 2, 2+w.rng.IntN(25), 9+w.rng.IntN(7), 0, 0, 0, time.UTC).Format(time.RFC3339),
				"DurationMinutes", 30+15*w.rng.IntN(10), "OwnerName", owner)
		}
	}
}

func (w *seeder) leads() {
	for range leadCount {
		name, email := w.person()
		w.add("Lead", "Name", name, "Company", w.pick([]string{"Amber", "Birch", "Cobalt", "Dune", "Ember", "Flint", "Gale", "Heron"})+" "+w.pick([]string{"Maintenance", "Installations", "Climate", "Networks", "Care"}),
			"Title", w.pick([]string{"Owner", "Operations Manager", "Head of Service", "Planner"}), "Email", email, "Phone", w.phone(),
			"Country", places[w.rng.IntN(len(places))].country, "Status", w.pick([]string{"New", "New", "Contacted", "Qualified", "Unqualified"}),
			"LeadSource", w.pick([]string{"Web", "Referral", "Trade Show", "Partner", "Cold Call"}), "Score", w.rng.IntN(101), "OwnerName", w.pick(owners))
	}
}
