// Package budget divides the memory that a leading master has for searches. It is pure.
//
// The leader keeps the searches of live experiments in memory, and so do masters whose clients
// drive a custom search. The ranges of the configuration limit one search; a Budget limits
// the sum of all, so that no owner can use the memory of the others:
//
//   - Admit checks a request that needs more memory, against the share of its owner;
//   - Choose selects the experiments of the database whose searches fit: owners with little
//     memory keep all their searches, and owners with much get equal amounts.
package budget

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/detent-ml/detent/master/fault"
)

// A Budget is a number of bytes for the searches of all experiments. The zero Budget has
// no limit.
type Budget struct{ Bytes int64 }

// Share is the part that one owner may use by requests.
func (b Budget) Share() int64 { return b.Bytes / 2 }

// 1/batchPart of a budget may be read from the database at once: the rows take memory in
// addition to the searches.
const batchPart = 8

// Batch returns how many bytes may be read from the database at once.
func (b Budget) Batch() int64 { return b.Bytes / batchPart }

// Use is the memory of the live experiments when a request needs more.
type Use struct {
	Owner  int64 // bytes of the owner's experiments
	All    int64 // bytes of all owners' experiments
	Owners int   // number of owners with live experiments, including the owner of the request
}

// Admit checks a request for more bytes. An owner gets at most half of the budget, even if the
// others do not use the rest. When the budget is exhausted, an owner with less than an equal
// part still gets that part.
func (b Budget) Admit(u Use, more int64) error {
	if b.Bytes <= 0 || more <= 0 {
		return nil
	}
	equal := b.Bytes / int64(max(u.Owners, 2))
	limit := b.Share()
	if u.All+more > b.Bytes {
		limit = min(limit, equal)
	}
	if u.Owner+more <= limit {
		return nil
	}
	return fault.New(fault.TooMany, "the searches and configurations of your experiments that have not ended take %s of the master's memory, this request takes %s more, "+
		"and %s are available to you: end experiments that you do not need, or plan fewer trials or smaller hyperparameters; operators can raise search_memory_mb",
		size(u.Owner), size(more), size(limit))
}

// size formats a number of bytes for messages.
func size(n int64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d KiB", (n+1<<10-1)>>10)
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

// String formats the budget for messages.
func (b Budget) String() string { return size(b.Bytes) }

// A Claim is what one live experiment needs.
type Claim struct {
	ID     int
	Owner  int
	Bytes  int64
	Needed bool // it runs or is to run; the search of a paused experiment can wait
}

// Choose returns the claims that do not fit, by their ids; nil when all fit. Experiments
// that run come before those that are paused; within an owner the oldest come first. The
// same claims always give the same choice.
func (b Budget) Choose(claims []Claim) (out map[int]bool) {
	var sum int64
	for _, c := range claims {
		sum += c.Bytes
	}
	if b.Bytes <= 0 || sum <= b.Bytes {
		return nil
	}
	out = make(map[int]bool, len(claims))
	byAge := slices.Clone(claims)
	slices.SortFunc(byAge, func(x, y Claim) int { return cmp.Compare(x.ID, y.ID) })
	left := b.Bytes
	for _, needed := range []bool{true, false} {
		left = fit(byAge, needed, left, out)
	}
	return out
}

// fit chooses which claims get memory, among the needed claims or among the others, and returns the memory that is
// left. Every owner may hold the same amount (levelOf). An experiment cannot be divided, so an owner may hold less
// than that; fit gives the rest to further experiments that fit into it, first to those of the owners who hold the
// least.
func fit(byAge []Claim, needed bool, room int64, out map[int]bool) (left int64) {
	totals, held := map[int]int64{}, map[int]int64{}
	var list []Claim
	for _, c := range byAge {
		if c.Needed == needed {
			totals[c.Owner] += c.Bytes
			list = append(list, c)
		}
	}
	level := levelOf(totals, room)
	left = room
	var rest []Claim
	for _, c := range list {
		if held[c.Owner]+c.Bytes > level {
			rest = append(rest, c)
			continue
		}
		held[c.Owner] += c.Bytes
		left -= c.Bytes
	}
	slices.SortStableFunc(rest, func(x, y Claim) int { return cmp.Compare(held[x.Owner], held[y.Owner]) })
	for _, c := range rest {
		if c.Bytes <= left {
			left -= c.Bytes
		} else {
			out[c.ID] = true
		}
	}
	return left
}

// levelOf is the maximum that each owner may hold, so that the claims of all owners together fit into the room:
// owners whose claims are smaller hold all of them, the others hold the maximum.
func levelOf(totals map[int]int64, room int64) int64 {
	list := slices.Sorted(maps.Values(totals))
	for i, n := range list {
		level := room / int64(len(list)-i)
		if n > level {
			return level
		}
		room -= n
	}
	return room + last(list)
}

func last(list []int64) int64 {
	if len(list) == 0 {
		return 0
	}
	return list[len(list)-1]
}
