package search

// How the methods whose sampler can be a program create trials: as many as should run, as long as
// there are proposals for them.

func (m *random) Fill(r *TrialSet) {
	for r.ready() && m.Free(r) > 0 {
		m.add(r)
	}
}

func (m *random) Free(r *TrialSet) int {
	return max(0, min(m.workers-m.running(r), m.trials-(len(r.trials)-m.invalid)))
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

func (m *tournament) Free(*TrialSet) int {
	n := 0
	for _, b := range m.brackets {
		n += max(0, min(b.workers-b.running, b.budget-(b.created-b.invalid)))
	}
	return n
}

func (m *tournament) Busy(*TrialSet) bool {
	for _, b := range m.brackets {
		if b.running > 0 {
			return true
		}
	}
	return false
}
