package config

import (
	"testing"
	"time"
)

func TestFormatDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 90 * time.Second: "1m30s", time.Minute: "1m", 30 * time.Second: "30s", 2 * time.Hour: "2h", 90 * time.Minute: "1h30m",
		time.Hour + 10*time.Second: "1h0m10s", 250 * time.Millisecond: "250ms",
	} {
		if got := FormatDuration(d); got != want {
			t.Errorf("FormatDuration(%d) = %q, want %q", d, got, want)
		}
		if back, err := time.ParseDuration(FormatDuration(d)); back != d || err != nil {
			t.Errorf("FormatDuration(%d) is read as %v, %v", d, back, err)
		}
	}
}
