package secrets

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/fault"
)

// Keys lists the keys of a secret of version 2 of the kv engine, with a request that returns no values.
// It returns nil if the master may not make this request.
func (v *Vault) Keys(ctx context.Context, path string) ([]string, error) {
	mount, rest, _ := strings.Cut(path, "/data/") // the master's configuration accepts no other form
	var keys []string
	err := v.do(ctx, func(ctx context.Context) error {
		got, err := v.api.Logical().ReadWithContext(ctx, mount+"/subkeys/"+rest)
		switch status := statusOf(err); {
		case status == http.StatusForbidden:
			return err // a second sign-in may help
		case status == http.StatusNotFound || err == nil && got == nil:
			return noSecret(path)
		case err != nil:
			return err
		}
		fields, ok := got.Data["subkeys"].(map[string]any)
		if !ok { // the secret's newest version was deleted
			return noSecret(path)
		}
		keys = slices.Sorted(maps.Keys(fields))
		return nil
	})
	if forbidden(err) {
		return nil, nil
	}
	return keys, err
}

func noSecret(path string) error {
	return fault.New(fault.Invalid, "Vault has no secret at %s", path)
}
