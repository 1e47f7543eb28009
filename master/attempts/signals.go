package attempts

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/pool/leaving"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/tasks"
	v1 "github.com/detent-ml/detent/master/v1"
)

// preemption answers true as soon as the attempt is preempted, and from then on; it answers
// false after the caller's timeout.
func (d Deps) preemption(ctx context.Context, c *rest.Call, id string, req *v1.AwaitPreemptionRequest) (*v1.PreemptionSignalResponse, error) {
	seconds := int(rest.MaxPoll.Seconds())
	if req.TimeoutSeconds != nil {
		seconds = *req.TimeoutSeconds
	}
	if seconds < 0 {
		return nil, fault.New(fault.Invalid, "timeout_seconds: %d is negative", seconds)
	}
	wake, cancel := d.Bus.Subscribe(Topic(id))
	defer cancel()
	var last Signal
	asked, err := rest.Await(ctx, wake, min(time.Duration(seconds)*time.Second, rest.MaxPoll), func(ctx context.Context) (bool, error) {
		var err error
		if last, err = ReadSignal(ctx, d.DB, id); err == nil && !last.Asked {
			err = markAsked(ctx, d.DB, id)
		}
		return last.Preempt, err
	})
	return &v1.PreemptionSignalResponse{Preempt: asked, Deadline: deadlineOf(last)}, err
}

// deadlineOf is when the first of an attempt's machines goes away; nil if none does, or nobody knows when.
func deadlineOf(s Signal) *time.Time {
	first := s.Drained
	for _, notice := range s.Notices {
		if at := leaving.At(notice); !at.IsZero() && (first == nil || at.Before(*first)) {
			first = &at
		}
	}
	return first
}

// wake wakes the polls of an attempt after a write about it.
func (d Deps) wake(id string, wrote error) (*v1.None, error) {
	return rest.Done[v1.None](wrote, func() { d.Bus.Publish(Topic(id)) })
}

// wakeLoop wakes the control loop, too.
func (d Deps) wakeLoop(id string, wrote error) (*v1.None, error) {
	if wrote == nil {
		d.Reported()
	}
	return d.wake(id, wrote)
}

// told stores what a program reports without a body, and then calls wake.
func (d Deps) told(write func(context.Context, *database.DB, string) error, wake func(string, error) (*v1.None, error)) rest.HandlerOn[string, v1.None, v1.None] {
	return func(ctx context.Context, _ *rest.Call, id string, _ *v1.None) (*v1.None, error) {
		return wake(id, write(ctx, d.DB, id))
	}
}

func (d Deps) pendingPreemption(ctx context.Context, _ *rest.Call, id string, _ *v1.None) (*v1.None, error) {
	return d.wakeLoop(id, requestPreemption(ctx, d.DB, id, "its task reported that its node is shutting down"))
}

func (d Deps) proxyAddress(ctx context.Context, _ *rest.Call, id string, req *v1.PostAllocationProxyAddressRequest) (*v1.None, error) {
	return d.wake(id, setProxyAddress(ctx, d.DB, id, optional.Value(req.ProxyAddress)))
}

func (d Deps) acceleratorData(ctx context.Context, c *rest.Call, id string, req *v1.PostAllocationAcceleratorDataRequest) (*v1.None, error) {
	data, err := v1.Marshal(clippedAccelerators(req.AcceleratorData))
	if err != nil {
		return nil, err
	}
	return d.wake(id, addAccelerators(ctx, d.DB, id, c.Who().Rank, data))
}

// taskAccelerators lists the reports of the members of a task's attempts, and adds the task,
// attempt, node and pool where a report omits them.
func (d Deps) taskAccelerators(ctx context.Context, _ *rest.Call, t tasks.Task, _ *v1.None) (*v1.GetTaskAcceleratorDataResponse, error) {
	list, err := acceleratorsOf(ctx, d.DB, t.ID, t.Part)
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

func (d Deps) daemon(ctx context.Context, c *rest.Call, id string, _ *v1.None) (*v1.None, error) {
	return d.wakeLoop(id, markDaemon(ctx, d.DB, id, c.Who().Rank))
}
