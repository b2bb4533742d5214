// Package spelling reads the paths, URLs and mail addresses in the arguments of calls, in whatever way they are spelled.
//
// Arguments are hostile, and it is unknown how a server reads an unusual spelling. So a result is certain, or there is an error: a policy
// denies a call whose condition fails. The package accesses neither the file system nor the network, so it does not see symbolic links or
// names that lead elsewhere.
package spelling

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/mcpgen/mcpgen/gen/ident"
)

// location is a parsed path.
type location struct {
	// root is "/", a drive such as "c:", or "~". It is empty for a relative path, which first goes up by up folders.
	root  string
	up    int
	steps []string
}

var (
	drive     = regexp.MustCompile(`^[A-Za-z]:`)
	scheme    = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]+:`)
	escape    = regexp.MustCompile(`%([0-9A-Fa-f]{2}|[uU][0-9A-Fa-f]{4})`)
	separator = regexp.MustCompile(`(?i)%(2f|5c|00)`)
	variable  = regexp.MustCompile("^\\$[A-Za-z_]|\\$[{(]|`")
	shortName = regexp.MustCompile(`^[^~]{1,6}~[0-9]`)                   // a short name of Windows, as in PROGRA~1
	catchAll  = regexp.MustCompile(`^\[{1,2}\.\.\.[A-Za-z_]\w*\]{1,2}$`) // a folder name of web frameworks, as in [...slug]
	posix     = regexp.MustCompile(`\[\[[:.=]`)                          // a class of characters in a pattern
)

// Under reports whether a path equals a folder or is below it. Both must be absolute, or relative to the same folder. A folder with a drive
// or a backslash is a Windows folder, for which the case of letters is ignored. It returns an error if the texts do not decide it, as for
// an absolute path and a relative folder, or if servers may read the path in different ways.
func Under(path, dir string) (bool, error) {
	isWindows := drive.MatchString(dir) || strings.Contains(dir, `\`)
	d, err := parse(dir, isWindows)
	if err != nil {
		return false, fmt.Errorf("the folder %.100q: %w", dir, err)
	}
	p, err := parse(path, isWindows)
	if err != nil {
		return false, fmt.Errorf("the path %.100q: %w", path, err)
	}
	in, err := p.under(d, isWindows)
	if err != nil {
		return false, fmt.Errorf("the path %.100q: %w", path, err)
	}
	return in, nil
}

// CheckDir returns an error if no path can be compared with the folder.
func CheckDir(dir string) error {
	_, err := Under(dir, dir)
	return err
}

// parse reads a path of Windows, or of other systems.
func parse(text string, isWindows bool) (*location, error) {
	if err := plain(text); err != nil {
		return nil, err
	}
	var err error
	if len(text) > 5 && strings.EqualFold(text[:5], "file:") {
		text, err = fromURI(text[5:], isWindows)
	} else if escape.MatchString(text) {
		err = errors.New("it has percent-encoding, which some servers decode: write the characters themselves")
	}
	if err != nil {
		return nil, err
	}
	switch {
	case isWindows:
		text = strings.ReplaceAll(text, `\`, "/")
		if strings.HasPrefix(text, "//") {
			return nil, errors.New("it names another machine or a device")
		}
		if strings.Contains(text, "%") {
			return nil, errors.New("it may name a variable")
		}
	case strings.Contains(text, `\`):
		return nil, errors.New("it has a backslash, which separates folders on some systems: write /")
	case drive.MatchString(text):
		return nil, errors.New("it has a drive, and the folder of the rule has none")
	}
	if scheme.MatchString(text) {
		return nil, errors.New("it is a URL, not a path")
	}
	out := &location{}
	switch {
	case strings.HasPrefix(text, "/"):
		out.root = "/"
	case isWindows && drive.MatchString(text):
		out.root, text = strings.ToLower(text[:2]), text[2:]
		if !strings.HasPrefix(text, "/") {
			return nil, errors.New("it is relative to the current folder of its drive")
		}
	case text == "~" || strings.HasPrefix(text, "~/"):
		out.root, text = "~", text[1:]
	case strings.HasPrefix(text, "~"):
		return nil, errors.New("some servers read ~ as a person's folder")
	}
	return out, out.walk(text)
}

// plain rejects texts that servers trim, cut or cannot represent.
func plain(text string) error {
	switch {
	case text == "":
		return errors.New("it is empty")
	case !utf8.ValidString(text):
		return errors.New("it is not valid UTF-8")
	case strings.ContainsFunc(text, ident.Unseen):
		return errors.New("it has a character that is not visible")
	case strings.TrimSpace(text) != text:
		return errors.New("it begins or ends with a space")
	}
	return nil
}

// fromURI returns the path in a file: URI, which is given without the scheme.
func fromURI(text string, isWindows bool) (string, error) {
	if strings.ContainsAny(text, "?#") {
		return "", errors.New("the URI has a query or a fragment")
	}
	if rest, ok := strings.CutPrefix(text, "//"); ok {
		authority, path, _ := strings.Cut(rest, "/")
		if authority != "" && !strings.EqualFold(authority, "localhost") {
			return "", errors.New("the URI names another machine")
		}
		text = "/" + path
	}
	if !strings.HasPrefix(text, "/") {
		return "", errors.New("the URI is relative: write file:///")
	}
	decoded, err := url.PathUnescape(text)
	switch {
	case err != nil:
		return "", err
	case separator.MatchString(text) || escape.MatchString(decoded):
		return "", errors.New("the URI encodes a separator, or encodes twice")
	case plain(decoded) != nil:
		return "", plain(decoded)
	}
	if isWindows && len(decoded) > 2 && drive.MatchString(decoded[1:]) {
		decoded = decoded[1:]
	}
	return decoded, nil
}

// walk adds the steps of a path without its drive.
func (l *location) walk(text string) error {
	for step := range strings.SplitSeq(text, "/") {
		if err := checkStep(step); err != nil {
			return err
		}
		switch n := len(l.steps); {
		case step == "" || step == ".":
		case step != "..":
			l.steps = append(l.steps, step)
		case n > 0 && strings.Contains(l.steps[n-1], "["):
			return errors.New("it leaves a folder whose name may be a pattern")
		case n > 0:
			l.steps = l.steps[:n-1]
		case l.root == "~":
			return errors.New("it leaves the home folder")
		case l.root == "":
			l.up++
		}
	}
	return nil
}

// checkStep rejects names that some systems or servers treat as other names.
func checkStep(step string) error {
	if step == "" || step == "." || step == ".." {
		return nil
	}
	like := norm.NFKC.String(step)
	end := strings.IndexAny(like, ":;") // a stream or parameters
	switch {
	case strings.ContainsAny(step, "*?{}"), maybeDots(like):
		return errors.New("it is a pattern, not a path")
	case variable.MatchString(step):
		return errors.New("it may name a variable")
	case strings.Trim(like, ". ") == "", end >= 0 && strings.Trim(like[:end], ". ") == "":
		return fmt.Errorf("some systems read %q as another folder", step)
	case strings.ContainsAny(like, `/\`) && !strings.ContainsAny(step, `/\`), strings.ContainsAny(step, "\u2044\u2215\u2216\u29F5\u29F8"):
		return errors.New("it has a character that looks like a separator")
	}
	return nil
}

// maybeDots reports whether a name is a pattern that a server may expand to "." or "..".
func maybeDots(step string) bool {
	if !strings.Contains(step, "[") || catchAll.MatchString(step) {
		return false
	}
	pattern := strings.ReplaceAll(step, "[!", "[^")
	for _, dots := range []string{".", ".."} {
		if ok, err := path.Match(pattern, dots); ok || err != nil && strings.HasSuffix(step, "]") {
			return true
		}
	}
	return posix.MatchString(step)
}

// under reports whether a location equals dir or is below it.
func (l *location) under(dir *location, isWindows bool) (bool, error) {
	switch {
	case l.root != dir.root && (l.root == "" || dir.root == ""):
		kind := map[bool]string{true: "relative", false: "absolute"}
		return false, fmt.Errorf("it is %s and the folder of the rule is %s, so the rule cannot tell whether it lies there", kind[l.root == ""], kind[dir.root == ""])
	case l.root != dir.root && (l.root == "~" || dir.root == "~"):
		return false, errors.New("where ~ is depends on the server")
	case l.root != dir.root && (l.root == "/" || dir.root == "/"):
		return false, errors.New("it does not name the drive")
	case l.root != dir.root:
		return false, nil
	case l.up < dir.up && len(dir.steps) == 0:
		return true, nil
	case l.up != dir.up:
		return false, errors.New("it leaves the folder that it is relative to, so the rule cannot tell whether it comes back")
	}
	like := ""
	for i, want := range dir.steps {
		if i >= len(l.steps) {
			return false, nil
		}
		switch got := l.steps[i]; {
		case got == want || isWindows && strings.EqualFold(got, want):
		case resembles(got, want):
			like = got
		default:
			return false, nil
		}
	}
	if like != "" {
		return false, fmt.Errorf("some systems read %.100q as a folder of the rule: spell it as the rule does", like)
	}
	return true, nil
}

// resembles reports whether some system may treat a name as another one: because it ignores case, the form of Unicode, or dots and spaces
// at the end; because it has streams after a colon, parameters after a semicolon, or short names; or because the server expands patterns.
func resembles(got, want string) bool {
	return fold(got) == fold(want) || strings.Contains(got, "[") || shortName.MatchString(got)
}

// fold returns the same text for names that resemble each other.
func fold(name string) string {
	name = norm.NFKC.String(cases.Fold().String(norm.NFKC.String(name)))
	if end := strings.IndexAny(name, ":;"); end >= 0 {
		name = name[:end]
	}
	return strings.TrimRight(name, ". ")
}

// pathWords are words in the names of arguments that hold paths. notPaths end the names of arguments that do not, such as file_type.
var (
	pathWords = words("path paths file files filename filenames filepath filepaths dir dirs directory directories dirname folder folders pathname root roots cwd workdir workspace " +
		"source sources destination destinations dest dst src target targets location locations from to old new input output archive attachment attachments")
	notPaths = words("type types size id ids count encoding mode format ext extension extensions mime kind limit depth hash sha status")
	pathEnd  = regexp.MustCompile(`(path|filename|folder|dir|directory)(s|names?|str|strings?|lists?)?$`) // as in outputpath
	// proseWords end the names of arguments that hold prose, in which a slash has no meaning.
	proseWords = words("content contents text texts body message messages description subject title summary note notes comment comments prompt html markdown code string strings str replacement query sql regex")
)

func words(list string) []string { return strings.Fields(list) }

// Paths returns the texts in arguments that are paths by the name of their argument, or look like one. It looks in lists, in nested
// objects, and among the names of properties.
func Paths(args any) []string {
	var out []string
	each(args, nil, func(name []string, text string, isName bool) {
		if !IsPath(name, text, isName) {
			return
		}
		out = append(out, text)
	})
	return out
}

// IsPath reports whether a text in an argument is probably a path. name holds the words of the argument's name.
func IsPath(name []string, text string, isName bool) bool {
	last := ""
	if len(name) > 0 {
		last = name[len(name)-1]
	}
	switch {
	case !isName && slices.Contains(proseWords, last) && !NamesPath(name):
		return false
	case len(text) > 5 && strings.EqualFold(text[:5], "file:"):
		return true
	case strings.Contains(text, "://") && scheme.MatchString(text):
		return false
	case isName:
		return strings.ContainsAny(text, `/\`) || strings.HasPrefix(text, "~") || NamesPath(name) && strings.Contains(text, ".")
	}
	return NamesPath(name) || strings.ContainsAny(text, `/\`) || strings.HasPrefix(text, "~") || strings.HasPrefix(text, ".") || drive.MatchString(text)
}

// NamesPath reports whether the words of an argument's name show that it holds a path.
func NamesPath(name []string) bool {
	if len(name) == 0 {
		return false
	}
	last := name[len(name)-1]
	isText := last == "text" || last == "texts"
	if isText || last == "string" || last == "strings" || last == "str" { // file_text is the content of the file
		return slices.ContainsFunc(name, func(word string) bool { return pathEnd.MatchString(word) || !isText && strings.HasPrefix(word, "file") })
	}
	return !slices.Contains(notPaths, last) && !slices.Contains(proseWords, last) && slices.ContainsFunc(name, func(word string) bool {
		return slices.Contains(pathWords, word) || pathEnd.MatchString(word)
	})
}
