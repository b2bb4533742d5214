package poison

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/gen/catalog"
)

// owners maps each name, in lower case, to the keys of the servers that have it.
type owners map[string]map[string]bool

func (o owners) add(name, key string) {
	name = strings.ToLower(name)
	if o[name] == nil {
		o[name] = make(map[string]bool)
	}
	o[name][key] = true
}

// names holds the names of all servers of a configuration and of their tools.
type names struct {
	tools   owners // names of tools, if distinctive
	ids     owners // ids of tools
	servers owners // keys and directories of servers
}

// collectNames returns the names of all servers.
func collectNames(all []catalog.Server) *names {
	n := &names{tools: owners{}, ids: owners{}, servers: owners{}}
	for _, s := range all {
		for _, name := range []string{s.Key, s.Dir} {
			if len(name) >= 3 {
				n.servers.add(name, s.Key)
			}
		}
		for _, t := range s.Tools {
			if distinct(t.Name) {
				n.tools.add(t.Name, s.Key)
			}
			if t.ID != "" {
				n.ids.add(t.ID, s.Key)
			}
		}
	}
	return n
}

// otherNames looks up the names of servers other than a given one. A name that this server also has is its own. Single words do not count
// as names of tools, because they may mean anything.
type otherNames struct {
	all *names
	key string
	own map[string]bool // names of its own tools, in lower case
}

// except returns the names of servers other than s.
func (n *names) except(s catalog.Server) *otherNames {
	o := &otherNames{all: n, key: s.Key, own: make(map[string]bool, len(s.Tools))}
	for _, t := range s.Tools {
		o.own[strings.ToLower(t.Name)] = true
	}
	return o
}

// tool reports whether another server has a tool with this name or id.
func (o *otherNames) tool(name string) bool {
	return o.has(o.all.ids, name) || o.has(o.all.tools, name) && !o.own[name]
}

// server reports whether another server has this name.
func (o *otherNames) server(name string) bool { return o.has(o.all.servers, name) }

// has reports whether m lists a server other than o's for name.
func (o *otherNames) has(m owners, name string) bool {
	keys := m[name]
	return len(keys) > 1 || len(keys) == 1 && !keys[o.key]
}

// distinct reports whether a name consists of more than one word, so that ordinary text does not contain it by chance.
func distinct(name string) bool {
	if len(name) < 6 {
		return false
	}
	return strings.ContainsAny(name[1:], "_-./ABCDEFGHIJKLMNOPQRSTUVWXYZ") && strings.ToUpper(name) != name
}

// directive matches a sentence that gives an instruction.
var directive = regexp.MustCompile(`\b(?:must|always|never|instead|whenever|every|do not|don't|also|(?:then|and|to|first|silently) (?:call|use|run|invoke)|(?:before|after|when) (?:calling|using|running|invoking))\b`)

// mention returns the part of a text, in lower case, that gives an instruction about another server or its tool, or "". Merely naming one
// is ordinary: many servers have tools such as create_project.
func (o *otherNames) mention(plain string) string {
	if o == nil {
		return ""
	}
	for i := 0; i < len(plain); {
		if !nameByte(plain[i]) {
			i++
			continue
		}
		j := i
		for j < len(plain) && nameByte(plain[j]) {
			j++
		}
		word := strings.Trim(plain[i:j], "-._/")
		if word != "" && o.tool(word) && directive.MatchString(sentenceAround(plain, i, j)) {
			return plain[i:j]
		}
		if o.server(word) && asServer(plain[j:]) && directive.MatchString(sentenceAround(plain, i, j)) {
			return plain[i:min(len(plain), j+20)]
		}
		// Some hosts write mcp__server__tool.
		if rest, ok := strings.CutPrefix(word, "mcp__"); ok {
			server, _, _ := strings.Cut(rest, "__")
			if o.server(server) && directive.MatchString(sentenceAround(plain, i, j)) {
				return plain[i:j]
			}
		}
		i = j
	}
	return ""
}

// namesOwn reports whether a text, in lower case, contains the name of one of the server's own tools.
func (o *otherNames) namesOwn(plain string) bool {
	return wordOf(plain, func(word string) bool { return o != nil && o.own[word] && distinct(word) }) != ""
}

// wordOf returns the first word for which fits is true and which may be a name.
func wordOf(plain string, fits func(word string) bool) string {
	for _, word := range strings.FieldsFunc(plain, func(r rune) bool { return r >= utf8.RuneSelf || !nameByte(byte(r)) }) {
		if word = strings.Trim(word, "-._/"); fits(word) {
			return word
		}
	}
	return ""
}

// sentenceAround returns the sentence that contains plain[i:j].
func sentenceAround(plain string, i, j int) string {
	const ends = ".!?;\n"
	from := strings.LastIndexAny(plain[:i], ends) + 1
	to := strings.IndexAny(plain[j:], ends)
	if to < 0 {
		return plain[from:]
	}
	return plain[from : j+to]
}

// asServer reports whether the text after a name shows that it is the name of a server.
func asServer(rest string) bool {
	rest = strings.TrimLeft(strings.TrimPrefix(rest, "'s"), " '\"`’*")
	for _, word := range [...]string{"mcp", "server", "tool"} {
		if strings.HasPrefix(rest, word) {
			return true
		}
	}
	return false
}

// nameByte reports whether c may be part of a name.
func nameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.' || c == '/'
}
