package jobspecs

import (
	"fmt"
	"strings"
)

// A Secret is one key of a secret in version 2 of Vault's kv engine, which an attempt's owner mounts.
type Secret struct {
	Name string // by which users know the secret
	Path string
	Key  string
}

// SecretsFile is the file in the task's secrets folder in which a runner finds the values.
const SecretsFile = "user-secrets.json"

// secretsTemplate renders the values as a JSON list of {name, key, value}. The value of a missing key
// is null.
func secretsTemplate(list []Secret) string {
	entries := make([]string, len(list))
	for i, s := range list {
		entries[i] = fmt.Sprintf(`{{ with secret %q }}{"name": %q, "key": %q, "value": {{ index .Data.data %q | toJSON }}}{{ end }}`, s.Path, s.Name, s.Key, s.Key)
	}
	return "[" + strings.Join(entries, ",\n") + "]"
}

func (t *Task) secretProblems(bad func(format string, args ...any)) {
	if len(t.Secrets) > 0 && (t.Credentials == nil || t.Credentials.Role == "") {
		bad("secrets: no role of Vault with which to read them")
	}
	for _, s := range t.Secrets {
		if !vaultPath.MatchString(s.Path) {
			bad("secrets: %q is no path in Vault", s.Path)
		}
		for _, word := range []string{s.Name, s.Key} {
			if !secretWord.MatchString(word) {
				bad("secrets: %q is neither the name nor a key of a secret", word)
			}
		}
	}
}
