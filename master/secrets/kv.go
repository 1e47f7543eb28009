package secrets

import (
	"context"
	"encoding/json"

	"github.com/detent-ml/detent/master/fault"
)

// Secret reads a secret of version 2 of the kv engine, as a JSON object: the credentials for
// object storage for which Vault cannot issue credentials.
func (v *Vault) Secret(ctx context.Context, path string) ([]byte, error) {
	var text []byte
	err := v.do(ctx, func(ctx context.Context) error {
		got, err := v.api.Logical().ReadWithContext(ctx, path)
		if err != nil {
			return err
		}
		if got == nil {
			return fault.New(fault.Unavailable, "Vault has no secret at %s", path)
		}
		fields, ok := got.Data["data"].(map[string]any)
		if !ok {
			return fault.New(fault.Unavailable, "the secret at %s in Vault is not of version 2 of the kv engine", path)
		}
		text, err = json.Marshal(fields)
		return err
	})
	return text, err
}
