package config

import (
	"strings"
	"time"
)

// FormatDuration formats a duration as in mcpgen.yaml and flags, without units that are zero: 1m, not 1m0s.
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
