package searches

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/search"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Limits of the news in one answer.
const (
	maxNewEvents = 2000
	maxNewTrials = 500     // one event may create more
	maxNewBytes  = 1 << 20 // of the hyperparameters of these trials
)

// searchNews waits until the search has events that the caller has not read.
func (d Deps) searchNews(ctx context.Context, c *rest.Call, e experiments.Head, req *v1.GetSearchNewsRequest) (*v1.GetSearchNewsResponse, error) {
	after := optional.Or(req.After, -1)
	if err := elsewhere(e.Unmanaged, e.ID); err != nil {
		return nil, err
	}
	if after < -1 {
		return nil, fault.New(fault.Invalid, "after: %d is not the `next` of an answer", after)
	}
	events, cancelEvents := d.Bus.Subscribe(lifecycle.TopicEvents)
	defer cancelEvents()
	states, cancelStates := d.Bus.Subscribe(lifecycle.TopicState)
	defer cancelStates()
	ctx, done := context.WithCancel(ctx)
	defer done()
	if err := d.hasRead(ctx, e.ID, after); err != nil {
		return nil, err
	}
	// Each event of any search wakes all requests that wait, so these ask for two numbers only.
	_, err := rest.Await(ctx, either(ctx, events, states), rest.MaxPoll, func(ctx context.Context) (there bool, err error) {
		seq, state, err := Reached(ctx, d.DB, e.ID)
		return seq > after || isOver(state), err
	})
	if err != nil {
		return nil, err
	}
	// News are as large as other answers, so they take turns with them; requests that wait have no turn.
	return rest.InTurn(ctx, c, func(ctx context.Context) (*v1.GetSearchNewsResponse, error) { return d.newsNow(ctx, e.ID, after) })
}

// hasRead checks that a program proposes the trials of a search, and that it has an event with the number `after`.
func (d Deps) hasRead(ctx context.Context, experiment int, after int64) error {
	return d.Driven.with(ctx, experiment, func(s *search.Search, _ string) error {
		switch {
		case !s.ByProgram():
			return notByProgram(experiment)
		case after > s.Seq():
			return fault.New(fault.Invalid, "after: the search of experiment %d has only %d events", experiment, s.Seq())
		}
		return nil
	})
}

// newsNow returns the news after an event without waiting.
func (d Deps) newsNow(ctx context.Context, experiment int, after int64) (*v1.GetSearchNewsResponse, error) {
	var resp *v1.GetSearchNewsResponse
	err := d.Driven.with(ctx, experiment, func(s *search.Search, state string) error {
		until := s.Seq()
		list, more, err := EventsOf(ctx, d.DB, experiment, after, until, maxNewEvents)
		if err != nil {
			return err
		}
		if more {
			until = list[len(list)-1].Seq
		}
		until = s.Page(after, until, maxNewTrials, maxNewBytes)
		news := s.News(after, until, each.Of(list, func(e experiments.SearchEvent) search.Event {
			return search.Event{Seq: e.Seq, Kind: e.Kind, Trial: e.Trial, Body: e.Body}
		}))
		resp = wireNews(news)
		resp.Next, resp.More, resp.State = until, until < s.Seq(), v1.ExperimentState("STATE_"+state)
		if resp.Wanted, resp.Room, resp.Waiting = takes(s, state); resp.More {
			resp.Wanted = 0
		}
		return nil
	})
	return resp, err
}

// isOver reports whether an experiment in this state has ended, or is being deleted.
func isOver(state string) bool {
	s := lifecycle.State(state)
	return s.Terminal() || s == lifecycle.Deleting || s == lifecycle.DeleteFailed
}

// accepts reports whether an experiment in this state accepts proposals.
func accepts(state string) bool {
	return state == string(lifecycle.Active) || state == string(lifecycle.Paused)
}

// takes returns how many proposals a search wants now, how many it accepts, and how many have no trial yet.
func takes(s *search.Search, state string) (wanted, room, waiting int) {
	if accepts(state) {
		room = s.Room()
	}
	return min(s.Free(), room), room, s.Queued()
}

// elsewhere rejects an unmanaged experiment: no search creates its trials, and none has been granted memory.
func elsewhere(unmanaged bool, experiment int) error {
	if unmanaged {
		return fault.New(fault.Invalid, "experiment %d is unmanaged: its own programs create its trials, and no search does", experiment)
	}
	return nil
}

func notByProgram(experiment int) error {
	return fault.New(fault.Invalid, "no program proposes the trials of experiment %d: its configuration lacks searcher.sampler: program", experiment)
}

func wireNews(n search.News) *v1.GetSearchNewsResponse {
	return &v1.GetSearchNewsResponse{
		Trials: each.Of(n.Trials, func(t search.NewTrial) v1.ProposedTrial {
			return v1.ProposedTrial{Number: t.Number, Key: t.Key, HParams: v1.StructOf(t.HParams)}
		}),
		Results: each.Of(n.Results, func(x search.NewResult) v1.SearchResult {
			return v1.SearchResult{Trial: x.Trial, Key: x.Key, Length: x.Length, Metric: x.Metric, Waits: x.Waits, Ended: x.Ended}
		}),
	}
}

// searchProposals appends the proposals that the search does not have yet to its events.
func (d Deps) searchProposals(ctx context.Context, c *rest.Call, e experiments.Experiment, req *v1.PostSearchProposalsRequest) (*v1.PostSearchProposalsResponse, error) {
	if err := elsewhere(e.Unmanaged, e.ID); err != nil {
		return nil, err
	}
	if len(req.Proposals) > search.MaxProposals {
		return nil, fault.New(fault.TooLarge, "proposals: %d are over the limit of %d", len(req.Proposals), search.MaxProposals)
	}
	told := search.Proposals{Last: req.Last, List: each.Of(req.Proposals, func(p v1.SearchProposal) search.Proposal {
		return search.Proposal{Key: p.Key, HParams: json.RawMessage(p.HParams)}
	})}
	for { // until no other event is stored between the check and the write
		var fresh search.Proposals
		var seq int64
		resp := &v1.PostSearchProposalsResponse{}
		err := d.Driven.with(ctx, e.ID, func(s *search.Search, state string) (err error) {
			if fresh, err = accepted(s, e.ID, state, told); err != nil {
				return err
			}
			seq = s.Seq()
			resp.Wanted, resp.Room, resp.Waiting = takes(s, state)
			return nil
		})
		if err != nil || len(fresh.List) == 0 && !fresh.Last {
			return resp, err
		}
		body, err := json.Marshal(fresh)
		if err != nil {
			return nil, err
		}
		stored, err := AppendOperations(ctx, d.DB, d.Memory, e.ID, seq, search.Told, body, 0)
		if err != nil {
			return nil, err
		}
		if stored {
			d.Bus.Publish(lifecycle.TopicEvents)
			told = search.Proposals{} // now the search answers
		}
	}
}

// accepted returns the proposals that are new, or an error that says what is wrong with them.
func accepted(s *search.Search, experiment int, state string, told search.Proposals) (search.Proposals, error) {
	if !s.ByProgram() {
		return told, notByProgram(experiment)
	}
	fresh, wrong := s.CheckProposals(told)
	late := !slices.ContainsFunc(wrong, func(r search.Refusal) bool { return !r.Late })
	switch {
	case !accepts(state) && late && (len(wrong) > 0 || len(fresh.List) > 0 || fresh.Last):
		return fresh, fault.New(fault.Conflict, "experiment %d has ended, or is about to end", experiment)
	case len(wrong) == 0:
		return fresh, nil
	}
	code := fault.Invalid
	if late {
		code = fault.Conflict
	}
	return fresh, fault.New(code, "%s", strings.Join(each.Of(wrong, refusal), "\n"))
}

func refusal(r search.Refusal) string {
	switch {
	case r.Index < 0:
		return "proposals: " + r.Why
	case r.Key == "" || len(r.Key) > 64:
		return fmt.Sprintf("proposals[%d]: %s", r.Index, r.Why)
	}
	return fmt.Sprintf("proposals[%d] (key %q): %s", r.Index, r.Key, r.Why)
}
