package reservations

import (
	"context"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/sched"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Deps is what the endpoints use of others.
type Deps struct {
	DB    *database.DB
	Pools pool.Set
	// Offer returns what a node offers to a pool; nil if the node is not in the pool.
	Offer func(pool string, node nodes.Row) *sched.Node
	// Changed wakes the control loop.
	Changed func()
}

// Routes adds the endpoints of reservations.
func Routes(r *rest.Router, d Deps) {
	find := func(ctx context.Context, id int) (Reservation, error) { return byID(ctx, d.DB, id) }
	rest.Serve(r, v1.ListReservations, d.list)
	rest.ServeOn(r, v1.CreateReservation, d.onPool(), d.create)
	one := rest.On("id", find, Reservation.object)
	one.Refusal = func(c *rest.Call, _ auth.Verb, _ Reservation) error { return refused(c) }
	rest.ServeOn(r, v1.CancelReservation, one, d.cancel)
}

// object is a reservation for auth: who administers pools may change it.
func (v Reservation) object() auth.Object { return auth.Object{Kind: v1.KindPool} }

// onPool finds the pool of a path.
func (d Deps) onPool() rest.Object[*pool.Pool] {
	return rest.Object[*pool.Pool]{
		Load: func(_ context.Context, c *rest.Call) (*pool.Pool, error) {
			name := c.Param("pool")
			if p := d.Pools.Named(name); p != nil {
				return p, nil
			}
			return nil, fault.New(fault.NotFound, "resource pool %q not found", fault.Clip(name))
		},
		Of:      func(*pool.Pool) auth.Object { return auth.Object{Kind: v1.KindPool} },
		Refusal: func(c *rest.Call, _ auth.Verb, _ *pool.Pool) error { return refused(c) },
	}
}

func refused(c *rest.Call) error {
	if c.Who().Grants != nil {
		return auth.May(c.Who(), auth.Administer, auth.Object{Kind: v1.KindPool})
	}
	return fault.New(fault.Forbidden, "only administrators of the cluster may reserve slots and nodes of a resource pool")
}
