package search

import "math"

// How the methods create trials whose sampler can be a program, or which can have a budget: as many as should run, as long as
// there are proposals and a budget for them.

func (m *random) Fill(r *TrialSet) {
	for r.ready(0) && m.room(r) > 0 {
		m.add(r)
	}
}

func (m *random) room(r *TrialSet) int {
	return max(0, min(m.workers-m.running(r), m.trials-(len(r.trials)-m.invalid)))
}

func (m *random) Free(r *TrialSet) int {
	full := 0.0
	if p := r.spending; p != nil {
		full = p.full
	}
	return r.spending.affordable(m.room(r), full)
}

func (m *random) Busy(r *TrialSet) bool { return m.running(r) > 0 }

func (m *random) running(r *TrialSet) int { return len(r.trials) - r.ended - r.waiting }

func (m *tournament) Fill(r *TrialSet) {
	for i, b := range m.brackets {
		b.fill(r)
		m.note(r, i)
	}
	m.close(r)
}

// close stops the trials of all brackets that wait for results which cannot arrive any more, when the
// program has ended the search: the last proposal may have gone to another bracket.
func (m *tournament) close(r *TrialSet) {
	if !r.exhausted() {
		return
	}
	for _, b := range m.brackets {
		b.close(r)
	}
}

func (m *tournament) Free(r *TrialSet) int {
	n, first := 0, math.Inf(1)
	for _, b := range m.brackets {
		n += max(0, min(b.workers-b.running, b.budget-(b.created-b.invalid)))
		first = min(first, b.rungs[0].units)
	}
	return r.spending.affordable(n, first)
}

func (m *tournament) Busy(*TrialSet) bool {
	for _, b := range m.brackets {
		if b.running > 0 {
			return true
		}
	}
	return false
}

func (m *grid) Fill(r *TrialSet) {
	for len(r.trials) < m.points.len() && m.running(r) < m.workers && r.ready(0) {
		m.add(r)
	}
}

func (m *grid) running(r *TrialSet) int { return len(r.trials) - r.ended - r.waiting }

func (m *grid) Free(*TrialSet) int { return 0 }

func (m *grid) Busy(r *TrialSet) bool { return m.running(r) > 0 }
