package config

// Lookup returns a variable, as os.LookupEnv does.
type Lookup = func(name string) (value string, ok bool)

// IsVariableName reports whether s can be the name of an environment variable: letters of ASCII, digits and _, without a
// digit at the beginning.
func IsVariableName(s string) bool {
	for i, r := range s {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}
