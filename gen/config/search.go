package config

import (
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/gen/config/node"
)

// SearchSettings are the settings of the search for tools.
type SearchSettings struct {
	// Embeddings is an endpoint that ranks by meaning. Without one, tools are found by their words only.
	Embeddings *EmbeddingSettings
}

// EmbeddingSettings are the settings of an HTTP endpoint for embeddings. They do not hold its key, which is a secret.
type EmbeddingSettings struct {
	URL, Model string
	// API is "azure", or empty for the API of OpenAI.
	API string
	// APIVersion is the version of Azure's API. Empty means a default.
	APIVersion string
	// KeyEnv is the name of the variable that holds the key. Empty means that no key is sent.
	KeyEnv string
	// Dimensions is the length of the vectors. 0 means the model's own.
	Dimensions int
	// Timeout bounds how long a search waits for the endpoint. 0 means a default.
	Timeout time.Duration
}

// Categories returns the categories of the servers that have one, by the names of the servers.
func (s *Settings) Categories() map[string]string {
	out := map[string]string{}
	for name, server := range s.Servers {
		if server.Category != "" {
			out[name] = server.Category
		}
	}
	return out
}

func (y *settingsFile) search(s *SearchSettings) map[string]field {
	return map[string]field{
		"embeddings": func(n node.Node, key string) error {
			if n.Kind == node.KindNull {
				return nil
			}
			e := &EmbeddingSettings{}
			if err := y.object(n, key, y.embeddings(e)); err != nil {
				return err
			}
			for _, need := range []struct{ key, value string }{{"model", e.Model}, {"url", e.URL}} {
				if need.value == "" {
					return y.ErrorAt(n.Line, node.Join(key, need.key), "it is missing", "write it, or remove "+key)
				}
			}
			s.Embeddings = e
			return nil
		},
	}
}

func (y *settingsFile) embeddings(e *EmbeddingSettings) map[string]field {
	return map[string]field{
		"url": y.webAddress(&e.URL), "model": y.word(&e.Model),
		"api":         func(n node.Node, key string) error { return y.oneOf(&e.API, "openai", "azure")(n, key) },
		"api_version": y.word(&e.APIVersion), "key_env": y.variable(&e.KeyEnv),
		"dimensions": y.count(&e.Dimensions), "timeout": y.duration(&e.Timeout),
	}
}

// webAddress reads an http or https address.
func (y *settingsFile) webAddress(p *string) field {
	return func(n node.Node, key string) error {
		if err := y.word(p)(n, key); err != nil {
			return err
		}
		if !strings.HasPrefix(*p, "http://") && !strings.HasPrefix(*p, "https://") {
			return y.ErrorAt(n.Line, key, "it is not an http or https address", "write it as https://api.openai.com/v1")
		}
		return nil
	}
}

// variable reads the name of a variable.
func (y *settingsFile) variable(p *string) field {
	return func(n node.Node, key string) error {
		if err := y.word(p)(n, key); err != nil {
			return err
		}
		if !IsVariableName(*p) {
			return y.ErrorAt(n.Line, key, "it does not name a variable", "write the name of the variable that holds the key, such as OPENAI_API_KEY; never the key itself")
		}
		return nil
	}
}
