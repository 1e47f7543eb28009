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
	maxNewTrials = 500 // one event may create more
)

// searchNews waits until the search has events that the caller has not read.
func (d Deps) searchNews(ctx context.Context, c *rest.Call, e experiments.Head, req *v1.GetSearchNewsRequest) (*v1.GetSearchNewsResponse, error) {
	after := optional.Or(req.After, -1)
	if after < -1 {
		return nil, fault.New(fault.Invalid, "after: %d is not the `next` of an answer", after)
	}
	events, cancelEvents := d.Bus.Subscribe(lifecycle.TopicEvents)
	defer cancelEvents()
	states, cancelStates := d.Bus.Subscribe(lifecycle.TopicState)
	defer cancelStates()
	ctx, done := context.WithCancel(ctx)
	defer done()
	var resp *v1.GetSearchNewsResponse
	_, err := rest.Await(ctx, either(ctx, events, states), rest.MaxPoll, func(ctx context.Context) (there bool, err error) {
		resp, err = d.newsNow(ctx, e.ID, after)
		return resp != nil && (resp.Next > after || isOver(string(resp.State))), err
	})
	return resp, err
}

// newsNow returns the news after an event without waiting.
func (d Deps) newsNow(ctx context.Context, experiment int, after int64) (*v1.GetSearchNewsResponse, error) {
	var resp *v1.GetSearchNewsResponse
	err := d.Driven.with(ctx, experiment, func(s *search.Search, state string) error {
		if !s.ByProgram() {
			return notByProgram(experiment)
		}
		until := s.Seq()
		if after > until {
			return fault.New(fault.Invalid, "after: the search of experiment %d has only %d events", experiment, until)
		}
		list, more, err := EventsOf(ctx, d.DB, experiment, after, until, maxNewEvents)
		if err != nil {
			return err
		}
		if more {
			until = list[len(list)-1].Seq
		}
		until = s.Page(after, until, maxNewTrials)
		news := s.News(after, until, each.Of(list, func(e experiments.SearchEvent) search.Event {
			return search.Event{Seq: e.Seq, Kind: e.Kind, Trial: e.Trial, Body: e.Body}
		}))
		resp = wireNews(news)
		resp.Next, resp.More, resp.State = until, until < s.Seq(), v1.ExperimentState("STATE_"+state)
		resp.Room, resp.Waiting = s.Room(), s.Queued()
		if !resp.More {
			resp.Wanted = min(s.Free(), s.Room())
		}
		return nil
	})
	return resp, err
}

// isOver reports whether an experiment in this state has ended, or is being deleted.
func isOver(state string) bool {
	s := lifecycle.State(strings.TrimPrefix(state, "STATE_"))
	return s.Terminal() || s == lifecycle.Deleting || s == lifecycle.DeleteFailed
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
			resp.Room, resp.Waiting = s.Room(), s.Queued()
			resp.Wanted = min(s.Free(), s.Room())
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
	over := state != string(lifecycle.Active) && state != string(lifecycle.Paused)
	switch {
	case over && late && (len(wrong) > 0 || len(fresh.List) > 0 || fresh.Last):
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
