package series

import (
	"cmp"
	"math"
	"slices"
)

// Downsample returns at most limit points of a series. It divides the points into buckets
// of equal width in steps, and keeps the points of each bucket where a metric is smallest
// or largest, so that no peak disappears; of a bucket where a metric is only NaN it keeps one, so that
// a gap remains a gap.
func Downsample(points []Point, limit int) []Point {
	if limit <= 0 || len(points) <= limit {
		return points
	}
	r := Reducer{Limit: limit, Last: points[len(points)-1].Steps}
	for _, p := range points {
		r.Add(p)
	}
	return r.Points()
}

// A Reducer downsamples a series that it receives point by point, in the order of steps. Its memory is
// proportional to the limit and not to the length of the series.
type Reducer struct {
	Limit int // 0: none
	Last  int // the steps of the last point; set before the first one is added

	kept     []Point
	reducing bool // kept has only extremes of buckets
	first    int  // the steps of the first point
	width    int  // of a bucket, in steps
	edge     int  // where the open bucket ends
	n        int  // points in the open bucket
	low      []extreme
	high     []extreme
}

// An extreme is the point of the open bucket where a metric is smallest or largest.
type extreme struct {
	at    int // its place in the bucket, from 1; 0: no point has the metric
	point Point
}

// Add adds a point, whose Values stay the caller's.
func (r *Reducer) Add(p Point) {
	switch {
	case r.reducing:
		r.reduce(p)
		return
	case r.Limit <= 0 || len(r.kept) < r.Limit:
		p.Values = slices.Clone(p.Values)
		r.kept = append(r.kept, p)
		return
	}
	begin := r.kept
	buckets := max(1, r.Limit/(2*max(1, len(p.Values))))
	r.first, r.reducing, r.kept = begin[0].Steps, true, make([]Point, 0, r.Limit)
	r.width = max(1, (max(r.Last, p.Steps)-r.first+buckets)/buckets)
	r.edge = r.first + r.width
	r.low, r.high = make([]extreme, len(p.Values)), make([]extreme, len(p.Values))
	for _, b := range begin {
		r.reduce(b)
	}
	r.reduce(p)
}

func (r *Reducer) reduce(p Point) {
	if p.Steps >= r.edge {
		r.close()
		r.edge = r.first + ((p.Steps-r.first)/r.width+1)*r.width
	}
	r.n++
	for m, v := range p.Values {
		low, high := &r.low[m], &r.high[m]
		if p.Lacks(m) || math.IsNaN(v) && low.at > 0 {
			continue
		}
		if low.at == 0 || !(v >= low.point.Values[m]) { // also if that is NaN
			low.set(r.n, p)
		}
		if high.at == 0 || !(v <= high.point.Values[m]) {
			high.set(r.n, p)
		}
	}
}

func (e *extreme) set(at int, p Point) {
	values := append(e.point.Values[:0], p.Values...)
	e.at, e.point = at, p
	e.point.Values = values
}

// close keeps the extremes of the open bucket, each point once, in their order.
func (r *Reducer) close() {
	var found []extreme
	for m := range r.low {
		for _, e := range []*extreme{&r.low[m], &r.high[m]} {
			if e.at > 0 && !slices.ContainsFunc(found, func(f extreme) bool { return f.at == e.at }) {
				found = append(found, *e)
			}
			e.at = 0
		}
	}
	slices.SortFunc(found, func(a, b extreme) int { return cmp.Compare(a.at, b.at) })
	for _, f := range found {
		f.point.Values = slices.Clone(f.point.Values)
		r.kept = append(r.kept, f.point)
	}
	r.n = 0
}

// Points returns the reduced series. The Reducer must not be used after that.
func (r *Reducer) Points() []Point {
	if !r.reducing {
		return r.kept
	}
	r.close()
	return r.kept[:min(len(r.kept), r.Limit)] // so many metrics can have more extremes than points allowed
}
