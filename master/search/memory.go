package search

import (
	"unsafe"

	"github.com/detent-ml/detent/master/expconf"
)

// Upper estimates of the memory that a search takes, in bytes; a test compares them with
// the heap. The trials that a search plans count from its beginning, so that it does not
// later need more memory than the master admitted. Only a custom search grows, by the
// operations of its program.
const (
	searchBytes     = 8 << 10       // each search, with the other values that the loop keeps of its experiment
	trialBytes      = 256           // each trial
	rungBytes       = 40            // each rung, for each trial
	rungedBytes     = 256           // each trial of a bracket, of a population or in the sampler
	curveBytes      = 10 * maxCurve // the reports of each trial of a progressive bracket
	packedBytes     = 64            // each packed hyperparameter value
	modelledBytes   = 128           // each hyperparameter value that the sampler and the trial keep
	lessonBytes     = 3 << 19       // what a search learns from earlier experiments
	lessonAxisBytes = 3 << 10       // of it for each hyperparameter
	createdBytes    = 1280          // each trial that a program created, without its hyperparameters
	spentBytes      = 128           // each trial of a search with a budget
	frontBytes      = 512 << 10     // the front of a search with several metrics, and its outlook
	severalBytes    = 1536          // each trial of it
	operatedBytes   = 256           // each other operation of a program: an event in its queue
	proposedBytes   = 320           // each trial that a program proposes: its key, twice, and when it was created
	anyBytes        = 32            // each value in a list or a map
	mapBytes        = 320           // each map
)

// Memory returns how much memory the search takes at most, in bytes, without the
// operations of a custom searcher's program.
func (s *Search) Memory() int64 {
	space := spaceBytes(s.trialSet.domain.space)
	each := int64(trialBytes)
	free := int64(len(newLayout(s.trialSet.domain).free))
	switch m := s.method.(type) {
	case *outside:
		return searchBytes + space
	case *tournament:
		for _, b := range m.brackets {
			ofRungs := int64(rungedBytes + rungBytes*len(b.rungs))
			if b.progressive {
				ofRungs += curveBytes
			}
			each = max(each, trialBytes+ofRungs)
		}
	case *population:
		each += rungedBytes + packedBytes*free
	}
	if m, ok := s.method.(*grid); ok {
		space += int64(4 * len(m.points.codes))
	}
	if s.trialSet.model == nil && len(s.trialSet.domain.parts) > 0 {
		each += packedBytes * free
	}
	if s.ByProgram() {
		each += proposedBytes + packedBytes*free
		space *= 2 // values by what they are
	}
	if s.HasBudget() {
		each += spentBytes
	}
	if s.goals != nil {
		each += severalBytes
		space += frontBytes / 3
	}
	if s.trialSet.model != nil {
		each += rungedBytes + modelledBytes*free
	}
	lessons := int64(0)
	if s.learns {
		lessons = lessonBytes + lessonAxisBytes*free
	}
	return searchBytes + lessons + 3*space + each*int64(s.Planned()) // methods and samplers keep lists of the space's axes
}

// Memory returns how many bytes a custom search grows by these operations.
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
		for _, c := range p.When {
			bytes += 4*anyBytes + int64(len(c.Name))
			for _, v := range c.Values {
				bytes += anyBytes + valueBytes(v)
			}
		}
		if p.Members != nil {
			bytes += spaceBytes(p.Members)
		}
	}
	return bytes
}

// valueBytes returns the memory of a value that was decoded from JSON or YAML.
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
