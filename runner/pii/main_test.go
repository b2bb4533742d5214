//go:build !linux

package pii

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	child()
	os.Exit(m.Run())
}
