package detect

import (
	"strings"

	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/char"
)

// isLogin reports whether what looks like an e-mail address is the id of a message, or a user at a machine, as in "ssh -p 22
// me@host.example", "me@host.example:/path" and "https://me@host.example".
func isLogin(s string, start, end int) bool {
	if end+1 < len(s) && s[end] == ':' && (s[end+1] == '/' || s[end+1] == '~') {
		return true
	}
	if start == 0 {
		return false
	}
	switch s[start-1] {
	case '/':
		return strings.HasSuffix(s[:start], "://") && !strings.HasSuffix(s[:start], "mailto://")
	case ':': // http://user:password@host.example, with a placeholder for the password
		before := s[max(0, start-char.MaxBefore) : start-1]
		at := strings.LastIndexAny(before, " \t\n\"'<>@/")
		return at >= 0 && strings.HasSuffix(before[:at+1], "://")
	case '<':
		return isMessageID(s, start)
	case ' ', '"', '\'':
		return followsShell(s, start)
	}
	return false
}

// isMessageID reports whether the address at start is in a header line of message ids.
func isMessageID(s string, start int) bool {
	line := s[max(0, start-4*char.MaxBefore):start]
	line = line[strings.LastIndexByte(line, '\n')+1:]
	name, _, ok := strings.Cut(line, ":")
	return ok && Signs(0).Hint(name[strings.LastIndexAny(name, " \t\"'")+1:]) == messageID
}

// followsShell reports whether a command that logs in to a machine precedes start, with nothing but its options in between.
func followsShell(s string, start int) bool {
	words := strings.Fields(s[max(0, start-char.MaxBefore):start])
	for n := len(words) - 1; n >= 0; n-- {
		switch strings.Trim(words[n], "`'\"$(") {
		case "ssh", "autossh", "scp", "sftp", "rsync", "mosh", "ssh-copy-id", "sshfs":
			return true
		}
		if words[n][0] != '-' && (n == 0 || words[n-1][0] != '-') {
			return false
		}
	}
	return false
}
