package schema

import (
	"strings"

	"github.com/mcpgen/mcpgen/gen/jsonschema"
)

// formatPattern is a format for which zod or zod-to-json-schema writes a pattern.
type formatPattern struct {
	format string
	text   string // what replaces the pattern in documentation
}

// generatedPatterns are the patterns that say no more than a format. Any other pattern is documented.
var generatedPatterns = func() map[string]formatPattern {
	out := map[string]formatPattern{}
	add := func(format, text string, patterns ...string) {
		for _, p := range patterns {
			out[p] = formatPattern{format, text}
		}
	}
	const x4 = `[0-9a-fA-F]{4}`
	versioned := func(v string) string {
		return `^([0-9a-fA-F]{8}-` + x4 + `-` + v + `[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}`
	}
	const zeros = `|00000000-0000-0000-0000-000000000000`
	add("uuid", "uuid",
		`^([0-9a-fA-F]{8}-`+x4+`-`+x4+`-`+x4+`-[0-9a-fA-F]{12})$`,
		`^[0-9a-fA-F]{8}\b-`+x4+`\b-`+x4+`\b-`+x4+`\b-[0-9a-fA-F]{12}$`,
		versioned(`[1-8]`)+`)$`,
		versioned(`[1-8]`)+zeros+`)$`,
		versioned(`[1-8]`)+zeros+`|ffffffff-ffff-ffff-ffff-ffffffffffff)$`)
	for v := range strings.SplitSeq("12345678", "") {
		add("uuid", "uuid v"+v, versioned(v)+`)$`)
	}
	add("email", "email",
		`^(?:[A-Za-z0-9_'+\-]+\.)*[A-Za-z0-9_'+\-]*[A-Za-z0-9_+-]@(?:[A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$`,
		`^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$`,
		`^(?!\.)(?!.*\.\.)([a-zA-Z0-9_'+\-\.]*)[a-zA-Z0-9_+-]@([a-zA-Z0-9][a-zA-Z0-9\-]*\.)+[a-zA-Z]{2,}$`,
		"^[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$")
	const (
		date = `^(?:(?:\d\d[2468][048]|\d\d[13579][26]|\d\d0[48]|[02468][048]00|[13579][26]00)-02-29|\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|(?:02)-(?:0[1-9]|1\d|2[0-8])))`
		hhmm = `(?:[01]\d|2[0-3]):[0-5]\d`
	)
	add("date", "date", date+`$`)
	for _, seconds := range []string{`(?::[0-5]\d(?:\.\d+)?)?`, `:[0-5]\d(?:\.\d+)?`} {
		add("time", "time", `^`+hhmm+seconds+`$`)
		add("date-time", "date-time in UTC, ending in Z", date+`T(?:`+hhmm+seconds+`(?:Z))$`)
		add("date-time", "date-time",
			date+`T(?:`+hhmm+seconds+`(?:Z|([+-]\d{2}:\d{2})))$`,
			date+`T(?:`+hhmm+seconds+`(?:Z|([+-]`+hhmm+`)))$`)
	}
	add("duration", "duration", `^P(?:(\d+W)|(?!.*W)(?=\d|T\d)(\d+Y)?(\d+M)?(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+([.,]\d+)?S)?)?)$`)
	const octet = `(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])`
	add("ipv4", "ipv4", `^(?:`+octet+`\.){3}`+octet+`$`)
	add("ipv6", "ipv6",
		`^(([0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,7}:|([0-9a-fA-F]{1,4}:){1,6}:[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,5}(:[0-9a-fA-F]{1,4}){1,2}|([0-9a-fA-F]{1,4}:){1,4}(:[0-9a-fA-F]{1,4}){1,3}|([0-9a-fA-F]{1,4}:){1,3}(:[0-9a-fA-F]{1,4}){1,4}|([0-9a-fA-F]{1,4}:){1,2}(:[0-9a-fA-F]{1,4}){1,5}|[0-9a-fA-F]{1,4}:((:[0-9a-fA-F]{1,4}){1,6})|:((:[0-9a-fA-F]{1,4}){1,7}|:))$`)
	add("base64", "base64", `^$|^(?:[0-9a-zA-Z+/]{4})*(?:(?:[0-9a-zA-Z+/]{2}==)|(?:[0-9a-zA-Z+/]{3}=))?$`)
	add("hostname", "hostname", `^(?=.{1,253}\.?$)[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[-0-9a-zA-Z]{0,61}[0-9a-zA-Z])?)*\.?$`)
	return out
}()

// textLimits returns the format and the pattern of a string, or one phrase for both if a library writes the pattern for the
// format.
func textLimits(v *jsonschema.Value) []string {
	format, pattern := v.Str("format"), v.Str("pattern")
	if known, ok := generatedPatterns[pattern]; ok && (format == "" || format == known.format) {
		return []string{known.text}
	}
	switch format {
	case "date-time", "date", "time", "duration", "email", "uuid", "uri", "url", "hostname", "ipv4", "ipv6", "base64":
		return []string{format, jsonschema.Prefixed("pattern ", jsonschema.Clip(pattern))}
	}
	return []string{jsonschema.Prefixed("pattern ", jsonschema.Clip(pattern)), jsonschema.Prefixed("format ", jsonschema.Clip(format))}
}
