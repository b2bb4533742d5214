package config

import (
	"strings"
	"time"
)

// FormatDuration writes a time as mcpgen.yaml and flags have it, without units of zero: 1m, not 1m0s.
func FormatDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
