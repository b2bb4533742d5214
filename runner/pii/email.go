package pii

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/net/publicsuffix"
)

const (
	maxLocal    = 64  // RFC 5321, 4.5.3.1
	maxDomain   = 253 // RFC 1035
	maxUserinfo = 512
	leastUser   = 20 // of a key in the place of a user
)

// email returns where the address begins and ends whose '@' is at i. It looks at nothing before from.
func email(s string, from, i int) (start, end int) {
	if i > from && s[i-1] == '"' {
		return quoted(s, from, i)
	}
	start = localStart(s, from, i)
	for start < i && !(isAlnum(s[start]) || s[start] == '_' || s[start] >= 0x80) {
		start++
	}
	local := s[start:i]
	if local == "" || local[len(local)-1] == '.' || strings.Contains(local, "..") {
		return 0, 0
	}
	if end = domain(s, i+1); end == 0 {
		return 0, 0
	}
	if local == "git" && end < len(s) && (s[end] == ':' || s[end] == '/') {
		return 0, 0 // the address of a repository
	}
	return start, end
}

// quoted returns where the address begins and ends whose '@' is at i and whose local part is in quotes: "first last"@example.com.
func quoted(s string, from, i int) (start, end int) {
	start = i - 1
	for {
		if start == from || i-start > maxLocal || s[start-1] < ' ' || s[start-1] == '\\' {
			return 0, 0
		}
		if start--; s[start] == '"' {
			break
		}
	}
	if i-start < 3 || wordBefore(s, start) || start > 0 && strings.IndexByte("=:", s[start-1]) >= 0 {
		return 0, 0
	}
	if end = domain(s, i+1); end == 0 {
		return 0, 0
	}
	return start, end
}

// isLogin tells whether what looks like an e-mail address is the name of a user at a machine that is logged in to, as in
// "ssh -p 22 me@host.example", "me@host.example:/path" and "https://me@host.example"; or the name of a message.
func isLogin(s string, start, end int) bool {
	if end+1 < len(s) && s[end] == ':' && (s[end+1] == '/' || s[end+1] == '~') {
		return true
	}
	if start == 0 {
		return false
	}
	switch s[start-1] {
	case '/':
		return start > 2 && s[start-3:start] == "://" && !strings.HasSuffix(s[:start], "mailto://")
	case ':': // http://user:password@host.example, whose password is none
		before := s[max(0, start-maxBefore) : start-1]
		at := strings.LastIndexAny(before, " \t\n\"'<>@/")
		return at > 1 && before[at] == '/' && before[at-1] == '/' && before[at-2] == ':'
	case '<':
		return isMessageID(s, start)
	case ' ', '"', '\'':
		return afterShell(s, start)
	}
	return false
}

// isMessageID tells whether the address at start stands in a line that lists names of messages.
func isMessageID(s string, start int) bool {
	line := s[max(0, start-4*maxBefore):start]
	line = line[strings.LastIndexByte(line, '\n')+1:]
	name, _, ok := strings.Cut(line, ":")
	if !ok {
		return false
	}
	name = name[strings.LastIndexAny(name, " \t\"'")+1:]
	return memberHint(name) == ofMessage
}

// afterShell tells whether a command that logs in to a machine stands before start, with nothing but its options between.
func afterShell(s string, start int) bool {
	words := strings.Fields(s[max(0, start-maxBefore):start])
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

// localStart returns where what stands before the '@' at i begins.
func localStart(s string, from, i int) int {
	latin := false
	for start := i; ; {
		if start == from || i-start >= maxLocal {
			return start
		}
		if c := s[start-1]; c < 0x80 {
			if c == '=' && latin && isReturn(s, from, start-1) {
				start--
				continue
			}
			if !isLocal(c) || isEscape(s, start-1) {
				return start
			}
			latin = latin || isAlnum(c)
			start--
			continue
		}
		r, n := utf8.DecodeLastRuneInString(s[max(from, start-utf8.UTFMax):start])
		if !isWord(r) || latin && spaceless(r) {
			return start
		}
		start -= n
	}
}

// isReturn tells whether the '=' at i is in the middle of an address that mail comes back to, which has another inside:
// bounces+ann=example.com@lists.example.org.
func isReturn(s string, from, i int) bool {
	at := i
	for at > from && i-at < maxLocal && isLocal(s[at-1]) {
		at--
	}
	return strings.IndexByte(s[at:i], '+') > 0
}

// isLocal tells whether a character is found in front of the '@' of addresses that are in use.
func isLocal(c byte) bool {
	return isAlnum(c) || strings.IndexByte("._%+-'~#!$*^", c) >= 0
}

// domain returns where the domain name ends that begins at i; 0 when there is none that mail could go to.
func domain(s string, i int) (end int) {
	dot, labelStart := -1, i // the last dot that is inside
	end = i
	for end < len(s) && end-i <= maxDomain {
		c := s[end]
		if c == '.' {
			if end == labelStart || end+1 >= len(s) || !(isAlnum(s[end+1]) || s[end+1] >= 0x80) {
				break
			}
			dot, labelStart = end, end+1
		} else if c >= 0x80 {
			r, n := utf8.DecodeRuneInString(s[end:])
			if !isWord(r) || spaceless(r) && end > labelStart && s[end-1] < 0x80 {
				break
			}
			end += n - 1
		} else if !isAlnum(c) && c != '-' {
			break
		}
		end++
	}
	for end > labelStart && s[end-1] == '-' {
		end--
	}
	if dot < 0 || end-i > maxDomain || s[i] == '-' || strings.Contains(s[i:end], "-.") || strings.Contains(s[i:end], ".-") {
		return 0
	}
	if !topLevel(s[dot+1 : end]) {
		return 0
	}
	return end
}

// topLevel tells whether a name is that of a top-level domain, or of one that is kept for examples and inner networks.
func topLevel(name string) bool {
	if len(name) < 2 || isDigit(name[0]) {
		return false
	}
	name = strings.ToLower(name)
	switch name {
	case "local", "localdomain", "internal", "intranet", "corp", "lan", "home", "private", "test", "example", "invalid", "localhost":
		return true
	}
	if name[0] >= 0x80 {
		return true // letters of another script: no file is called so
	}
	_, icann := publicsuffix.PublicSuffix("x." + name)
	return icann
}

// password returns where the password of an address such as postgres://user:password@host is, whose '@' is at i.
func password(s string, from, i int) (start, end int) {
	at, colon := i, -1
	for at > from && i-at < maxUserinfo {
		c := s[at-1]
		if c <= ' ' || c == '/' || c == '@' || c == '"' || c == '<' || c == '>' {
			break
		}
		if at--; c == ':' {
			colon = at
		}
	}
	if at < 3 || s[at-3:at] != "://" {
		return 0, 0
	}
	if colon < 0 && i-at >= leastUser && runOf(s, at, word, i-at) == i && random(s[at:i]) {
		return at, i // a key in the place of the user
	}
	if colon < 0 || colon+1 >= i {
		return 0, 0
	}
	value := s[colon+1 : i]
	if strings.ContainsAny(value, "${}*") || !isSecretValue(value) {
		return 0, 0 // a place for one, or a token
	}
	return colon + 1, i
}
