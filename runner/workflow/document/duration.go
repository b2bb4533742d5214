package document

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/mcpgen/mcpgen/gen/config/node"
)

// maxDuration bounds waits and timeouts.
const maxDuration = 366 * 24 * time.Hour

// iso8601 matches a duration of ISO 8601 with units of a fixed length.
var iso8601 = regexp.MustCompile(`^P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$`)

// parseDuration reads PT1M30S, P1D, 1m30s or 1d.
func parseDuration(text string) (time.Duration, error) {
	var d time.Duration
	var err error
	if m := iso8601.FindStringSubmatch(text); m != nil && text != "P" && !strings.HasSuffix(text, "T") {
		for i, unit := range []time.Duration{7 * 24 * time.Hour, 24 * time.Hour, time.Hour, time.Minute, time.Second} {
			if m[i+1] != "" {
				n, _ := strconv.ParseFloat(m[i+1], 64) // the pattern matches numbers only
				d += time.Duration(min(n*float64(unit), float64(2*maxDuration)))
			}
		}
	} else if days, ok := strings.CutSuffix(text, "d"); ok {
		var n int
		n, err = strconv.Atoi(days)
		d = time.Duration(min(n, 1000)) * 24 * time.Hour
	} else {
		d, err = time.ParseDuration(text)
	}
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is not a duration", text)
	case d < 0 || d > maxDuration:
		return 0, fmt.Errorf("the duration is not between 0 and %d days", maxDuration/(24*time.Hour))
	}
	return d, nil
}

// readDuration reads a duration without expressions: a text, or a mapping of units.
func readDuration(n *yaml.Node) (time.Duration, error) {
	if n = follow(n); n.Kind == yaml.ScalarNode {
		return parseDuration(n.Value)
	}
	units := map[string]time.Duration{"days": 24 * time.Hour, "hours": time.Hour, "minutes": time.Minute, "seconds": time.Second, "milliseconds": time.Millisecond}
	var d float64
	for key, v := range node.Pairs(n) {
		count, err := strconv.ParseFloat(follow(v).Value, 64)
		if err != nil {
			return 0, fmt.Errorf("%q is not a number", v.Value)
		}
		d += count * float64(units[key.Value])
	}
	if !(d <= float64(maxDuration)) {
		return 0, fmt.Errorf("the duration is longer than %d days", maxDuration/(24*time.Hour))
	}
	return time.Duration(d), nil
}

// seconds writes a duration as a number of seconds.
func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }
