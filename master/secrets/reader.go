package secrets

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/fault"
)

// Credentials are temporary keys of S3.
type Credentials struct {
	AccessKey    string
	SecretKey    string
	SessionToken string
	Expires      time.Time
}

// readerState caches the last credentials.
type readerState struct {
	keys  Credentials
	renew time.Time
}

// Reader returns the credentials with which the master reads checkpoints. They are cached for
// most of their lifetime.
func (v *Vault) Reader(ctx context.Context) (Credentials, error) {
	v.mu.Lock()
	kept := v.reader
	v.mu.Unlock()
	if time.Now().Before(kept.renew) {
		return kept.keys, nil
	}
	var keys Credentials
	var lease time.Duration
	err := v.do(ctx, func(ctx context.Context) error {
		asked := time.Now()
		got, err := v.api.Logical().ReadWithContext(ctx, v.cfg.Engine+"/sts/"+v.cfg.ReaderRole)
		if err != nil {
			return err
		}
		if got == nil {
			return fault.New(fault.Unavailable, "Vault has no role %s at %s; create it with nomad/vault/setup.sh", v.cfg.ReaderRole, v.cfg.Engine)
		}
		lease = time.Duration(got.LeaseDuration) * time.Second
		text := func(name string) string { s, _ := got.Data[name].(string); return s }
		keys = Credentials{AccessKey: text("access_key"), SecretKey: text("secret_key"), SessionToken: text("session_token"), Expires: asked.Add(lease)}
		return nil
	})
	if err != nil {
		if time.Now().Before(kept.keys.Expires) {
			return kept.keys, nil // still valid while Vault does not answer
		}
		return Credentials{}, err
	}
	v.mu.Lock()
	v.reader = readerState{keys: keys, renew: keys.Expires.Add(-lease / 3)}
	v.mu.Unlock()
	return keys, nil
}
