package attempts

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/google/uuid"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
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
func (d Deps) allGather(ctx context.Context, c *rest.Call, id string, req *v1.AllocationAllGatherRequest) (*v1.AllocationAllGatherResponse, error) {
	answer, err := d.gather(ctx, c, Round{AllocationID: id, Purpose: "data"}, req.RequestUUID, req.NumPeers, req.Data)
	if err != nil {
		return nil, err
	}
	if err := MarkReady(ctx, d.DB, id); err != nil {
		return nil, errors.Join(err, answer.Close())
	}
	d.sendGathered(c, answer)
	return nil, nil
}

// notifyRunning is a separate all-gather, with which batch systems report that every container
// runs.
func (d Deps) notifyRunning(ctx context.Context, c *rest.Call, id string, req *v1.NotifyContainerRunningRequest) (*v1.NotifyContainerRunningResponse, error) {
	answer, err := d.gather(ctx, c, Round{AllocationID: id, Purpose: "life"}, req.RequestUUID, req.NumPeers, req.Data)
	if err != nil {
		return nil, err
	}
	d.sendGathered(c, answer)
	return nil, nil
}

// gather waits until all peers of a round have called, and returns their data. Only the last
// peer wakes the others.
func (d Deps) gather(ctx context.Context, c *rest.Call, g Round, request *string, peers *int, data v1.Struct) (*gathered, error) {
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
	members, err := countMembers(ctx, d.DB, g.AllocationID)
	if err != nil {
		return nil, err
	}
	if most := maxPeersPerMember * members; n > most {
		return nil, fault.New(fault.Invalid, "numPeers: %d; an attempt with %d members may have %d peers", n, members, most)
	}
	if len(data) == 0 {
		data = v1.Struct("{}")
	}
	wake, cancel := d.Bus.Subscribe(Topic(g.AllocationID))
	defer cancel()
	g, progress, err := Gather(ctx, d.DB, g, name, n, max(maxGatherBytes/n, minGatherBytes), json.RawMessage(data))
	if err != nil {
		return nil, err
	}
	answer := d.gathers.enter(g)
	if progress.Complete() {
		d.Bus.Publish(Topic(g.AllocationID))
	}
	complete, err := rest.Await(ctx, wake, rest.MaxPoll, func(ctx context.Context) (bool, error) {
		if err := d.running(ctx, g.AllocationID); err != nil {
			return false, err
		}
		var err error
		progress, err = progressOf(ctx, d.DB, g)
		return progress.Complete(), err
	})
	if err == nil && !complete {
		err = fault.New(fault.Unavailable, "%d of %d peers have called; still waiting", progress.Arrived, progress.Expected)
	}
	if err == nil {
		err = answer.load(ctx, d.DB, c.Owner())
	}
	if err != nil {
		return nil, errors.Join(err, answer.Close())
	}
	return answer, nil
}

// sendGathered sends the data of all peers.
func (d Deps) sendGathered(c *rest.Call, answer *gathered) {
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
