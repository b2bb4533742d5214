//go:build !linux

package soak

import "testing"

// runTests runs the tests. The private Postgres of the tests of the record needs Linux.
func runTests(m *testing.M) int { return m.Run() }
