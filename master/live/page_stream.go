package live

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

const (
	// maxLiveTrials is the maximum number of trials whose reports one stream sends.
	maxLiveTrials = 100
	// maxMoved is the maximum number of changed experiments that are sent one by one; for more,
	// the client must read the list again.
	maxMoved = 200
)

// movedExperiment is the event "experiment": a changed experiment, as in lists.
type movedExperiment struct {
	ID                      int                `json:"id"`
	State                   v1.ExperimentState `json:"state"`
	Name                    string             `json:"name"`
	Archived                bool               `json:"archived"`
	Progress                *float64           `json:"progress"`
	NumTrials               int                `json:"numTrials"`
	CheckpointCount         int                `json:"checkpointCount"`
	BestTrialID             *int               `json:"bestTrialId"`
	BestTrialSearcherMetric *float64           `json:"bestTrialSearcherMetric"`
	EndTime                 *time.Time         `json:"endTime"`
	Duration                int                `json:"duration"`
	Error                   string             `json:"error"`
}

// staleLists is the event "look": the lists that have changed, which the client must read
// again. What names experiments, tasks, queue and nodes.
type staleLists struct {
	What []string `json:"what"`
	Gone []int    `json:"gone"` // deleted experiments
}

// livePosition is the position of a stream among the reports, and among the changes.
type livePosition struct {
	reports metrics.Position
	state   StatePosition
}

func (p livePosition) String() string {
	return fmt.Sprintf("%d-%d/%s-%d", p.reports.XID, p.reports.ID, p.state.Epoch, p.state.Seq)
}

func parseLivePosition(s string) (*livePosition, error) {
	m, st, ok := strings.Cut(s, "/")
	reports, err := parsePosition(m)
	epoch, seq, ok2 := strings.Cut(st, "-")
	n, err2 := strconv.ParseInt(seq, 10, 64)
	if !ok || !ok2 || err != nil || err2 != nil {
		return nil, fault.New(fault.Invalid, "Last-Event-ID: %q is not an event id of this stream", fault.Clip(s))
	}
	return &livePosition{*reports, StatePosition{Epoch: epoch, Seq: n}}, nil
}

// liveStream is the stream of one client.
type liveStream struct {
	d       Deps
	out     *rest.Events
	owner   string // of the client's shares
	at      livePosition
	scope   auth.Scope // of the client
	trials  []int
	reports <-chan []metrics.Row // nil: no trial is watched
	moves   <-chan StateChange
}

// stream sends all changes for a page over one connection: "metrics" for each report of its
// trials, "experiment" for each changed experiment, "look" for other lists to read again, and
// "position" when all earlier events are sent: data that a client reads by other routes after
// it have no gap before the next events. The id of an event is a position from which a client
// can continue; browsers do that automatically.
func (d Deps) stream(ctx context.Context, c *rest.Call, req *v1.FollowLiveRequest) error {
	s := &liveStream{d: d, scope: c.Scope(), owner: c.Owner()}
	var err error
	if s.trials, err = d.watched(ctx, c, req.Trials); err != nil {
		return err
	}
	last := cmp.Or(c.Get("Last-Event-ID"), req.After)
	var after *livePosition
	if last != "" {
		if after, err = parseLivePosition(last); err != nil {
			return err
		}
	}
	leave, err := d.Streams.Join(c.Who().Username)
	if err != nil {
		return err
	}
	stopReports := func() {}
	if len(s.trials) > 0 {
		if s.reports, s.at.reports, stopReports, err = d.Reports.Watch(ctx, s.trials...); err != nil {
			leave()
			return err
		}
	}
	var before *StatePosition
	if after != nil {
		before = &after.state
	}
	moves, now, since, missed, stopMoves := d.States.Watch(before)
	s.moves, s.at.state = moves, now
	c.Events(func(ctx context.Context, out *rest.Events) {
		defer leave()
		defer stopReports()
		defer stopMoves()
		s.out = out
		if s.catchUp(ctx, after, since, missed && after != nil) == nil {
			s.run(ctx)
		}
	})
	return nil
}

// watched checks the trials of a request.
func (d Deps) watched(ctx context.Context, c *rest.Call, ids []int) ([]int, error) {
	if len(ids) > maxLiveTrials {
		return nil, fault.New(fault.Invalid, "trials: %d trials; %d are allowed", len(ids), maxLiveTrials)
	}
	ids = rest.Distinct(ids)
	for _, id := range ids {
		if _, err := experiments.VisibleTrial(ctx, d.DB, c, id); err != nil {
			return nil, err
		}
	}
	if len(ids) > 0 {
		c.Recheck(func(ctx context.Context, who auth.Who) error { return experiments.StillVisible(ctx, d.DB, who, ids) })
	}
	return ids, nil
}

// catchUp sends what a returning client has missed, and tells every client when it is up to
// date.
func (s *liveStream) catchUp(ctx context.Context, after *livePosition, since []StateChange, missed bool) error {
	if err := s.out.Retry(1000); err != nil {
		return err
	}
	now := s.at
	switch {
	case missed:
		if err := s.send("look", staleLists{What: []string{"experiments", "tasks", "queue", "nodes"}}); err != nil {
			return err
		}
	case after != nil:
		s.at.state = after.state
	}
	if after != nil && len(s.trials) > 0 {
		s.at.reports = after.reports
		if err := s.sendMissed(ctx, now.reports); err != nil {
			return err
		}
	}
	for _, change := range since {
		if err := s.sendStates(change); err != nil {
			return err
		}
	}
	s.at = now
	if err := s.send("position", struct{}{}); err != nil {
		return err
	}
	return s.out.Flush()
}

// sendMissed sends the reports up to a position. Its pages are in memory until the client has read them, so
// it has a share as other streams of metrics have.
func (s *liveStream) sendMissed(ctx context.Context, upTo metrics.Position) error {
	return s.d.InTurn(ctx, s.owner, func() error { return metrics.EachBetween(ctx, s.d.DB, s.trials, s.at.reports, upTo, s.sendReports) })
}

// run sends events, and a heartbeat if there are none. It ends when the client disconnects or
// loses its permission, which the next connection reports.
func (s *liveStream) run(ctx context.Context) {
	beat := time.NewTicker(rest.Heartbeat)
	defer beat.Stop()
	for {
		var err error
		select {
		case list, ok := <-s.reports:
			if !ok {
				return
			}
			err = s.sendReports(list)
		case change, ok := <-s.moves:
			if !ok {
				return
			}
			err = s.sendStates(change)
		case <-beat.C:
			err = s.out.Beat()
		case <-ctx.Done():
			return
		}
		if err != nil || s.out.Flush() != nil {
			return
		}
	}
}

// sendReports sends reports. Each has its own position, so that an interrupted connection loses
// none.
func (s *liveStream) sendReports(list []metrics.Row) error {
	for _, m := range list {
		s.at.reports = metrics.Position{XID: m.XID, ID: m.ID}
		if err := s.send("metrics", metrics.Wire(m)); err != nil {
			return err
		}
	}
	return nil
}

// sendStates sends changes. All events of a change except the last have the position before the
// change: after an interruption between them, the client receives all of them again.
//
// A client receives the changed experiments of its own workspaces; that some task, the queue or
// a node has changed is sent to everybody, without its name.
func (s *liveStream) sendStates(c StateChange) error {
	list := s.visible(c.Experiments)
	look := staleLists{What: []string{}, Gone: []int{}}
	for _, e := range s.visible(c.Gone) {
		if !slices.ContainsFunc(list, func(there ListedExperiment) bool { return there.ID == e.ID }) {
			look.Gone = append(look.Gone, e.ID)
		}
	}
	if c.Many || len(list) > maxMoved || len(look.Gone) > 0 {
		look.What = append(look.What, "experiments")
	}
	if len(list) <= maxMoved {
		for _, e := range list {
			if err := s.send("experiment", moved(e)); err != nil {
				return err
			}
		}
	}
	for _, part := range []struct {
		name  string
		moved bool
	}{{"tasks", c.Tasks}, {"queue", c.Queue}, {"nodes", c.Nodes}} {
		if part.moved {
			look.What = append(look.What, part.name)
		}
	}
	s.at.state.Seq = c.Seq
	return s.send("look", look)
}

// visible are the experiments that the client may see.
func (s *liveStream) visible(list []ListedExperiment) []ListedExperiment {
	if s.scope.All {
		return list
	}
	var mine []ListedExperiment
	for _, e := range list {
		if s.scope.Has(auth.Object{Kind: v1.KindExperiment, WorkspaceID: e.WorkspaceID}) {
			mine = append(mine, e)
		}
	}
	return mine
}

func moved(e ListedExperiment) movedExperiment {
	return movedExperiment{ID: e.ID, State: v1.ExperimentState("STATE_" + e.Shown), Name: e.Name, Archived: e.Archived, Progress: e.Progress,
		NumTrials: e.Trials, CheckpointCount: e.Checkpoints, BestTrialID: e.BestTrialID, BestTrialSearcherMetric: e.BestMetric,
		EndTime: e.EndedAt, Duration: e.Seconds, Error: e.Error}
}

// send adds an event with the position behind it.
func (s *liveStream) send(name string, message any) error { return s.out.Add(name, s.at, message) }

func parsePosition(s string) (*metrics.Position, error) {
	x, i, ok := strings.Cut(s, "-")
	xid, err1 := strconv.ParseUint(x, 10, 64)
	id, err2 := strconv.ParseInt(i, 10, 64)
	if !ok || err1 != nil || err2 != nil {
		return nil, fault.New(fault.Invalid, "Last-Event-ID: %q is not a position of this stream", s)
	}
	return &metrics.Position{XID: xid, ID: id}, nil
}
