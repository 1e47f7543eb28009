package secrets

import (
	"context"

	"github.com/detent-ml/detent/master/fault"
)

// Login is a username and a password.
type Login struct{ Username, Password string }

// Login reads a username and a password out of a secrets engine, for an attempt that
// signs in to Vault with the role for its checkpoints and so cannot read them itself.
func (v *Vault) Login(ctx context.Context, path string) (Login, error) {
	var l Login
	err := v.do(ctx, func(ctx context.Context) error {
		got, err := v.api.Logical().ReadWithContext(ctx, path)
		if err != nil {
			if statusOf(err) == 403 {
				return fault.Wrap(fault.Invalid, err, "the master may not read %s in Vault: a task signs in to Vault once, for its checkpoints, "+
					"so the master reads the registry's credentials for it; let the master's policy read that path, "+
					"or let the role of tasks read it and name that role in registry_auth.vault_role", path)
			}
			return err
		}
		if got == nil {
			return fault.New(fault.Invalid, "Vault has nothing at %s", path)
		}
		data := got.Data
		if inner, ok := data["data"].(map[string]any); ok { // of version 2 of the kv engine
			data = inner
		}
		l.Username, _ = data["username"].(string)
		l.Password, _ = data["password"].(string)
		if l.Username == "" || l.Password == "" {
			return fault.New(fault.Invalid, "the secret at %s in Vault has no username and password", path)
		}
		return nil
	})
	return l, err
}
