//go:build cgo && linux

package nvidia

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/detent-ml/detent/plugins/gpu/gpus"
)

// maxLinked bounds the GPUs of a machine whose links are read: the calls grow with the square of their number, and the time to
// group them may grow faster.
const maxLinked = 24

// Functions that very old drivers do not have.
const (
	p2pStatus      = "nvmlDeviceGetP2PStatus"
	commonAncestor = "nvmlDeviceGetTopologyCommonAncestor"
)

// topology is what is known about how GPUs are linked. It does not change while a machine runs, so it is read again only
// when GPUs appear, or their links or their fabric change; and it stays for GPUs that do not answer.
type topology struct {
	of     string   // the GPUs and links for which it was read completely
	survey *survey  // in progress; nil for none
	order  []string // ids of all GPUs that were read
	nvlink map[pair]bool
	level  map[pair]nvml.GpuTopologyLevel // their common ancestor on PCI
	groups [][]string
}

// pair is two GPUs by their ids, in ascending order.
type pair [2]string

func pairOf(a, b string) pair { return pair{min(a, b), max(a, b)} }

// A survey reads the links of GPUs: a call may hang, and is not repeated before it has returned.
type survey struct {
	since time.Time
	done  chan struct{}
}

// linked returns the groups of linked GPUs. It waits a short time for a survey, and then returns what is known.
func (l *library) linked(all []gpus.GPU) [][]string {
	s := l.survey(all)
	if s != nil {
		late, stop := l.late(-1, s.since)
		defer stop()
		select {
		case <-s.done:
		case <-late:
		}
	}
	l.ids.Lock()
	defer l.ids.Unlock()
	return l.topology.groups
}

// survey starts a survey of the GPUs that answer, if it is necessary and none is in progress. It returns the survey in
// progress; nil for none. Parts of a GPU have no links.
func (l *library) survey(all []gpus.GPU) *survey {
	var ids []string
	var of strings.Builder
	for _, g := range all {
		if !g.Lost && g.Unanswered == "" && !g.Split {
			ids = append(ids, g.ID)
			fmt.Fprintf(&of, "%s %x %t,", g.ID, g.Links, g.Fabric == "")
		}
	}
	l.ids.Lock()
	defer l.ids.Unlock()
	t := &l.topology
	if t.survey != nil || t.of == of.String() || len(ids) < 2 || len(ids) > maxLinked {
		return t.survey
	}
	s := &survey{since: time.Now(), done: make(chan struct{})}
	t.survey = s
	go func() {
		r := l.relate(ids)
		l.ids.Lock()
		t.note(r)
		if t.survey = nil; r.complete {
			t.of = of.String()
		}
		l.ids.Unlock()
		close(s.done)
	}()
	return s
}

// relations are what a survey has read about pairs of GPUs.
type relations struct {
	ids      []string
	nvlink   map[pair]bool
	level    map[pair]nvml.GpuTopologyLevel
	complete bool // each call had an answer
}

// relate reads whether NVLink connects GPUs, and how far they are from each other on PCI.
func (l *library) relate(ids []string) relations {
	r := relations{ids: ids, nvlink: map[pair]bool{}, level: map[pair]nvml.GpuTopologyLevel{}, complete: true}
	handles := map[string]nvml.Device{}
	for _, id := range ids {
		h, ret := l.api.DeviceGetHandleByUUID(id)
		if ret != nvml.SUCCESS {
			r.complete = false
			continue
		}
		handles[id] = h
	}
	nvlink, pci := l.knows(p2pStatus), l.knows(commonAncestor)
	for i, a := range ids {
		for _, b := range ids[i+1:] {
			if handles[a] == nil || handles[b] == nil {
				continue
			}
			if nvlink {
				status, ret := handles[a].GetP2PStatus(handles[b], nvml.P2P_CAPS_INDEX_NVLINK)
				if r.answered(ret) {
					r.nvlink[pairOf(a, b)] = ret == nvml.SUCCESS && status == nvml.P2P_STATUS_OK
				}
			}
			if pci {
				level, ret := handles[a].GetTopologyCommonAncestor(handles[b])
				if r.answered(ret) && ret == nvml.SUCCESS {
					r.level[pairOf(a, b)] = level
				}
			}
		}
	}
	return r
}

// answered reports whether a code is an answer, if only that there is no such property. Another one makes the survey
// incomplete, so that the next scan repeats it.
func (r *relations) answered(ret nvml.Return) bool {
	switch ret {
	case nvml.SUCCESS, nvml.ERROR_NOT_SUPPORTED, nvml.ERROR_INVALID_ARGUMENT, nvml.ERROR_FUNCTION_NOT_FOUND:
		return true
	}
	r.complete = false
	return false
}

// note adds what a survey has read, and groups the GPUs.
func (t *topology) note(r relations) {
	if t.nvlink == nil {
		t.nvlink, t.level = map[pair]bool{}, map[pair]nvml.GpuTopologyLevel{}
	}
	for _, id := range r.ids {
		if !slices.Contains(t.order, id) && len(t.order) < maxLinked {
			t.order = append(t.order, id)
		}
	}
	maps.Copy(t.nvlink, r.nvlink)
	maps.Copy(t.level, r.level)
	t.groups = t.group()
}

// group divides the GPUs by NVLink, if it connects any two of them. Else it divides them by PCI: those behind one switch, or
// if that divides nothing those of one processor (NUMA node), between which data does not cross the link of the processors.
func (t *topology) group() [][]string {
	if groups := gpus.Cliques(t.order, func(a, b string) bool { return t.nvlink[pairOf(a, b)] }); len(groups) > 0 {
		return groups
	}
	for _, most := range [...]nvml.GpuTopologyLevel{nvml.TOPOLOGY_MULTIPLE, nvml.TOPOLOGY_NODE} {
		groups := gpus.Cliques(t.order, func(a, b string) bool {
			level, known := t.level[pairOf(a, b)]
			return known && level <= most
		})
		if len(groups) > 0 {
			return groups
		}
	}
	return nil
}
