package api

import (
	"context"

	"github.com/detent-ml/detent/master/store"
)

// registerNomad lists what operators tell a master about its Nomad.
func (a *API) registerNomad() {
	handle(a, "POST", "/detent/nomad/trust", admin,
		"Say that you have looked, and that what Nomad lacks now is gone: the loop concludes from it once", a.trustNomad)
}

// trustNomad ends an alarm that only a person can end: Nomad was restored from
// an older state, or lost many jobs at once.
func (a *API) trustNomad(ctx context.Context, _ *call, _ *none) (*none, error) {
	if err := a.db.TrustNomad(ctx); err != nil {
		return nil, err
	}
	a.bus.Publish(store.TopicIntent)
	return &none{}, nil
}
