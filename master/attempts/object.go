package attempts

import (
	"context"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// onOwn is an attempt that only the attempt itself may name in a path. The caller's
// token contains its id, so nothing is read from the database.
func onOwn() rest.Object[string] {
	return rest.Object[string]{
		Load: func(_ context.Context, c *rest.Call) (string, error) { return c.Param("id"), nil },
		Of:   func(id string) auth.Object { return auth.Object{Kind: v1.KindAllocation, AllocationID: id} },
		Refusal: func(c *rest.Call, _ auth.Verb, id string) error {
			return fault.New(fault.Forbidden, "attempt %s may not act for attempt %s", c.Who().AllocationID, id)
		},
	}
}

// A member of an attempt.
type member struct {
	allocation string
	rank       int
}

// onOwnMember is a member of an attempt that only the attempt itself may name in a path.
func onOwnMember() rest.Object[member] {
	return rest.Object[member]{
		Load: func(_ context.Context, c *rest.Call) (member, error) {
			if id := c.Param("id"); id != c.Who().AllocationID {
				return member{}, fault.New(fault.Forbidden, "attempt %s may not act for attempt %s", c.Who().AllocationID, id)
			}
			rank, err := c.ID("rank")
			return member{c.Param("id"), rank}, err
		},
		Of: func(m member) auth.Object {
			return auth.Object{Kind: v1.KindMember, AllocationID: m.allocation, Rank: m.rank}
		},
		Refusal: func(c *rest.Call, _ auth.Verb, m member) error {
			return fault.New(fault.Forbidden, "rank %d may not act for rank %d", c.Who().Rank, m.rank)
		},
	}
}
