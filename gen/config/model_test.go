package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestModelEndpoint checks which model settings and variables name together, and that a key of variables goes to no address of the settings.
func TestModelEndpoint(t *testing.T) {
	key := func(name string) *Secret { return &Secret{Text: "${" + name + "}"} }
	azure := map[string]string{"AZURE_OPENAI_ENDPOINT": "https://a.example", "AZURE_OPENAI_API_KEY": "k", "AZURE_OPENAI_CHAT_DEPLOYMENT_NAME": "chat", "AZURE_OPENAI_API_VERSION": "v"}
	day := ModelBudget{Day: ModelLimit{Tokens: 5}}
	for name, c := range map[string]struct {
		settings  *Model
		variables map[string]string
		want      *Model
	}{
		"nothing":                  {nil, map[string]string{"OPENAI_API_KEY": "k", "AZURE_OPENAI_ENDPOINT": "https://a.example"}, nil},
		"a budget alone":           {&Model{Budget: day}, nil, nil},
		"azure":                    {nil, azure, &Model{Provider: "azure", Name: "chat", URL: "https://a.example", APIVersion: "v", Key: key("AZURE_OPENAI_API_KEY")}},
		"azure, a budget":          {&Model{Budget: day}, azure, &Model{Provider: "azure", Name: "chat", URL: "https://a.example", APIVersion: "v", Key: key("AZURE_OPENAI_API_KEY"), Budget: day}},
		"azure, entra":             {&Model{Provider: "azure", Auth: AuthEntra}, azure, &Model{Provider: "azure", Name: "chat", URL: "https://a.example", APIVersion: "v", Auth: AuthEntra}},
		"azure, an address":        {&Model{Provider: "azure", Name: "x", URL: "https://b.example"}, azure, &Model{Provider: "azure", Name: "x", URL: "https://b.example"}},
		"azure, a key":             {&Model{Provider: "azure", Key: &Secret{Keyring: "mine"}}, azure, &Model{Provider: "azure", Name: "chat", URL: "https://a.example", APIVersion: "v", Key: &Secret{Keyring: "mine"}}},
		"anthropic":                {&Model{Provider: "anthropic", Name: "x"}, azure, &Model{Provider: "anthropic", Name: "x", Key: key("ANTHROPIC_API_KEY")}},
		"openai":                   {&Model{Provider: "openai", Name: "x"}, map[string]string{"OPENAI_BASE_URL": "http://localhost:1"}, &Model{Provider: "openai", Name: "x", URL: "http://localhost:1"}},
		"openai, an address":       {&Model{Provider: "openai", Name: "x", URL: "https://b.example"}, map[string]string{"OPENAI_API_KEY": "k"}, &Model{Provider: "openai", Name: "x", URL: "https://b.example"}},
		"openai, of variables":     {nil, map[string]string{"MCPRUN_MODEL": "openai/a/b", "OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "https://c.example"}, &Model{Provider: "openai", Name: "a/b", URL: "https://c.example", Key: key("OPENAI_API_KEY")}},
		"a variable replaces":      {&Model{Provider: "azure", Name: "x", URL: "https://b.example", Prices: &ModelPrices{1, 2}, MaxTokens: 7, Budget: day}, map[string]string{"MCPRUN_MODEL": "anthropic/y"}, &Model{Provider: "anthropic", Name: "y", Key: key("ANTHROPIC_API_KEY"), MaxTokens: 7, Budget: day}},
		"a variable says the same": {&Model{Provider: "openai", Name: "x", URL: "https://b.example"}, map[string]string{"MCPRUN_MODEL": "openai/x"}, &Model{Provider: "openai", Name: "x", URL: "https://b.example"}},
	} {
		for _, dotenv := range []bool{false, true} {
			s := Settings{Model: c.settings}
			lookup := func(name string) (string, bool) { v, ok := c.variables[name]; return v, ok }
			if dotenv {
				s.Variables, lookup = c.variables, nil
			}
			got, err := s.ModelEndpoint(lookup)
			if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
				t.Errorf("%s, in .env %v: %v (-want +got):\n%s", name, dotenv, err, diff)
			}
		}
	}
	for _, text := range []string{"x", "other/x", "openai/"} {
		s := Settings{}
		if _, err := s.ModelEndpoint(func(name string) (string, bool) { return text, name == "MCPRUN_MODEL" }); err == nil {
			t.Errorf("MCPRUN_MODEL=%s: no error, want one", text)
		}
	}
}
