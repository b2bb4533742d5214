package drive

import (
	_ "embed"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

//go:embed first/transcript.txt
var transcriptScript string

// speakers are the letters of the script.
var speakers = map[string]string{
	"M": "Maya Lindholm (Fieldline)", "D": "Daniel Osei (Fieldline)", "I": "Ingrid Solheim", "T": "Tomasz Wrona", "P": "Priya Raman", "C": "Callum Reid",
}

// depots are what the customer's sites are called, who runs them and where the
// network ends.
var depots = [][3]string{
	{"Rotterdam", "Joost de Graaf", "Europoort"}, {"Bremen", "Silke Harms", "Teufelsmoor"}, {"Gdynia", "Marta Lewandowska", "Hel"},
	{"Leith", "Fraser Munro", "Fife"}, {"Bergen", "Sigrid Nordby", "Osterøy"}, {"Tallinn", "Kaarel Tamm", "Paldiski"},
	{"Gothenburg", "Elin Sandberg", "the northern islands"}, {"Antwerp", "Wout Claes", "the left bank"}, {"Aarhus", "Mette Kjær", "Samsø"},
	{"Hull", "Denise Cartwright", "Holderness"}, {"Kiel", "Arne Petersen", "the canal locks"}, {"Szczecin", "Paweł Zieliński", "the lagoon"},
	{"Turku", "Outi Laakso", "the archipelago"}, {"Cork", "Niamh Brennan", "Beara"},
}

// depotTopics is what is asked about every depot, in this order.
var depotTopics = []string{"depot", "dispatch", "customers", "mobile", "parts", "vans", "systems", "story", "standby", "season", "reports", "people", "golive"}

// transcript writes the transcript of the workshop: about 50,000 tokens, the
// same text every time.
func transcript() string {
	t := &teller{rng: rand.New(rand.NewPCG(1603, 2026)), blocks: parseScript(transcriptScript), last: map[string]int{}}
	t.out.WriteString("# Harbor & Pine Logistics: discovery workshop\n\n" +
		"Recorded 12 February 2026, 09:00 CET. Transcribed automatically; times count from the start.\n\n")
	t.tell("opening", nil)
	for _, depot := range depots {
		facts := t.depotFacts(depot)
		for _, topic := range depotTopics {
			t.tell(topic, facts)
		}
	}
	t.tell("break", nil)
	t.at += 25 * time.Minute
	for i, line := range t.blocks["requirements"][0] {
		part := strings.Split(line, "|")
		t.tell("requirement", map[string]string{"number": fmt.Sprint(i + 1), "title": part[0], "asker": part[1], "why": part[2], "answer": part[3]})
		depot := depots[t.rng.IntN(len(depots))]
		facts := t.depotFacts(depot)
		facts["other"] = t.otherDepot(depot)
		t.tell("followup", facts)
	}
	for _, block := range []string{"security", "pricing", "closing"} {
		t.tell(block, nil)
	}
	return t.out.String()
}

// parseScript returns the variants of every block, each a list of lines.
func parseScript(text string) map[string][][]string {
	blocks, name := map[string][][]string{}, ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(line, "== "); ok {
			name = title
			blocks[name] = append(blocks[name], nil)
		} else if name != "" && line != "" {
			variants := blocks[name]
			variants[len(variants)-1] = append(variants[len(variants)-1], line)
		}
	}
	return blocks
}

// teller turns the script into the transcript.
type teller struct {
	rng    *rand.Rand
	blocks map[string][][]string
	last   map[string]int // the variant of each block that was told last
	at     time.Duration
	out    strings.Builder
}

func (t *teller) pick(options ...string) string { return options[t.rng.IntN(len(options))] }

func (t *teller) otherDepot(than [3]string) string {
	for {
		if d := depots[t.rng.IntN(len(depots))]; d != than {
			return d[0]
		}
	}
}

func (t *teller) depotFacts(d [3]string) map[string]string {
	technicians := 9 + t.rng.IntN(40)
	start, end := 5+t.rng.IntN(3), 15+t.rng.IntN(4)
	return map[string]string{
		"depot": d[0], "boss": d[1], "town": d[2],
		"techs": fmt.Sprint(technicians), "vans": fmt.Sprint(technicians - 1 - t.rng.IntN(4)),
		"jobs": fmt.Sprint(technicians*(5+t.rng.IntN(4)) + t.rng.IntN(9)), "late": fmt.Sprint(6 + t.rng.IntN(5)),
		"wave":  t.pick("one", "two", "three", "four"),
		"start": fmt.Sprintf("%d:%s", start, t.pick("00", "15", "30", "45")), "end": fmt.Sprintf("%d:%s", end, t.pick("00", "30")),
		"legacy": t.pick("the old dispatch client", "DispatchPro", "the ERP's planning screen", "RouteMaster", "the green-screen terminal"),
		"thing":  t.pick("refrigeration", "heat pumps", "lift maintenance", "harbour cranes", "cold-store doors", "pump stations", "reefer containers", "ventilation"),
	}
}

// tell adds one variant of a block, never the one it told last.
func (t *teller) tell(name string, facts map[string]string) {
	variants := t.blocks[name]
	choice := t.rng.IntN(len(variants))
	if last, told := t.last[name]; told && choice == last {
		choice = (choice + 1) % len(variants)
	}
	t.last[name] = choice
	lines := variants[choice]
	for i, line := range lines {
		t.turn(line, facts)
		// Now and then someone interjects, but only after a longer turn, and
		// neither who has just spoken nor who speaks next.
		if facts != nil && len(line) > 200 && t.rng.IntN(3) == 0 {
			interjection := t.pick(t.blocks["chatter"][0]...)
			if interjection[0] != line[0] && (i+1 == len(lines) || interjection[0] != lines[i+1][0]) {
				t.turn(interjection, nil)
			}
		}
	}
}

// turn adds what one person says, with the time when they start.
func (t *teller) turn(line string, facts map[string]string) {
	line = t.expand(line)
	// Figures that are mentioned in passing are new each time.
	passing := map[string]string{"pct": fmt.Sprint(6 + t.rng.IntN(38)), "mins": fmt.Sprint(18 + t.rng.IntN(40)), "n": t.pick("two", "three", "four", "five", "six")}
	// Longer names first, so that $depot is not read as $d.
	for _, name := range []string{"number", "answer", "legacy", "asker", "depot", "other", "title", "start", "late", "techs", "thing", "boss", "jobs", "mins", "town", "vans", "wave", "end", "pct", "why", "n"} {
		value, ok := facts[name]
		if !ok {
			value, ok = passing[name]
		}
		if ok {
			line = strings.ReplaceAll(line, "$"+name, value)
		}
	}
	who, said, _ := strings.Cut(line, ": ")
	seconds := int(t.at.Seconds())
	fmt.Fprintf(&t.out, "[%02d:%02d:%02d] %s: %s\n\n", seconds/3600, seconds/60%60, seconds%60, speakers[who], sentences(said))
	// People speak about three words a second.
	t.at += time.Duration(1+len(strings.Fields(said))/3) * time.Second
}

// sentences gives every sentence a capital letter: an alternative of the script
// may start one or go on with one.
func sentences(text string) string {
	b := []byte(text)
	for i := range b {
		start := i == 0 || i >= 2 && b[i-1] == ' ' && strings.IndexByte(".?!", b[i-2]) >= 0 && !(i >= 3 && b[i-3] == '.')
		if start && b[i] >= 'a' && b[i] <= 'z' {
			b[i] -= 'a' - 'A'
		}
	}
	return string(b)
}

// expand replaces each {a|b} by one of its alternatives, innermost first.
func (t *teller) expand(line string) string {
	for {
		end := strings.IndexByte(line, '}')
		if end < 0 {
			return line
		}
		start := strings.LastIndexByte(line[:end], '{')
		line = line[:start] + t.pick(strings.Split(line[start+1:end], "|")...) + line[end+1:]
	}
}
