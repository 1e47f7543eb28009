package sim

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/detent-ml/detent/master/expconf"
)

// A Table has a recorded learning curve for every setting (point) of a grid.
type Table struct {
	Name   string `json:"name"`
	Metric string `json:"metric"`
	About  string `json:"about"` // description of data and network
	Epochs int    `json:"epochs"`
	Axes   []Axis `json:"axes"`

	curves []uint16 // the errors after each epoch, setting by setting, the last axis changing fastest; 65535 means 1.0
}

// An Axis is one hyperparameter of a table. A search over a numeric axis chooses the
// index of a value in Values.
type Axis struct {
	Name   string `json:"name"`
	Type   string `json:"type"`
	Values []any  `json:"values"`
}

// ReadTable reads a compressed table: a line of JSON, then the errors of every
// setting after every epoch, two bytes each, the lower first.
func ReadTable(r io.Reader) (*Table, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("a table of curves: %w", err)
	}
	b := bufio.NewReader(z)
	head, err := b.ReadBytes('\n')
	if err != nil {
		return nil, fmt.Errorf("the first line of a table of curves: %w", err)
	}
	t := &Table{}
	if err := json.Unmarshal(head, t); err != nil {
		return nil, fmt.Errorf("the first line of a table of curves: %w", err)
	}
	const most = 1 << 26
	n := t.Epochs
	for _, a := range t.Axes {
		if n *= len(a.Values); n <= 0 || n > most {
			return nil, fmt.Errorf("table %s: %d epochs and %d axes are not a valid table", t.Name, t.Epochs, len(t.Axes))
		}
	}
	if n <= 0 {
		return nil, fmt.Errorf("table %s: it has no epochs", t.Name)
	}
	t.curves = make([]uint16, n)
	if err := binary.Read(b, binary.LittleEndian, t.curves); err != nil {
		return nil, fmt.Errorf("table %s: %w", t.Name, err)
	}
	return t, nil
}

// Space returns the hyperparameters for a search over the table.
func (t *Table) Space() expconf.Hyperparameters {
	space := expconf.Hyperparameters{}
	for _, a := range t.Axes {
		if a.Type == string(expconf.Categorical) {
			space[a.Name] = expconf.Hyperparameter{Type: expconf.Categorical, Vals: a.Values}
		} else {
			space[a.Name] = expconf.Hyperparameter{Type: expconf.Int, Maxval: float64(len(a.Values) - 1)}
		}
	}
	return space
}

// Settings returns the number of settings.
func (t *Table) Settings() int { return len(t.curves) / t.Epochs }

// setting returns the index of a trial's hyperparameters in the table.
func (t *Table) setting(hparams map[string]any) int {
	at := 0
	for _, a := range t.Axes {
		var i int
		switch v := hparams[a.Name].(type) {
		case int64:
			i = int(v)
		default:
			i = max(0, slices.Index(a.Values, v))
		}
		at = at*len(a.Values) + i
	}
	return at
}

// At returns the error after the last whole epoch.
func (t *Table) At(hparams map[string]any, _ int64, part float64) float64 {
	epoch := max(1, int(part*float64(t.Epochs)+1e-9))
	return float64(t.curves[t.setting(hparams)*t.Epochs+epoch-1]) / math.MaxUint16
}

// Best returns the smallest error of any setting after any epoch.
func (t *Table) Best() float64 { return float64(slices.Min(t.curves)) / math.MaxUint16 }

// Shape generates synthetic curves: the metric falls from 1 by a power law, with a little
// noise, towards a final value; the final value and the speed depend on the
// hyperparameters.
type Shape struct {
	Seed   int64
	Larger bool // a larger metric is better: the curves rise from 0 instead
}

// At returns the metric at a part of the whole training.
func (s Shape) At(hparams map[string]any, seed int64, part float64) float64 {
	rng := rand.New(rand.NewPCG(uint64(s.Seed), 0x5eed))
	end, speed := 0.02, 0.0
	n := 0
	s.walk(hparams, rng, func(position, best, weight float64) {
		d := position - best
		end += 0.5 * weight * d * d
		speed += position * weight
		n++
	})
	if n > 0 {
		speed /= float64(n)
	}
	rate := 0.4 + 0.5*speed
	noise := rand.New(rand.NewPCG(uint64(seed), math.Float64bits(part)))
	v := end + (1-end)*math.Pow(1+60*part, -rate) + 0.004*noise.NormFloat64()
	v = min(max(v, 0), 1)
	if s.Larger {
		return 1 - v
	}
	return v
}

// walk visits the values in the order of their names. It passes each value as a position
// from 0 to 1, with the best position and how much a distance from it costs.
func (s Shape) walk(hparams map[string]any, rng *rand.Rand, visit func(position, best, weight float64)) {
	for _, name := range slices.Sorted(maps.Keys(hparams)) {
		best, weight := rng.Float64(), rng.Float64()
		switch v := hparams[name].(type) {
		case map[string]any:
			s.walk(v, rng, visit)
		case int64:
			visit(squash(float64(v)), best, weight)
		case float64:
			visit(squash(v), best, weight)
		default:
			h := fnv.New64a()
			fmt.Fprint(h, v)
			visit(float64(h.Sum64()%1000)/999, best, weight)
		}
	}
}

// squash maps any number to a position from 0 to 1; a factor of ten moves the position by
// about a fifth.
func squash(v float64) float64 {
	return math.Mod(math.Abs(math.Log10(math.Abs(v)+1e-9))/5, 1)
}
