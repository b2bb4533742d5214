package cli

import "testing"

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
			t.Errorf("%+v: %q", c, got)
		}
	}
}
