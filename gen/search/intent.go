package search

import "sync"

// action is what a verb does to things; a set of them, as bits.
type action uint8

const (
	actRead action = 1 << iota
	actMake
	actChange
	actRemove
)

// Verbs by what they do. Only such are here whose meaning is the same whatever they are said of: a tool that starts
// something may make it or not.
const (
	readVerbs   = `get list show find search read view fetch describe retrieve query lookup display see browse inspect enumerate`
	makeVerbs   = `create add new make insert register`
	changeVerbs = `update edit set modify change rename patch close reopen`
	removeVerbs = `delete remove erase drop destroy purge`
	eitherVerbs = `write upsert put save` // make what is not there, change what is
)

var (
	// questionWords begin a question, to which a tool that only reads has the answer.
	questionWords = set(`which what whats who whos whose whom when where why is are did does was were has`)
	// quantities make such a question of a how; "how do I close an issue" wants to close it.
	quantities = set(`many much often far long big old large high good`)
)

// verbs gives the stem of each verb what it does.
var verbs = sync.OnceValue(readVerbActions)

func readVerbActions() map[string]action {
	out := map[string]action{}
	for text, a := range map[string]action{
		readVerbs: actRead, makeVerbs: actMake, changeVerbs: actChange, removeVerbs: actRemove, eitherVerbs: actMake | actChange,
	} {
		for w := range set(text) {
			out[stem(w)] |= a
		}
	}
	return out
}

// wanted is what a query wants done to things.
type wanted struct {
	action action // 0: it does not say
	// asks is that it is a question.
	asks bool
}

// How much a tool counts that does other things than are wanted, and where a question is asked.
const (
	doesOther   = 0.75
	doesNotTell = 0.3
)

// fits is the factor for a tool that does these things; 0 is a tool whose name does not say.
func (w wanted) fits(does action) float64 {
	switch {
	case w.action == 0 || does == 0 || does&w.action != 0:
		return 1
	case w.asks:
		return doesNotTell
	}
	return doesOther
}

// wish reads the words of a query, as they are written and stemmed: the first verb counts, later ones may be things (a
// search index) or say which ones (issues to close).
func wish(written, stemmed []string) wanted {
	if len(written) > 1 && (questionWords[written[0]] || written[0] == "how" && quantities[written[1]]) {
		return wanted{actRead, true}
	}
	for _, s := range stemmed {
		if a := verbs()[s]; a != 0 {
			return wanted{action: a}
		}
	}
	return wanted{}
}

// doing is what a tool does, by the first verb of its name and the last word of it.
func (v *vocabulary) doing(name []int32) action {
	var out action
	for i, t := range name {
		if out == 0 || i == len(name)-1 {
			out |= verbs()[v.terms[t].text]
		}
	}
	return out
}
