package secrets

import (
	"context"

	"github.com/detent-ml/detent/master/fault"
)

// Login is a username and a password.
type Login struct{ Username, Password string }

// Login reads a username and a password from a secrets engine, for an attempt that signs in to
// Vault with the role for its checkpoints and therefore cannot read them itself.
func (v *Vault) Login(ctx context.Context, path string) (Login, error) {
	var l Login
	err := v.do(ctx, func(ctx context.Context) error {
		got, err := v.api.Logical().ReadWithContext(ctx, path)
		if err != nil {
			if statusOf(err) == 403 {
				return fault.Wrap(fault.Invalid, err, "the master may not read %s in Vault: a task has one Vault role, which is used for its checkpoints, "+
					"so the master must read the registry's credentials; allow the master's policy to read this path, "+
					"or allow the role of tasks to read it and set registry_auth.vault_role to that role", path)
			}
			return err
		}
		if got == nil {
			return fault.New(fault.Invalid, "Vault has no secret at %s", path)
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
