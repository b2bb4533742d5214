package flags

import (
	"testing"
	"time"
)

func TestByteSize(t *testing.T) {
	for text, want := range map[string]int64{
		"500": 500_000_000, "512MiB": 512 << 20, "1GB": 1_000_000_000, "1GiB": 1 << 30, "64mb": 64_000_000, "0.5GB": 500_000_000,
	} {
		var n int64
		if err := (Size(&n, 32_000_000)).Set(text); err != nil || n != want {
			t.Errorf("Set(%q) = %d, %v; want %d", text, n, err, want)
		}
	}
	for _, text := range []string{"", "lots", "-1", "1MB", "0", "5 apples", "99999999999999999999"} {
		var n int64
		if err := (Size(&n, 32_000_000)).Set(text); err == nil {
			t.Errorf("Set(%q) = %d, want an error", text, n)
		}
	}
	var n int64
	if err := (Size(&n, MinSize)).Set("4kB"); err != nil || n != 4000 {
		t.Errorf("Set = %d, %v, want 4000 and no error", n, err)
	}
	for n, want := range map[int64]string{0: "", 500_000_000: "500MB", 1_000_000_000: "1GB", 256 << 20: "256MiB", 1 << 30: "1GiB", 5 << 10: "5KiB"} {
		if got := (Size(&n, 0)).String(); got != want {
			t.Errorf("%d is shown as %q, want %q", n, got, want)
		}
	}
}

func TestRate(t *testing.T) {
	var r Rate
	v := NewRate(&r)
	if err := v.Set("100/1m"); err != nil || r != (Rate{100, time.Minute}) || v.String() != "100/1m" {
		t.Errorf("100/1m is %+v %q, %v", r, v, err)
	}
	for _, text := range []string{"", "100", "0/1m", "100/", "100/0s", "/1m", "many/1m"} {
		if err := v.Set(text); err == nil || r.Count != 100 {
			t.Errorf("%q is %+v, want an error", text, r)
		}
	}
}

func TestDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"30": 30 * time.Second, "1.5s": 1500 * time.Millisecond, "2m": 2 * time.Minute, "12h": 12 * time.Hour, "30d": 30 * day,
	} {
		var d time.Duration
		if err := Duration(&d).Set(text); err != nil || d != want {
			t.Errorf("Set(%q) = %v, %v; want %v", text, d, err, want)
		}
	}
	for _, text := range []string{"", "d", "0d", "-1d", "0", "-3h", "1e9d", "1.5d", "x", "2 m"} {
		var d time.Duration
		if err := Duration(&d).Set(text); err == nil {
			t.Errorf("Set(%q) = %v, want an error", text, d)
		}
	}
	for d, want := range map[time.Duration]string{
		0: "", 30 * time.Second: "30s", 90 * time.Second: "1m30s", 10 * time.Minute: "10m", 90 * time.Minute: "1h30m",
		2 * time.Hour: "2h", 30 * day: "30d",
	} {
		if got := FormatDuration(d); got != want {
			t.Errorf("FormatDuration(%v) = %q, want %q", d, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	n := 0
	c := Count(&n, 16)
	if err := c.Set("16"); err != nil || n != 16 || c.String() != "16" {
		t.Errorf("Set = %d, %v", n, err)
	}
	for _, text := range []string{"", "15", "-1", "0", "x", "1.5", "99999999999", "99999999999999999999999"} {
		if err := c.Set(text); err == nil || n != 16 {
			t.Errorf("Set(%q) = %d, want an error", text, n)
		}
	}
}
