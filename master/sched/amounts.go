package sched

import (
	"cmp"
	"math"
)

// An Amount is what Nomad counts of a node beside devices: its processors, in MHz, and its memory.
type Amount struct{ MHz, MemoryMB int }

func (a Amount) plus(b Amount) Amount  { return Amount{a.MHz + b.MHz, a.MemoryMB + b.MemoryMB} }
func (a Amount) minus(b Amount) Amount { return Amount{a.MHz - b.MHz, a.MemoryMB - b.MemoryMB} }
func (a Amount) times(n int) Amount    { return Amount{a.MHz * n, a.MemoryMB * n} }
func (a Amount) most(b Amount) Amount  { return Amount{max(a.MHz, b.MHz), max(a.MemoryMB, b.MemoryMB)} }
func (a Amount) least(b Amount) Amount { return Amount{min(a.MHz, b.MHz), min(a.MemoryMB, b.MemoryMB)} }
func (a Amount) within(b Amount) bool  { return a.MHz <= b.MHz && a.MemoryMB <= b.MemoryMB }

// An Ask is what a task asks for on each of its nodes beside slots; 0: what its slots bring.
type Ask struct {
	CPUs          float64
	MemoryMB      int
	LeastMemoryMB int // it has at least so much, unless it asks for memory
}

// A Supply is what a node has for tasks beside its slots, as Nomad counts it.
type Supply struct {
	Free         Amount // what tasks of the pool can have together: without what others hold
	Slot         Amount // what a slot brings
	Aux          Amount // what a task of 0 slots has
	Least        Amount // no task has less
	MHz, Cores   int    // of the whole node
	CoresPerSlot int    // if tasks have whole processors; else 0
}

// Of is what a task has on the node with so many of its slots; zero if the node is not known.
func (s *Supply) Of(ask Ask, slots int) (a Amount) {
	if s == nil {
		return a
	}
	if a = s.Slot.times(slots); slots <= 0 {
		a = s.Aux
	}
	a.MemoryMB = cmp.Or(ask.MemoryMB, max(a.MemoryMB, ask.LeastMemoryMB))
	if ask.CPUs > 0 && s.Cores > 0 {
		a.MHz = int(ask.CPUs * float64(s.MHz) / float64(s.Cores))
	}
	if s.CoresPerSlot > 0 && s.Cores > 0 && slots > 0 {
		cores := slots * s.CoresPerSlot
		if ask.CPUs > 0 {
			cores = int(math.Ceil(ask.CPUs))
		}
		a.MHz = (cores*s.MHz + s.Cores - 1) / s.Cores
	}
	return a.most(s.Least)
}

// over is what an amount has above the share of so many slots.
func (s *Supply) over(a Amount, slots int) Amount { return a.minus(s.Slot.times(slots)).most(Amount{}) }

// asks reports whether a request asks for more than its slots bring, or for less.
func (r *Request) asks() bool { return r.Ask.CPUs > 0 || r.Ask.MemoryMB > 0 }
