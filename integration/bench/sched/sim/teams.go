package sim

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// A Team is a workspace whose users work at some times. Then they keep so many slots asked for, and submit a job when others have ended; at
// other times they submit nothing, and withdraw what has not started.
type Team struct {
	Name   string
	Weight float64
	Asks   int // slots
	Works  func(day, hour int) bool

	rnd  *rand.Rand
	jobs int

	Saves float64 // share of its jobs that store a checkpoint when they are preempted; all store some from time to time. Below 0: nothing is lost at a preemption
}

// TeamDays is how long a comparison of teams takes.
const TeamDays = 30

// Teams returns teams that work at different times, on a cluster of so many slots.
func Teams(seed uint64, slots int) []Team {
	always := func(int, int) bool { return true }
	teams := []Team{
		{Name: "always", Weight: 2, Asks: slots, Works: always},
		{Name: "always, too", Weight: 1, Asks: slots, Works: always},
		{Name: "from 0 to 8 h", Weight: 1, Asks: slots, Works: func(_, hour int) bool { return hour < 8 }},
		{Name: "from 8 to 16 h", Weight: 1, Asks: slots, Works: func(_, hour int) bool { return hour >= 8 && hour < 16 }},
		{Name: "five days of seven", Weight: 2, Asks: slots, Works: func(day, _ int) bool { return day%7 < 5 }},
		{Name: "two days of five", Weight: 1, Asks: slots, Works: func(day, _ int) bool { return day%5 >= 3 }},
	}
	for i := range teams {
		teams[i].Saves = -1
		teams[i].rnd = rand.New(rand.NewPCG(seed, uint64(10+i)))
	}
	return teams
}

// TeamWeights are the weights of teams by their names.
func TeamWeights(teams []Team) map[string]float64 {
	weights := map[string]float64{}
	for _, t := range teams {
		weights[t.Name] = t.Weight
	}
	return weights
}

// teamShape is what teams submit.
func teamShape() Shape {
	return Shape{Sizes: []Size{{1, 0.5}, {2, 0.25}, {4, 0.25}}, Median: time.Hour, Mean: 2 * time.Hour, Max: 12 * time.Hour}
}

// submit lets the teams that work submit jobs.
func (s *simulation) submit() (changed bool) {
	if len(s.Teams) == 0 {
		return false
	}
	asked := map[string]int{}
	works := map[string]bool{}
	at := s.now + 12*time.Hour // it begins and ends at noon
	for i := range s.Teams {
		works[s.Teams[i].Name] = s.Teams[i].Works(int(at/(24*time.Hour)), int(at/time.Hour)%24)
	}
	before := len(s.waiting)
	s.waiting = slices.DeleteFunc(s.waiting, func(x *live) bool { return !works[x.Workspace] && !x.ran })
	changed = len(s.waiting) < before
	for _, x := range slices.Concat(s.waiting, s.running) {
		asked[x.Workspace] += x.Slots
	}
	for i := range s.Teams {
		t := &s.Teams[i]
		for works[t.Name] && asked[t.Name] < t.Asks {
			j := t.job()
			j.Arrives = s.now
			asked[t.Name] += j.Slots
			s.waiting = append(s.waiting, &live{Job: &j, index: len(s.run.Waits)})
			s.run.Waits, s.run.Slowdowns = append(s.run.Waits, 0), append(s.run.Slowdowns, 0)
			changed = true
		}
	}
	return changed
}

// job draws the next job of a team.
func (t *Team) job() Job {
	shape := teamShape()
	j := shape.job(t.rnd, shape.duration(t.rnd, shape.sigma(), 0))
	t.jobs++
	j.ID, j.Workspace, j.User, j.Priority = fmt.Sprintf("%s %d", t.Name, t.jobs), t.Name, fmt.Sprintf("%s %d", t.Name, t.rnd.IntN(3)), 42
	if t.Saves >= 0 {
		j.Every, j.Saves = saveEvery(t.rnd), t.rnd.Float64() < t.Saves
	}
	return j
}

// Due is what each workspace is due of all that was held: the weighted max-min part, by what it asked for.
func (r *Run) Due(weights map[string]float64) map[string]float64 {
	left, weight := 0.0, 0.0
	names := slices.Sorted(maps.Keys(r.Asked))
	for _, name := range names {
		left, weight = left+r.Held[name], weight+weights[name]
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(r.Asked[a]/weights[a], r.Asked[b]/weights[b]) })
	due := map[string]float64{}
	for _, name := range names {
		due[name] = min(r.Asked[name], left*weights[name]/weight)
		left, weight = left-due[name], weight-weights[name]
	}
	return due
}

// Unfair is by how much what a workspace held differs from what it was due, as a part of that: of the workspace for which it is most, and on average.
func (r *Run) Unfair(weights map[string]float64) (most, mean float64) {
	due := r.Due(weights)
	for _, name := range slices.Sorted(maps.Keys(due)) {
		off := math.Abs(r.Held[name]/due[name] - 1)
		most, mean = max(most, off), mean+off/float64(len(due))
	}
	return most, mean
}
