package api

import (
	"fmt"
	"testing"
)

func TestHasSecretKey(t *testing.T) {
	for _, key := range []string{"access_key", "secret_key", "connection_string", "credential", "password", "auth", "identitytoken", "registrytoken", "token"} {
		for text, want := range map[string]bool{
			`{"a": {"%s": "x"}}`:               true,
			`{"%s": "x", "b": 1}`:              true,
			`{"b": "c\": ", "d": 1, "%s": ""}`: true,
			`{"%s": null}`:                     false, // PostgreSQL prints a text with quotes
			`{"%s_": "x", "my%[1]s": "x"}`:     false,
			`{"b": "\"%s\": \"x\""}`:           false, // within a text
			`{"b": "%s"}`:                      false,
		} {
			config := fmt.Sprintf(text, key)
			if hasSecretKey([]byte(config)) != want {
				t.Errorf("%s: want %v", config, want)
			}
		}
	}
	for config, want := range map[string]bool{`{"secrets": {}}`: true, `{"secrets": null}`: true, `{"secretss": {}}`: false, ``: false, `{}`: false, `": `: false, `"": "`: false, `{"token": `: false} {
		if hasSecretKey([]byte(config)) != want {
			t.Errorf("%s: want %v", config, want)
		}
	}
}
