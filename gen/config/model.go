package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/mcpgen/mcpgen/gen/config/node"
)

// Model is the key model of mcpgen.yaml: the endpoint that is asked for texts. See package runner/model for what its values mean.
type Model struct {
	// Provider is anthropic, openai or azure. Empty: azure, if variables name a deployment.
	Provider string
	// Name is the name of the model, or of Azure's deployment.
	Name string
	URL  string
	// API is chat, responses or empty; APIVersion is Azure's.
	API        string
	APIVersion string `yaml:"api_version"`
	// Key is the secret. Nil: none is sent; [Settings.ModelEndpoint] fills in those of variables.
	Key *Secret
	// Auth is [AuthEntra] or empty.
	Auth      string
	MaxTokens int `yaml:"max_tokens"`
	Timeout   time.Duration
	Budget    ModelBudget
	// Prices are in US dollars for a million tokens. Nil: the list prices.
	Prices *ModelPrices
}

// AuthEntra is the value of the key auth with which Azure gets a token of Entra ID instead of a key.
const AuthEntra = "entra"

// ModelBudget bounds what models may use.
type ModelBudget struct{ Run, Day ModelLimit }

// ModelLimit bounds tokens, read and written together, and their cost in US dollars. 0: no bound.
type ModelLimit struct {
	Tokens int64
	Cost   float64
}

// ModelPrices are prices of a million tokens.
type ModelPrices struct{ Input, Output float64 }

// complete makes the checks that the schema cannot make.
func (m *Model) complete(file *node.File, root *yaml.Node) error {
	if m == nil {
		return nil
	}
	if key := node.Value(root, "key"); m.Key != nil && m.Key.Text != "" && !strings.Contains(m.Key.Text, "${") {
		return file.ErrorAt(key.Line, "model.key", "a key must not be in this file", "write ${NAME}, and set that variable in the environment or in .env; or name a keyring, file or command")
	}
	if at := node.Value(root, "auth"); m.Auth != "" && (m.Provider != "azure" || m.Key != nil) {
		return file.ErrorAt(at.Line, "model.auth", "only Azure takes a token of Entra ID, and no key then", "write provider: azure, and remove the key")
	}
	for _, path := range [][]string{{"budget", "run", "cost"}, {"budget", "day", "cost"}, {"prices", "input"}, {"prices", "output"}} {
		at := root
		for _, key := range path {
			at = node.Value(at, key)
		}
		var amount float64
		if at == nil || at.Decode(&amount) == nil && (amount > 0 || amount == 0 && path[0] == "prices") && amount < 1e6 {
			continue
		}
		return file.ErrorAt(at.Line, "model."+strings.Join(path, "."), "it is not an amount of money", "write it in US dollars, such as 2.50")
	}
	return nil
}

// The variables that name a model or an endpoint for embeddings, where mcpgen.yaml does not. Those of vendors have the names that their own
// programs read.
const (
	modelVariable = "MCPRUN_MODEL" // PROVIDER/NAME
	azureEndpoint = "AZURE_OPENAI_ENDPOINT"
	azureKey      = "AZURE_OPENAI_API_KEY"
	azureChat     = "AZURE_OPENAI_CHAT_DEPLOYMENT_NAME"
	azureVersion  = "AZURE_OPENAI_API_VERSION"
	azureEmbedder = "AZURE_OPENAI_EMBEDDER_NAME"
	azureEmbedded = "AZURE_OPENAI_EMBEDDER_VERSION"
)

// modelVariables are these variables.
var modelVariables = []string{
	modelVariable, azureEndpoint, azureKey, azureChat, azureVersion, azureEmbedder, azureEmbedded,
	"ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL",
}

// with returns a lookup in the environment, and behind it in the variables of .env.
func (s *Settings) with(environment Lookup) func(name string) string {
	lookup := WithDotEnv(environment, s.Variables)
	return func(name string) string {
		value, _ := lookup(name)
		return value
	}
}

// ModelEndpoint returns the settings of the model with what variables of the environment and .env say: MCPRUN_MODEL replaces the endpoint, and
// variables of the provider fill in address, name, version and key. A key of variables is used only with an address of variables, or with the
// provider's own. It returns nil if nothing names a model.
func (s *Settings) ModelEndpoint(environment Lookup) (*Model, error) {
	lookup := s.with(environment)
	m := Model{}
	if s.Model != nil {
		m = *s.Model
	}
	if text := lookup(modelVariable); text != "" {
		provider, name, ok := strings.Cut(text, "/")
		if !ok || name == "" || !slices.Contains(settingsSchema().Properties["model"].Properties["provider"].Enum, any(provider)) {
			return nil, &FileError{File: modelVariable, Problem: fmt.Sprintf("%q is not a provider and a model", text), Remedy: "write it as anthropic/claude-sonnet-5, openai/NAME or azure/DEPLOYMENT"}
		}
		if m.Provider != provider || m.Name != name {
			m = Model{Provider: provider, Name: name, MaxTokens: m.MaxTokens, Timeout: m.Timeout, Budget: m.Budget}
		}
	}
	if m.Provider == "" && m.Name == "" && lookup(azureEndpoint) != "" && lookup(azureChat) != "" {
		m.Provider = "azure"
	}
	if m.Provider == "" {
		return nil, nil
	}
	vendor := strings.ToUpper(m.Provider)
	endpoint, key := vendor+"_BASE_URL", vendor+"_API_KEY"
	if m.Provider == "azure" {
		endpoint, key = azureEndpoint, azureKey
		override(&m.Name, lookup(azureChat), m.Name)
		if m.URL == "" {
			override(&m.APIVersion, lookup(azureVersion), m.APIVersion)
		}
	}
	if m.URL == "" {
		m.URL = lookup(endpoint)
		if needs := m.Provider == "azure" || m.URL == ""; m.Key == nil && m.Auth == "" && (needs || lookup(key) != "") {
			m.Key = &Secret{Text: "${" + key + "}"}
		}
	}
	return &m, nil
}

// Embeddings returns the settings of search.embeddings, or what variables of the environment and .env say of Azure's deployment for embeddings.
// It returns nil if nothing names an endpoint.
func (s *Settings) Embeddings(environment Lookup) *EmbeddingSettings {
	lookup := s.with(environment)
	if s.Search.Embeddings != nil || lookup(azureEndpoint) == "" || lookup(azureEmbedder) == "" {
		return s.Search.Embeddings
	}
	return &EmbeddingSettings{URL: lookup(azureEndpoint), Model: lookup(azureEmbedder), API: "azure", APIVersion: lookup(azureEmbedded), KeyEnv: azureKey}
}
