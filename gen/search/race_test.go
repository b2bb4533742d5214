//go:build race

package search_test

// raced means that the race detector is on, which makes these tests ten times slower.
const raced = true
