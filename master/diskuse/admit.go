package diskuse

import (
	"context"

	"github.com/detent-ml/detent/master/rest"
)

// smallChange is a change of an object's text that always fits: the number of objects is bounded where they are created.
const smallChange = 4096

// AdmitChange fails if the owner of an object stores as much as one user may, and a change gives the object a longer text.
func (u *Users) AdmitChange(ctx context.Context, c *rest.Call, owner, bytes int) error {
	if c.Who().IsTask() || bytes <= smallChange {
		return nil
	}
	return u.Admit(ctx, owner, int64(bytes))
}

// AdmitOutside fails if the owner of a trial that runs outside of the cluster stores as much as one user may. Inside, slots bound how many
// trials report; outside, nothing else does.
func (u *Users) AdmitOutside(ctx context.Context, c *rest.Call, owner, bytes int) error {
	if c.Who().IsTask() {
		return nil
	}
	return u.Admit(ctx, owner, int64(bytes))
}
