//go:build cgo && linux

package nvidia

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/plugins/gpu/gpus"
)

// Linked reports whether this program can use NVIDIA's library.
const Linked = true

// library is a Source over NVML.
type library struct {
	api nvml.Interface
	// root is "/", where /proc and /dev are.
	root string

	// mu is held for reading while the library is used, and for writing while it is initialized
	// again.
	mu         sync.RWMutex
	generation int  // number of initializations
	up         bool // it is initialized

	ids      sync.Mutex
	topology topology
	byIndex  map[int]string // last known ids of the GPUs
	expected map[string]bool
	asked    map[int]*question // by index: GPUs whose description is in progress
	late     func(index int, since time.Time) (<-chan time.Time, func() bool)
	symbols  map[string]bool // functions that were searched in the library
}

// A question is a pending request to the driver to describe one GPU. The driver may not answer for a long time; until
// it answers, nobody asks again about this GPU.
type question struct {
	since time.Time
	done  chan struct{}
	gpu   gpus.GPU
	ok    bool
}

// patience is the time limit for the description of a GPU.
const patience = 10 * time.Second

// late fires when any question has been in progress for too long.
func late(_ int, since time.Time) (<-chan time.Time, func() bool) {
	timer := time.NewTimer(max(0, patience-time.Since(since)))
	return timer.C, timer.Stop
}

// errBusy means that the library cannot be initialized again because a call has not returned.
var errBusy = errors.New("a call of NVIDIA's library has not returned")

// Open initializes NVIDIA's library. It fails without a driver.
func Open() (gpus.Source, error) { return open(nvml.New(), "/") }

func open(api nvml.Interface, root string) (*library, error) {
	l := &library{api: api, root: root, byIndex: map[int]string{}, expected: map[string]bool{},
		asked: map[int]*question{}, late: late, symbols: map[string]bool{}}
	if err := l.begin(); err != nil {
		return nil, err
	}
	return l, nil
}

// begin initializes the library, after a shutdown if it was in use.
func (l *library) begin() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy() {
		return errBusy
	}
	if l.up {
		_ = l.api.Shutdown() // fails if the library is not initialized
		l.up = false
	}
	if ret := l.api.Init(); ret != nvml.SUCCESS {
		return explain(ret)
	}
	l.up = true
	l.generation++
	return nil
}

// busy reports whether a description of a GPU or of their links is in progress.
func (l *library) busy() bool {
	l.ids.Lock()
	defer l.ids.Unlock()
	return len(l.asked) > 0 || l.topology.survey != nil
}

// knows reports whether the library has a function, which older versions may lack.
func (l *library) knows(symbol string) bool {
	l.ids.Lock()
	defer l.ids.Unlock()
	has, asked := l.symbols[symbol]
	if !asked {
		has = l.api.Extensions().LookupSymbol(symbol) == nil
		l.symbols[symbol] = has
	}
	return has
}

// explain explains an error of the initialization.
func explain(ret nvml.Return) error {
	switch ret {
	case nvml.ERROR_LIBRARY_NOT_FOUND:
		return errors.New("this machine has no NVIDIA driver: its library libnvidia-ml.so.1 is missing")
	case nvml.ERROR_DRIVER_NOT_LOADED:
		return fmt.Errorf("%w, though it is installed; run nvidia-smi to see why", gpus.ErrUnloaded)
	case nvml.ERROR_NO_PERMISSION:
		return errors.New("permission denied by the NVIDIA driver: run as root, or as a user who may open /dev/nvidiactl")
	}
	return fmt.Errorf("NVIDIA's library: %s", ret.String())
}

// failed converts an error code to an error.
func failed(what string, ret nvml.Return) error {
	return fmt.Errorf("%s: %s", what, ret.String())
}

// Scan lists the GPUs. If a known GPU is missing, or the library does not answer, the library is
// initialized again first.
func (l *library) Scan() (gpus.Scan, error) {
	scan, err := l.scan()
	if err == nil && !l.missing(scan) {
		return scan, nil
	}
	switch begun := l.begin(); {
	case errors.Is(begun, errBusy) && err == nil:
		return scan, nil // may be incomplete
	case begun != nil:
		return gpus.Scan{}, begun
	}
	scan, err = l.scan()
	if err == nil {
		l.remember(scan)
	}
	return scan, err
}

// missing reports whether a known GPU is missing; it records the present ones.
func (l *library) missing(scan gpus.Scan) bool {
	l.remember(scan)
	there := each.Map(scan.GPUs, func(g gpus.GPU) (string, bool) { return g.ID, !g.Lost && g.Unanswered == "" })
	l.ids.Lock()
	defer l.ids.Unlock()
	for id := range l.expected {
		if !there[id] {
			return true
		}
	}
	return false
}

func (l *library) remember(scan gpus.Scan) {
	l.ids.Lock()
	defer l.ids.Unlock()
	for _, g := range scan.GPUs {
		l.expected[g.ID] = true
	}
}

func (l *library) scan() (gpus.Scan, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if !l.up {
		return gpus.Scan{}, errors.New("NVIDIA's library is not loaded")
	}
	var scan gpus.Scan
	var ret nvml.Return
	if scan.Driver, ret = l.api.SystemGetDriverVersion(); ret != nvml.SUCCESS {
		return scan, failed("version of the driver", ret)
	}
	if v, ret := l.api.SystemGetCudaDriverVersion(); ret == nvml.SUCCESS {
		scan.CUDA = fmt.Sprintf("%d.%d", v/1000, v%1000/10)
	}
	n, ret := l.api.DeviceGetCount()
	if ret != nvml.SUCCESS {
		return scan, failed("number of GPUs", ret)
	}
	questions := make([]*question, n)
	for i := range n {
		questions[i] = l.ask(i)
	}
	for i, q := range questions {
		if g, ok := l.answer(i, q); ok {
			scan.GPUs = append(scan.GPUs, g)
		}
	}
	scan.Linked = l.linked(scan.GPUs)
	return scan, nil
}

// ask starts the description of the GPU at an index, unless one is in progress.
func (l *library) ask(index int) *question {
	l.ids.Lock()
	defer l.ids.Unlock()
	if q := l.asked[index]; q != nil {
		return q
	}
	q := &question{since: time.Now(), done: make(chan struct{})}
	l.asked[index] = q
	go func() {
		q.gpu, q.ok = l.gpu(index)
		l.ids.Lock()
		delete(l.asked, index)
		l.ids.Unlock()
		close(q.done)
	}()
	return q
}

// answer waits a short time for the description of a GPU. A GPU that does not answer does not
// affect the others.
func (l *library) answer(index int, q *question) (gpus.GPU, bool) {
	late, stop := l.late(index, q.since)
	defer stop()
	select {
	case <-q.done:
		return q.gpu, q.ok
	case <-late:
	}
	l.ids.Lock()
	defer l.ids.Unlock()
	g := gpus.GPU{Device: gpus.Device{ID: l.byIndex[index], Instance: -1, Compute: -1}}
	g.Unanswered = "a call of NVIDIA's library does not return"
	return g, g.ID != ""
}

// gpu describes the GPU at an index. It is not ok if nothing is known about the GPU, not even its
// id.
func (l *library) gpu(index int) (gpus.GPU, bool) {
	handle, ret := l.api.DeviceGetHandleByIndex(index)
	id := ""
	if ret == nvml.SUCCESS {
		id, ret = handle.GetUUID()
	}
	l.ids.Lock()
	if ret == nvml.SUCCESS {
		l.byIndex[index] = id
	} else {
		id = l.byIndex[index]
	}
	l.ids.Unlock()
	if id == "" {
		return gpus.GPU{}, false
	}
	g := gpus.GPU{Device: gpus.Device{ID: id, Instance: -1, Compute: -1}}
	switch {
	case lost(ret):
		g.Lost = true
		return g, true
	case ret != nvml.SUCCESS:
		g.Unanswered = ret.String()
		return g, true
	}
	r := reader{l: l, handle: handle}
	r.describe(&g)
	g.Lost = r.lost
	return g, true
}

// lost reports whether an error code means that a GPU cannot be reached any more.
func lost(ret nvml.Return) bool {
	return ret == nvml.ERROR_GPU_IS_LOST || ret == nvml.ERROR_RESET_REQUIRED
}

// Close shuts the library down.
func (l *library) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.up {
		return nil
	}
	l.up = false
	if ret := l.api.Shutdown(); ret != nvml.SUCCESS {
		return failed("end of NVIDIA's library", ret)
	}
	return nil
}
