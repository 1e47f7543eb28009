package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// A Job is one trial of a user.
type Job struct {
	ID              string
	User, Workspace string
	Slots           int
	Priority        int
	Arrives         time.Duration // after the beginning
	Lasts           time.Duration // of work
	Limit           time.Duration // max_runtime, which its user has set; 0: none
	Every           time.Duration // between two checkpoints; 0: as all jobs, and it loses nothing when it is preempted
	Saves           bool          // it also stores a checkpoint when it is asked to leave
	Error           float64       // of the estimate of its end while it runs, in parts of the time that is left
}

// estimateError is the standard deviation of Error. An interval of estimateWidth around the estimate holds nine in ten.
const (
	estimateError = 0.12
	estimateWidth = 1.645 * estimateError
)

// usualLimits are values that users write.
var usualLimits = [...]time.Duration{10 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 12 * time.Hour, 24 * time.Hour,
	48 * time.Hour, 96 * time.Hour, 168 * time.Hour, 336 * time.Hour, 720 * time.Hour, 1440 * time.Hour, 2880 * time.Hour}

// Limited gives a share of the jobs a limit of their time. Users know badly how long jobs run: on clusters where they must say it, what a job runs is
// about equally often each part of what its user said (Mu'alem and Feitelson, IEEE TPDS 2001), which is mostly a round value.
func Limited(seed uint64, jobs []Job, share float64) []Job {
	rnd := rand.New(rand.NewPCG(seed, 3))
	limited := slices.Clone(jobs)
	for i := range limited {
		j := &limited[i]
		has, part := rnd.Float64() < share, 0.1+0.9*rnd.Float64()
		j.Error = estimateError * rnd.NormFloat64()
		if !has {
			continue
		}
		said := time.Duration(float64(j.Lasts) / part)
		j.Limit = said
		for _, usual := range usualLimits {
			if usual >= said {
				j.Limit = usual
				break
			}
		}
	}
	return limited
}

// Saving gives jobs intervals between checkpoints, of 10 minutes to 2 hours, and lets a share of them store one when they are preempted.
func Saving(seed uint64, jobs []Job, share float64) []Job {
	rnd := rand.New(rand.NewPCG(seed, 4))
	saving := slices.Clone(jobs)
	for i := range saving {
		j := &saving[i]
		j.Every = saveEvery(rnd)
		j.Saves = rnd.Float64() < share
	}
	return saving
}

// saveEvery draws the time between two checkpoints: 10 minutes to 2 hours.
func saveEvery(rnd *rand.Rand) time.Duration {
	return time.Duration(float64(10*time.Minute) * math.Pow(12, rnd.Float64()))
}

// Urgent gives a share of the jobs a higher priority.
func Urgent(seed uint64, jobs []Job, share float64) []Job {
	rnd := rand.New(rand.NewPCG(seed, 5))
	urgent := slices.Clone(jobs)
	for i := range urgent {
		if urgent[i].Priority = 42; rnd.Float64() < share {
			urgent[i].Priority = 10
		}
	}
	return urgent
}

// A Shape describes a workload by what was published about a cluster. The papers give means, medians
// and some shares; the other shares are chosen so that the means are met.
type Shape struct {
	Name   string
	Sizes  []Size
	Median time.Duration // of durations, whose distribution is lognormal
	Mean   time.Duration
	Max    time.Duration
}

// A Size is a number of slots, and its weight among jobs.
type Size struct {
	Slots  int
	Weight float64
}

// Helios is SenseTime's (Hu et al., "Characterization and Prediction of Deep Learning Workloads in
// Large-Scale GPU Datacenters", SC 2021): 3.72 GPUs and 6,652 s on average, a median of 206 s, more
// than half of the jobs on one GPU, up to 50 days.
func Helios() Shape {
	return Shape{Name: "Helios", Median: 206 * time.Second, Mean: 6652 * time.Second, Max: 50 * 24 * time.Hour,
		Sizes: []Size{{1, 0.58}, {2, 0.095}, {3, 0.01}, {4, 0.115}, {6, 0.005}, {8, 0.15}, {13, 0.005}, {16, 0.025}, {32, 0.01}, {64, 0.004}, {128, 0.001}}}
}

// Philly is Microsoft's (Jeon et al., "Analysis of Large-Scale Multi-Tenant GPU Clusters for DNN
// Training Workloads", ATC 2019; its means as Hu et al. compare them): 1.75 GPUs and 28,329 s on
// average, at most 128 GPUs, up to 60 days.
func Philly() Shape {
	return Shape{Name: "Philly", Median: 13 * time.Minute, Mean: 28329 * time.Second, Max: 60 * 24 * time.Hour,
		Sizes: []Size{{1, 0.815}, {2, 0.06}, {3, 0.005}, {4, 0.07}, {8, 0.04}, {12, 0.001}, {16, 0.006}, {32, 0.002}, {128, 0.0005}}}
}

// Jobs draws jobs that arrive with exponential gaps. Together they need load times the work that the slots can do.
// Users differ much in how many jobs they submit, as in both clusters.
//
// Most of the work is in few jobs that last for days, so an empty cluster would be busy only after weeks.
// The first jobs, as many as resident says, are those that run already when the time begins, as
// they would after weeks: long ones more often than short ones, each somewhere in its life. They hold
// a share of busy of the slots.
func (s Shape) Jobs(seed uint64, count, slots int, load, busy float64) (jobs []Job, resident int) {
	rnd := rand.New(rand.NewPCG(seed, 1))
	sigma := s.sigma()
	for held := 0; ; {
		j := s.job(rnd, s.duration(rnd, sigma, sigma*sigma))
		if held += j.Slots; float64(held) > busy*float64(slots) {
			break
		}
		j.Lasts = time.Duration(rnd.Float64() * float64(j.Lasts))
		j.ID = fmt.Sprintf("resident-%05d", len(jobs))
		jobs = append(jobs, j)
	}
	resident = len(jobs)
	work := 0.0
	for i := range count {
		j := s.job(rnd, s.duration(rnd, sigma, 0))
		j.ID = fmt.Sprintf("job-%05d", i)
		work += float64(j.Slots) * j.Lasts.Seconds()
		jobs = append(jobs, j)
	}
	gap, at := work/(float64(slots)*load)/float64(count), 0.0
	for i := range jobs[resident:] {
		at += rnd.ExpFloat64() * gap
		jobs[resident+i].Arrives = time.Duration(at * float64(time.Second))
	}
	return jobs, resident
}

func (s Shape) job(rnd *rand.Rand, lasts time.Duration) Job {
	workspace := zipf(rnd, workspaces)
	j := Job{Slots: s.size(rnd), Lasts: lasts, Priority: 42, Workspace: fmt.Sprintf("w%d", workspace), User: fmt.Sprintf("w%d-u%d", workspace, zipf(rnd, usersOfEach))}
	if rnd.Float64() < urgent {
		j.Priority = 10
	}
	return j
}

const (
	workspaces  = 14 // as many as Philly has virtual clusters
	usersOfEach = 20
	urgent      = 0.05 // of the jobs have a higher priority
)

// zipf draws from 0 to n-1; i comes with a weight of 1/(i+1).
func zipf(rnd *rand.Rand, n int) int {
	all := 0.0
	for i := range n {
		all += 1 / float64(i+1)
	}
	x := rnd.Float64() * all
	for i := range n {
		if x -= 1 / float64(i+1); x < 0 {
			return i
		}
	}
	return n - 1
}

func (s Shape) size(rnd *rand.Rand) int {
	all := 0.0
	for _, x := range s.Sizes {
		all += x.Weight
	}
	at := rnd.Float64() * all
	for _, x := range s.Sizes {
		if at -= x.Weight; at < 0 {
			return x.Slots
		}
	}
	return s.Sizes[0].Slots
}

// duration draws from the distribution, its logarithm moved by shift: by sigma², each duration is as
// much more frequent as it is long.
func (s Shape) duration(rnd *rand.Rand, sigma, shift float64) time.Duration {
	seconds := s.Median.Seconds() * math.Exp(sigma*rnd.NormFloat64()+shift)
	return time.Duration(min(max(seconds, 1), s.Max.Seconds()) * float64(time.Second))
}

// sigma is the width of the lognormal distribution that has the mean once it is cut off at the
// maximum.
func (s Shape) sigma() float64 {
	mu, most := math.Log(s.Median.Seconds()), s.Max.Seconds()
	low, high := 0.0, 10.0
	for range 60 {
		sigma := (low + high) / 2
		below := math.Exp(mu+sigma*sigma/2) * normal((math.Log(most)-mu-sigma*sigma)/sigma)
		if below+most*(1-normal((math.Log(most)-mu)/sigma)) < s.Mean.Seconds() {
			low = sigma
		} else {
			high = sigma
		}
	}
	return low
}

// normal is the distribution function of the standard normal distribution.
func normal(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

// quantile of values, which it sorts.
func quantile(values []time.Duration, q float64) time.Duration {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[min(int(q*float64(len(values))), len(values)-1)]
}
