//go:build cgo && linux

package nvidia

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/detent-ml/detent/plugins/gpu/gpus"
)

// Linked says whether this program can use NVIDIA's library at all.
const Linked = true

// library is a Source over NVML.
type library struct {
	api nvml.Interface
	// root is "/", where /proc and /dev are.
	root string

	// mu is held for reading while the library is used, and for writing while it is
	// begun anew.
	mu         sync.RWMutex
	generation int  // of its beginning
	up         bool // it has begun

	ids      sync.Mutex
	byIndex  map[int]string // last known ids of the GPUs
	expected map[string]bool
	asked    map[int]*question // by index: GPUs whose description is under way
	late     func(index int, since time.Time) (<-chan time.Time, func() bool)
	symbols  map[string]bool // functions that were looked for in the library
}

// A question is the description of one GPU under way: a call may hang, and is not made again
// before it has returned.
type question struct {
	since time.Time
	done  chan struct{}
	gpu   gpus.GPU
	ok    bool
}

// patience is how long the library may take to describe a GPU.
const patience = 10 * time.Second

// late fires when a question about a GPU, whichever, has been open for too long.
func late(_ int, since time.Time) (<-chan time.Time, func() bool) {
	timer := time.NewTimer(max(0, patience-time.Since(since)))
	return timer.C, timer.Stop
}

// errBusy says that the library cannot be begun anew because a call has not returned.
var errBusy = errors.New("a call of NVIDIA's library has not returned")

// Open begins to use NVIDIA's library. It fails where there is no driver.
func Open() (gpus.Source, error) { return open(nvml.New(), "/") }

func open(api nvml.Interface, root string) (*library, error) {
	l := &library{api: api, root: root, byIndex: map[int]string{}, expected: map[string]bool{},
		asked: map[int]*question{}, late: late, symbols: map[string]bool{}}
	if err := l.begin(); err != nil {
		return nil, err
	}
	return l, nil
}

// begin begins to use the library, anew if it was in use.
func (l *library) begin() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy() {
		return errBusy
	}
	if l.up {
		_ = l.api.Shutdown() // it may have nothing to end any more
		l.up = false
	}
	if ret := l.api.Init(); ret != nvml.SUCCESS {
		return explain(ret)
	}
	l.up = true
	l.generation++
	return nil
}

// busy says whether the description of a GPU is under way.
func (l *library) busy() bool {
	l.ids.Lock()
	defer l.ids.Unlock()
	return len(l.asked) > 0
}

// knows says whether the library has a function, which older ones may lack.
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

// explain words what the library answers to a beginning.
func explain(ret nvml.Return) error {
	switch ret {
	case nvml.ERROR_LIBRARY_NOT_FOUND:
		return errors.New("there is no NVIDIA driver: its library libnvidia-ml.so.1 is not on this machine")
	case nvml.ERROR_DRIVER_NOT_LOADED:
		return fmt.Errorf("%w, though it is installed; run nvidia-smi to see why", gpus.ErrUnloaded)
	case nvml.ERROR_NO_PERMISSION:
		return errors.New("permission denied by the NVIDIA driver: run as root, or as a user who may open /dev/nvidiactl")
	}
	return fmt.Errorf("NVIDIA's library: %s", ret.String())
}

// failed makes an error of an answer that is none.
func failed(what string, ret nvml.Return) error {
	return fmt.Errorf("%s: %s", what, ret.String())
}

// Scan lists the GPUs. Where one is missing that was there, or the library does
// not answer, it is begun anew first.
func (l *library) Scan() (gpus.Scan, error) {
	scan, err := l.scan()
	if err == nil && !l.missing(scan) {
		return scan, nil
	}
	switch begun := l.begin(); {
	case errors.Is(begun, errBusy) && err == nil:
		return scan, nil // as far as it is known
	case begun != nil:
		return gpus.Scan{}, begun
	}
	scan, err = l.scan()
	if err == nil {
		l.remember(scan)
	}
	return scan, err
}

// missing says whether a GPU is lost that was there; it remembers those that are.
func (l *library) missing(scan gpus.Scan) bool {
	l.remember(scan)
	there := map[string]bool{}
	for _, g := range scan.GPUs {
		there[g.ID] = !g.Lost && g.Unanswered == ""
	}
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
	return scan, nil
}

// ask has the GPU at an index described, unless that is under way since an earlier scan.
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

// answer waits for the description of a GPU, and not for long. What the library does not tell of
// one GPU keeps none of the others out of use.
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

// gpu describes the GPU at an index. It is not ok for one that nothing is known
// of, not even its id.
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

// lost says whether an answer means that a GPU cannot be reached any more.
func lost(ret nvml.Return) bool {
	return ret == nvml.ERROR_GPU_IS_LOST || ret == nvml.ERROR_RESET_REQUIRED
}

// Close ends the use of the library.
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
