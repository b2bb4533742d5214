package policy

import (
	"cmp"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpgen/mcpgen/gen/config"
)

// DiffNetwork compares where scripts may connect to: for the project, each customer and each level. An entry that was added counts as wider
// unless one entry that was in the same list allows all of it. With a policy, so does one with methods or paths that was removed, unless another
// bounds its host: the level may allow more by itself. The key itself counts as wider where it is added, because it opens the hosts of levels.
func DiffNetwork(before, after *config.Settings) []SettingChange {
	was, is := &before.Network, &after.Network
	var out []SettingChange
	add := func(key, from, to string, wider bool) {
		if from != to {
			out = append(out, SettingChange{key, from, to, filepath.Base(after.Path), wider})
		}
	}
	entries := func(key string, from, to []config.NetworkEntry) {
		for _, e := range missing(to, from) {
			wider := !slices.ContainsFunc(from, func(old config.NetworkEntry) bool { return covers(&old, e) })
			out = append(out, SettingChange{"network." + key, "none", describeEntry(e), position(after.Path, e.At.Line), wider})
		}
		for _, e := range missing(from, to) {
			bounded := slices.ContainsFunc(to, func(now config.NetworkEntry) bool { return now.Bounds() && coversHost(&now, e) })
			wider := is.Present && after.Policy.File != "" && e.Bounds() && !bounded
			out = append(out, SettingChange{"network." + key, describeEntry(e), "none", position(before.Path, e.At.Line), wider})
		}
	}
	add("network", describePresent(was), describePresent(is), is.Present)
	entries("allow", was.Allow, is.Allow)
	for _, id := range names(was.Customers, is.Customers) {
		entries("customers."+id+".allow", was.Customers[id].Allow, is.Customers[id].Allow)
	}
	for _, name := range names(was.Levels, is.Levels) {
		entries("levels."+name+".allow", was.Levels[name].Allow, is.Levels[name].Allow)
	}
	add("network.default", cmp.Or(was.Default, "deny"), cmp.Or(is.Default, "deny"), is.Default == "ask")
	rate := func(n *config.Network) int { return cmp.Or(n.Rate, config.DefaultNetworkRate) }
	add("network.rate", strconv.Itoa(rate(was)), strconv.Itoa(rate(is)), rate(is) > rate(was))
	bytes := func(n *config.Network) int64 {
		size, _ := config.ParseSize(n.Bytes) // the file with an invalid size was refused; an empty one is 0
		return cmp.Or(size, config.DefaultNetworkBytes)
	}
	if bytes(was) != bytes(is) {
		add("network.bytes", cmp.Or(was.Bytes, "the default"), cmp.Or(is.Bytes, "the default"), bytes(is) > bytes(was))
	}
	add("network.log", cmp.Or(was.Log, "all"), cmp.Or(is.Log, "all"), is.Log == config.LogRefused)
	add("network.alerts", describeAlerts(was.Alerts), describeAlerts(is.Alerts), was.Alerts != nil)
	return out
}

// missing returns the entries of a list that another list does not have.
func missing(list, in []config.NetworkEntry) []*config.NetworkEntry {
	var out []*config.NetworkEntry
	for i := range list {
		same := func(e config.NetworkEntry) bool {
			e.At = list[i].At
			return reflect.DeepEqual(e, list[i])
		}
		if !slices.ContainsFunc(in, same) {
			out = append(out, &list[i])
		}
	}
	return out
}

// covers reports whether an entry allows all that another allows, and has its credentials.
func covers(old, e *config.NetworkEntry) bool {
	bounded := func(all, some []string) bool { return all == nil || some != nil && isSubset(some, all) }
	return coversHost(old, e) && (old.TLS == "" || old.TLS == e.TLS) && // without it, requests are not seen
		isSubset(e.Ports, old.Ports) && isSubset(e.Protocols, old.Protocols) && bounded(upper(old.Methods), upper(e.Methods)) && bounded(old.Paths, e.Paths) &&
		!slices.ContainsFunc(e.Credentials, func(c config.Credential) bool {
			return !slices.ContainsFunc(old.Credentials, func(o config.Credential) bool { return reflect.DeepEqual(c, o) })
		})
}

// coversHost reports whether an entry is about all hosts that another is about.
func coversHost(old, e *config.NetworkEntry) bool {
	return strings.EqualFold(old.Host, e.Host) || !strings.HasPrefix(e.Host, "*") && config.FitsHost(old.Host, e.Host)
}

// upper returns methods as they are compared. Those of a list that is nil stay nil: all.
func upper(methods []string) []string {
	if methods == nil {
		return nil
	}
	return strings.Split(strings.ToUpper(strings.Join(methods, " ")), " ")
}

func isSubset[T comparable](some, all []T) bool {
	return !slices.ContainsFunc(some, func(v T) bool { return !slices.Contains(all, v) })
}

// describeEntry returns an entry in one line, as it might be written.
func describeEntry(e *config.NetworkEntry) string {
	parts := []string{e.Host, "ports " + strings.Trim(fmt.Sprint(e.Ports), "[]"), strings.Join(e.Protocols, " ")}
	if e.TLS != "" {
		parts = append(parts, "tls "+e.TLS)
	}
	if e.Methods != nil {
		parts = append(parts, "methods "+strings.Join(e.Methods, " "))
	}
	if e.Paths != nil {
		parts = append(parts, "paths "+strings.Join(e.Paths, " "))
	}
	for i := range e.Credentials {
		c := &e.Credentials[i]
		to := c.Header
		if c.Basic != "" {
			to = "basic " + c.Basic
		}
		parts = append(parts, fmt.Sprintf("credential %s in %q", c.Secret.String(), to))
	}
	return strings.Join(parts, ", ")
}

func describePresent(n *config.Network) string {
	if n.Present {
		return "present"
	}
	return "none"
}

func describeAlerts(a *config.NetworkAlerts) string {
	if a == nil {
		return "none"
	}
	text := strings.Join(a.Command, " ")
	if a.Blocked != nil && !*a.Blocked {
		text += ", not for blocked ranges"
	}
	if a.Volume != "" {
		text += ", volume " + a.Volume
	}
	return text
}
