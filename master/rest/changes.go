package rest

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

// A request that changes something decodes its body, loads its object, parses configurations and waits for rows; a few megabytes each. A
// user's many requests at once would fill the memory, and hold what others wait for, so that they take turns.
const (
	maxChanging        = 1 << 20 // each user's first has no other limit
	MaxChangingPerUser = 4
	maxChangingMore    = 12 // of all users, beyond the first of each
)

// changing waits until a request of a user may change something. Reports of tasks do not wait: they are small, and stored together, except
// those about objects with texts of any length.
func (c *Call) changing() error {
	r := c.route
	reads := r.Method == fiber.MethodGet || r.Method == fiber.MethodHead || r.Verb == v1.View && r.List
	small := (r.Access == v1.ByTasks || r.Verb == v1.Report) && !r.large
	if c.change != nil || reads || r.Waits || r.Access == v1.Public || small {
		return nil
	}
	ctx, cancel := context.WithTimeout(c.router.stopping, AnswerTimeout)
	defer cancel()
	var err error
	if c.change, err = c.router.Limits.Changes.Take(ctx, c.Owner(), 1); err != nil {
		return fault.Wrap(fault.Unavailable, err, "too many requests that change something run at once, %d at most of one user; try again", MaxChangingPerUser)
	}
	return nil
}
