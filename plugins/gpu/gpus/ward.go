package gpus

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Policy says what makes a GPU sick, and for how long.
type Policy struct {
	// IgnoredXids are errors that programs cause in themselves.
	IgnoredXids []uint64
	// Quiet is how long after its last critical error a GPU that answers counts as
	// well again; 0 keeps it out until the plugin is started anew.
	Quiet time.Duration
	// IgnoreECC leaves memory errors out of it.
	IgnoreECC bool
}

// DefaultIgnoredXids are the errors that a faulty program raises on a sound GPU:
// an illegal access, a page fault, a stop, the clean-up after one, a video error.
func DefaultIgnoredXids() []uint64 { return []uint64{13, 31, 43, 45, 68} }

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
	away string       // why it cannot be reached now; "" when it can
	xids map[part]xid // newest critical error of each part
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
	p := part{}
	if r.gpu.Split && e.Instance >= 0 {
		p = part{true, e.Instance, e.Compute}
	}
	r.xids[p] = xid{e.Xid, now}
	return true
}

// Judge takes a scan in, and says how everybody is: all devices that there are,
// and those that there were and that only a loss can explain.
func (w *Ward) Judge(scan Scan, failed error, now time.Time) []Patient {
	if failed != nil {
		for _, r := range w.known {
			r.away = fmt.Sprintf("the driver does not answer: %v", failed)
		}
	} else {
		w.admit(scan)
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
func (w *Ward) admit(scan Scan) {
	seen := map[string]bool{}
	for _, g := range scan.GPUs {
		seen[g.ID] = true
		r := w.known[g.ID]
		if r == nil {
			r = &record{xids: map[part]xid{}}
			w.known[g.ID] = r
		}
		if g.Lost {
			if r.gpu.ID == "" {
				r.gpu = g // lost from the beginning: this is all there is to know
			}
			r.away = "it fell off the bus: the driver knows it and cannot reach it; a reset of the GPU or of the node may bring it back"
			continue
		}
		if r.away != "" {
			clear(r.xids) // only a reset brings one back, and that ends what was before
		}
		r.gpu, r.away = g, ""
	}
	for id, r := range w.known {
		if !seen[id] {
			r.away = "it fell off the bus: the driver no longer shows it; a reset of the GPU or of the node may bring it back"
		}
	}
}

// recover forgets errors that are long enough ago, of a GPU that answers.
func (w *Ward) recover(r *record, now time.Time) {
	if w.policy.Quiet <= 0 || r.away != "" {
		return
	}
	for p, x := range r.xids {
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
	if !w.policy.IgnoreECC {
		if n := r.gpu.Uncorrected; n > 0 {
			say("%s beyond repair since the last reset; reset the GPU or restart the node", count(n, "memory error"))
		}
		if r.gpu.RemapFailed {
			say("a broken row of its memory could not be replaced; the GPU needs repair")
		}
	}
	var codes []string
	for p, x := range r.xids {
		if !p.some || p == (part{true, d.Instance, d.Compute}) {
			codes = append(codes, fmt.Sprintf("%d at %s", x.code, x.at.UTC().Format("15:04:05 MST")))
		}
	}
	if len(codes) > 0 {
		slices.Sort(codes)
		say("critical error of the driver: Xid %s%s", strings.Join(codes, ", Xid "), w.until())
	}
	if r.gpu.Sick != "" {
		say("%s", r.gpu.Sick)
	}
	return strings.Join(why, "; ")
}

func (w *Ward) until() string {
	if w.policy.Quiet <= 0 {
		return "; out of use until the plugin starts anew"
	}
	return fmt.Sprintf("; out of use until it was quiet for %s", short(w.policy.Quiet))
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
