package gen

import "unicode/utf8"

// maxPlace bounds what a warning shows of the names that lead to its place, in bytes. Names may be megabytes long.
const maxPlace = 400

// clipPlace shortens the place of a warning in its middle, so that the server and the last names stay.
func clipPlace(place string) string {
	if len(place) <= maxPlace {
		return place
	}
	head, tail := maxPlace/2, len(place)-maxPlace/2
	for head > 0 && !utf8.RuneStart(place[head]) {
		head--
	}
	for tail < len(place) && !utf8.RuneStart(place[tail]) {
		tail++
	}
	return place[:head] + "…" + place[tail:]
}
