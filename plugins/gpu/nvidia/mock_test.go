//go:build cgo && linux

package nvidia

import (
	"encoding/binary"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/server"
)

// A machine is NVML's own mock of a server, with what the mock leaves open, and
// knobs for what may go wrong.
type machine struct {
	*server.Server
	t testing.TB

	mu          sync.Mutex
	begun       int             // how often the library was begun
	gone        map[int]bool    // GPUs that the driver does not list any more
	lost        map[string]bool // GPUs that cannot be reached
	answers     nvml.Return     // what the driver says to everything
	uncorrected map[string]uint64
	broken      map[string]bool
	events      chan nvml.EventData
	sets        int

	unknown  map[string]bool          // GPUs that the library has no answer for, though they are there
	hangs    map[string]chan struct{} // GPUs of which calls return when the channel is closed
	pending  map[string]bool          // rows of memory to be replaced
	retired  map[string]bool          // pages of memory to be replaced
	throttle map[string]uint64
	links    map[string]int // how many are up, of 18
	fabric   map[string]nvml.GpuFabricInfo
	recovery map[string]int // -1 for a driver that does not say
	symbols  error          // what the look for newer functions says

	nvlink    func(i, j int) nvml.GpuP2PStatus     // between GPUs by their places; nil: none
	ancestor  func(i, j int) nvml.GpuTopologyLevel // …; nil: none is known
	linkCalls int                                  // about links
	linkCode  nvml.Return                          // what the library says to them
	linkHang  chan struct{}                        // they return when it is closed, and
	linkAsked chan struct{}                        // receives one value when a call begins to wait for that
}

func newMachine(t testing.TB, s *server.Server) *machine {
	m := &machine{Server: s, t: t, gone: map[int]bool{}, lost: map[string]bool{}, uncorrected: map[string]uint64{},
		broken: map[string]bool{}, events: make(chan nvml.EventData, 8),
		unknown: map[string]bool{}, hangs: map[string]chan struct{}{}, pending: map[string]bool{}, retired: map[string]bool{}, throttle: map[string]uint64{},
		links: map[string]int{}, fabric: map[string]nvml.GpuFabricInfo{}, recovery: map[string]int{}}
	s.LookupSymbolFunc = func(string) error {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.symbols
	}
	s.InitFunc = func() nvml.Return {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.begun++
		return m.answers
	}
	s.DeviceGetCountFunc = func() (int, nvml.Return) {
		m.mu.Lock()
		defer m.mu.Unlock()
		return len(s.Devices) - len(m.gone), m.answers
	}
	s.DeviceGetHandleByIndexFunc = func(i int) (nvml.Device, nvml.Return) {
		m.mu.Lock()
		defer m.mu.Unlock()
		for k, d := range s.Devices {
			if m.gone[k] {
				continue
			}
			if i == 0 {
				if m.lost[d.(*server.Device).UUID] {
					return nil, nvml.ERROR_GPU_IS_LOST
				}
				if m.unknown[d.(*server.Device).UUID] {
					return nil, nvml.ERROR_UNKNOWN
				}
				return d, nvml.SUCCESS
			}
			i--
		}
		return nil, nvml.ERROR_INVALID_ARGUMENT
	}
	s.EventSetCreateFunc = func() (nvml.EventSet, nvml.Return) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.sets++
		return m.eventSet(), nvml.SUCCESS
	}
	for _, d := range s.Devices {
		m.complete(d.(*server.Device))
	}
	return m
}

func (m *machine) eventSet() *mock.EventSet {
	return &mock.EventSet{
		WaitFunc: func(uint32) (nvml.EventData, nvml.Return) {
			select {
			case e := <-m.events:
				return e, nvml.SUCCESS
			case <-time.After(10 * time.Millisecond):
				return nvml.EventData{}, nvml.ERROR_TIMEOUT
			}
		},
		FreeFunc: func() nvml.Return { return nvml.SUCCESS },
	}
}

// complete gives a GPU what the mock does not know.
func (m *machine) complete(d *server.Device) {
	d.GetEnforcedPowerLimitFunc = func() (uint32, nvml.Return) { return 700_000, nvml.SUCCESS }
	d.GetMaxClockInfoFunc = func(k nvml.ClockType) (uint32, nvml.Return) {
		return map[nvml.ClockType]uint32{nvml.CLOCK_SM: 1980, nvml.CLOCK_MEM: 3201}[k], nvml.SUCCESS
	}
	d.GetClockInfoFunc = func(k nvml.ClockType) (uint32, nvml.Return) {
		return map[nvml.ClockType]uint32{nvml.CLOCK_SM: 345, nvml.CLOCK_MEM: 3000}[k], nvml.SUCCESS
	}
	d.GetBAR1MemoryInfoFunc = func() (nvml.BAR1Memory, nvml.Return) {
		return nvml.BAR1Memory{Bar1Total: 256 << 30, Bar1Used: 5 << 20}, nvml.SUCCESS
	}
	d.GetPersistenceModeFunc = func() (nvml.EnableState, nvml.Return) { return nvml.FEATURE_ENABLED, nvml.SUCCESS }
	d.GetMaxPcieLinkGenerationFunc = func() (int, nvml.Return) { return 5, nvml.SUCCESS }
	d.GetMaxPcieLinkWidthFunc = func() (int, nvml.Return) { return 16, nvml.SUCCESS }
	d.GetUtilizationRatesFunc = func() (nvml.Utilization, nvml.Return) { return nvml.Utilization{Gpu: 97, Memory: 40}, nvml.SUCCESS }
	d.GetEncoderUtilizationFunc = func() (uint32, uint32, nvml.Return) { return 0, 0, nvml.ERROR_NOT_SUPPORTED }
	d.GetDecoderUtilizationFunc = func() (uint32, uint32, nvml.Return) { return 3, 0, nvml.SUCCESS }
	d.GetPowerUsageFunc = func() (uint32, nvml.Return) { return 512_300, nvml.SUCCESS }
	d.GetTemperatureFunc = func(nvml.TemperatureSensors) (uint32, nvml.Return) { return 61, nvml.SUCCESS }
	d.GetTotalEccErrorsFunc = func(k nvml.MemoryErrorType, _ nvml.EccCounterType) (uint64, nvml.Return) {
		m.mu.Lock()
		defer m.mu.Unlock()
		if k == nvml.MEMORY_ERROR_TYPE_CORRECTED {
			return 7, nvml.SUCCESS
		}
		return m.uncorrected[d.UUID], nvml.SUCCESS
	}
	d.GetRemappedRowsFunc = func() (int, int, bool, bool, nvml.Return) {
		m.mu.Lock()
		defer m.mu.Unlock()
		return 1, 2, m.pending[d.UUID], m.broken[d.UUID], nvml.SUCCESS
	}
	m.completeHealth(d)
	m.completeLinks(d)
	d.GetSupportedEventTypesFunc = func() (uint64, nvml.Return) { return wanted | 1, nvml.SUCCESS }
	d.RegisterEventsFunc = func(types uint64, _ nvml.EventSet) nvml.Return {
		if types != wanted {
			m.t.Errorf("registered for events %x", types)
		}
		return nvml.SUCCESS
	}
	d.GetMaxMigDeviceCountFunc = func() (int, nvml.Return) { return 7, nvml.SUCCESS }
	d.GetMigDeviceHandleByIndexFunc = func(int) (nvml.Device, nvml.Return) { return nil, nvml.ERROR_NOT_FOUND }
}

// completeHealth sets the fields of a GPU that newer drivers report.
func (m *machine) completeHealth(d *server.Device) {
	d.GetRetiredPagesPendingStatusFunc = func() (nvml.EnableState, nvml.Return) {
		m.mu.Lock()
		hang := m.hangs[d.UUID]
		retired := m.retired[d.UUID]
		m.mu.Unlock()
		if hang != nil {
			<-hang
		}
		if retired {
			return nvml.FEATURE_ENABLED, nvml.SUCCESS
		}
		return nvml.FEATURE_DISABLED, nvml.ERROR_NOT_SUPPORTED
	}
	d.GetCurrentClocksThrottleReasonsFunc = func() (uint64, nvml.Return) {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.throttle[d.UUID] | 1 | 4, nvml.SUCCESS // idle, and at its limit of power
	}
	d.GetNvLinkStateFunc = func(i int) (nvml.EnableState, nvml.Return) {
		m.mu.Lock()
		defer m.mu.Unlock()
		up, told := m.links[d.UUID]
		if !told {
			up = 18
		}
		switch {
		case i >= 18:
			return 0, nvml.ERROR_INVALID_ARGUMENT
		case i < up:
			return nvml.FEATURE_ENABLED, nvml.SUCCESS
		}
		return nvml.FEATURE_DISABLED, nvml.SUCCESS
	}
	d.GetGpuFabricInfoFunc = func() (nvml.GpuFabricInfo, nvml.Return) {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.symbols != nil {
			m.t.Error("called a function that the library lacks")
		}
		return m.fabric[d.UUID], nvml.SUCCESS
	}
	d.GetFieldValuesFunc = func(values []nvml.FieldValue) nvml.Return {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.recovery[d.UUID] < 0 {
			values[0].NvmlReturn = uint32(nvml.ERROR_NOT_SUPPORTED)
			return nvml.SUCCESS
		}
		binary.NativeEndian.PutUint32(values[0].Value[:4], uint32(m.recovery[d.UUID]))
		return nvml.SUCCESS
	}
}

// completeLinks lets a GPU say how it is linked with others.
func (m *machine) completeLinks(d *server.Device) {
	place := func(d nvml.Device) int {
		return slices.IndexFunc(m.Devices, func(x nvml.Device) bool { return x == d })
	}
	called := func() nvml.Return {
		m.mu.Lock()
		m.linkCalls++
		code, hang, asked := m.linkCode, m.linkHang, m.linkAsked
		if m.symbols != nil {
			m.t.Error("called a function that the library lacks")
		}
		m.mu.Unlock()
		if hang != nil {
			asked <- struct{}{}
			<-hang
		}
		return code
	}
	d.GetP2PStatusFunc = func(other nvml.Device, of nvml.GpuP2PCapsIndex) (nvml.GpuP2PStatus, nvml.Return) {
		code := called()
		m.mu.Lock()
		defer m.mu.Unlock()
		if of != nvml.P2P_CAPS_INDEX_NVLINK {
			m.t.Errorf("asked for %v", of)
		}
		if m.nvlink == nil {
			return nvml.P2P_STATUS_NOT_SUPPORTED, code
		}
		return m.nvlink(place(d), place(other)), code
	}
	d.GetTopologyCommonAncestorFunc = func(other nvml.Device) (nvml.GpuTopologyLevel, nvml.Return) {
		code := called()
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.ancestor == nil {
			return 0, nvml.ERROR_NOT_SUPPORTED
		}
		return m.ancestor(place(d), place(other)), code
	}
}

// splitUp turns MIG on and makes two parts, at places 0 and 3.
func (m *machine) splitUp(d *server.Device) {
	d.SetMigMode(nvml.DEVICE_MIG_ENABLE)
	parts := map[int]*mock.Device{0: m.part(d, "MIG-0", 7), 3: m.part(d, "MIG-3", 9)}
	d.GetMigDeviceHandleByIndexFunc = func(i int) (nvml.Device, nvml.Return) {
		if p := parts[i]; p != nil {
			return p, nvml.SUCCESS
		}
		return nil, nvml.ERROR_NOT_FOUND
	}
	whole := m.DeviceGetHandleByUUIDFunc
	m.DeviceGetHandleByUUIDFunc = func(id string) (nvml.Device, nvml.Return) {
		for _, p := range parts {
			if have, _ := p.GetUUID(); have == id {
				return p, nvml.SUCCESS
			}
		}
		return whole(id)
	}
}

func (m *machine) part(d *server.Device, id string, instance int) *mock.Device {
	no := nvml.ERROR_NOT_SUPPORTED
	return &mock.Device{
		GetUUIDFunc:               func() (string, nvml.Return) { return id, nvml.SUCCESS },
		GetGpuInstanceIdFunc:      func() (int, nvml.Return) { return instance, nvml.SUCCESS },
		GetComputeInstanceIdFunc:  func() (int, nvml.Return) { return 0, nvml.SUCCESS },
		GetNameFunc:               func() (string, nvml.Return) { return d.Config.Name, nvml.SUCCESS }, // older drivers say no more
		GetMemoryInfoFunc:         func() (nvml.Memory, nvml.Return) { return nvml.Memory{Total: 18 << 30, Used: 1 << 30}, nvml.SUCCESS },
		GetUtilizationRatesFunc:   func() (nvml.Utilization, nvml.Return) { return nvml.Utilization{}, no },
		GetEncoderUtilizationFunc: func() (uint32, uint32, nvml.Return) { return 0, 0, no },
		GetDecoderUtilizationFunc: func() (uint32, uint32, nvml.Return) { return 0, 0, no },
		GetBAR1MemoryInfoFunc:     func() (nvml.BAR1Memory, nvml.Return) { return nvml.BAR1Memory{}, no },
		GetPowerUsageFunc:         func() (uint32, nvml.Return) { return 0, no },
		GetEnforcedPowerLimitFunc: func() (uint32, nvml.Return) { return 0, no },
		GetTemperatureFunc:        func(nvml.TemperatureSensors) (uint32, nvml.Return) { return 0, no },
		GetClockInfoFunc:          func(nvml.ClockType) (uint32, nvml.Return) { return 0, no },
		GetTotalEccErrorsFunc:     func(nvml.MemoryErrorType, nvml.EccCounterType) (uint64, nvml.Return) { return 0, no },
		GetRemappedRowsFunc:       func() (int, int, bool, bool, nvml.Return) { return 0, 0, false, false, no },
		GetAttributesFunc: func() (nvml.DeviceAttributes, nvml.Return) {
			return nvml.DeviceAttributes{GpuInstanceSliceCount: 1, MemorySizeMB: 18 << 10}, nvml.SUCCESS
		},
	}
}

// set changes the machine.
func (m *machine) set(change func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change()
}

// ids are the GPUs of the machine in their order.
func (m *machine) ids() []string {
	var ids []string
	for _, d := range m.Devices {
		ids = append(ids, d.(*server.Device).UUID)
	}
	return slices.Clip(ids)
}
