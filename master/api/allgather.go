package api

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
)

// catalogueEvery is how often a meeting looks at the catalogue of services again.
const catalogueEvery = 500 * time.Millisecond

// ticks passes wake-ups on and adds one at a fixed pace, for what announces no
// change of its own.
func ticks(ctx context.Context, wake <-chan struct{}, every time.Duration) (<-chan struct{}, func()) {
	ctx, cancel := context.WithCancel(ctx)
	out := make(chan struct{}, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		t := time.NewTicker(every)
		defer t.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-wake:
			case <-t.C:
			}
			select {
			case out <- struct{}{}:
			default:
			}
		}
	}()
	return out, func() { cancel(); <-done }
}

// allGather gives every peer the data of all. A call that is repeated, here or at
// another master, takes the same place and gets the same answer.
func (a *API) allGather(ctx context.Context, c *call, req *v1.AllocationAllGatherRequest) (*v1.AllocationAllGatherResponse, error) {
	id, err := c.ownAllocation()
	if err != nil {
		return nil, err
	}
	data, err := a.gather(ctx, store.Gathering{AllocationID: id, About: "data"}, req.RequestUUID, req.NumPeers, req.Data)
	if err != nil {
		return nil, err
	}
	return &v1.AllocationAllGatherResponse{Data: data}, a.db.MarkReady(ctx, id)
}

// notifyRunning is an all-gather too, of its own: batch systems tell by it that
// every container is up.
func (a *API) notifyRunning(ctx context.Context, c *call, req *v1.NotifyContainerRunningRequest) (*v1.NotifyContainerRunningResponse, error) {
	id, err := c.ownAllocation()
	if err != nil {
		return nil, err
	}
	data, err := a.gather(ctx, store.Gathering{AllocationID: id, About: "life"}, req.RequestUUID, req.NumPeers, req.Data)
	if err != nil {
		return nil, err
	}
	return &v1.NotifyContainerRunningResponse{Data: data}, nil
}

func (a *API) gather(ctx context.Context, g store.Gathering, request *string, peers *int, data v1.Struct) ([]v1.Struct, error) {
	name, n := uuid.NewString(), 1
	if request != nil && *request != "" {
		name = *request
	}
	if peers != nil {
		n = *peers
	}
	if n < 1 {
		return nil, fault.New(fault.Invalid, "numPeers: %d; at least the caller takes part", n)
	}
	if len(data) == 0 {
		data = v1.Struct("{}")
	}
	wake, cancel := a.bus.Subscribe(store.AllocationTopic(g.AllocationID))
	defer cancel()
	g, err := a.db.Gather(ctx, g, name, n, json.RawMessage(data))
	if err != nil {
		return nil, err
	}
	a.bus.Publish(store.AllocationTopic(g.AllocationID))
	var all []v1.Struct
	complete, err := await(ctx, wake, longestPoll, func(ctx context.Context) (bool, error) {
		if err := a.running(ctx, g.AllocationID); err != nil {
			return false, err
		}
		list, complete, err := a.db.Gathered(ctx, g)
		all = make([]v1.Struct, len(list))
		for i, d := range list {
			all[i] = v1.Struct(d)
		}
		return complete, err
	})
	if err == nil && !complete {
		err = fault.New(fault.Unavailable, "%d of %d peers have come; still waiting", len(all), n)
	}
	return all, err
}
