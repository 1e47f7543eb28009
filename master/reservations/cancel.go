package reservations

import (
	"context"

	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

func (d Deps) cancel(ctx context.Context, _ *rest.Call, v Reservation, _ *v1.None) (*v1.Empty, error) {
	return rest.Done[v1.Empty](cancel(ctx, d.DB, v.ID), d.Changed)
}
