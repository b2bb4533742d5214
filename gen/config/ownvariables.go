package config

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/config/shape"
)

// The prefixes of variables that are settings of mcprun, or of what it sends its telemetry with.
const (
	runPrefix       = "MCPRUN_"
	telemetryPrefix = "OTEL_"
)

// ownVariables are the settings of mcprun that a project's .env may have besides those of run: in mcpgen.yaml, with their formats.
func ownVariables() map[string]*shape.Schema {
	file, program := &shape.Schema{Format: "file"}, &shape.Schema{Format: "program"}
	out := map[string]*shape.Schema{
		"LOG_FILE": file, "LOG_LEVEL": {}, "MCPRUN_LOG_FILE": file, "MCPRUN_LOG_LEVEL": {}, "MCPRUN_PII": {}, "MCPRUN_SERVE_TOKEN": {},
		"MCPRUN_SERVERS": {Format: "folder"}, GuardrailsVariable: {}, GuardrailsStrictVariable: {}, "MCPRUN_NODE": program, "MCPRUN_PYTHON": program, "MCPRUN_RUNSC": program,
	}
	for _, name := range modelVariables {
		out[name] = &shape.Schema{}
	}
	return out
}

// runKey returns the key of run: that a variable sets.
func runKey(variable string) (string, bool) {
	name, ok := strings.CutPrefix(variable, runPrefix)
	key := strings.ToLower(name)
	return key, ok && strings.ToUpper(name) == name && IsRunKey(key) && settingsSchema().Properties["run"].Properties[key].Properties == nil
}

// RunVariable returns the variable that sets a key of run:.
func RunVariable(key string) string { return runPrefix + strings.ToUpper(key) }

// Variables returns the names of the settings of mcprun that a .env may have, without those of OpenTelemetry, sorted.
func Variables() []string {
	out := sortedKeys(ownVariables())
	for key := range settingsSchema().Properties["run"].Properties {
		if _, ok := runKey(RunVariable(key)); ok {
			out = append(out, RunVariable(key))
		}
	}
	slices.Sort(out)
	return out
}

// IsSecretVariable reports whether the value of one of [Settings.Variables] must not be shown.
func IsSecretVariable(name string) bool {
	return strings.HasSuffix(name, "_TOKEN") || strings.HasSuffix(name, "_KEY") || strings.HasSuffix(name, "_HEADERS")
}

// takeDotEnv takes the settings in the .env of a folder. Those of run: take precedence over mcpgen.yaml, except for risk and trust, of which
// the strictest counts. A .env that cannot be read is reported when a server is connected.
func (s *Settings) takeDotEnv(dir string) {
	vars, err := DotEnv(dir)
	if err != nil {
		return
	}
	for name, value := range vars {
		format, isOwn := ownVariables()[name]
		key, isRun := runKey(name)
		if isRun {
			format, isOwn = settingsSchema().Properties["run"].Properties[key], true
		}
		isOwn = isOwn || strings.HasPrefix(name, telemetryPrefix)
		if value == "" || !isOwn {
			if !isOwn && strings.HasPrefix(name, runPrefix) {
				s.Unknown = append(s.Unknown, name)
			}
			continue
		}
		if s.Variables == nil {
			s.Variables = map[string]string{}
		}
		s.Variables[name] = settingPath(format, value, dir)
		if isRun && key != "risk" && key != "trust" {
			if s.Run == nil {
				s.Run = RunSettings{}
			}
			s.Run[key] = RunSetting{Value: s.Variables[name], Variable: name}
		}
	}
	slices.Sort(s.Unknown)
}

// settingPath returns a value of the key s with a relative path made absolute: it starts at dir. Words that the key gives a meaning, the names of
// programs, and URLs of databases stay.
func settingPath(s *shape.Schema, value, dir string) string {
	if s == nil { // a setting of OpenTelemetry
		return value
	}
	isPath := s.Format == "folder" || s.Format == "file" || s.Format == "database" && !strings.Contains(value, "://") ||
		s.Format == "program" && strings.ContainsRune(filepath.ToSlash(value), '/') // a bare name is searched for on PATH
	if !isPath || slices.Contains(s.Examples, any(value)) || filepath.IsAbs(value) {
		return value
	}
	return filepath.Join(dir, value)
}
