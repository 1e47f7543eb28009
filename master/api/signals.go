package api

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/store"
	"github.com/detent-ml/detent/master/tasks"
	v1 "github.com/detent-ml/detent/master/v1"
)

func (a *API) registerSignals() {
	rest.ServeOn(a.router, v1.AwaitPreemption, onOwnAttempt(), a.preemption)
	rest.ServeOn(a.router, v1.AcknowledgePreemption, onOwnAttempt(), a.ackPreemption)
	rest.ServeOn(a.router, v1.AskForPreemption, onOwnAttempt(), a.pendingPreemption)
	rest.ServeOn(a.router, v1.ReportReady, onOwnAttempt(), a.ready)
	rest.ServeOn(a.router, v1.ReportWaiting, onOwnAttempt(), a.waiting)
	rest.ServeOn(a.router, v1.ReportProxyAddress, onOwnAttempt(), a.proxyAddress)
	rest.ServeOn(a.router, v1.ReportAccelerators, onOwnAttempt(), a.acceleratorData)
	rest.ServeOn(a.router, v1.GetTaskAccelerators, tasks.On(a.db.DB), a.taskAccelerators)
	rest.ServeOn(a.router, v1.ReportDaemon, onOwnAttempt(), a.daemon)
}

// preemption answers true as soon as the attempt is preempted, and from then on; it answers
// false after the caller's timeout.
func (a *API) preemption(ctx context.Context, c *rest.Call, id string, req *v1.AwaitPreemptionRequest) (*v1.PreemptionSignalResponse, error) {
	seconds := int(rest.MaxPoll.Seconds())
	if req.TimeoutSeconds != nil {
		seconds = *req.TimeoutSeconds
	}
	if seconds < 0 {
		return nil, fault.New(fault.Invalid, "timeout_seconds: %d is negative", seconds)
	}
	wake, cancel := a.bus.Subscribe(store.AllocationTopic(id))
	defer cancel()
	var last store.Signal
	asked, err := rest.Await(ctx, wake, min(time.Duration(seconds)*time.Second, rest.MaxPoll), func(ctx context.Context) (bool, error) {
		var err error
		last, err = a.db.PreemptSignal(ctx, id)
		return last.Preempt, err
	})
	return &v1.PreemptionSignalResponse{Preempt: asked, Deadline: deadlineOf(last)}, err
}

// deadlineOf is when the first of an attempt's machines goes away; nil if none does, or nobody knows when.
func deadlineOf(s store.Signal) *time.Time {
	first := s.Drained
	for _, notice := range s.Notices {
		if at := pool.LeavingAt(notice); !at.IsZero() && (first == nil || at.Before(*first)) {
			first = &at
		}
	}
	return first
}

// ownSignal wakes the subscribers of topics after a write about the caller's own attempt.
func (a *API) ownSignal(id string, wrote error, topics ...string) (*v1.None, error) {
	if wrote != nil {
		return nil, wrote
	}
	a.bus.Publish(append(topics, store.AllocationTopic(id))...)
	return &v1.None{}, nil
}

func (a *API) ackPreemption(ctx context.Context, _ *rest.Call, id string, _ *v1.None) (*v1.None, error) {
	return a.ownSignal(id, a.db.AckPreemption(ctx, id), store.TopicEvents)
}

func (a *API) pendingPreemption(ctx context.Context, _ *rest.Call, id string, _ *v1.None) (*v1.None, error) {
	return a.ownSignal(id, a.db.RequestPreemption(ctx, id, "its task reported that its node is shutting down"), store.TopicEvents)
}

func (a *API) ready(ctx context.Context, _ *rest.Call, id string, _ *v1.None) (*v1.None, error) {
	return a.ownSignal(id, a.db.MarkReady(ctx, id))
}

func (a *API) waiting(ctx context.Context, _ *rest.Call, id string, _ *v1.None) (*v1.None, error) {
	return a.ownSignal(id, a.db.MarkWaiting(ctx, id))
}

func (a *API) proxyAddress(ctx context.Context, _ *rest.Call, id string, req *v1.PostAllocationProxyAddressRequest) (*v1.None, error) {
	return a.ownSignal(id, a.db.SetProxyAddress(ctx, id, optional.Value(req.ProxyAddress)))
}

func (a *API) acceleratorData(ctx context.Context, c *rest.Call, id string, req *v1.PostAllocationAcceleratorDataRequest) (*v1.None, error) {
	data, err := v1.Marshal(clippedAccelerators(req.AcceleratorData))
	if err != nil {
		return nil, err
	}
	return a.ownSignal(id, a.db.AddAccelerators(ctx, id, c.Who().Rank, data))
}

// taskAccelerators lists the reports of the members of a task's attempts, and adds the task,
// attempt, node and pool where a report omits them.
func (a *API) taskAccelerators(ctx context.Context, _ *rest.Call, t tasks.Task, _ *v1.None) (*v1.GetTaskAcceleratorDataResponse, error) {
	list, err := a.db.TaskAccelerators(ctx, t.ID, t.Part)
	if err != nil {
		return nil, err
	}
	resp, called := &v1.GetTaskAcceleratorDataResponse{}, t.Called()
	for _, m := range list {
		var d v1.AcceleratorData
		if err := v1.Unmarshal(m.Data, &d); err != nil {
			return nil, err
		}
		for field, known := range map[**string]*string{&d.TaskID: &called, &d.AllocationID: &m.AllocationID, &d.NodeName: &m.NodeName, &d.ResourcePool: &m.Pool} {
			if optional.Value(*field) == "" {
				*field = known
			}
		}
		resp.AcceleratorData = append(resp.AcceleratorData, d)
	}
	return resp, nil
}

const (
	maxAccelerators    = 256  // more than a node has, even with all its GPUs divided
	maxAcceleratorText = 1000 // bytes
)

// clippedAccelerators cuts the names in a member's report to their maximum length.
func clippedAccelerators(d v1.AcceleratorData) v1.AcceleratorData {
	for _, text := range []*string{d.AcceleratorType, d.AllocationID, d.ContainerID, d.NodeName, d.ResourcePool, d.TaskID} {
		if text != nil {
			*text = fault.ClipTo(*text, maxAcceleratorText)
		}
	}
	d.AcceleratorUUIDs = d.AcceleratorUUIDs[:min(len(d.AcceleratorUUIDs), maxAccelerators)]
	for i, id := range d.AcceleratorUUIDs {
		d.AcceleratorUUIDs[i] = fault.Clip(id)
	}
	return d
}

func (a *API) daemon(ctx context.Context, c *rest.Call, id string, _ *v1.None) (*v1.None, error) {
	return a.ownSignal(id, a.db.MarkDaemon(ctx, id, c.Who().Rank), store.TopicEvents)
}
