package pii

import (
	"fmt"
	"strings"
	"testing"
)

func addresses(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "u%d@example.com ", i)
	}
	return b.String()
}

func BenchmarkVault(b *testing.B) {
	tokenize := func(b *testing.B, v *Vault, text string) {
		b.Helper()
		if _, _, err := v.Tokenize(text); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("1000 one by one", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			v := newVault(b)
			b.StartTimer()
			for i := range 1000 {
				tokenize(b, v, fmt.Sprintf("u%d@example.com", i))
			}
		}
	})
	b.Run("1000 at once", func(b *testing.B) {
		text := addresses(1000)
		for b.Loop() {
			b.StopTimer()
			v := newVault(b)
			b.StartTimer()
			tokenize(b, v, text)
		}
	})
	full := newVault(b)
	tokenize(b, full, addresses(MaxVaultValues-1))
	b.Run("a known value", func(b *testing.B) {
		for b.Loop() {
			tokenize(b, full, "u7@example.com")
		}
	})
	b.Run("one more to 100000", func(b *testing.B) {
		full.maxValues++
		for i := 0; b.Loop(); i++ {
			full.maxValues++
			tokenize(b, full, fmt.Sprintf("x%d@example.com", i))
		}
	})
	b.Run("open with 100000", func(b *testing.B) {
		for b.Loop() {
			reopen(b, full)
		}
	})
}
