package cli

import "testing"

func TestStateDir(t *testing.T) {
	for _, c := range []struct{ state, home, want string }{
		{"/s", "/h", "/s/mcpgen"},
		{"", "/h", "/h/.local/state/mcpgen"},
		{"relative", "/h", "/h/.local/state/mcpgen"},
		{"", "", ""},
		{"", "relative", ""},
	} {
		vars := map[string]string{"XDG_STATE_HOME": c.state, "HOME": c.home}
		app := &App{LookupEnv: func(name string) (string, bool) { v, ok := vars[name]; return v, ok }}
		if got, err := app.StateDir(); got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
}

func TestKeyringVariable(t *testing.T) {
	app := &App{}
	if !app.Keyring() {
		t.Error("the keyring is off by itself")
	}
	app.LookupEnv = func(name string) (string, bool) { return "off", name == KeyringVariable }
	if app.Keyring() {
		t.Error("the keyring can't be switched off")
	}
}

func TestCacheDir(t *testing.T) {
	for _, c := range []struct{ cache, home, want string }{
		{"/c", "/h", "/c/mcpgen"},
		{"", "/h", "/h/.cache/mcpgen"},
		{"relative", "/h", "/h/.cache/mcpgen"},
		{"", "", ""},
		{"", "relative", ""},
	} {
		vars := map[string]string{"XDG_CACHE_HOME": c.cache, "HOME": c.home}
		app := &App{LookupEnv: func(name string) (string, bool) { v, ok := vars[name]; return v, ok }}
		if got := app.CacheDir(); got != c.want {
			t.Errorf("%+v: %q, want %q", c, got, c.want)
		}
	}
}
