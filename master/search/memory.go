package search

import (
	"unsafe"

	"github.com/detent-ml/detent/master/expconf"
)

// How much memory a search takes, in bytes. These are estimates from above: a test
// compares them with the heap. What a search plans counts from the beginning, so that a
// search does not outgrow later what it was admitted with. Only the search of a program
// outside grows: by its operations.
const (
	searchBytes   = 8 << 10 // of any search, with what else is kept of its experiment
	trialBytes    = 256
	rungBytes     = 40 // of a trial at each rung
	rungedBytes   = 256
	curveBytes    = 10 * maxCurve
	packedBytes   = 64  // of each hyperparameter that varies, where it is kept
	modelledBytes = 128 // of it and of what the model knows
	createdBytes  = 1280
	operatedBytes = 256 // by any other operation: an event that waits for an answer
	anyBytes      = 32  // of a value in a list or a map
	mapBytes      = 320
)

// Memory is how much memory the search takes at most, beside what programs outside add
// by operations.
func (s *Search) Memory() int64 {
	space := spaceBytes(s.trialSet.space)
	each := int64(trialBytes)
	free := int64(len(newLayout(s.trialSet.space).free))
	switch m := s.method.(type) {
	case *outside:
		return searchBytes + space
	case *tournament:
		for _, b := range m.brackets {
			ofRungs := int64(rungedBytes + rungBytes*len(b.rungs))
			if b.growing {
				ofRungs += curveBytes
			}
			each = max(each, trialBytes+ofRungs)
		}
	case *population:
		each += rungedBytes + packedBytes*free
	}
	if s.trialSet.model != nil {
		each += rungedBytes + modelledBytes*free
	}
	return searchBytes + 3*space + each*int64(s.Planned()) // methods and samplers keep lists of the space's axes
}

// Memory is how much a search grows by operations.
func (ops Operations) Memory() (bytes int64) {
	for _, op := range ops.List {
		if op.Create != nil {
			bytes += createdBytes + int64(len(op.Create.HParams)*9/8+2*len(op.Create.Name)) // Go rounds sizes up
		} else {
			bytes += operatedBytes
		}
	}
	return bytes
}

func spaceBytes(space expconf.Hyperparameters) (bytes int64) {
	bytes = mapBytes
	for name, p := range space {
		bytes += 2*(int64(unsafe.Sizeof(p))+int64(len(name))) + valueBytes(p.Val)
		for _, v := range p.Vals {
			bytes += anyBytes + valueBytes(v)
		}
		if p.Members != nil {
			bytes += spaceBytes(p.Members)
		}
	}
	return bytes
}

// valueBytes is what a value takes, as JSON or YAML gave it.
func valueBytes(value any) (bytes int64) {
	switch v := value.(type) {
	case nil, bool:
		return 0
	case string:
		return 16 + int64(len(v))
	case []any:
		bytes = anyBytes
		for _, x := range v {
			bytes += anyBytes + valueBytes(x)
		}
	case map[string]any:
		bytes = mapBytes
		for name, x := range v {
			bytes += 2*anyBytes + int64(len(name)) + valueBytes(x)
		}
	default:
		return 16
	}
	return bytes
}
