package attempts

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// During a rendezvous catalogInterval is the time between two reads of the service catalogue, and
// arrivalInterval the time after which a member asks without a wake-up whether all have arrived.
const (
	catalogInterval = 500 * time.Millisecond
	arrivalInterval = 5 * time.Second
)

// A Discovery finds the addresses of an attempt's members.
type Discovery interface {
	// Members lists ranks with the address and ports registered for them.
	Members(ctx context.Context, allocationID string) (map[int]Endpoint, error)
}

// An Endpoint is a registered member.
type Endpoint struct {
	Address string
	Ports   map[string]int
}

// rendezvousState is which members of an attempt have started, and their addresses.
type rendezvousState struct {
	places  []peer
	missing []string // missing members, in words
}

// readRendezvous reads the state. A member counts when its runner has called and its service
// is registered; these are independent, and either may come first. An attempt with one member
// does not wait. A service that disappears after the rendezvous changes nothing: the address in
// the runner's claim is used.
func (d Deps) readRendezvous(ctx context.Context, allocation string) (rendezvousState, error) {
	places, err := peers(ctx, d.DB, allocation)
	if err != nil || len(places) == 0 {
		if err == nil {
			err = fault.New(fault.NotFound, "attempt %s has no members", allocation)
		}
		return rendezvousState{}, err
	}
	m := rendezvousState{places: places}
	if len(places) == 1 {
		return m, nil
	}
	arrived := true
	for _, p := range places {
		arrived = arrived && p.Arrived
	}
	registered := map[int]Endpoint{}
	if arrived { // before that, the addresses are not needed
		if registered, err = d.Discovery.Members(ctx, allocation); err != nil {
			d.Log.Warn("service discovery does not answer", "allocation_id", allocation, "error", err)
			registered = nil
		}
	}
	for i := range places {
		p := &places[i]
		e, ok := registered[p.Rank]
		switch {
		case !p.Arrived:
			m.missing = append(m.missing, fmt.Sprintf("rank %d on node %s, which has not arrived", p.Rank, p.NodeName))
		case !ok:
			m.missing = append(m.missing, fmt.Sprintf("rank %d on node %s, whose service is not registered yet", p.Rank, p.NodeName))
		default:
			p.Address = e.Address
			if len(e.Ports) > 0 {
				p.Ports = e.Ports
			}
		}
	}
	return m, nil
}

// sharedState reads the state once for all members that ask at the same time.
func (d Deps) sharedState(ctx context.Context, allocation string) (rendezvousState, error) {
	asked := d.asked.DoChan(allocation, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rest.AnswerTimeout) // another member waits for the result
		defer cancel()
		return d.readRendezvous(ctx, allocation)
	})
	select {
	case <-ctx.Done():
		return rendezvousState{}, ctx.Err()
	case got := <-asked:
		if got.Err != nil {
			return rendezvousState{}, got.Err
		}
		return got.Val.(rendezvousState), nil
	}
}

// waitForAll records that a member has started and waits until all have. Only the last one wakes the
// others, so that the members of a large attempt ask a few times each, not once for each other member.
func (d Deps) waitForAll(ctx context.Context, allocation string, rank int) (rendezvousState, error) {
	wake, cancel := d.Bus.Subscribe(Topic(allocation))
	defer cancel()
	if err := arrive(ctx, d.DB, allocation, rank); err != nil {
		return rendezvousState{}, err
	}
	end := time.Now().Add(rest.MaxPoll)
	if err := d.waitForArrivals(ctx, allocation, wake); err != nil {
		return rendezvousState{}, err
	}
	var m rendezvousState
	again, stop := rest.Ticks(ctx, wake, catalogInterval) // the service catalogue sends no wake-ups
	defer stop()
	met, err := rest.Await(ctx, again, time.Until(end), func(ctx context.Context) (bool, error) {
		if err := d.running(ctx, allocation); err != nil {
			return false, err
		}
		var err error
		m, err = d.sharedState(ctx, allocation)
		return err == nil && len(m.missing) == 0, err
	})
	if err == nil && met {
		err = MarkReady(ctx, d.DB, allocation)
	}
	return m, err
}

// waitForArrivals waits until the runners of all members have called, or the time of a poll has passed.
func (d Deps) waitForArrivals(ctx context.Context, allocation string, wake <-chan struct{}) error {
	again, stop := rest.Ticks(ctx, wake, arrivalInterval)
	defer stop()
	first := true
	_, err := rest.Await(ctx, again, rest.MaxPoll, func(ctx context.Context) (bool, error) {
		s, err := countArrivals(ctx, d.DB, allocation)
		if err == nil && s.Ended {
			err = errEnded(allocation)
		}
		if err != nil {
			return false, err
		}
		if first && s.Missing == 0 { // of those that arrive at the same moment, at least one sees that all have
			d.Bus.Publish(Topic(allocation))
		}
		first = false
		return s.Missing == 0, nil
	})
	return err
}

func errEnded(allocation string) error {
	return fault.New(fault.Conflict, "attempt %s has ended", allocation)
}

// running fails if an attempt has ended: its missing members will not start.
func (d Deps) running(ctx context.Context, allocation string) error {
	s, err := ReadSignal(ctx, d.DB, allocation)
	if err == nil && s.Ended {
		err = errEnded(allocation)
	}
	return err
}

// memberRendezvous is the runner's rendezvous. Not ready means: ask again.
func (d Deps) memberRendezvous(ctx context.Context, _ *rest.Call, of member, _ *v1.None) (*v1.MemberRendezvousResponse, error) {
	m, err := d.waitForAll(ctx, of.allocation, of.rank)
	if err != nil {
		return nil, err
	}
	if len(m.missing) > 0 {
		return &v1.MemberRendezvousResponse{Waiting: strings.Join(m.missing, "; ")}, nil
	}
	resp := &v1.MemberRendezvousResponse{Ready: true}
	for _, p := range m.places {
		resp.Addresses, resp.Slots = append(resp.Addresses, p.Address), append(resp.Slots, p.Slots)
		resp.Ports = append(resp.Ports, p.Ports)
	}
	return resp, nil
}

// rendezvous is Determined's rendezvous: it answers when all members have started; clients
// retry.
func (d Deps) rendezvous(ctx context.Context, c *rest.Call, id string, _ *v1.None) (*v1.AllocationRendezvousInfoResponse, error) {
	m, err := d.waitForAll(ctx, id, c.Who().Rank)
	if err != nil {
		return nil, err
	}
	if len(m.missing) > 0 {
		return nil, fault.New(fault.Unavailable, "still waiting for %s", strings.Join(m.missing, "; "))
	}
	info := v1.RendezvousInfo{Rank: slices.IndexFunc(m.places, func(p peer) bool { return p.Rank == c.Who().Rank })}
	for _, p := range m.places {
		info.Addresses, info.Slots = append(info.Addresses, p.Address), append(info.Slots, p.Slots)
	}
	return &v1.AllocationRendezvousInfoResponse{RendezvousInfo: info}, nil
}
