package database

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

//go:embed schema.sql
var schemaSQL string

// How much the shop holds at first.
const (
	customerCount = 600
	orderCount    = 4000
)

// catalogue is what the shop sells: category, then product name and price in cents.
var catalogue = []struct {
	category string
	products []product
}{
	{"Bikes", []product{{"Touring bike Fjord 28", 189900}, {"City bike Kanal 26", 84900}, {"Gravel bike Schotter", 219900}, {"Cargo bike Lastesel", 449900}, {"Children's bike Spatz 20", 34900}, {"Folding bike Knick", 99900}}},
	{"Wheels and tyres", []product{{"Tyre 28x1.5 puncture resistant", 3990}, {"Tyre 26x2.0 gravel", 4490}, {"Inner tube 28", 790}, {"Inner tube 26", 750}, {"Front wheel with hub dynamo", 12900}, {"Rear wheel 36 spokes", 9900}, {"Rim tape", 390}}},
	{"Lights", []product{{"Front light 80 lux", 6990}, {"Rear light with brake sensor", 3490}, {"Battery light set", 2990}, {"Reflector set", 990}}},
	{"Bags", []product{{"Pannier 20 l", 7490}, {"Pannier pair 40 l waterproof", 14900}, {"Handlebar bag 6 l", 5490}, {"Saddle bag", 2490}, {"Frame bag", 3990}, {"Messenger bag", 8990}}},
	{"Helmets and clothing", []product{{"Helmet City M", 5990}, {"Helmet City L", 5990}, {"Children's helmet S", 3490}, {"Rain jacket", 8990}, {"Gloves winter", 2990}, {"High-visibility vest", 1290}, {"Padded shorts", 4990}}},
	{"Tools", []product{{"Multi tool 18", 2990}, {"Floor pump", 3990}, {"Mini pump", 1990}, {"Torque wrench 2-24 Nm", 8990}, {"Chain tool", 1490}, {"Tyre levers (3)", 490}, {"Repair stand", 15900}}},
	{"Parts", []product{{"Chain 9-speed", 2490}, {"Chain 11-speed", 3990}, {"Brake pads disc", 1490}, {"Brake cable set", 990}, {"Saddle comfort", 4490}, {"Pedals flat", 3490}, {"Bell brass", 1290}, {"Kickstand", 1990}, {"Mudguard set", 2990}}},
	{"Locks", []product{{"U-lock 30 cm", 6990}, {"Chain lock 110 cm", 8490}, {"Folding lock", 7490}, {"Cable lock for children", 990}}},
}

type product struct {
	name  string
	price int
}

var (
	givenNames = strings.Fields("Anna Ben Carla David Elif Finn Greta Hugo Ida Jonas Klara Liam Mila Noah Olivia Pavel Quentin Rosa Sven Tilda Umut Vera Wim Xenia Yusuf Zofia Aino Bruno Chiara Dmitri Esther Femke Giulia Henrik Ines Jakub Katarina Luca Maren Nils")
	surnames   = strings.Fields("Andersen Bauer Conti Dubois Eriksson Fischer García Hansen Ivanova Jansen Kowalski Lindqvist Moreau Nielsen Okafor Peeters Quist Rossi Schneider Tanaka Ullmann Visser Weber Yilmaz Zimmermann Almeida Berg Costa Dietrich Engel Fontana Gruber")
	cities     = []struct{ city, country string }{{"Berlin", "DE"}, {"Hamburg", "DE"}, {"München", "DE"}, {"Wien", "AT"}, {"Zürich", "CH"}, {"Amsterdam", "NL"}, {"Utrecht", "NL"}, {"København", "DK"}, {"Malmö", "SE"}, {"Oslo", "NO"}, {"Gent", "BE"}, {"Lyon", "FR"}, {"Milano", "IT"}, {"Kraków", "PL"}, {"Freiburg", "DE"}}
	statuses   = []struct {
		name   string
		weight int
	}{{"delivered", 70}, {"shipped", 8}, {"paid", 6}, {"pending", 5}, {"cancelled", 6}, {"returned", 5}}
)

// fill creates the tables of a bicycle shop and two years of its trade. It
// writes the same data every time.
func fill(ctx context.Context, tx *sql.Tx) error {
	if _, err := tx.ExecContext(ctx, schemaSQL); err != nil {
		return fmt.Errorf("create tables: %w", err)
	}
	w := &writer{ctx: ctx, tx: tx, rng: rand.New(rand.NewPCG(20260101, 7))}
	w.products()
	w.customers()
	w.orders()
	return w.err
}

// writer keeps the first error, so that the code above reads as a list.
type writer struct {
	ctx    context.Context
	tx     *sql.Tx
	rng    *rand.Rand
	prices []int // by product id - 1
	err    error
}

func (w *writer) exec(query string, args ...any) {
	if w.err == nil {
		_, w.err = w.tx.ExecContext(w.ctx, query, args...)
	}
}

func (w *writer) products() {
	for i, category := range catalogue {
		w.exec("INSERT INTO categories VALUES (?, ?)", i+1, category.category)
		for _, p := range category.products {
			w.prices = append(w.prices, p.price)
			id := len(w.prices)
			discontinued := 0
			if w.rng.IntN(12) == 0 {
				discontinued = 1
			}
			stock := w.rng.IntN(120) * (1 - discontinued)
			w.exec("INSERT INTO products VALUES (?, ?, ?, ?, ?, ?, ?)",
				id, fmt.Sprintf("%c%c-%04d", category.category[0], category.category[1]-32, 1000+id*7), p.name, i+1, p.price, stock, discontinued)
		}
	}
}

func (w *writer) customers() {
	for id := 1; id <= customerCount; id++ {
		given, surname := givenNames[w.rng.IntN(len(givenNames))], surnames[w.rng.IntN(len(surnames))]
		home := cities[w.rng.IntN(len(cities))]
		segment := "consumer"
		switch draw := w.rng.IntN(100); {
		case draw < 8:
			segment = "reseller"
		case draw < 25:
			segment = "business"
		}
		var phone any
		if w.rng.IntN(3) > 0 {
			phone = fmt.Sprintf("+00 %03d %07d", w.rng.IntN(1000), w.rng.IntN(10_000_000))
		}
		email := strings.ToLower(strings.Map(ascii, given+"."+surname)) + fmt.Sprintf("%d@example.com", id)
		created := time.Date(2022, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, w.rng.IntN(730))
		w.exec("INSERT INTO customers VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
			id, given+" "+surname, email, home.city, home.country, segment, phone, created.Format(time.DateOnly))
	}
}

func (w *writer) orders() {
	start := time.Date(2024, 1, 1, 8, 0, 0, 0, time.UTC)
	const minutes = 2 * 365 * 24 * 60
	for id := 1; id <= orderCount; id++ {
		// Orders come in order of time, evenly with some jitter.
		at := start.Add(time.Duration(id*minutes/orderCount+w.rng.IntN(200)) * time.Minute)
		status := w.status(id)
		var shipped, note any
		if status == "shipped" || status == "delivered" || status == "returned" {
			shipped = at.Add(time.Duration(6+w.rng.IntN(90)) * time.Hour).Format(time.RFC3339)
		}
		if w.rng.IntN(15) == 0 {
			note = []string{"Leave with the neighbour.", "Gift, please no invoice in the parcel.", "Call before delivery.", "Second attempt after return."}[w.rng.IntN(4)]
		}
		w.exec("INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?, ?)",
			id, 1+w.rng.IntN(customerCount), status, at.Format(time.RFC3339), shipped, []int{0, 490, 490, 990}[w.rng.IntN(4)], note)
		for line := 1; line <= 1+w.rng.IntN(4); line++ {
			productID := 1 + w.rng.IntN(len(w.prices))
			quantity := 1
			if w.prices[productID-1] < 10000 {
				quantity += w.rng.IntN(4)
			}
			w.exec("INSERT INTO order_items VALUES (?, ?, ?, ?, ?)", id, line, productID, quantity, w.prices[productID-1]*(100-w.rng.IntN(3)*5)/100)
		}
	}
}

// status draws a status; only recent orders are still under way.
func (w *writer) status(id int) string {
	draw := w.rng.IntN(100)
	for _, s := range statuses {
		if draw -= s.weight; draw < 0 {
			underWay := s.name == "pending" || s.name == "paid" || s.name == "shipped"
			if underWay && id < orderCount*9/10 {
				return "delivered"
			}
			return s.name
		}
	}
	return "delivered"
}

// ascii replaces the accented letters of our names for addresses.
func ascii(r rune) rune {
	if i := strings.IndexRune("áéíóúäöüø", r); r > 127 && i >= 0 {
		return rune("aeiouaouo"[len([]rune("áéíóúäöüø"[:i]))])
	}
	return r
}
