package config

import (
	"strings"
	"time"
)

// SearchSettings are those of the search for tools.
type SearchSettings struct {
	// Embeddings is an endpoint that ranks by meaning; nil: tools are found by their words only.
	Embeddings *EmbeddingSettings
}

// EmbeddingSettings are an HTTP endpoint for embeddings. Only its key is a secret, and it is not here.
type EmbeddingSettings struct {
	URL, Model string
	// API is "azure", or empty: as OpenAI has it.
	API string
	// APIVersion is of Azure's interface; empty: a default.
	APIVersion string
	// KeyEnv is the name of the variable that holds the key; empty: none is sent.
	KeyEnv string
	// Dimensions of the vectors; 0: the model's own.
	Dimensions int
	// Timeout bounds what a search waits for it; 0: a default.
	Timeout time.Duration
}

// Categories are the categories of servers that have one, by their names.
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
		"embeddings": func(n node, key string) error {
			if n.kind == kindNull {
				return nil
			}
			e := &EmbeddingSettings{}
			if err := y.object(n, key, y.embeddings(e)); err != nil {
				return err
			}
			for _, need := range []struct{ key, value string }{{"model", e.Model}, {"url", e.URL}} {
				if need.value == "" {
					return y.errorAt(n.line, join(key, need.key), "it is missing", "write it, or remove "+key)
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
		"api":         func(n node, key string) error { return y.oneOf(&e.API, "openai", "azure")(n, key) },
		"api_version": y.word(&e.APIVersion), "key_env": y.variable(&e.KeyEnv),
		"dimensions": y.count(&e.Dimensions), "timeout": y.duration(&e.Timeout),
	}
}

// webAddress reads an http or https address.
func (y *settingsFile) webAddress(p *string) field {
	return func(n node, key string) error {
		if err := y.word(p)(n, key); err != nil {
			return err
		}
		if !strings.HasPrefix(*p, "http://") && !strings.HasPrefix(*p, "https://") {
			return y.errorAt(n.line, key, "it is not an http or https address", "write it as https://api.openai.com/v1")
		}
		return nil
	}
}

// variable reads the name of a variable.
func (y *settingsFile) variable(p *string) field {
	return func(n node, key string) error {
		if err := y.word(p)(n, key); err != nil {
			return err
		}
		if !isName(*p) {
			return y.errorAt(n.line, key, "it does not name a variable", "write the name of the variable that holds the key, such as OPENAI_API_KEY; never the key itself")
		}
		return nil
	}
}
