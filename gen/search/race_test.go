//go:build race

package search_test

// raced says that the race detector is on, which makes all of this ten times slower.
const raced = true
