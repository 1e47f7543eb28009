//go:build cgo && linux

package nvidia

import (
	"context"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/detent-ml/detent/master/sleep"
	"github.com/detent-ml/detent/plugins/gpu/gpus"
)

const (
	// waitMS is the maximum time that the library waits for an event.
	waitMS = 1000
	// pauseAfter is the pause after events could not be read.
	pauseAfter = 5 * time.Second
)

// wanted are the events that concern a GPU's health.
const wanted = uint64(nvml.EventTypeXidCriticalError | nvml.EventTypeDoubleBitEccError)

// noPart means that an event is not about a part.
const noPart = 0xFFFFFFFF

// Watch forwards the library's events.
func (l *library) Watch(ctx context.Context, report func(gpus.Event)) {
	w := watcher{l: l, report: report}
	for ctx.Err() == nil {
		if !w.once() {
			_ = sleep.For(ctx, pauseAfter)
		}
	}
	w.free()
}

// A watcher has the set of events for which it waits.
type watcher struct {
	l          *library
	report     func(gpus.Event)
	set        nvml.EventSet
	generation int // of the library for which the set was made
}

// once waits for one event, for a moment. It returns false if events cannot be read.
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
	w.set = nil // a new set may work again
	if ret != nvml.ERROR_NOT_SUPPORTED {
		w.report(gpus.Event{Instance: -1, Compute: -1}) // the state may have changed
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

// subscribe makes a set of the events of all GPUs. A GPU without events is monitored through its
// counters only.
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
		_ = set.Free() // without events, waiting would fail at once
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
