//go:build cgo && linux

package nvidia

import (
	"errors"
	"fmt"
	"sync"

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
}

// Open begins to use NVIDIA's library. It fails where there is no driver.
func Open() (gpus.Source, error) { return open(nvml.New(), "/") }

func open(api nvml.Interface, root string) (*library, error) {
	l := &library{api: api, root: root, byIndex: map[int]string{}, expected: map[string]bool{}}
	if err := l.begin(); err != nil {
		return nil, err
	}
	return l, nil
}

// begin begins to use the library, anew if it was in use.
func (l *library) begin() error {
	l.mu.Lock()
	defer l.mu.Unlock()
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

// explain words what the library answers to a beginning.
func explain(ret nvml.Return) error {
	switch ret {
	case nvml.ERROR_LIBRARY_NOT_FOUND:
		return errors.New("there is no NVIDIA driver: its library libnvidia-ml.so.1 is not on this machine")
	case nvml.ERROR_DRIVER_NOT_LOADED:
		return errors.New("the NVIDIA driver is installed and not loaded; nvidia-smi says why")
	case nvml.ERROR_NO_PERMISSION:
		return errors.New("no right to use the NVIDIA driver: run as root, or as who may open /dev/nvidiactl")
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
	if err := l.begin(); err != nil {
		return gpus.Scan{}, err
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
		there[g.ID] = !g.Lost
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
		return gpus.Scan{}, errors.New("NVIDIA's library is not in use")
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
	for i := range n {
		if g, ok := l.gpu(i); ok {
			scan.GPUs = append(scan.GPUs, g)
		}
	}
	return scan, nil
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
	if lost(ret) || ret != nvml.SUCCESS {
		g.Lost = true
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
