package ignore

import (
	"os"
	"path/filepath"
	"testing"
)

func TestPlan(t *testing.T) {
	for name, tt := range map[string]struct {
		file, before string
		want         string // the text afterwards; empty if there is no edit
		byHand       string // what is left to a person
	}{
		"prettier":                    {file: ".prettierignore", before: "dist", want: "dist\n/gen/servers/\n"},
		"prettier, already":           {file: ".prettierignore", before: "gen/servers/**\n"},
		"biome":                       {file: "biome.json", before: `{"$schema": "https://biomejs.dev/schemas/2.0.0/schema.json"}`, want: `{"$schema": "https://biomejs.dev/schemas/2.0.0/schema.json", "files": { "includes": ["**", "!gen/servers/**"] }}`},
		"biome, comments":             {file: "biome.jsonc", before: "{\n  // mine\n  \"files\": { \"includes\": [\"src/**\"] }\n}\n", want: "{\n  // mine\n  \"files\": { \"includes\": [\"src/**\", \"!gen/servers/**\"] }\n}\n"},
		"biome, other settings":       {file: "biome.json", before: `{"files": {"maxSize": 1}}`, want: `{"files": {"maxSize": 1, "includes": ["**", "!gen/servers/**"]}}`},
		"biome, lines":                {file: "biome.json", before: "{\n\t\"files\": {\n\t\t\"includes\": [\n\t\t\t\"**\"\n\t\t]\n\t}\n}\n", want: "{\n\t\"files\": {\n\t\t\"includes\": [\n\t\t\t\"**\",\n\t\t\t\"!gen/servers/**\"\n\t\t]\n\t}\n}\n"},
		"biome, nothing set":          {file: "biome.jsonc", before: "{}", want: `{"files": { "includes": ["**", "!gen/servers/**"] }}`},
		"biome, lines of settings":    {file: "biome.json", before: "{\n  \"root\": true // mine\n}\n", want: "{\n  \"root\": true, // mine\n  \"files\": { \"includes\": [\"**\", \"!gen/servers/**\"] }\n}\n"},
		"biome, a form not edited":    {file: "biome.json", before: `[]`, byHand: `"!gen/servers/**" in files.includes`},
		"biome, a comment at its end": {file: "biome.json", before: "{\"root\": true // mine\n}", want: "{\"root\": true, // mine\n\"files\": { \"includes\": [\"**\", \"!gen/servers/**\"] }\n}"},
		"biome, trailing commas":      {file: "biome.jsonc", before: "{\n  \"files\": { \"includes\": [\n    \"**\", // all\n  ], },\n}", want: "{\n  \"files\": { \"includes\": [\n    \"**\", // all\n    \"!gen/servers/**\",\n  ], },\n}"},
		"biome 1":                     {file: "biome.json", before: `{"files": {"ignore": ["dist"]}}`, want: `{"files": {"ignore": ["dist", "gen/servers/**"]}}`},
		"biome, already":              {file: "biome.json", before: `{"files": {"includes": ["**", "!gen/servers"]}}`},
		"biome, included only":        {file: "biome.json", before: `{"files":{"includes":["gen/servers/**"]}}`, want: `{"files":{"includes":["gen/servers/**", "!gen/servers/**"]}}`},
		"biome, broken":               {file: "biome.json", before: `{`, byHand: `"!gen/servers/**" in files.includes`},
		"ruff":                        {file: "ruff.toml", before: "line-length = 100\n[lint]\n", want: "extend-exclude = [\"gen/servers/*\"]\nline-length = 100\n[lint]\n"},
		"ruff, a list":                {file: "ruff.toml", before: "extend-exclude = [\n  \"old\",\n]\n", want: "extend-exclude = [\"gen/servers/*\", \n  \"old\",\n]\n"},
		"ruff, already":               {file: ".ruff.toml", before: `extend-exclude = ["gen/servers"]`},
		"ruff in pyproject":           {file: "pyproject.toml", before: "[project]\nname = \"x\"\n[tool.ruff] # mine\nline-length = 9\n", want: "[project]\nname = \"x\"\n[tool.ruff] # mine\nextend-exclude = [\"gen/servers/*\"]\nline-length = 9\n"},
		"only parts of ruff":          {file: "pyproject.toml", before: "[tool.ruff.lint]\nselect = [\"E\"]\n", want: "[tool.ruff.lint]\nselect = [\"E\"]\n\n[tool.ruff]\nextend-exclude = [\"gen/servers/*\"]\n"},
		"ruff, a form not edited":     {file: "pyproject.toml", before: "tool.ruff = { line-length = 9 }\n", byHand: `"gen/servers/*" in extend-exclude`},
		"a project of another tool":   {file: "pyproject.toml", before: "[tool.black]\nextend-exclude = 'x'\n"},
		"a package without prettier":  {file: "package.json", before: `{"devDependencies": {"vitest": "1"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, tt.file), []byte(tt.before), 0o600); err != nil {
				t.Fatal(err)
			}
			edits, err := Plan(dir, "./gen/servers/")
			if err != nil {
				t.Fatal(err)
			}
			if tt.want == "" && tt.byHand == "" {
				if len(edits) != 0 {
					t.Errorf("Plan() = %q, want no edit", edits)
				}
				return
			}
			if len(edits) != 1 || string(edits[0].After) != tt.want || tt.byHand != "" && edits[0].Line != tt.byHand {
				t.Errorf("Plan() = %q, want %q, by hand %q", edits, tt.want, tt.byHand)
			}
		})
	}
}

func TestPlanCreatesPrettierIgnore(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"devDependencies": {"prettier": "3"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	edits, err := Plan(dir, "servers")
	if err != nil || len(edits) != 1 || edits[0].Before != nil || string(edits[0].After) != "/servers/\n" {
		t.Errorf("Plan() = %q, %v, want len(edits) 1, Before nil, string(edits[0].After) %q and no error", edits, err, "/servers/\n")
	}
	if edits, err := Plan(dir, "../servers"); err != nil || len(edits) != 0 {
		t.Errorf("Plan() of a tree elsewhere = %q, %v, want len(edits) 0 and no error", edits, err)
	}
}
