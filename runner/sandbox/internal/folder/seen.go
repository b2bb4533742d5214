package folder

import "os"

// Seen are folders and files as they were when they were looked at.
type Seen []seenFolder

// See looks at them. One that is not there has vanished.
func See(paths ...string) Seen {
	seen := make(Seen, len(paths))
	for i, path := range paths {
		info, _ := os.Stat(path)
		seen[i] = seenFolder{path, info}
	}
	return seen
}

// Vanished returns an *Error that names the first of them that is not there any more, or is another one by now; nil when
// there is none.
func (s Seen) Vanished() error {
	for _, f := range s {
		now, err := os.Stat(f.path)
		if f.info == nil || err != nil || !os.SameFile(f.info, now) {
			return Vanished(f.path)
		}
	}
	return nil
}

// Vanished says that something that a guest was to be shown was not there for a while, or is not.
func Vanished(path string) *Error {
	return &Error{Path: path, Reason: "was removed, or replaced by another one, while a sandbox was started that shows it",
		Remedy: "make sure that it is there and that nothing removes it while scripts are started, and run the script again"}
}
