package spelling

import (
	"errors"
	"fmt"
	"net/netip"
	neturl "net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	whatwg "github.com/nlnwa/whatwg-url/url"
)

// maxURL bounds the length of a URL in bytes.
const maxURL = 8 << 10

var (
	hostName = regexp.MustCompile(`^[a-z0-9_-]+(\.[a-z0-9_-]+)*$`)
	octal    = regexp.MustCompile(`(^|\.)0[0-9]`)
)

// deviations are characters that versions of IDNA read in different ways.
const deviations = "\u00DF\u1E9E\u03C2\u200C\u200D"

// Host returns the host of a URL, as browsers read it: in lower case and ASCII, without the port, a user or a final dot. An IP address is
// in its usual form, and an IPv6 address has no brackets. It returns an error if the URL has no host, or if programs read it in different
// ways.
func Host(text string) (string, error) {
	host, err := host(text)
	if err != nil {
		return "", fmt.Errorf("the URL %.100q: %w", text, err)
	}
	return host, nil
}

func host(text string) (string, error) {
	differ := errors.New("programs do not agree on its host")
	switch err := plain(text); {
	case err != nil:
		return "", err
	case len(text) > maxURL:
		return "", errors.New("it is too long")
	case confusing(text):
		return "", differ
	}
	w, err := whatwg.Parse(text)
	if err != nil {
		return "", errors.New("it is not an absolute URL")
	}
	if !slices.Contains([]string{"http", "https", "ws", "wss", "ftp"}, w.Scheme()) {
		return "", fmt.Errorf("the scheme %.20s: has no host that can be compared", w.Scheme())
	}
	other, err := neturl.Parse(text)
	if err != nil || other.Hostname() == "" {
		return "", differ
	}
	again, err := whatwg.Parse("http://" + bracketed(other.Hostname()))
	if err != nil || again.Hostname() != w.Hostname() {
		return "", differ
	}
	name := strings.TrimSuffix(w.Hostname(), ".")
	if ip, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		if ip.Is4() && octal.MatchString(other.Hostname()) {
			return "", differ
		}
		return ip.Unmap().String(), nil
	}
	if !hostName.MatchString(name) {
		return "", errors.New("its host has characters that no host has")
	}
	return name, nil
}

// confusing reports whether the host part of a URL contains characters that programs read in different ways.
func confusing(text string) bool {
	_, rest, ok := strings.Cut(text, "://")
	authority := rest
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		authority = rest[:end]
	}
	before, _, _ := strings.Cut(rest, "/") // programs that know no query without a path end the host here
	return !ok || strings.Count(authority, "@") > 1 || strings.Contains(before[len(authority):], "@") ||
		strings.ContainsAny(authority, `\`+deviations) || strings.ContainsFunc(authority, unicode.IsSpace)
}

func bracketed(host string) string {
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}
