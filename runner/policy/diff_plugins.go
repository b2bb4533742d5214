package policy

import (
	"cmp"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/mcpgen/mcpgen/gen/config"
)

// DiffPlugins compares the plugins and the guardrails. A plugin that is gone, or asked under other conditions, counts as wider, because nobody can
// compare what two programs refuse. The content of their files is not compared.
func DiffPlugins(before, after *config.Settings) []SettingChange {
	var out []SettingChange
	add := func(key, from, to string, wider bool) {
		if from != to {
			out = append(out, SettingChange{key, cmp.Or(from, "none"), cmp.Or(to, "none"), filepath.Base(after.Path), wider})
		}
	}
	was, is := pluginTexts(before.Plugins), pluginTexts(after.Plugins)
	for _, name := range names(was, is) {
		add("plugins."+name, was[name], is[name], was[name] != "")
	}
	then, now := &before.Guardrails, &after.Guardrails
	for _, kind := range []string{config.CheckSecurity, config.CheckPrivacy, config.CheckBusiness} {
		add("guardrails.checks."+kind, strconv.FormatBool(then.Checked(kind)), strconv.FormatBool(now.Checked(kind)), then.Checked(kind))
	}
	add("guardrails.strict", strconv.FormatBool(then.RefusesFindings()), strconv.FormatBool(now.RefusesFindings()), then.RefusesFindings())
	thenTime, thenMemory := then.Ceilings()
	nowTime, nowMemory := now.Ceilings()
	if thenTime != nowTime {
		add("guardrails.max_time", limitText(thenTime > 0, config.FormatDuration(thenTime)), limitText(nowTime > 0, config.FormatDuration(nowTime)), nowTime == 0 || thenTime > 0 && nowTime > thenTime)
	}
	if thenMemory != nowMemory {
		add("guardrails.max_memory", limitText(thenMemory > 0, then.MaxMemory), limitText(nowMemory > 0, now.MaxMemory), nowMemory == 0 || thenMemory > 0 && nowMemory > thenMemory)
	}
	return out
}

func limitText(isSet bool, text string) string {
	if !isSet {
		return ""
	}
	return text
}

// pluginTexts describes plugins, by their names.
func pluginTexts(plugins []config.Plugin) map[string]string {
	out := map[string]string{}
	for _, p := range plugins {
		text := strings.Join(p.Run, " ")
		for _, part := range []string{strings.Join(p.On, " "), p.Check, p.Mode, config.FormatDuration(p.Timeout), "on error " + p.OnError, strings.Join(p.Tools, " ")} {
			if part != "" {
				text += ", " + part
			}
		}
		out[p.Name] = text
	}
	return out
}
