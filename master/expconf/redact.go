package expconf

import "strings"

// hidden stands in for a secret in what the API shows.
const hidden = "********"

// Redacted is the configuration without its secrets, for showing it: what is
// under data.secrets, and everything that signs in somewhere. The names of
// secrets stay, so that a reader can see which ones were given.
func (c Config) Redacted() Config {
	c.Environment.RegistryAuth = c.Environment.RegistryAuth.redacted()
	hide(&c.CheckpointStorage.AccessKey)
	hide(&c.CheckpointStorage.SecretKey)
	hide(&c.CheckpointStorage.ConnectionString)
	hide(&c.CheckpointStorage.Credential)
	if c.DataLayer != nil {
		layer := *c.DataLayer
		hide(&layer.AccessKey)
		hide(&layer.SecretKey)
		c.DataLayer = &layer
	}
	if secrets, ok := c.Data["secrets"]; ok && secrets != nil {
		c.Data = keywise(map[string]any{"secrets": redactedTree(secrets)}, c.Data)
	}
	c.TensorboardStorage = redactedKeys(c.TensorboardStorage, "access_key", "secret_key", "connection_string", "credential")
	if c.Integrations != nil && c.Integrations.Pachyderm != nil {
		integrations, pachyderm := *c.Integrations, *c.Integrations.Pachyderm
		if pachyderm.Pachd != nil {
			pachd := *pachyderm.Pachd
			hide(&pachd.Token)
			pachyderm.Pachd = &pachd
		}
		if pachyderm.Dataset != nil {
			dataset := *pachyderm.Dataset
			hide(&dataset.Token)
			pachyderm.Dataset = &dataset
		}
		integrations.Pachyderm = &pachyderm
		c.Integrations = &integrations
	}
	return c
}

func hide(secret **string) {
	if *secret != nil {
		mask := hidden
		*secret = &mask
	}
}

func (a *RegistryAuth) redacted() *RegistryAuth {
	if a == nil {
		return nil
	}
	out := *a
	for _, secret := range []*string{&out.Password, &out.Auth, &out.IdentityToken, &out.RegistryToken} {
		if *secret != "" {
			*secret = hidden
		}
	}
	return &out
}

// redactedTree keeps the mappings of a tree and hides everything else in it.
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

func redactedKeys(m map[string]any, names ...string) map[string]any {
	for _, name := range names {
		if _, ok := m[name]; ok {
			m = keywise(map[string]any{name: hidden}, m)
		}
	}
	return m
}

// WithoutVariables is the configuration without the values of environment
// variables, which are where users put keys.
func (c Config) WithoutVariables() Config {
	c.Environment.EnvironmentVariables = c.Environment.EnvironmentVariables.hidden()
	return c
}

// WithoutVariables is the configuration without the values of environment
// variables.
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
