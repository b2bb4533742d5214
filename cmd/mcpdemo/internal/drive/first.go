package drive

import (
	"embed"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

//go:embed first/*.md
var firstDocuments embed.FS

// seededAt is when everything that comes with the server was made.
var seededAt = time.Date(2026, 2, 12, 16, 0, 0, 0, time.UTC)

// Ids of what examples and benchmarks use; renaming them breaks those.
const (
	transcriptID = "harbor-pine-discovery-transcript"
	ordersID     = "orders-2026"
)

func seedDocuments(s *store) error {
	save := func(id, title, content string, labels ...string) error {
		return s.save(meta{ID: id, Title: title, Owner: "maya.lindholm@example.com", Labels: labels,
			CreatedAt: seededAt, UpdatedAt: seededAt, Words: len(strings.Fields(content))}, content)
	}
	err := save(transcriptID, "Harbor & Pine discovery workshop (transcript)", transcript(), "meeting", "transcript")
	for id, title := range map[string]string{
		"field-scheduling-price-list": "Field scheduling, price list 2026",
		"discovery-workshop-guide":    "How we run a discovery workshop",
		"pilot-plan-template":         "Pilot plan (template)",
	} {
		content, readErr := firstDocuments.ReadFile("first/" + id + ".md")
		err = errors.Join(err, readErr, save(id, title, string(content), "sales"))
	}
	return err
}

// The sheet of orders is made so that a filter has a small answer: of its
// 10,000 rows, exactly five are pending with an amount above 10,000.
const (
	orderRows         = 10_000
	largeAmount       = 10_000
	largePendingCount = 5
)

func orderColumns() []Column {
	return []Column{{"Order ID", "string"}, {"Date", "date"}, {"Customer", "string"}, {"Region", "string"}, {"Status", "string"},
		{"Product", "string"}, {"Quantity", "number"}, {"Unit Price", "number"}, {"Amount", "number"}, {"Sales Rep", "string"}, {"Note", "string"}}
}

func seedSheets(s *store) error {
	columns := orderColumns()
	text, err := asCSV(columns, orders(), area{lastColumn: len(columns) - 1})
	if err != nil {
		return err
	}
	err = s.save(meta{ID: ordersID, Title: "Orders 2026", Owner: "sofia.brandao@example.com", Labels: []string{"sales", "orders"},
		CreatedAt: seededAt, UpdatedAt: seededAt, Columns: columns, Rows: orderRows}, text)

	sites := []Column{{"Depot", "string"}, {"Manager", "string"}, {"Technicians", "number"}, {"Wave", "number"}, {"Go-live", "date"}, {"Confirmed", "boolean"}}
	var rows [][]string
	rng := rand.New(rand.NewPCG(14, 14))
	for i, d := range depots {
		wave := 1 + i/4
		live := time.Date(2026, 5, 4, 0, 0, 0, 0, time.UTC).AddDate(0, 0, 21*(wave-1)).Format(time.DateOnly)
		if wave == 4 {
			live = "" // not decided
		}
		rows = append(rows, []string{d[0], d[1], fmt.Sprint(9 + rng.IntN(40)), fmt.Sprint(wave), live, fmt.Sprint(wave == 1)})
	}
	plan, csvErr := asCSV(sites, rows, area{lastColumn: len(sites) - 1})
	return errors.Join(err, csvErr, s.save(meta{ID: "rollout-plan", Title: "Rollout plan", Owner: "maya.lindholm@example.com",
		Labels: []string{"sales"}, CreatedAt: seededAt, UpdatedAt: seededAt, Columns: sites, Rows: len(rows)}, plan))
}

// orders makes the rows of the sheet of orders, the same every time.
func orders() [][]string {
	rng := rand.New(rand.NewPCG(10_000, 5))
	pick := func(from []string) string { return from[rng.IntN(len(from))] }
	customers := strings.Split("Alder Lifts,Baltic Cold Chain,Canopy Energy,Delta Facility Care,Elbe Water Works,Fjord Heat Pumps,Granite Elevators,Harbor & Pine Logistics,Isar Medical Devices,Juniper Grid,Kestrel Telecom,Lowland Solar,Meridian Escalators,Northgate Vending,Orchard Refrigeration,Pennine Security,Quay Crane Service,Ridgeway Printers,Sound HVAC,Tidal Pumps,Upland Fibre,Vale Gas Networks,Westwind Turbines,Yarrow Hospital Services", ",")
	products := []struct {
		name  string
		cents int
	}{{"Handheld scanner", 41900}, {"Rugged tablet 10\"", 78900}, {"Vehicle mount", 8950}, {"Label printer", 32900}, {"Battery pack", 6490}, {"Charging dock, 4 bays", 18900}, {"Thermal labels, box of 12", 5990}, {"Bluetooth headset", 12900}, {"Gateway with antenna", 99500}, {"Protective case", 3490}}
	statuses := strings.Fields(strings.Repeat("delivered ", 12) + strings.Repeat("shipped ", 3) + "processing processing pending pending cancelled refunded")
	notes := []string{"", "", "", "", "", "", "", "", "Deliver in the morning", "Partial delivery is fine", "Call before delivery", "Quote valid until the end of the month"}
	large := map[int]bool{}
	for len(large) < largePendingCount {
		large[rng.IntN(orderRows)] = true
	}
	rows := make([][]string, orderRows)
	for i := range rows {
		product, quantity, status := products[rng.IntN(len(products))], 1+rng.IntN(36), pick(statuses)
		if large[i] {
			product, status = products[8], "pending"
			quantity = 11 + rng.IntN(25) // 995 each: always above the limit
		} else if status == "pending" {
			quantity = min(quantity, largeAmount*100/product.cents)
		}
		date := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, i*300/orderRows)
		rows[i] = []string{fmt.Sprintf("SO-%06d", 260001+i), date.Format(time.DateOnly), pick(customers), pick([]string{"North", "South", "East", "West", "Central"}), status,
			product.name, fmt.Sprint(quantity), euros(product.cents), euros(product.cents * quantity),
			pick([]string{"Maya Lindholm", "Daniel Osei", "Sofia Brandão", "Lukas Meier"}), pick(notes)}
	}
	return rows
}

func euros(cents int) string { return fmt.Sprintf("%d.%02d", cents/100, cents%100) }
