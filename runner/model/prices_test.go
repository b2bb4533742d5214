package model

import "testing"

func TestParsePrices(t *testing.T) {
	for text, want := range map[string]Prices{"3,15": MidRange(), "0.25, 2": {0.25, 2}, "0,0": {}} {
		if got, err := ParsePrices(text); err != nil || got != want {
			t.Errorf("%q: %v, error %v, want %v and no error", text, got, err, want)
		}
	}
	for _, text := range []string{"", "3", "3,", "3,15,75", "-1,2", "NaN,1", "Inf,1", "a,b"} {
		if got, err := ParsePrices(text); err == nil {
			t.Errorf("%q: %v, no error", text, got)
		}
	}
	if text := MidRange().String(); text != "3,15" {
		t.Error(text)
	}
}

func TestPricesOf(t *testing.T) {
	for name, want := range map[string]Prices{
		"claude-sonnet-5": {2, 10}, "claude-haiku-4-5-20251001": {1, 5}, "gpt-4o-2024-11-20": {2.5, 10}, "gpt-4o-mini": {0.15, 0.6}, "gpt-5-mini-2025-08-07": {0.25, 2},
	} {
		if got, ok := PricesOf(name); !ok || got != want {
			t.Errorf("PricesOf(%q) = %v, %v, want %v", name, got, ok, want)
		}
	}
	for _, name := range []string{"", "-", "claude-haiku-5-5", "claude-sonnet-9", "gpt-4o-realtime", "gpt-5-", "my-gpt-5", "claude", "gpt-5-pro"} {
		if got, ok := PricesOf(name); ok {
			t.Errorf("PricesOf(%q) = %v, want none", name, got)
		}
	}
}
