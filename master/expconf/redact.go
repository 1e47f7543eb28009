package expconf

import (
	"reflect"
	"strings"
)

// hidden replaces a secret in what the API shows.
const hidden = "********"

// Redacted returns the configuration without its secrets: the values under data.secrets, and
// all credentials. The names of secrets stay, so that a reader sees which ones are set.
func (c Config) Redacted() Config {
	hideSecrets(valueOf(&c))
	if secrets, ok := c.Data["secrets"]; ok && secrets != nil {
		c.Data = keywise(map[string]any{"secrets": redactedTree(secrets)}, c.Data)
	}
	for _, name := range secretNames(sectionOf(reflect.TypeFor[CheckpointStorage]())) {
		if _, ok := c.TensorboardStorage[name]; ok {
			c.TensorboardStorage = keywise(map[string]any{name: hidden}, c.TensorboardStorage)
		}
	}
	return c
}

// hideSecrets hides the fields that the tags of a section, and of its subsections, mark as
// secret. It copies what is behind pointers first.
func hideSecrets(v reflect.Value) {
	if v.Kind() == reflect.Pointer {
		if !v.IsNil() {
			own := reflect.New(v.Type().Elem())
			own.Elem().Set(v.Elem())
			hideSecrets(own.Elem())
			v.Set(own)
		}
		return
	}
	for _, f := range sectionOf(v.Type()).fields {
		switch field := v.Field(f.index); {
		case f.part.hides:
			hideSecrets(field)
		case !f.secret || field.IsZero():
		case f.query:
			hideQuery(field)
		case field.Kind() == reflect.String:
			field.SetString(hidden)
		default:
			mask := hidden
			field.Set(reflect.ValueOf(&mask))
		}
	}
}

// hideQuery hides the query of an address, which is a pointer to a string.
func hideQuery(v reflect.Value) {
	address, _, found := strings.Cut(v.Elem().String(), "?")
	if found {
		address += "?" + hidden
		v.Set(reflect.ValueOf(&address))
	}
}

// redactedTree keeps the mappings of a tree and hides all other values.
func redactedTree(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return hidden
	}
	out := make(map[string]any, len(m))
	for name, value := range m {
		out[name] = redactedTree(value)
	}
	return out
}

// WithoutVariables returns the configuration without the values of environment variables, where
// users often put credentials.
func (c Config) WithoutVariables() Config {
	c.Environment.EnvironmentVariables = c.Environment.EnvironmentVariables.hidden()
	return c
}

// WithoutVariables returns the configuration without the values of environment variables.
func (c CommandConfig) WithoutVariables() CommandConfig {
	c.Environment.EnvironmentVariables = c.Environment.EnvironmentVariables.hidden()
	return c
}

func (e EnvironmentVariables) hidden() EnvironmentVariables {
	return EnvironmentVariables{CPU: hiddenValues(e.CPU), CUDA: hiddenValues(e.CUDA), ROCM: hiddenValues(e.ROCM)}
}

func hiddenValues(list []string) []string {
	out := make([]string, len(list))
	for i, entry := range list {
		if name, _, valued := strings.Cut(entry, "="); valued {
			entry = name + "=" + hidden
		}
		out[i] = entry
	}
	return out
}
