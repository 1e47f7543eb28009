package gpus

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/spelling"
)

// Policy decides what makes a GPU unhealthy, and for how long.
type Policy struct {
	// IgnoredXids are errors that faulty programs cause.
	IgnoredXids []uint64
	// ResetXids are errors that only a reset of the GPU ends.
	ResetXids []uint64
	// Quiet is the time after the last other critical error of a GPU after which the GPU is healthy
	// again, if it answers; 0: unhealthy until the plugin restarts.
	Quiet time.Duration
	// IgnoreECC ignores memory errors, IgnoreNVLink the links between GPUs.
	IgnoreECC, IgnoreNVLink bool
	// Throttled is how long a GPU's hardware must slow it down before it is unhealthy, and how long
	// it must run at full speed before it is healthy again; 0 is never.
	Throttled time.Duration
}

// DefaultIgnoredXids are the errors that a faulty program causes on a healthy GPU: an illegal
// access, a page fault, a stop, the clean-up after a stop, errors of a video decoder and of a
// graphics class, and a kernel that does not yield in time.
func DefaultIgnoredXids() []uint64 { return []uint64{13, 31, 43, 45, 68, 69, 109} }

// DefaultResetXids are the errors for which NVIDIA's catalogue requires a reset of the GPU or of
// the node: a GPU that stopped, memory errors that were not contained or could not be remapped, a
// halt of its power unit, broken NVLinks, a GPU that fell off the bus, a security fault, its
// firmware's processor (GSP) that does not answer, and errors that newer drivers call fatal.
func DefaultResetXids() []uint64 {
	return []uint64{46, 48, 62, 64, 74, 79, 95, 110, 119, 120, 136, 140, 143, 155, 156, 158}
}

// lookXids only mean that the driver has new information: that a row of memory must be remapped,
// and that the recommended action for the GPU has changed.
var lookXids = [...]uint64{63, 154}

// A Diagnosis is a device and why it is unhealthy.
type Diagnosis struct {
	Device
	Why string // "" for a healthy one
	// Group is the name of the group of linked devices that it is in; "" for none.
	Group string
}

// A Monitor remembers every GPU of its scans, and its errors.
type Monitor struct {
	policy Policy
	known  map[string]*record // by id of the GPU
	linked map[string]string  // by id of the GPU: the name of its group
}

// record is what the monitor knows about one GPU.
type record struct {
	gpu  GPU
	away string // why it cannot be reached now; "": it can
	// gone means that only a reset or a restart of the driver can make it available again, which
	// ends earlier errors; a driver that merely does not answer does not prove that.
	gone  bool
	xids  map[part]xid // newest critical error of each part
	links uint64       // links that were up at any time

	slowed    bool      // its hardware has slowed it down for so long that it is unhealthy
	slowSince time.Time // zero while it does not
	slowLast  time.Time
	slowWhy   string
}

// part identifies a part of a GPU; the zero part is the whole GPU.
type part struct {
	some              bool
	instance, compute int
}

type xid struct {
	code uint64
	at   time.Time
}

// NewMonitor makes a monitor without GPUs.
func NewMonitor(p Policy) *Monitor { return &Monitor{policy: p, known: map[string]*record{}} }

// Note records an event. It reports whether the health of a GPU may have changed.
func (m *Monitor) Note(e Event, now time.Time) bool {
	if e.Xid == 0 {
		return true
	}
	r := m.known[e.ID]
	if r == nil || slices.Contains(m.policy.IgnoredXids, e.Xid) {
		return false
	}
	if slices.Contains(lookXids[:], e.Xid) {
		return true
	}
	p := part{}
	if r.gpu.Split && e.Instance >= 0 {
		p = part{true, e.Instance, e.Compute}
	}
	// One that only a reset ends is not covered up by a lesser one after it.
	if old, ok := r.xids[p]; !ok || !m.needsReset(old.code) || m.needsReset(e.Xid) {
		r.xids[p] = xid{e.Xid, now}
	}
	return true
}

// Judge records a scan, and returns a diagnosis of every device: those that are there,
// and those that there were and that only a loss can explain.
func (m *Monitor) Judge(scan Scan, failed error, now time.Time) []Diagnosis {
	if failed != nil {
		for _, r := range m.known {
			r.away = fmt.Sprintf("the driver does not answer: %v", failed)
			r.gone = r.gone || errors.Is(failed, ErrUnloaded)
		}
	} else {
		m.admit(scan, now)
	}
	var all []Diagnosis
	for _, r := range m.known {
		m.recover(r, now)
		for _, d := range r.gpu.Devices() {
			all = append(all, Diagnosis{Device: d, Why: m.diagnose(r, d), Group: m.groupOf(&r.gpu)})
		}
	}
	slices.SortFunc(all, func(a, b Diagnosis) int { return cmp.Or(cmp.Compare(a.Model, b.Model), cmp.Compare(a.ID, b.ID)) })
	return all
}

// groupOf is the group of a GPU's devices. Links of the GPU do not connect its parts with others; they are a group by themselves.
func (m *Monitor) groupOf(g *GPU) string {
	if g.Split {
		return g.ID
	}
	return m.linked[g.ID]
}

// admit compares what there is with what there was.
func (m *Monitor) admit(scan Scan, now time.Time) {
	m.linked = map[string]string{}
	for _, group := range scan.Linked {
		for _, id := range group {
			m.linked[id] = slices.Min(group)
		}
	}
	seen := map[string]bool{}
	for _, g := range scan.GPUs {
		seen[g.ID] = true
		r := m.known[g.ID]
		if r == nil {
			r = &record{xids: map[part]xid{}}
			m.known[g.ID] = r
		}
		if (g.Lost || g.Unanswered != "") && r.gpu.ID == "" {
			r.gpu = g // so from the beginning: this is all there is to know
		}
		switch {
		case g.Lost:
			r.lose("the driver lists it and cannot reach it")
		case g.Unanswered != "":
			r.away = "the driver does not answer for it: " + g.Unanswered
		default:
			r.take(g)
			m.watchSpeed(r, now)
		}
	}
	for id, r := range m.known {
		if !seen[id] {
			r.lose("the driver no longer lists it")
		}
	}
}

func (r *record) lose(how string) {
	r.away, r.gone = "it fell off the bus: "+how+"; a reset of the GPU or of the node may bring it back", true
}

// take records the state of a GPU that answers.
func (r *record) take(g GPU) {
	if r.gone {
		clear(r.xids)
		r.links, r.slowed, r.slowSince = 0, false, time.Time{}
	}
	if g.Split != r.gpu.Split {
		r.links = 0 // parts of a GPU have no links of their own
	}
	r.links |= g.Links
	r.gpu, r.away, r.gone = g, "", false
}

// watchSpeed decides whether the hardware has slowed a GPU down for too long.
func (m *Monitor) watchSpeed(r *record, now time.Time) {
	limit := m.policy.Throttled
	if limit <= 0 {
		return
	}
	if len(r.gpu.Throttled) > 0 {
		if r.slowSince.IsZero() {
			r.slowSince = now
		}
		r.slowLast, r.slowWhy = now, strings.Join(r.gpu.Throttled, " and ")
		r.slowed = r.slowed || now.Sub(r.slowSince) >= limit
		return
	}
	r.slowSince = time.Time{}
	if now.Sub(r.slowLast) >= limit {
		r.slowed = false
	}
}

func (m *Monitor) needsReset(code uint64) bool { return slices.Contains(m.policy.ResetXids, code) }

// recover removes old errors of a GPU that answers. An error that only a reset ends is removed when
// the driver itself recommends no action.
func (m *Monitor) recover(r *record, now time.Time) {
	if m.policy.Quiet <= 0 || r.away != "" {
		return
	}
	for p, x := range r.xids {
		if m.needsReset(x.code) && (!r.gpu.RecoveryKnown || r.gpu.Recovery != "") {
			continue
		}
		if now.Sub(x.at) >= m.policy.Quiet {
			delete(r.xids, p)
		}
	}
}

// diagnose returns why a device is unhealthy.
func (m *Monitor) diagnose(r *record, d Device) string {
	var why []string
	say := func(format string, args ...any) { why = append(why, fmt.Sprintf(format, args...)) }
	if r.away != "" {
		say("%s", r.away)
	}
	m.diagnoseMemory(r, say)
	m.diagnoseXids(r, d, say)
	if r.gpu.Recovery != "" {
		say("the driver recommends: %s", r.gpu.Recovery)
	}
	if !m.policy.IgnoreNVLink {
		if r.gpu.Fabric != "" {
			say("%s", r.gpu.Fabric)
		}
		if down := r.links &^ r.gpu.Links; down != 0 {
			say("its NVLink %s went down; reset the GPU or restart the node", numbers(down))
		}
	}
	if r.slowed {
		say("its hardware has slowed it down for %s or more because of %s; check its cooling and power", short(m.policy.Throttled), r.slowWhy)
	}
	if r.gpu.Unhealthy != "" {
		say("%s", r.gpu.Unhealthy)
	}
	return strings.Join(why, "; ")
}

func (m *Monitor) diagnoseMemory(r *record, say func(string, ...any)) {
	if m.policy.IgnoreECC {
		return
	}
	if n := r.gpu.Uncorrected; n > 0 {
		say("%s since the last reset; reset the GPU or restart the node", spelling.Count(n, "uncorrectable memory error"))
	}
	if r.gpu.RemapFailed {
		say("a defective row of its memory could not be remapped; the GPU needs repair")
	}
	if r.gpu.RepairPending {
		say("a defective row or page of its memory will be remapped at the next reset; reset the GPU or restart the node")
	}
}

func (m *Monitor) diagnoseXids(r *record, d Device, say func(string, ...any)) {
	var codes []string
	reset := false
	for p, x := range r.xids {
		if !p.some || p == (part{true, d.Instance, d.Compute}) {
			codes = append(codes, fmt.Sprintf("%d at %s", x.code, x.at.UTC().Format("15:04:05 MST")))
			reset = reset || m.needsReset(x.code)
		}
	}
	if len(codes) > 0 {
		slices.Sort(codes)
		say("critical error of the driver: Xid %s%s", strings.Join(codes, ", Xid "), m.until(reset))
	}
}

// until returns until when a GPU with an Xid is out of use.
func (m *Monitor) until(reset bool) string {
	switch {
	case reset:
		return "; out of use until the GPU or the node is reset"
	case m.policy.Quiet <= 0:
		return "; out of use until the plugin restarts"
	}
	return fmt.Sprintf("; out of use until it was quiet for %s", short(m.policy.Quiet))
}

// numbers lists the bits of a mask.
func numbers(mask uint64) string {
	var words []string
	for i := range 64 {
		if mask&(1<<i) != 0 {
			words = append(words, fmt.Sprint(i))
		}
	}
	return strings.Join(words, ", ")
}

// short formats a duration without zeros at its end.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
