package branches

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/search"
)

// A Reader computes searches from their events, one at a time: a search may take a large part of a master's memory.
type Reader struct {
	db    *database.DB
	turns *rest.Shares // users take turns
}

// NewReader returns the reader of a master.
func NewReader(db *database.DB) *Reader { return &Reader{db: db, turns: rest.NewShares(1, 1)} }

// turnWait is how long a request waits for its turn.
const turnWait = 20 * time.Second

// begin waits for the turn of a request, which ends with done. Of each user one request waits among those of others.
func (r *Reader) begin(ctx context.Context, owner string) (done func(), err error) {
	wait, cancel := context.WithTimeout(ctx, turnWait)
	defer cancel()
	turn, err := r.turns.Take(wait, owner, 1)
	if err != nil {
		return nil, fault.Wrap(fault.TooMany, err, "the master reads the searches of other requests, one at a time; try again in a moment")
	}
	return turn.Release, nil
}

// A past is a search up to an event.
type past struct {
	search *search.Search
	event  int64           // its last event
	config json.RawMessage // what a search reads of the configuration that is in force then
	first  json.RawMessage // the configuration with which the search began
	trials []int64         // the event that created each trial
}

// began is how a search began.
type began struct {
	Config json.RawMessage `db:"config"`
	Seed   int64           `db:"seed"`
}

// each computes the search of an experiment: it calls step with each event, which applies it. step returns errEnough to end.
func (r *Reader) each(ctx context.Context, experiment int, step func(p *past, e search.Event) error) (*past, error) {
	p := &past{}
	b, err := database.Row[began](ctx, r.db, fmt.Sprintf("experiment %d", experiment), `
		SELECT coalesce(search_config, config) AS config, seed FROM experiments WHERE id = $1`, experiment)
	if err != nil {
		return nil, err
	}
	cfg, err := expconf.ParseConfigJSON(b.Config)
	if err != nil {
		return nil, fault.New(fault.Invalid, "this release cannot read the configuration of experiment %d: %w", experiment, err)
	}
	p.config, p.first = b.Config, b.Config
	if p.search, err = search.New(cfg, b.Seed); err != nil {
		return nil, fault.New(fault.Invalid, "the search of experiment %d cannot be read: %w", experiment, err)
	}
	p.note()
	for more := true; more; {
		var list []experiments.SearchEvent
		list, more, err = experiments.SomeEvents(ctx, r.db, `SELECT experiment_id, seq, kind, trial, body FROM search_events
			WHERE experiment_id = $1 AND seq > $2 ORDER BY seq LIMIT $3`, experiment, p.event, experiments.MaxEvents)
		if err != nil {
			return nil, err
		}
		more = more && len(list) > 0
		for _, e := range list {
			err := step(p, search.Event{Seq: e.Seq, Kind: e.Kind, Trial: e.Trial, Body: e.Body})
			switch {
			case errors.Is(err, errEnough):
				return p, nil
			case err != nil:
				return nil, fault.New(fault.Invalid, "the search of experiment %d cannot be read: %w", experiment, err)
			}
			p.event = e.Seq
			p.follow(e)
			p.note()
		}
	}
	return p, nil
}

var errEnough = errors.New("enough")

// note records which event created the newest trials.
func (p *past) note() {
	for len(p.trials) < p.search.Len() {
		p.trials = append(p.trials, p.event)
	}
}

// follow records what an event changes of the configuration.
func (p *past) follow(e experiments.SearchEvent) {
	if e.Kind != search.Continued && e.Kind != search.Branched {
		return
	}
	var body struct {
		Config json.RawMessage `json:"config"`
	}
	if json.Unmarshal(e.Body, &body) == nil && len(body.Config) > 0 {
		p.config = body.Config
	}
}

// upTo computes the search of an experiment up to a place.
func (r *Reader) upTo(ctx context.Context, experiment int, at At) (*past, error) {
	p, err := r.each(ctx, experiment, func(p *past, e search.Event) error {
		if at.event > 0 && e.Seq > at.event || !at.end && at.trial >= 0 && p.search.Len() > at.trial {
			return errEnough
		}
		return p.search.Apply(e)
	})
	switch {
	case err != nil:
		return nil, err
	case at.event > p.event:
		return nil, fault.New(fault.Invalid, "at: experiment %d has %d events, and no event %d; `det experiment events %d` lists them", experiment, p.event, at.event, experiment)
	case !at.end && at.trial >= p.search.Len():
		return nil, fault.New(fault.Invalid, "at: the search of experiment %d has no trial %d: it has created %d, and numbers them from 0", experiment, at.trial, p.search.Len())
	case p.event == 0 && at.trial >= 0:
		return nil, fault.New(fault.Invalid, "at: trial %d began with the search of experiment %d, before its first event, so there is no common past: fork the experiment instead", at.trial, experiment)
	case p.event == 0:
		return nil, fault.New(fault.Invalid, "experiment %d has no events yet, so there is no common past: fork the experiment instead", experiment)
	}
	return p, nil
}
