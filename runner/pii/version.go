package pii

import "strings"

// versionWords say that numbers with dots behind them count something.
var versionWords = lazySet("version versions ver rev release releases released build section sections clause chapter paragraph firmware driver kernel sdk " +
	"upgrade upgrades upgraded upgrading downgrade downgraded changelog oid oids runtime engine jdk jre " +
	"kapitel abschnitt absatz ziffer fassung versión versione versie capítulo sección apartado chapitre article artikel версия раздел § " +
	"rv rc objectidentifier object annex appendix figure table figura tabelle abbildung bible requirement download downloads tag tags tree branch")

// machineWords say that the address of a machine follows, whatever stands before them.
var machineWords = lazySet("ip ips ipv4 ipaddr ipaddress addr address addresses host hosts hostname server servers gateway gw router node nodes client clients peer " +
	"ping pings pinged pinging traceroute subnet dns resolver nameserver ssh telnet port src dst source destination remote local machine network net inet proxy " +
	"listen listening bind endpoint origin upstream target allow deny block blocked adresse rechner dirección firewall vpn cidr range whois visitor attacker " +
	"request requests connection connections connect connected traffic login logged nat")

// placeWords do so too, but may also join versions: "from 1.2.3.4 to 1.2.4.0".
var placeWords = lazySet("from at on via to by with for and or of")

// isVersion tells whether the dotted numbers from i to end are those of a program's version, a section or the like. What
// stands before says so: a name, an operator, a word. Where the numbers are small, as those of versions are, any other word
// does, and what speaks of machines speaks against it.
func (f *finder) isVersion(i, end int) bool {
	s := f.s
	if f.hint == ofVersion {
		return true
	}
	if i > 0 {
		switch c := s[i-1]; {
		case c == '/' && f.isProduct(i): // Chrome/120.0.0.0
			return true
		case c == '~' || c == '^':
			return true
		case c == '=' && i > 1 && strings.IndexByte("=<>~!", s[i-2]) >= 0: // ==1.2.3.4
			return true
		case c == ':' && f.isCoordinate(i): // org.example:name:1.2.3.4
			return true
		case c == '-':
			words := wordsBefore(s, f.from, i)
			return !machineWords()[words.next()] && f.from < i-1
		}
	}
	if isHeading(s, i, end) || f.inVersions(i) {
		return true
	}
	words := wordsBefore(s, f.from, i)
	if s[i] <= '2' && s[i+1] == '.' && strings.Contains(words.text, "oid") {
		return true // of ITU-T and ISO
	}
	small := isSmall(s, i, end)
	if small && (strings.HasSuffix(s[i:end], ".0.0") || beforeDate(s, end)) {
		return true
	}
	other := false
	for range maxWords {
		word := words.next()
		if rest, ok := strings.CutSuffix(words.text, ","); word == "" && small && ok {
			words.text = rest
			continue
		}
		switch {
		case word == "":
			return small && (other || isTitle(s, i, end))
		case machineWords()[word] || strings.HasSuffix(word, "ip") || strings.HasSuffix(word, "host") || strings.HasSuffix(word, "addr"):
			return false
		case versionWords()[word] || strings.HasSuffix(word, "version"):
			return true
		case !placeWords()[word]:
			other = true
		case !small:
			return false
		}
	}
	return small && other
}

// isSmall tells whether dotted numbers are like those of versions, none above 63, and not an address that is known anyway: of
// an inner network, of a resolver, or with a port or a net's length behind it.
func isSmall(s string, i, end int) bool {
	text := s[i:end]
	for part := range strings.SplitSeq(text, ".") {
		if number(part) > 63 {
			return false
		}
	}
	switch text {
	case "1.1.1.1", "1.0.0.1", "8.8.8.8", "8.8.4.4", "9.9.9.9", "4.2.2.2":
		return false
	}
	if end+1 < len(s) && (s[end] == ':' || s[end] == '/') && isDigit(s[end+1]) {
		return false
	}
	if i > 0 && (s[i-1] == '@' || s[i-1] == '/' && i > 1 && s[i-2] == '/') {
		return false
	}
	return !strings.HasPrefix(text, "10.")
}

// beforeDate tells whether a date follows at once, as in lists of changes.
func beforeDate(s string, end int) bool {
	rest := strings.TrimLeft(s[end:min(len(s), end+12)], " |,;/-–()[]\t")
	return len(rest) > 4 && (rest[:2] == "20" || rest[:2] == "19") && isDigit(rest[2]) && isDigit(rest[3]) && (rest[4] == '-' || rest[4] == '/')
}

// isTitle tells whether dotted numbers begin a line, or a comment in code, and a word with a capital letter follows: the number
// of a section. In a comment nothing need follow.
func isTitle(s string, i, end int) bool {
	line := i
	for line > 0 && i-line < maxBefore && strings.IndexByte(" \t/*#;%", s[line-1]) >= 0 {
		line--
	}
	if line > 0 && s[line-1] != '\n' {
		return false
	}
	rest := strings.TrimLeft(s[end:min(len(s), end+6)], ": ")
	comment := strings.Contains(s[line:i], "//")
	return comment || len(rest) > 1 && isUpper(rest[0]) && rest[1] >= 'a' && rest[1] <= 'z'
}

// inVersions tells whether nothing but a comma or a small word stands between a version and i: the next of several.
func (f *finder) inVersions(i int) bool {
	if f.version == 0 || i-f.version > 8 || i <= f.version {
		return false
	}
	switch strings.Trim(f.s[f.version:i], " ,vV`_\"'") {
	case "", "and", "or", "to", "und", "bis", "et", "y", "->", "→", "-", "–", "/":
		return true
	}
	return false
}

// isProduct tells whether the slash before i follows the name of a program, as in Chrome/120.0.0.0, and not one in a path.
func (f *finder) isProduct(i int) bool {
	at := i - 1
	for at > f.from && i-at < maxBefore && (isAlnum(f.s[at-1]) || strings.IndexByte("._-", f.s[at-1]) >= 0) {
		at--
	}
	return at < i-1 && (at == 0 || f.s[at-1] != '/')
}

// isCoordinate tells whether a name in two parts stands before the colon before i, as those of packages do.
func (f *finder) isCoordinate(i int) bool {
	s, at, colons := f.s, i-1, 0
	if strings.Trim(s[strings.LastIndexByte(s[:i-1], ':')+1:i-1], "0123456789") == "" {
		return false // a port
	}
	for ; at > f.from && i-at < maxBefore; at-- {
		c := s[at-1]
		if c == ':' {
			colons++
		} else if !isAlnum(c) && c != '.' && c != '-' && c != '_' {
			break
		}
	}
	return colons == 1 && isLetter(s[at]) && s[i-2] != ':' && strings.IndexByte(s[at:i], '.') > 0
}

// isHeading tells whether the numbers from i to end are the heading of a list of changes: a line that begins with them, and a
// date, or a mark of headings and them.
func isHeading(s string, i, end int) bool {
	line := i
	for line > 0 && i-line < 8 && (s[line-1] == '#' || s[line-1] == ' ' || s[line-1] == '[' || s[line-1] == '*') {
		line--
	}
	if line > 0 && s[line-1] != '\n' {
		return false
	}
	if strings.HasPrefix(s[line:i], "##") {
		return true
	}
	rest := strings.TrimPrefix(s[end:min(len(s), end+8)], "]")
	return strings.HasPrefix(rest, " (20") || strings.HasPrefix(rest, " - 20")
}
