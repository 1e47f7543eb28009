// Package simulated replaces NVIDIA's library on machines without a GPU, for development and tests.
//
// A small file describes the GPUs (state.go): their number, model, health and use. The plugin reads
// the file again when it changes: a test makes a GPU unhealthy by writing a reason to the file.
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

	"github.com/detent-ml/detent/master/sleep"
	"github.com/detent-ml/detent/plugins/gpu/gpus"
)

// lookEvery is the time between two checks of the file.
const lookEvery = 200 * time.Millisecond

// Source has simulated GPUs. Make one with Open or Fixed.
type Source struct {
	path  string // "": the state does not change
	fixed State
	seed  string

	mu     sync.Mutex
	text   []byte
	parsed State
	err    error
}

// Open returns the GPUs of a file.
func Open(path string) *Source { return &Source{path: path, seed: path} }

// Fixed returns GPUs whose state does not change. Their ids depend on the seed.
func Fixed(s State, seed string) *Source { return &Source{fixed: s, seed: seed} }

// state is the current content of the file.
func (s *Source) state() (State, error) {
	if s.path == "" {
		return s.fixed.Expand(s.seed), nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	text, err := os.ReadFile(s.path)
	if err != nil {
		return State{}, fmt.Errorf("cannot read the state of the simulated GPUs: %w", err)
	}
	if s.text == nil || !bytes.Equal(text, s.text) {
		s.text = text
		s.parsed, s.err = parse(s.path, text)
		s.parsed = s.parsed.Expand(s.seed)
	}
	return s.parsed, s.err
}

// Scan returns the state of the file, after waiting until the file does not set hang.
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

// Measure returns the values of a device in the file, or those of an idle one.
func (s *Source) Measure(id string) (gpus.Sample, error) {
	scan, err := s.Scan() // hangs if Scan hangs
	if err != nil {
		return gpus.Sample{}, err
	}
	state, err := s.state()
	if err != nil {
		return gpus.Sample{}, err
	}
	for i, g := range scan.GPUs {
		if i >= len(state.GPUs) {
			break // the file has changed meanwhile
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
		return out // as in NVIDIA's library, a part has no other values
	}
	power, limit, temperature := cmp.Or(says.PowerW, idleW), float64(powerLimitW), cmp.Or(says.TemperatureC, idleC)
	out.Utilization, out.PowerW, out.PowerLimitW, out.TemperatureC = &says.Utilization, &power, &limit, &temperature
	out.CoreClockMHz, out.MemClockMHz = &d.CoreClockMHz, &d.MemClockMHz
	return out
}

// Watch reports critical errors that are added to the file, and changes of the file.
func (s *Source) Watch(ctx context.Context, report func(gpus.Event)) {
	if s.path == "" {
		<-ctx.Done()
		return
	}
	told := map[string]int{} // number of reported critical errors of each GPU
	var last []byte
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
		if sleep.For(ctx, lookEvery) != nil {
			return
		}
	}
}

// Close does nothing.
func (s *Source) Close() error { return nil }
