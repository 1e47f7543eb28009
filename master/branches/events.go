package branches

import (
	"context"

	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/search"
	v1 "github.com/detent-ml/detent/master/v1"
)

// maxEvents is how many events one answer has.
const maxEvents = 1000

// events lists the events of a search in words. What an event meant depends on all that came before, so the master computes
// the search up to it.
func (d Deps) events(ctx context.Context, c *rest.Call, e experiments.Head, req *v1.ListSearchEventsRequest) (*v1.ListSearchEventsResponse, error) {
	limit := optional.Or(req.Limit, 100)
	if limit < 1 || limit > maxEvents || req.After < 0 {
		return nil, fault.New(fault.Invalid, "limit: is between 1 and %d, and after is at least 0", maxEvents)
	}
	if e.Unmanaged {
		return nil, fault.New(fault.Invalid, "experiment %d is unmanaged: its programs decide about its trials, and it has no search", e.ID)
	}
	c.EndReading() // who waits here must not keep others from reading
	done, err := d.Reader.begin(ctx, c.Owner())
	if err != nil {
		return nil, err
	}
	defer done()
	resp := &v1.ListSearchEventsResponse{Events: []v1.SearchEvent{}}
	var began bool
	p, err := d.Reader.each(ctx, e.ID, func(p *past, ev search.Event) error {
		if ev.Seq == 1 && req.After == 0 && !began {
			began = true
			resp.Events = append(resp.Events, wireEvent(p.search.Beginning()))
		}
		if ev.Seq <= req.After {
			return p.search.Apply(ev)
		}
		if n := len(resp.Events); n >= limit && resp.Events[n-1].Number > 0 { // the beginning, which is no event, does not count
			resp.More = true
			return errEnough
		}
		m, err := p.search.Tell(ev)
		if err == nil {
			resp.Events = append(resp.Events, wireEvent(m))
		}
		return err
	})
	if err == nil && p.event == 0 && req.After == 0 {
		resp.Events = append(resp.Events, wireEvent(p.search.Beginning()))
	}
	if n := len(resp.Events); n > 0 {
		resp.Next = resp.Events[n-1].Number
	} else {
		resp.Next = req.After
	}
	return resp, err
}

func wireEvent(m search.Moment) v1.SearchEvent {
	return v1.SearchEvent{Number: m.Seq, Kind: m.Kind, Trial: m.Trial, What: m.What, Decisions: append([]string{}, m.Decided...), Trials: m.Trials}
}
