package main

import "testing"

func TestMemorySize(t *testing.T) {
	for text, want := range map[string]int64{
		"500": 500_000_000, "512MiB": 512 << 20, "1GB": 1_000_000_000, "1GiB": 1 << 30, "64mb": 64_000_000, "0.5GB": 500_000_000,
	} {
		var m memorySize
		if err := m.Set(text); err != nil || int64(m) != want {
			t.Errorf("Set(%q) = %d, %v; want %d", text, int64(m), err, want)
		}
	}
	for _, text := range []string{"", "lots", "-1", "1MB", "0", "5 apples", "99999999999999999999"} {
		var m memorySize
		if err := m.Set(text); err == nil {
			t.Errorf("Set(%q) = %d, want an error", text, int64(m))
		}
	}
}
