package gpus

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Policy says what makes a GPU sick, and for how long.
type Policy struct {
	// IgnoredXids are errors that programs cause in themselves.
	IgnoredXids []uint64
	// ResetXids are errors that only a reset of the GPU ends, however quiet it is after.
	ResetXids []uint64
	// Quiet is how long after its last critical error of another kind a GPU that answers
	// counts as well again; 0 keeps it out until the plugin is started anew.
	Quiet time.Duration
	// IgnoreECC leaves memory errors out of it, IgnoreNVLink the links between GPUs.
	IgnoreECC, IgnoreNVLink bool
	// Throttled is for how long its hardware must have slowed a GPU down before it
	// counts as sick, and not have done so before it is well again; 0 is never.
	Throttled time.Duration
}

// DefaultIgnoredXids are the errors that a faulty program raises on a sound GPU: an illegal
// access, a page fault, a stop, the clean-up after one, errors of a video decoder and of a
// graphics class, and a kernel that does not make room in time.
func DefaultIgnoredXids() []uint64 { return []uint64{13, 31, 43, 45, 68, 69, 109} }

// DefaultResetXids are the errors for which NVIDIA's catalogue names a reset of the GPU or of
// the node: a GPU that stopped, memory errors that were not contained or could not be mapped
// away, a halt of its power unit, broken NVLinks, one that fell off the bus, a security fault,
// its firmware's processor (GSP) that does not answer, and what newer drivers call fatal.
func DefaultResetXids() []uint64 {
	return []uint64{46, 48, 62, 64, 74, 79, 95, 110, 119, 120, 136, 140, 143, 155, 156, 158}
}

// lookXids say only that the driver has something new to tell when it is asked: that a row of
// memory is to be replaced, and that what must be done with the GPU has changed.
var lookXids = [...]uint64{63, 154}

// A Patient is a device with what is wrong with it.
type Patient struct {
	Device
	Why string // "" for one that is well
}

// A Ward keeps the GPUs that were ever seen, and what they suffer from.
type Ward struct {
	policy Policy
	known  map[string]*record // by id of the GPU
}

// record is what is known of one GPU.
type record struct {
	gpu  GPU
	away string // why it cannot be reached now; "" when it can
	// gone says that only a reset or a new driver can bring it back, which ends what was
	// before; a driver that merely does not answer proves nothing.
	gone  bool
	xids  map[part]xid // newest critical error of each part
	links uint64       // that were up at some time

	slowed    bool      // its hardware slows it down for so long that it counts as sick
	slowSince time.Time // zero while it does not
	slowLast  time.Time
	slowWhy   string
}

// part names a part of a GPU; the zero part is all of it.
type part struct {
	some              bool
	instance, compute int
}

type xid struct {
	code uint64
	at   time.Time
}

// NewWard makes an empty one.
func NewWard(p Policy) *Ward { return &Ward{policy: p, known: map[string]*record{}} }

// Note takes an event in. It says whether that may have changed anybody's health.
func (w *Ward) Note(e Event, now time.Time) bool {
	if e.Xid == 0 {
		return true
	}
	r := w.known[e.ID]
	if r == nil || slices.Contains(w.policy.IgnoredXids, e.Xid) {
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
	if old, ok := r.xids[p]; !ok || !w.needsReset(old.code) || w.needsReset(e.Xid) {
		r.xids[p] = xid{e.Xid, now}
	}
	return true
}

// Judge takes a scan in, and says how everybody is: all devices that there are,
// and those that there were and that only a loss can explain.
func (w *Ward) Judge(scan Scan, failed error, now time.Time) []Patient {
	if failed != nil {
		for _, r := range w.known {
			r.away = fmt.Sprintf("the driver does not answer: %v", failed)
			r.gone = r.gone || errors.Is(failed, ErrUnloaded)
		}
	} else {
		w.admit(scan, now)
	}
	var all []Patient
	for _, r := range w.known {
		w.recover(r, now)
		for _, d := range r.gpu.Devices() {
			all = append(all, Patient{Device: d, Why: w.diagnose(r, d)})
		}
	}
	slices.SortFunc(all, func(a, b Patient) int { return cmp.Or(cmp.Compare(a.Model, b.Model), cmp.Compare(a.ID, b.ID)) })
	return all
}

// admit compares what there is with what there was.
func (w *Ward) admit(scan Scan, now time.Time) {
	seen := map[string]bool{}
	for _, g := range scan.GPUs {
		seen[g.ID] = true
		r := w.known[g.ID]
		if r == nil {
			r = &record{xids: map[part]xid{}}
			w.known[g.ID] = r
		}
		if (g.Lost || g.Unanswered != "") && r.gpu.ID == "" {
			r.gpu = g // so from the beginning: this is all there is to know
		}
		switch {
		case g.Lost:
			r.lose("the driver knows it and cannot reach it")
		case g.Unanswered != "":
			r.away = "the driver does not answer for it: " + g.Unanswered
		default:
			r.take(g)
			w.watchSpeed(r, now)
		}
	}
	for id, r := range w.known {
		if !seen[id] {
			r.lose("the driver no longer shows it")
		}
	}
}

func (r *record) lose(how string) {
	r.away, r.gone = "it fell off the bus: "+how+"; a reset of the GPU or of the node may bring it back", true
}

// take notes how a GPU that answers is.
func (r *record) take(g GPU) {
	if r.gone {
		clear(r.xids)
		r.links, r.slowed, r.slowSince = 0, false, time.Time{}
	}
	if g.Split != r.gpu.Split {
		r.links = 0 // a GPU in parts has its links elsewhere
	}
	r.links |= g.Links
	r.gpu, r.away, r.gone = g, "", false
}

// watchSpeed decides whether a GPU is slowed down by its hardware for too long.
func (w *Ward) watchSpeed(r *record, now time.Time) {
	limit := w.policy.Throttled
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

func (w *Ward) needsReset(code uint64) bool { return slices.Contains(w.policy.ResetXids, code) }

// recover forgets errors that are long enough ago, of a GPU that answers. One that only a
// reset ends is over when the driver itself says that nothing is to be done.
func (w *Ward) recover(r *record, now time.Time) {
	if w.policy.Quiet <= 0 || r.away != "" {
		return
	}
	for p, x := range r.xids {
		if w.needsReset(x.code) && (!r.gpu.RecoveryKnown || r.gpu.Recovery != "") {
			continue
		}
		if now.Sub(x.at) >= w.policy.Quiet {
			delete(r.xids, p)
		}
	}
}

// diagnose says what is wrong with a device.
func (w *Ward) diagnose(r *record, d Device) string {
	var why []string
	say := func(format string, args ...any) { why = append(why, fmt.Sprintf(format, args...)) }
	if r.away != "" {
		say("%s", r.away)
	}
	w.diagnoseMemory(r, say)
	w.diagnoseXids(r, d, say)
	if r.gpu.Recovery != "" {
		say("the driver asks for this: %s", r.gpu.Recovery)
	}
	if !w.policy.IgnoreNVLink {
		if r.gpu.Fabric != "" {
			say("%s", r.gpu.Fabric)
		}
		if down := r.links &^ r.gpu.Links; down != 0 {
			say("its NVLink %s went down; reset the GPU or restart the node", numbers(down))
		}
	}
	if r.slowed {
		say("its hardware has slowed it down for %s or more because of %s; look after its cooling and power", short(w.policy.Throttled), r.slowWhy)
	}
	if r.gpu.Sick != "" {
		say("%s", r.gpu.Sick)
	}
	return strings.Join(why, "; ")
}

func (w *Ward) diagnoseMemory(r *record, say func(string, ...any)) {
	if w.policy.IgnoreECC {
		return
	}
	if n := r.gpu.Uncorrected; n > 0 {
		say("%s beyond repair since the last reset; reset the GPU or restart the node", count(n, "memory error"))
	}
	if r.gpu.RemapFailed {
		say("a broken row of its memory could not be replaced; the GPU needs repair")
	}
	if r.gpu.RepairPending {
		say("a broken row or page of its memory is replaced at the next reset; reset the GPU or restart the node")
	}
}

func (w *Ward) diagnoseXids(r *record, d Device, say func(string, ...any)) {
	var codes []string
	reset := false
	for p, x := range r.xids {
		if !p.some || p == (part{true, d.Instance, d.Compute}) {
			codes = append(codes, fmt.Sprintf("%d at %s", x.code, x.at.UTC().Format("15:04:05 MST")))
			reset = reset || w.needsReset(x.code)
		}
	}
	if len(codes) > 0 {
		slices.Sort(codes)
		say("critical error of the driver: Xid %s%s", strings.Join(codes, ", Xid "), w.until(reset))
	}
}

// until says when a GPU with an Xid comes back.
func (w *Ward) until(reset bool) string {
	switch {
	case reset:
		return "; out of use until the GPU or the node is reset"
	case w.policy.Quiet <= 0:
		return "; out of use until the plugin starts anew"
	}
	return fmt.Sprintf("; out of use until it was quiet for %s", short(w.policy.Quiet))
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

// short writes a duration without the zeros at its end.
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

func count(n uint64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
