package secrets

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/fault"
)

// Credentials are keys of S3 that end.
type Credentials struct {
	AccessKey    string
	SecretKey    string
	SessionToken string
	Expires      time.Time
}

// readerState is what was read last, by whichever request came first.
type readerState struct {
	keys  Credentials
	renew time.Time
}

// Reader gives the credentials by which the master reads checkpoints. They are
// kept until most of their life is over.
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
			return fault.New(fault.Unavailable, "Vault has no role %s at %s; nomad/vault/setup.sh makes it", v.cfg.ReaderRole, v.cfg.Engine)
		}
		lease = time.Duration(got.LeaseDuration) * time.Second
		text := func(name string) string { s, _ := got.Data[name].(string); return s }
		keys = Credentials{AccessKey: text("access_key"), SecretKey: text("secret_key"), SessionToken: text("session_token"), Expires: asked.Add(lease)}
		return nil
	})
	if err != nil {
		if time.Now().Before(kept.keys.Expires) {
			return kept.keys, nil // still good, while Vault is away
		}
		return Credentials{}, err
	}
	v.mu.Lock()
	v.reader = readerState{keys: keys, renew: keys.Expires.Add(-lease / 3)}
	v.mu.Unlock()
	return keys, nil
}
