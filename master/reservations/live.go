package reservations

import (
	"context"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/sched"
)

// Live are the reservations of all pools that have not ended.
type Live []Reservation

// LoadLive reads them for the control loop.
func LoadLive(ctx context.Context, db *database.DB) (Live, error) { return All(ctx, db, "") }

// In lists the reservations of a pool for the scheduler. A maintenance is of its nodes, also where these are in other pools.
func (l Live) In(pool string) (list sched.Reserved) {
	for _, v := range l {
		if v.Pool == pool || v.IsMaintenance() {
			list = append(list, sched.Reservation{ID: v.ID, Workspace: v.Workspace, User: v.Username, Slots: v.Slots, Nodes: v.Nodes, From: v.BeginsAt, Until: v.EndsAt})
		}
	}
	return list
}
