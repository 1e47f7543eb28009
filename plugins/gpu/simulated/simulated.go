// Package simulated stands in for NVIDIA's library where there is no GPU, for
// development and tests.
//
// The GPUs are what a small file says (state.go): how many, of which model, how
// they are and what they do. The file may be changed while the plugin runs, and
// what it says is so within a moment: a test makes a GPU unhealthy by writing why.
package simulated

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/detent-ml/detent/plugins/gpu/gpus"
)

// lookEvery is how often the file is looked at for changes.
const lookEvery = 200 * time.Millisecond

// Source has simulated GPUs. Make one with Open or Fixed.
type Source struct {
	path  string // "" for a state that does not change
	fixed State
	seed  string

	mu     sync.Mutex
	text   []byte
	parsed State
	err    error
}

// Open has the GPUs of a file.
func Open(path string) *Source { return &Source{path: path, seed: path} }

// Fixed has GPUs that stay as they are. The seed makes their ids.
func Fixed(s State, seed string) *Source { return &Source{fixed: s, seed: seed} }

// state is what the file says now.
func (s *Source) state() (State, error) {
	if s.path == "" {
		return s.fixed.Expand(s.seed), nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	text, err := os.ReadFile(s.path)
	if err != nil {
		return State{}, fmt.Errorf("the simulated GPUs' state: %w", err)
	}
	if s.text == nil || !bytes.Equal(text, s.text) {
		s.text = text
		s.parsed, s.err = parse(s.path, text)
		s.parsed = s.parsed.Expand(s.seed)
	}
	return s.parsed, s.err
}

// Scan is what the file says, once it says no longer that the driver hangs.
func (s *Source) Scan() (gpus.Scan, error) {
	state, err := s.state()
	for err == nil && state.Hang {
		<-time.After(lookEvery)
		state, err = s.state()
	}
	if err == nil && state.Error != "" {
		err = errors.New(state.Error)
	}
	if err != nil {
		return gpus.Scan{}, err
	}
	return state.scan(), nil
}

// Measure is what the file says of a device, or an idle one's figures.
func (s *Source) Measure(id string) (gpus.Sample, error) {
	scan, err := s.Scan() // hangs where that does
	if err != nil {
		return gpus.Sample{}, err
	}
	state, err := s.state()
	if err != nil {
		return gpus.Sample{}, err
	}
	for i, g := range scan.GPUs {
		if i >= len(state.GPUs) {
			break // the file changed in between
		}
		for _, d := range g.Devices() {
			if d.ID == id {
				if g.Lost {
					return gpus.Sample{}, fmt.Errorf("device %s: the GPU is lost", id)
				}
				return sample(g, d, state.GPUs[i].Sample), nil
			}
		}
	}
	return gpus.Sample{}, fmt.Errorf("there is no device %s", id)
}

func sample(g gpus.GPU, d gpus.Device, says Sample) gpus.Sample {
	zero := uint64(0)
	out := gpus.Sample{
		MemoryUsedMiB: &says.MemoryUsedMiB, MemoryTotalMiB: &d.MemoryMiB,
		Uncorrected: &g.Uncorrected, Corrected: &zero,
	}
	if g.Split {
		return out // NVIDIA's library tells no more of a part either
	}
	power, limit, temperature := cmp.Or(says.PowerW, idleW), float64(powerLimitW), cmp.Or(says.TemperatureC, idleC)
	out.Utilization, out.PowerW, out.PowerLimitW, out.TemperatureC = &says.Utilization, &power, &limit, &temperature
	out.CoreClockMHz, out.MemClockMHz = &d.CoreClockMHz, &d.MemClockMHz
	return out
}

// Watch reports critical errors that are added to the file, and that the file
// changed.
func (s *Source) Watch(ctx context.Context, report func(gpus.Event)) {
	if s.path == "" {
		<-ctx.Done()
		return
	}
	told := map[string]int{} // critical errors of each GPU that were reported
	var last []byte
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		state, err := s.state()
		s.mu.Lock()
		changed := !bytes.Equal(last, s.text)
		last = s.text
		s.mu.Unlock()
		for _, g := range state.GPUs {
			if err != nil {
				break
			}
			if len(g.Xids) < told[g.ID] {
				told[g.ID] = 0
			}
			for _, code := range g.Xids[told[g.ID]:] {
				report(gpus.Event{ID: g.ID, Xid: code, Instance: -1, Compute: -1})
			}
			told[g.ID] = len(g.Xids)
		}
		if changed {
			report(gpus.Event{Instance: -1, Compute: -1})
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Close does nothing: there is nothing to give up.
func (s *Source) Close() error { return nil }
