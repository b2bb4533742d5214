package main

import (
	"testing"
	"time"
)

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

func TestRunTime(t *testing.T) {
	for text, want := range map[string]time.Duration{"30": 30 * time.Second, "1.5s": 1500 * time.Millisecond, "2m": 2 * time.Minute} {
		var d runTime
		if err := d.Set(text); err != nil || time.Duration(d) != want {
			t.Errorf("Set(%q) = %v, %v; want %v", text, time.Duration(d), err, want)
		}
	}
}
