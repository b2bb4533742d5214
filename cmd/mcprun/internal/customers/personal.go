package customers

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"

	"github.com/spf13/pflag"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/pii"
	"github.com/mcpgen/mcpgen/runner/pii/presidio"
)

// piiVariable sets --pii.
const piiVariable = flags.EnvPrefix + "PII"

// PIIFlag is the flag --pii.
type PIIFlag struct{ mode string }

// Bind adds the flag to a command.
func (o *PIIFlag) Bind(f *pflag.FlagSet) {
	f.Var(flags.Choice(&o.mode, string(config.PIIOff), string(config.PIIOutput), string(config.PIIBridge)), "pii", "personal data: off shows it; output shows tokens such as [EMAIL_1] in its place; bridge gives scripts tokens too (default output for mcprun serve and --json, else off)")
}

// Personal returns what is done with the personal data of a customer; the empty id is the project itself. It is nil if it is passed on as it
// is. The flag counts, else MCPRUN_PII, else the settings. Without any of them, personal data is hidden from readers that are programs, if
// there is a place for the key of the vault.
func (o *PIIFlag) Personal(app *cli.App, settings *config.PII, id string, isProgram bool, open func() (*pii.Vault, error)) (*chain.Personal, error) {
	given := o.given(app)
	if given != "" && !slices.Contains(config.PIIModes(), given) {
		return nil, flags.Usage("%s: %q is not one of %v", piiVariable, given, config.PIIModes())
	}
	part := settings.Effective(id, given, o.otherwise(app, isProgram))
	if part.IsOff() {
		return nil, nil
	}
	opt := pii.OutletSettings{Fields: map[string]pii.Type{}, Retention: settings.RetentionTime()}
	if d := settings.Detector; d != nil {
		opt.Detector, opt.WithoutDetector = &presidio.Service{Client: &http.Client{}, URL: d.URL, Language: d.Language, Timeout: d.Timeout}, d.OnError == config.PIIOpen
	}
	for name, typ := range part.Fields {
		if opt.Fields[name] = pii.Type(typ); typ == string(config.PIIOff) {
			opt.Fields[name] = ""
		}
	}
	return &chain.Personal{Outlet: pii.NewOutlet(open, opt), Mode: part.Mode, Servers: part.Servers}, nil
}

// given returns the mode of the flag, else that of the variable.
func (o *PIIFlag) given(app *cli.App) config.PIIMode {
	return config.PIIMode(cmp.Or(o.mode, app.Env(piiVariable)))
}

// otherwise is the mode without a setting.
func (o *PIIFlag) otherwise(app *cli.App, isProgram bool) config.PIIMode {
	if isProgram && o.given(app) == "" {
		if _, err := keyPlace(app); err == nil {
			return config.PIIOutput
		}
	}
	return config.PIIOff
}

// Mode returns the mode of customers and servers that the settings leave out; see [PIIFlag.Personal].
func (o *PIIFlag) Mode(app *cli.App, settings *config.PII, isProgram bool) config.PIIMode {
	return cmp.Or(o.given(app), settings.Mode, o.otherwise(app, isProgram))
}

// Issued returns the function for [chain.Settings], or nil if the flag, the variable or the settings have a mode.
func (o *PIIFlag) Issued(app *cli.App, settings *config.PII, id string, open func() (*pii.Vault, error)) func(text string) string {
	if part := settings.For(id); o.given(app) != "" || part.Mode != "" {
		return nil
	}
	return pii.NewOutlet(open, pii.OutletSettings{}).FindToken
}

// PIIWords says in one line what is done with personal data of a project with these settings.
func PIIWords(app *cli.App, settings *config.PII) string {
	given := (&PIIFlag{}).given(app)
	part, mode := settings.Effective("", given, config.PIIOutput), cmp.Or(given, settings.Mode)
	vaults, err := keyPlace(app)
	where := fmt.Sprintf("the key of the vault is in %s", vaults)
	if _, ok := Keyring(app); ok {
		where = fmt.Sprintf("the key of the vault is in the system's keyring, or else in %s", vaults)
	}
	if err != nil {
		where = fmt.Sprintf("there is no place for the key of the vault, so nothing can be restored: %v", err)
	}
	switch {
	case part.IsOff():
		return "shown by all runs, because the mode is off"
	case mode == config.PIIOff:
		return "shown, except that of servers whose mode is not off; " + where
	case mode != "":
		return fmt.Sprintf("hidden by all runs, because the mode is %s; %s", mode, where)
	case err != nil:
		return fmt.Sprintf("not hidden by default, because there is no place for the key of the vault: %v", err)
	}
	return "hidden by mcprun serve and with --json, shown by other runs; " + where
}
