package pii

import (
	"maps"
	"testing"
)

func TestCountTokens(t *testing.T) {
	got := CountTokens("[EMAIL_1] and [EMAIL_2], [API_KEY_12] [NAME] [LITERAL_3] [email_1] [x]", `{"to":"[EMAIL_1]"}`)
	if want := map[string]int{"EMAIL": 3, "API_KEY": 1, "NAME": 1}; !maps.Equal(got, want) {
		t.Errorf("CountTokens() = %v, want %v", got, want)
	}
}
