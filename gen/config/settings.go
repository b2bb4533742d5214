package config

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Language is a language of the generated files.
type Language string

const (
	TypeScript Language = "typescript"
	Python     Language = "python"
)

// Languages returns the languages that a setting may name, from mcpgen.schema.json. Package gen has the table of languages.
func Languages() []Language {
	var out []Language
	for _, name := range settingsSchema().Properties["languages"].Items.Enum {
		out = append(out, Language(name.(string)))
	}
	return out
}

// DefaultOut is the default of [Settings.Out].
const DefaultOut = "servers"

// Settings are the content of mcpgen.yaml.
type Settings struct {
	// Path is the file, which may be missing.
	Path string `yaml:"-"`
	// Name is the project's, in a state that machines share. Empty: that of its folder.
	Name string
	// Languages is never empty. The default is [Languages].
	Languages []Language
	// Out is the folder of the tree, absolute or relative to the configuration file. The default is "servers".
	Out string
	// Defaults apply to servers without a setting of their own, here or in their file.
	Defaults ServerDefaults
	// Servers holds settings by server name; a server without an entry has the zero value.
	Servers map[string]ServerSettings
	// Run are the defaults of mcprun's flags, from the project's .env, else from mcpgen.yaml. Flags and the environment take precedence.
	Run RunSettings
	// Variables are the settings of mcprun in the project's .env, by their names: MCPRUN_* (also those that are in Run), LOG_LEVEL, LOG_FILE,
	// OTEL_* of OpenTelemetry, and those of vendors of models. The environment takes precedence: see [WithDotEnv].
	Variables map[string]string `yaml:"-"`
	// Unknown are the names MCPRUN_* in the .env that are no settings, sorted.
	Unknown []string `yaml:"-"`
	// Packages says what scripts may import beside the standard library.
	Packages Packages `yaml:"-"`
	// Categories are descriptions of the servers' groups, by the names in [ServerSettings].Category, or by the names of servers without one.
	Categories map[string]string
	// Search are the settings of the search for tools.
	Search SearchSettings
	// Model is the endpoint that is asked for texts. Nil: variables may name one, see [Settings.ModelEndpoint].
	Model *Model
	// Learn is [LearnTraffic] or empty. It says whether runs record the shapes of results that no schema declares.
	Learn string
	// Policy says which calls scripts may make.
	Policy Policy
	// Network says where scripts may connect to.
	Network Network
	// PII says what is done with personal data.
	PII PII `yaml:"pii"`
	// Audit says what is done with the record.
	Audit Audit
	// Cache says which results of calls are kept. Nil: none.
	Cache *Cache
	// Schedules say what mcprun serve and the daemon run at times, by name.
	Schedules map[string]Schedule
	// Plugins are asked before and after runs and calls, in this order.
	Plugins []Plugin
	// Guardrails says which of them are, and more.
	Guardrails Guardrails

	document map[string]any
}

// LearnTraffic is the value of the key learn with which runs record shapes of results, from which mcpgen learns types.
const LearnTraffic = "traffic"

// Document returns the content of the file as it is written: mappings, lists, strings, numbers and booleans. It must not be changed. It is
// nil if there is no file.
func (s *Settings) Document() map[string]any { return s.document }

// ServerDefaults are settings of all servers. 0 and nil mean unset.
type ServerDefaults struct {
	Timeout        time.Duration
	StartupTimeout time.Duration `yaml:"startup_timeout"`
	ClosedInputs   *bool         `yaml:"closed_inputs"`
}

// ServerSettings are the settings of one server. A zero value means unset. Settings take precedence over the server's own
// file, except that a tool must pass the filters of both.
type ServerSettings struct {
	// Include and Exclude are globs of tool names, in which * is any text and ? any one character. A tool is used if it
	// matches an Include, or there is none, and no Exclude.
	Include []string `yaml:"include,omitempty,flow"`
	Exclude []string `yaml:"exclude,omitempty,flow"`
	// The next fields are as in [Server].
	Alias          string        `yaml:"alias,omitempty"`
	Timeout        time.Duration `yaml:"timeout,omitempty"`
	StartupTimeout time.Duration `yaml:"startup_timeout,omitempty"`
	MaxTime        time.Duration `yaml:"max_time,omitempty"`
	Parallel       int           `yaml:"parallel,omitempty"`
	Protocol       Protocol      `yaml:"protocol,omitempty"`
	PassEnv        []string      `yaml:"pass_env,omitempty,flow"`
	EnvFile        string        `yaml:"env_file,omitempty"`
	Idempotent     []string      `yaml:"idempotent,omitempty,flow"`
	ReadOnly       []string      `yaml:"read_only,omitempty,flow"`
	Arguments      string        `yaml:"arguments,omitempty"`
	Results        string        `yaml:"results,omitempty"`
	OAuth          *OAuth        `yaml:"oauth,omitempty"`
	Trusted        *bool         `yaml:"trusted,omitempty"`
	Disabled       *bool         `yaml:"disabled,omitempty"`
	// ClosedInputs overrides the default; see [Settings.ClosedInputs].
	ClosedInputs *bool `yaml:"closed_inputs,omitempty"`
	// Category is the server's group in the search for tools.
	Category string `yaml:"category,omitempty"`
	// UseCases are what people use its tools for, for the search for tools.
	UseCases UseCases `yaml:"use_cases,omitempty"`
	// AllowText are the rules for suspicious text that this server may break.
	AllowText []string `yaml:"allow_text,omitempty,flow"`
}

// RunSettings are defaults of mcprun's flags. A key is the name of a flag, with _ for -.
type RunSettings map[string]RunSetting

// RunSetting is one default of a flag.
type RunSetting struct {
	// Value is the value as on the command line. Paths are absolute, unless they are bare names of programs.
	Value string
	// Line is the setting's line in mcpgen.yaml, or 0 if Variable, in .env, has set it.
	Line     int
	Variable string
}

// UnmarshalYAML reads a string, a number or a boolean, as it is written.
func (s *RunSetting) UnmarshalYAML(n *yaml.Node) error {
	*s = RunSetting{Value: n.Value, Line: n.Line}
	return nil
}

// SearchSettings are the settings of the search for tools.
type SearchSettings struct {
	// Embeddings is an endpoint that ranks by meaning. Nil: variables may name one, see [Settings.Embeddings]. Without one, tools are found by
	// their words only.
	Embeddings *EmbeddingSettings
	// Recommend says that results of mcprun name the tools and skills that the customer's recorded runs used with them.
	Recommend bool
}

// EmbeddingSettings are the settings of an HTTP endpoint for embeddings. They do not contain the endpoint's key, which is a secret.
type EmbeddingSettings struct {
	URL, Model string
	// API is "azure", or empty for the API of OpenAI.
	API string
	// APIVersion is the version of Azure's API. Empty: a default.
	APIVersion string `yaml:"api_version"`
	// KeyEnv is the name of the variable that holds the key. Empty: no key is sent.
	KeyEnv string `yaml:"key_env"`
	// Dimensions is the length of the vectors. 0 means the model's own.
	Dimensions int
	// Timeout bounds how long a search waits for the endpoint. 0 means a default.
	Timeout time.Duration
}

// apply returns the server with the settings applied.
func (s *Settings) apply(srv Server) Server {
	own := s.Servers[srv.Key]
	override(&srv.Alias, own.Alias)
	override(&srv.Protocol, own.Protocol)
	if own.EnvFile != "" && !filepath.IsAbs(own.EnvFile) && !strings.HasPrefix(own.EnvFile, "$") && !strings.HasPrefix(own.EnvFile, "~") {
		own.EnvFile = filepath.Join(filepath.Dir(s.Path), own.EnvFile)
	}
	override(&srv.EnvFile, own.EnvFile)
	override(&srv.Timeout, s.Defaults.Timeout, srv.Timeout, own.Timeout)
	override(&srv.StartupTimeout, s.Defaults.StartupTimeout, srv.StartupTimeout, own.StartupTimeout)
	override(&srv.MaxTime, own.MaxTime)
	override(&srv.Parallel, own.Parallel)
	if len(own.PassEnv) > 0 {
		srv.PassEnv = own.PassEnv
	}
	srv.Idempotent, srv.ReadOnly, srv.Arguments, srv.Results = own.Idempotent, own.ReadOnly, own.Arguments, own.Results
	if own.Trusted != nil {
		srv.Trusted = *own.Trusted
	}
	if own.Disabled != nil {
		srv.Disabled = *own.Disabled
	}
	if own.OAuth != nil {
		merged := OAuth{}
		if srv.OAuth != nil {
			merged = *srv.OAuth
		}
		override(&merged.ClientID, own.OAuth.ClientID)
		override(&merged.ClientSecret, own.OAuth.ClientSecret)
		override(&merged.ClientMetadataURL, own.OAuth.ClientMetadataURL)
		override(&merged.Resource, own.OAuth.Resource)
		override(&merged.CallbackPort, own.OAuth.CallbackPort)
		override(&merged.Grant, own.OAuth.Grant)
		override(&merged.TokenEndpoint, own.OAuth.TokenEndpoint)
		if len(own.OAuth.Scopes) > 0 {
			merged.Scopes = own.OAuth.Scopes
		}
		srv.OAuth = &merged
	}
	return srv
}

// ClosedInputs reports whether the types of a server's inputs refuse properties that its schemas do not mention.
func (s *Settings) ClosedInputs(server string) bool {
	closed := false
	for _, set := range []*bool{s.Defaults.ClosedInputs, s.Servers[server].ClosedInputs} {
		if set != nil {
			closed = *set
		}
	}
	return closed
}

// override sets p to the last of values that is not zero, if there is one.
func override[T comparable](p *T, values ...T) {
	var zero T
	for _, v := range values {
		if v != zero {
			*p = v
		}
	}
}

// Allows reports whether a tool passes Include and Exclude.
func (s ServerSettings) Allows(tool string) bool {
	fits := func(glob string) bool { return MatchGlob(glob, tool) }
	if slices.ContainsFunc(s.Exclude, fits) {
		return false
	}
	return len(s.Include) == 0 || slices.ContainsFunc(s.Include, fits)
}

// MatchGlob reports whether a glob matches all of s; * is any text, and ? any one character. Unlike in path.Match, * also matches a slash,
// because a tool name may contain anything and must not escape an exclude rule.
func MatchGlob(glob, s string) bool {
	head := strings.IndexFunc(glob, func(r rune) bool { return r == '*' || r == '?' || r >= utf8.RuneSelf })
	if head < 0 {
		return glob == s
	}
	if !strings.HasPrefix(s, glob[:head]) { // a fast path for the usual case; a regular expression takes microseconds
		return false
	}
	pattern := strings.NewReplacer(`\*`, `.*`, `\?`, `.`).Replace(regexp.QuoteMeta(strings.ToValidUTF8(glob, "\uFFFD")))
	return regexp.MustCompile(`(?s)^` + pattern + `$`).MatchString(s)
}

// Believed reports whether what is said of a tool holds: a person vouches for it, by one of globs for the tool's name, or the server is
// trusted and says so in a hint, which may be nil.
func Believed(globs []string, trusted bool, tool string, hint *bool) bool {
	return slices.ContainsFunc(globs, func(glob string) bool { return MatchGlob(glob, tool) }) || trusted && hint != nil && *hint
}
