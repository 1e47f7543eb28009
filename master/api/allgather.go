package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
)

// During a rendezvous catalogInterval is the time between two reads of the service catalogue, and
// arrivalInterval the time after which a member asks without a wake-up whether all have arrived.
const (
	catalogInterval = 500 * time.Millisecond
	arrivalInterval = 5 * time.Second
)

const (
	// maxPeersPerMember is the maximum number of peers of each member in an all-gather.
	// Determined's programs call once for each container, which is a member.
	maxPeersPerMember = 16
	// maxGatherBytes limits the data of a round, in equal parts for its peers; each peer may
	// always send minGatherBytes: an address and a few numbers.
	maxGatherBytes = 2 << 20
	minGatherBytes = 1 << 10
	// gatherMemory is the memory for rounds that are read and sent, gatherMemoryPerUser the
	// part of one user.
	gatherMemory        = 64 << 20
	gatherMemoryPerUser = gatherMemory / 16
)

// allGather returns the data of all peers to every peer. A repeated call, at this or another
// master, counts once and gets the same answer.
func (a *API) allGather(ctx context.Context, c *rest.Call, id string, req *v1.AllocationAllGatherRequest) (*v1.AllocationAllGatherResponse, error) {
	answer, err := a.gather(ctx, c, store.GatherRound{AllocationID: id, Purpose: "data"}, req.RequestUUID, req.NumPeers, req.Data)
	if err != nil {
		return nil, err
	}
	if err := a.db.MarkReady(ctx, id); err != nil {
		return nil, errors.Join(err, answer.Close())
	}
	a.sendGathered(c, answer)
	return nil, nil
}

// notifyRunning is a separate all-gather, with which batch systems report that every container
// runs.
func (a *API) notifyRunning(ctx context.Context, c *rest.Call, id string, req *v1.NotifyContainerRunningRequest) (*v1.NotifyContainerRunningResponse, error) {
	answer, err := a.gather(ctx, c, store.GatherRound{AllocationID: id, Purpose: "life"}, req.RequestUUID, req.NumPeers, req.Data)
	if err != nil {
		return nil, err
	}
	a.sendGathered(c, answer)
	return nil, nil
}

// gather waits until all peers of a round have called, and returns their data. Only the last
// peer wakes the others.
func (a *API) gather(ctx context.Context, c *rest.Call, g store.GatherRound, request *string, peers *int, data v1.Struct) (*gathered, error) {
	name, n := uuid.NewString(), 1
	if request != nil && *request != "" {
		name = *request
	}
	if peers != nil {
		n = *peers
	}
	if n < 1 {
		return nil, fault.New(fault.Invalid, "numPeers: %d; expected at least 1", n)
	}
	members, err := a.db.MemberCount(ctx, g.AllocationID)
	if err != nil {
		return nil, err
	}
	if most := maxPeersPerMember * members; n > most {
		return nil, fault.New(fault.Invalid, "numPeers: %d; an attempt with %d members may have %d peers", n, members, most)
	}
	if len(data) == 0 {
		data = v1.Struct("{}")
	}
	wake, cancel := a.bus.Subscribe(store.AllocationTopic(g.AllocationID))
	defer cancel()
	g, progress, err := a.db.Gather(ctx, g, name, n, max(maxGatherBytes/n, minGatherBytes), json.RawMessage(data))
	if err != nil {
		return nil, err
	}
	answer := a.gathers.enter(g)
	if progress.Complete() {
		a.bus.Publish(store.AllocationTopic(g.AllocationID))
	}
	complete, err := rest.Await(ctx, wake, rest.MaxPoll, func(ctx context.Context) (bool, error) {
		if err := a.running(ctx, g.AllocationID); err != nil {
			return false, err
		}
		var err error
		progress, err = a.db.GatherProgress(ctx, g)
		return progress.Complete(), err
	})
	if err == nil && !complete {
		err = fault.New(fault.Unavailable, "%d of %d peers have called; still waiting", progress.Arrived, progress.Expected)
	}
	if err == nil {
		err = answer.load(ctx, a.db, c.Owner())
	}
	if err != nil {
		return nil, errors.Join(err, answer.Close())
	}
	return answer, nil
}

// sendGathered sends the data of all peers.
func (a *API) sendGathered(c *rest.Call, answer *gathered) {
	c.Set("Content-Type", "application/json")
	body := answer.round.body
	c.SendFrom(sentGathered{c.Paced(nil, bytes.NewReader(body)), answer}, len(body))
}

// sentGathered is the response of a round that is being sent to one peer.
type sentGathered struct {
	*rest.PacedReader
	answer *gathered
}

func (s sentGathered) Close() error { return errors.Join(s.PacedReader.Close(), s.answer.Close()) }
