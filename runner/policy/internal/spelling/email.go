package spelling

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"

	"github.com/mcpgen/mcpgen/gen/ident"
)

// local is the part of an address before the @. It does not allow % and !, which once named another host.
var local = regexp.MustCompile("^[A-Za-z0-9#$&'*+/=?^_`{|}~-]+(\\.[A-Za-z0-9#$&'*+/=?^_`{|}~-]+)*$")

// mailWords end the names of arguments that hold mail addresses; the other words end the names of arguments that may hold them.
var (
	mailWords = words("to cc bcc email emails recipient recipients attendee attendees invitee invitees")
	others    = words("mail mails address addresses from sender reply participant participants value")
)

// NamesMail reports whether the words of an argument's name show that it holds mail addresses.
func NamesMail(name []string) bool {
	if len(name) == 0 {
		return false
	}
	last := name[len(name)-1]
	return slices.Contains(mailWords, last) ||
		slices.Contains(others, last) && slices.ContainsFunc(name, func(word string) bool { return slices.Contains(mailWords, word) })
}

// isList reports whether a text in an argument must consist of addresses.
func isList(name []string, text string) bool {
	return len(name) == 0 || NamesMail(name) || slices.Contains(others, name[len(name)-1]) && strings.ContainsRune(text, '@')
}

// Emails returns the mail addresses in a value, in lower case, each once. In a text or a list of texts, every part must be an address,
// alone or after a name (Ann <ann@example.com>), separated by commas, semicolons or spaces. It returns an error for any other part, which a
// server may know as a group, and for a number or an object without an address in the list. In an object, the same applies to properties
// with names such as to and email; in other texts it finds whatever contains an @.
func Emails(value any) ([]string, error) {
	if list, ok := value.([]any); ok {
		return emailsOfAll(list)
	}
	var out []string
	var failed error
	each(value, nil, func(name []string, text string, isName bool) {
		var more []string
		var err error
		if !isName && isList(name, text) {
			more, err = addressList(text)
		} else {
			more, err = mentioned(text)
		}
		if err != nil && failed == nil {
			failed = fmt.Errorf("the addresses %.100q: %w", text, err)
		}
		out = append(out, more...)
	})
	if failed != nil {
		return nil, failed
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// emailsOfAll returns the addresses of recipients, each of which must have an address.
func emailsOfAll(list []any) ([]string, error) {
	var out []string
	for _, item := range list {
		more, err := Emails(item)
		if err != nil {
			return nil, err
		}
		if len(more) == 0 && !isEmpty(item) {
			return nil, fmt.Errorf("the recipient %.100q: it has no mail address", fmt.Sprint(item))
		}
		out = append(out, more...)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// isEmpty reports whether a value is nothing, an empty object, a text without a recipient, or a list; the elements of a list are checked
// separately.
func isEmpty(value any) bool {
	switch v := value.(type) {
	case nil, string, []any:
		return true
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// Domain returns the part of one mail address after the @, in lower case and ASCII.
func Domain(text string) (string, error) {
	if rest, ok := strings.CutPrefix(text, "@"); ok { // in the form that mentioned returns
		return domain(rest)
	}
	list, err := addressList(text)
	switch {
	case err != nil:
		return "", fmt.Errorf("the address %.100q: %w", text, err)
	case len(list) != 1:
		return "", fmt.Errorf("the address %.100q: it is %d addresses, not one", text, len(list))
	}
	_, name, _ := strings.Cut(list[0], "@")
	return name, nil
}

// addressList reads a text that consists of addresses.
func addressList(text string) ([]string, error) {
	like := norm.NFKC.String(text)
	switch {
	case !utf8.ValidString(text), strings.ContainsFunc(text, ident.Unseen):
		return nil, errors.New("they have a character that is not visible")
	case strings.Contains(text, "=?"):
		return nil, errors.New("they have an encoded name: write its characters")
	case specials(like) != specials(text):
		return nil, errors.New("they have a character that looks like another one")
	}
	parts, err := split(text)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, part := range parts {
		more, err := recipients(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	return out, nil
}

// specials counts the characters that have a special meaning in a list of addresses.
func specials(text string) int {
	return strings.Count(text, "@") + strings.Count(text, ",") + strings.Count(text, ";") + strings.Count(text, "<") + strings.Count(text, ">") + strings.Count(text, `"`) + strings.Count(text, ":")
}

// split splits a list at commas and semicolons outside quotation marks.
func split(text string) (parts []string, err error) {
	quoted, start := false, 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			return nil, errors.New("they have a backslash")
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ',' || c == ';'):
			parts, start = append(parts, text[start:i]), i+1
		}
	}
	if quoted {
		return nil, errors.New("a quotation mark is missing")
	}
	return append(parts, text[start:]), nil
}

// recipients reads a part of a list: addresses separated by spaces, or one address after a name. An address in the name counts too.
func recipients(part string) ([]string, error) {
	name, rest, named := strings.Cut(part, "<")
	if !named {
		var out []string
		for _, word := range strings.Fields(part) {
			one, err := address(word)
			if err != nil {
				return nil, err
			}
			out = append(out, one)
		}
		return out, nil
	}
	inner, after, closed := strings.Cut(rest, ">")
	if unquoted := quotedText.ReplaceAllString(name, ""); !closed || after != "" || strings.ContainsAny(unquoted, ":>") {
		return nil, fmt.Errorf("%.100q is not a name and an address", part)
	}
	one, err := address(inner)
	if err != nil {
		return nil, err
	}
	more, err := mentioned(name)
	return append(more, one), err
}

var quotedText = regexp.MustCompile(`"[^"]*"`)

// address reads one address.
func address(text string) (string, error) {
	user, name, ok := strings.Cut(text, "@")
	if !ok || !local.MatchString(user) {
		return "", fmt.Errorf("%.100q is not a mail address", text)
	}
	name, err := domain(name)
	return strings.ToLower(user) + "@" + name, err
}

// domain returns the usual form of the domain of an address.
func domain(text string) (string, error) {
	name, err := "", error(nil)
	if !strings.ContainsAny(text, deviations) {
		name, err = idna.Lookup.ToASCII(strings.TrimSuffix(text, "."))
	}
	if name = strings.ToLower(name); err != nil || !hostName.MatchString(name) {
		return "", fmt.Errorf("%.100q is not the domain of an address", text)
	}
	return name, nil
}

// mentioned finds the addresses in prose. An @ without a name before it counts if a domain with a dot follows.
func mentioned(text string) ([]string, error) {
	if !strings.ContainsAny(text, "@\uFF20\uFE6B") {
		return nil, nil
	}
	text = norm.NFKC.String(strings.ToValidUTF8(text, " "))
	var out []string
	for i, r := range text {
		if r != '@' {
			continue
		}
		user, rest := text[:i], text[i+1:]
		user = user[strings.LastIndexFunc(user, notLocal)+1:]
		if end := strings.IndexFunc(rest, notDomain); end >= 0 {
			if next, _ := utf8.DecodeRuneInString(rest[end:]); ident.Invisible(next) {
				return nil, errors.New("an address has a character that is not visible")
			}
			rest = rest[:end]
		}
		rest = strings.Trim(rest, ".-")
		if user == "" && !strings.Contains(rest, ".") || rest == "" {
			continue
		}
		name, err := domain(rest)
		if err != nil {
			return nil, err
		}
		out = append(out, strings.ToLower(user)+"@"+name)
	}
	return out, nil
}

// notLocal reports whether a character, read backwards from the @, ends the part of an address before it. Characters such as _ do not.
func notLocal(r rune) bool {
	return unicode.IsSpace(r) || strings.ContainsRune("@<>()[]{},;:\"'`|\\/=?&", r)
}

func notDomain(r rune) bool {
	return r != '.' && r != '\u3002' && r != '-' && r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
}
