package judge

import (
	"encoding/json"
	"net/url"
	"path"
	"strings"

	"github.com/mcpgen/mcpgen/runner/risk"
)

type object = map[string]any

// SARIF returns the report as a SARIF 2.1.0 log, as code hosts and editors read it. Version is that of the program, and dir the
// script's folder as the log names it, with slashes.
func (r *Report) SARIF(version, dir string) ([]byte, error) {
	var all []object
	for _, rule := range rules {
		all = append(all, object{
			"id": rule.ID, "shortDescription": object{"text": rule.Text}, "defaultConfiguration": object{"level": levelOf(rule.Risk)},
			"properties": object{"risk": rule.Risk, "security-severity": severity[rule.Risk]},
		})
	}
	results := []object{}
	for _, f := range r.Findings {
		file := f.File
		if !strings.HasPrefix(file, "skills/") {
			file = path.Join(dir, file)
		}
		place := object{"artifactLocation": object{"uri": (&url.URL{Path: file}).String()}}
		if f.Line > 0 {
			region := object{"startLine": f.Line}
			if f.Column > 0 {
				region["startColumn"] = f.Column
			}
			place["region"] = region
		}
		results = append(results, object{
			"ruleId": f.Rule, "level": levelOf(f.Risk), "message": object{"text": f.Reason}, "locations": []object{{"physicalLocation": place}},
		})
	}
	return json.MarshalIndent(object{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
		"runs": []object{{
			"tool":    object{"driver": object{"name": "mcprun check", "version": version, "rules": all}},
			"results": results, "columnKind": "utf16CodeUnits",
			"properties": object{"risk": r.Risk, "reason": r.Reason, "impact": r.Impact},
		}},
	}, "", "  ")
}

// severity is what code hosts sort by.
var severity = map[risk.Risk]string{risk.Low: "1.0", risk.Medium: "4.0", risk.High: "7.5", risk.Critical: "9.5"}

func levelOf(r risk.Risk) string {
	switch {
	case r >= risk.High:
		return "error"
	case r == risk.Medium:
		return "warning"
	}
	return "note"
}
