//go:build cgo && linux

package nvidia

import (
	"context"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/detent-ml/detent/plugins/gpu/gpus"
)

const (
	// waitMS is how long the library may be held to wait for an event.
	waitMS = 1000
	// pauseAfter is how long to do without events when they cannot be had.
	pauseAfter = 5 * time.Second
)

// wanted are the events that say something of a GPU's health.
const wanted = uint64(nvml.EventTypeXidCriticalError | nvml.EventTypeDoubleBitEccError)

// noPart is how the library says that an event is about no part.
const noPart = 0xFFFFFFFF

// Watch passes the library's events on.
func (l *library) Watch(ctx context.Context, report func(gpus.Event)) {
	w := watcher{l: l, report: report}
	for ctx.Err() == nil {
		if w.once() {
			continue
		}
		select {
		case <-ctx.Done():
		case <-time.After(pauseAfter):
		}
	}
	w.free()
}

// A watcher has the set of events that it waits for.
type watcher struct {
	l          *library
	report     func(gpus.Event)
	set        nvml.EventSet
	generation int // of the library when the set was made
}

// once waits for one event, for a moment. It is false when no events can be had.
func (w *watcher) once() bool {
	w.l.mu.RLock()
	event, ret := w.wait()
	w.l.mu.RUnlock()
	switch ret {
	case nvml.SUCCESS:
		w.pass(event)
		return true
	case nvml.ERROR_TIMEOUT:
		return true
	}
	w.set = nil // whatever it is that broke, a new set may do
	if ret != nvml.ERROR_NOT_SUPPORTED {
		w.report(gpus.Event{Instance: -1, Compute: -1}) // worth a look
	}
	return false
}

func (w *watcher) wait() (nvml.EventData, nvml.Return) {
	if !w.l.up {
		return nvml.EventData{}, nvml.ERROR_UNINITIALIZED
	}
	if w.set == nil || w.generation != w.l.generation {
		if ret := w.subscribe(); ret != nvml.SUCCESS {
			return nvml.EventData{}, ret
		}
	}
	return w.set.Wait(waitMS)
}

// subscribe makes a set of the events of all GPUs. A GPU that offers none is
// watched by its counters alone.
func (w *watcher) subscribe() nvml.Return {
	set, ret := w.l.api.EventSetCreate()
	if ret != nvml.SUCCESS {
		return ret
	}
	n, ret := w.l.api.DeviceGetCount()
	if ret != nvml.SUCCESS {
		return ret
	}
	watched := 0
	for i := range n {
		h, ret := w.l.api.DeviceGetHandleByIndex(i)
		if ret != nvml.SUCCESS {
			continue
		}
		has, ret := h.GetSupportedEventTypes()
		if ret != nvml.SUCCESS || has&wanted == 0 {
			continue
		}
		if h.RegisterEvents(has&wanted, set) == nvml.SUCCESS {
			watched++
		}
	}
	if watched == 0 {
		_ = set.Free() // nothing to wait for: waiting would fail at once
		return nvml.ERROR_NOT_SUPPORTED
	}
	w.set, w.generation = set, w.l.generation
	return nvml.SUCCESS
}

func (w *watcher) pass(e nvml.EventData) {
	out := gpus.Event{Instance: -1, Compute: -1}
	if e.Device != nil {
		if id, ret := e.Device.GetUUID(); ret == nvml.SUCCESS {
			out.ID = id
		}
	}
	if e.EventType == nvml.EventTypeXidCriticalError && out.ID != "" {
		out.Xid = e.EventData
		if e.GpuInstanceId != noPart && e.ComputeInstanceId != noPart {
			out.Instance, out.Compute = int(e.GpuInstanceId), int(e.ComputeInstanceId)
		}
	}
	w.report(out)
}

func (w *watcher) free() {
	w.l.mu.RLock()
	defer w.l.mu.RUnlock()
	if w.set != nil && w.l.up && w.generation == w.l.generation {
		_ = w.set.Free()
	}
}
