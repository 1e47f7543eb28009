package main

import (
	"bufio"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/expconf"
)

// A space is the first line of a table: the hyperparameters, and what their curves look like.
type space struct {
	Name    string      `json:"name"`
	Epochs  int         `json:"epochs"`
	N       int         `json:"n"`
	Axes    []dimension `json:"space"`
	Lo      float64     `json:"lo"`
	Hi      float64     `json:"hi"`
	Weights []float64   `json:"weights"`
	Test    bool        `json:"test"` // a second set of curves follows, by which incumbents are judged

	parents []int // of each axis: the index of the axis in its When; -1: none
}

// A dimension is one hyperparameter.
type dimension struct {
	Name   string  `json:"name"`
	Type   string  `json:"type"` // float, int or cat
	Lo     float64 `json:"lo"`
	Hi     float64 `json:"hi"`
	Log    bool    `json:"log"`
	Values []any   `json:"values"`
	When   []any   `json:"when"` // the name of another dimension, and the list of its values with which this one is active
}

// open links conditional axes to the axes that they depend on.
func (s *space) open() error {
	for _, a := range s.Axes {
		parent := -1
		if len(a.When) == 2 {
			parent = slices.IndexFunc(s.Axes, func(b dimension) bool { return b.Name == a.When[0] })
			if _, ok := a.When[1].([]any); parent < 0 || !ok {
				return fmt.Errorf("table %s: %s depends on %v, which is not a hyperparameter with values", s.Name, a.Name, a.When)
			}
		}
		s.parents = append(s.parents, parent)
	}
	if s.Epochs < 1 || len(s.Axes) == 0 {
		return fmt.Errorf("table %s: it has %d epochs and %d hyperparameters", s.Name, s.Epochs, len(s.Axes))
	}
	return nil
}

// hyperparameters returns the space for an experiment's configuration.
func (s *space) hyperparameters() expconf.Hyperparameters {
	out := expconf.Hyperparameters{}
	for _, a := range s.Axes {
		switch {
		case a.Type == "cat":
			out[a.Name] = expconf.Hyperparameter{Type: expconf.Categorical, Vals: a.Values}
		case a.Log:
			out[a.Name] = expconf.Hyperparameter{Type: expconf.Log, Base: 10, Minval: math.Log10(a.Lo), Maxval: math.Log10(a.Hi)}
		case a.Type == "int":
			out[a.Name] = expconf.Hyperparameter{Type: expconf.Int, Minval: a.Lo, Maxval: a.Hi}
		default:
			out[a.Name] = expconf.Hyperparameter{Type: expconf.Double, Minval: a.Lo, Maxval: a.Hi}
		}
	}
	return out
}

// position returns where hyperparameters lie: 0 to 1 on a numeric axis, the index of the value
// on a categorical axis. A missing value lies in the middle.
func (s *space) position(hparams map[string]any) []float64 {
	out := make([]float64, len(s.Axes))
	for i, a := range s.Axes {
		if a.Type == "cat" {
			out[i] = float64(max(0, slices.Index(a.Values, hparams[a.Name])))
			continue
		}
		var value float64
		switch v := hparams[a.Name].(type) {
		case int64:
			value = float64(v)
		case float64:
			value = v
		default:
			out[i] = 0.5
			continue
		}
		lo, hi := a.Lo, a.Hi
		if a.Log {
			value, lo, hi = math.Log(value), math.Log(lo), math.Log(hi)
		}
		out[i] = min(max((value-lo)/(hi-lo), 0), 1)
	}
	return out
}

// active reports whether an axis matters at a position.
func (s *space) active(at []float64, axis int) bool {
	p := s.parents[axis]
	if p < 0 {
		return true
	}
	return slices.Contains(s.Axes[axis].When[1].([]any), s.Axes[p].Values[int(at[p])])
}

// A field gives each position a curve with noise, which searches see, and one without it.
type field interface {
	curve(at []float64) (seen, clean []float64)
	// scale returns the metric of the best position, and the median of whole trainings.
	scale() (best, median float64)
}

// openTables reads the tables of a folder: the surrogate NAME.sur.gz where there is one, otherwise
// the recorded curves NAME.tbl.gz.
func openTables(folder string) ([]*table, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.tbl.gz"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("there are no tables (NAME.tbl.gz) in %s", folder)
	}
	var list []*table
	for _, file := range files {
		t, err := openTable(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		list = append(list, t)
	}
	for i, t := range list { // the next one of the same kind
		for n := range list[1:] {
			if other := list[(i+n+1)%len(list)]; t.relative == nil && slices.EqualFunc(t.Axes, other.Axes, alike) {
				t.relative = other
			}
		}
	}
	return list, nil
}

// alike reports whether two dimensions have the same name and type.
func alike(a, b dimension) bool { return a.Name == b.Name && a.Type == b.Type }

func openTable(file string) (*table, error) {
	if smooth := strings.TrimSuffix(file, ".tbl.gz") + ".sur.gz"; exists(smooth) {
		return unzip(smooth, readSurrogate)
	}
	return unzip(file, readRecorded)
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

func unzip(file string, read func(*bufio.Reader) (*table, error)) (*table, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	return read(bufio.NewReader(z))
}

// recorded has the curves of random positions. A search that asks for another position gets the
// curve of the nearest one.
type recorded struct {
	*space
	at          [][]float64
	seen, clean [][]float64
}

func readRecorded(r *bufio.Reader) (*table, error) {
	head, err := r.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	t := &recorded{space: &space{}}
	if err := json.Unmarshal(head, t.space); err != nil {
		return nil, err
	}
	if err := t.open(); err != nil {
		return nil, err
	}
	if t.N < 1 || len(t.Weights) != len(t.Axes) {
		return nil, fmt.Errorf("table %s: %d curves and %d weights of %d hyperparameters", t.Name, t.N, len(t.Weights), len(t.Axes))
	}
	rows := func(width int, value func(column int, v uint16) float64) (list [][]float64, err error) {
		raw := make([]uint16, t.N*width)
		if err := binary.Read(r, binary.LittleEndian, raw); err != nil {
			return nil, err
		}
		for i := range t.N {
			row := make([]float64, width)
			for j := range row {
				row[j] = value(j, raw[i*width+j])
			}
			list = append(list, row)
		}
		return list, nil
	}
	metric := func(_ int, v uint16) float64 { return t.Lo + (t.Hi-t.Lo)*float64(v)/math.MaxUint16 }
	if t.at, err = rows(len(t.Axes), func(i int, v uint16) float64 {
		if t.Axes[i].Type == "cat" {
			return float64(v)
		}
		return float64(v) / math.MaxUint16
	}); err != nil {
		return nil, err
	}
	if t.seen, err = rows(t.Epochs, metric); err != nil {
		return nil, err
	}
	if t.clean = t.seen; t.Test {
		if t.clean, err = rows(t.Epochs, metric); err != nil {
			return nil, err
		}
	}
	return newTable(t.space, t), nil
}

func (t *recorded) curve(at []float64) (seen, clean []float64) {
	nearest, least := 0, math.Inf(1)
	for i, x := range t.at {
		sum := 0.0
		for j := range x {
			d := x[j] - at[j]
			if t.Axes[j].Type == "cat" && d != 0 {
				d = 1
			}
			if t.active(at, j) {
				sum += t.Weights[j] * t.Weights[j] * d * d
			}
		}
		if sum < least {
			nearest, least = i, sum
		}
	}
	return t.seen[nearest], t.clean[nearest]
}

func (t *recorded) scale() (best, median float64) {
	ends := make([]float64, t.N)
	for i, c := range t.clean {
		ends[i] = slices.Min(c)
	}
	slices.Sort(ends)
	return ends[0], ends[t.N/2]
}

// surrogate is a small network, fitted to recorded curves: it maps a position to the scores of
// the curve on its principal components. The noise is that of a recorded curve with similar scores.
type surrogate struct {
	*space
	weights, biases  [][]float64 // of three layers; weights: row by row, a row for each input
	mean             []float64
	basis            [][]float64
	scores, noise    [][]float64 // of the recorded curves
	c, best_, median float64
}

// Sizes of the surrogates' networks, and how many recorded curves may lend their noise.
const (
	components = 8
	width      = 96
	lenders    = 8
)

func readSurrogate(r *bufio.Reader) (*table, error) {
	var h struct {
		space
		W0, W1, W2, B0, B1, B2     half
		Mean, Basis, Scores, Noise half
		Inputs                     int
		C, Best, Median            float64
	}
	if err := json.NewDecoder(r).Decode(&h); err != nil {
		return nil, err
	}
	s := &surrogate{space: &h.space, weights: [][]float64{h.W0, h.W1, h.W2}, biases: [][]float64{h.B0, h.B1, h.B2},
		mean: h.Mean, c: h.C, best_: h.Best, median: h.Median}
	if err := s.open(); err != nil {
		return nil, err
	}
	if inputs := len(s.features(make([]float64, len(s.Axes)))); inputs != h.Inputs {
		return nil, fmt.Errorf("surrogate %s: the space makes %d inputs, the network has %d", s.Name, inputs, h.Inputs)
	}
	for i, sizes := range [][2]int{{h.Inputs, width}, {width, width}, {width, components}} {
		if len(s.weights[i]) != sizes[0]*sizes[1] || len(s.biases[i]) != sizes[1] {
			return nil, fmt.Errorf("surrogate %s: layer %d has another size than %v", s.Name, i, sizes)
		}
	}
	s.basis, s.scores, s.noise = h.Basis.rows(s.Epochs), h.Scores.rows(components), h.Noise.rows(s.Epochs)
	if len(s.mean) != s.Epochs || len(h.Basis) != components*s.Epochs || len(s.scores) != len(s.noise) || len(s.scores) < lenders {
		return nil, fmt.Errorf("surrogate %s: its curves do not have %d epochs", s.Name, s.Epochs)
	}
	return newTable(s.space, s), nil
}

// half is a list of numbers of two bytes (IEEE 754), in base 64.
type half []float64

func (h *half) UnmarshalJSON(text []byte) error {
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	b, err := io.ReadAll(base64.NewDecoder(base64.StdEncoding, strings.NewReader(s)))
	if err != nil {
		return err
	}
	for ; len(b) > 1; b = b[2:] {
		*h = append(*h, fromHalf(binary.LittleEndian.Uint16(b)))
	}
	return nil
}

func (h half) rows(width int) (list [][]float64) {
	for row := range slices.Chunk(h, width) {
		list = append(list, row)
	}
	return list
}

func fromHalf(v uint16) float64 {
	sign, exponent, fraction := 1-2*float64(v>>15), int(v>>10&31), float64(v&1023)
	if exponent == 0 {
		return sign * math.Ldexp(fraction, -24)
	}
	return sign * math.Ldexp(1024+fraction, exponent-25)
}

// features are the network's inputs: one for a number, one for each value of a categorical axis.
func (s *surrogate) features(at []float64) []float64 {
	var out []float64
	for i, a := range s.Axes {
		on := 0.0
		if s.active(at, i) {
			on = 1
		}
		if a.Type != "cat" {
			out = append(out, on*(2*at[i]-1))
			continue
		}
		for k := range a.Values {
			if int(at[i]) == k {
				out = append(out, on)
			} else {
				out = append(out, 0)
			}
		}
	}
	return out
}

func (s *surrogate) predict(at []float64) []float64 {
	x := s.features(at)
	for layer, w := range s.weights {
		y := slices.Clone(s.biases[layer])
		for i, v := range x {
			for j := range y {
				y[j] += v * w[i*len(y)+j]
			}
		}
		if layer < len(s.weights)-1 {
			for j, v := range y {
				y[j] = v / (1 + math.Exp(-v))
			}
		}
		x = y
	}
	return x
}

func (s *surrogate) value(t float64) float64 {
	return s.Lo + (s.Hi-s.Lo)*(min(max(math.Exp(t), 0), 1+s.c)-s.c)
}

func (s *surrogate) curve(at []float64) (seen, clean []float64) {
	scores := s.predict(at)
	distance := func(i int) float64 {
		sum := 0.0
		for k, v := range s.scores[i] {
			sum += (v - scores[k]) * (v - scores[k])
		}
		return sum
	}
	var near []int // the nearest first
	var apart []float64
	for i := range s.scores {
		d := distance(i)
		k, _ := slices.BinarySearch(apart, math.Nextafter(d, math.Inf(1)))
		if k < lenders {
			near, apart = slices.Insert(near, k, i), slices.Insert(apart, k, d)
			near, apart = near[:min(len(near), lenders)], apart[:min(len(apart), lenders)]
		}
	}
	digits := 0.0
	for i, v := range at {
		digits += v * float64(i+1)
	}
	noise := s.noise[near[int(math.Abs(digits)*1e6)%lenders]]
	for e := range s.Epochs {
		t := s.mean[e]
		for k, b := range s.basis {
			t += scores[k] * b[e]
		}
		seen = append(seen, s.value(min(t+noise[e], math.Log(1+s.c))))
		clean = append(clean, s.value(t))
	}
	return seen, clean
}

func (s *surrogate) scale() (best, median float64) { return s.best_, s.median }
