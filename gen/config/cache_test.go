package config

import (
	"testing"
	"time"
)

func TestCache(t *testing.T) {
	of := func(text string) *Cache {
		t.Helper()
		s, err := parseSettings(SettingsName, []byte("version: 1\n"+text), nil)
		if err != nil {
			t.Fatal(err)
		}
		return s.Cache
	}
	for _, c := range []struct {
		text string
		want map[string]time.Duration
		size int64
	}{
		{"cache:\n", map[string]time.Duration{"crm__get": DefaultCacheTTL}, DefaultCacheSize},
		{"cache: {ttl: 10s, size: 2MiB}\n", map[string]time.Duration{"crm__get": 10 * time.Second}, 2 << 20},
		{"cache: {ttl: off, tools: {'crm__get*': 1h}}\n", map[string]time.Duration{"crm__get": time.Hour, "crm__list": 0}, DefaultCacheSize},
		{"cache: {tools: {crm__list: off, 'crm__*': 1h, crm__get: 1s}}\n", map[string]time.Duration{"crm__list": 0, "crm__get": time.Hour, "web__now": DefaultCacheTTL}, DefaultCacheSize},
	} {
		cache := of(c.text)
		if cache == nil || cache.Bytes() != c.size {
			t.Fatalf("%s: %+v, want a size of %d", c.text, cache, c.size)
		}
		for tool, want := range c.want {
			if got := cache.For(tool); got != want {
				t.Errorf("%s: For(%s) = %v, want %v", c.text, tool, got, want)
			}
		}
	}
	if cache := of(""); cache != nil || cache.For("crm__get") != 0 {
		t.Errorf("without the key: %+v, want nil, which keeps nothing", cache)
	}
}
