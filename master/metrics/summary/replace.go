package summary

import "math"

// A program may replace a value that it has reported, as MLflow's clients do. The number and the sum of the values, and so their mean, can be corrected
// without the other values, also the smallest and the largest one unless the replaced value was it and the new one is not. So a program that
// replaces values again and again seldom causes a rebuild of its summary. The error of a corrected sum is that of a sum in another order: a
// replaced value is either between the smallest and the largest one, which the sum has still, or the summary is rebuilt.

// replace corrects a metric in a group. It reports whether the metric is as if it had never had the replaced value.
func (s *Trial) replace(g map[string]*Metric, name string, was, is any, newest bool) (exact bool) {
	m := g[name]
	if m == nil {
		return s.Incomplete == Full // the summary has no room for the metric, and did not have the earlier value either
	}
	exact = m.replace(was, is, newest)
	s.resized(g, name, m)
	return exact
}

// replace corrects the metric if both values, and all others, are numbers.
func (m *Metric) replace(was, is any, newest bool) (exact bool) {
	a, kindOfWas := kindOf(was)
	b, kindOfIs := kindOf(is)
	if m.Type != numeric || kindOfWas != numeric || kindOfIs != numeric || math.IsNaN(a) || math.IsInf(a, 0) || m.Count < 1 {
		m.Count--
		m.add(is)
		return false
	}
	if m.Count == 1 {
		m.Sum, m.Min, m.Max, m.Last = b, b, b, lastOf(is)
		return true
	}
	m.Sum += b - a
	small := m.replaceMin(a, b)
	large := m.replaceMax(a, b)
	if newest {
		m.Last = lastOf(is)
		return small && large
	}
	if last, kind := kindOf(m.Last); kind != numeric || last != a { // the last value is that of a later step
		return small && large
	}
	m.Last = lastOf(is) // very likely; if a later step has the same value, the rebuild finds it
	return false
}

func (m *Metric) replaceMin(was, is float64) (exact bool) {
	exact = was > m.Min || is <= was
	if is < m.Min {
		m.Min = is
	}
	return exact
}

func (m *Metric) replaceMax(was, is float64) (exact bool) {
	exact = was < m.Max || is >= was
	if is > m.Max {
		m.Max = is
	}
	return exact
}
