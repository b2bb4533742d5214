package call

// UnknownError says that a crash interrupted a call: it may have been made, or not, and it is not repeated.
type UnknownError struct{ Call string }

func (e *UnknownError) Error() string {
	const text = "unknown whether the call was made: its process ended before the answer came"
	if e.Call == "" {
		return text
	}
	return e.Call + ": " + text
}

// Hint implements the interface of errors with a remedy.
func (e *UnknownError) Hint() string {
	return "look at the server what has happened; the call is not repeated by itself"
}
