package poison

import (
	"strings"

	"github.com/mcpgen/mcpgen/gen/catalog"
)

// others are the names of other servers of a configuration and of their tools, lower case.
type others struct {
	tools   map[string]string // tool's name or id → server's key
	servers map[string]string // server's key, folder → key
}

// newOthers collects the names that s has no reason to know: those of servers beside it. A name that s has as well is
// its own, and one that is a plain word could mean anything.
func newOthers(s catalog.Server, all []catalog.Server) *others {
	o := &others{tools: map[string]string{}, servers: map[string]string{}}
	own := map[string]bool{}
	for _, t := range s.Tools {
		own[strings.ToLower(t.Name)] = true
	}
	for _, other := range all {
		if other.Key == s.Key {
			continue
		}
		for _, name := range []string{other.Key, other.Dir} {
			if name = strings.ToLower(name); len(name) >= 3 {
				o.servers[name] = other.Key
			}
		}
		for _, t := range other.Tools {
			if name := strings.ToLower(t.Name); !own[name] && distinct(t.Name) {
				o.tools[name] = other.Key
			}
			if t.ID != "" {
				o.tools[strings.ToLower(t.ID)] = other.Key
			}
		}
	}
	return o
}

// distinct reports whether a name is more than one word, so that nobody writes it by chance.
func distinct(name string) bool {
	if len(name) < 6 {
		return false
	}
	return strings.ContainsAny(name[1:], "_-./ABCDEFGHIJKLMNOPQRSTUVWXYZ") && strings.ToUpper(name) != name
}

// mention returns the part of a text, in lower case, that names another server's tool, or another server as one.
func (o *others) mention(plain string) string {
	if o == nil || len(o.tools)+len(o.servers) == 0 {
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
		if _, ok := o.tools[word]; ok && len(word) > 0 {
			return plain[i:j]
		}
		if key, ok := o.servers[word]; ok && asServer(plain[j:]) && key != "" {
			return plain[i:min(len(plain), j+20)]
		}
		// mcp__server__tool, as some hosts write it, and server.tool or server/tool.
		if rest, ok := strings.CutPrefix(word, "mcp__"); ok {
			server, _, _ := strings.Cut(rest, "__")
			if _, ok := o.servers[server]; ok {
				return plain[i:j]
			}
		}
		i = j
	}
	return ""
}

// asServer reports whether what follows a name says that it is a server's.
func asServer(rest string) bool {
	rest = strings.TrimLeft(strings.TrimPrefix(rest, "'s"), " '\"`’*")
	for _, word := range [...]string{"mcp", "server", "tool"} {
		if strings.HasPrefix(rest, word) {
			return true
		}
	}
	return false
}

func nameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.' || c == '/'
}
