package replay

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/detent-ml/detent/master/sched/record"
)

// damage changes one value somewhere in a frame.
func damage(rnd *rand.Rand, v any) any {
	switch x := v.(type) {
	case map[string]any:
		if keys := slices.Sorted(maps.Keys(x)); len(keys) > 0 && rnd.IntN(4) > 0 {
			key := keys[rnd.IntN(len(keys))]
			if rnd.IntN(8) == 0 {
				delete(x, key)
			} else {
				x[key] = damage(rnd, x[key])
			}
			return x
		}
	case []any:
		if len(x) > 0 && rnd.IntN(4) > 0 {
			i := rnd.IntN(len(x))
			if rnd.IntN(8) == 0 {
				return append(x, x[i])
			}
			x[i] = damage(rnd, x[i])
			return x
		}
	}
	others := []any{nil, -1, 0, 1, 7, 1 << 40, -1 << 62, 1e300, "", "n1", "job3.1", "a", true, []any{}, map[string]any{}}
	return others[rnd.IntN(len(others))]
}

// TestDamagedRecordings: whatever a recording says, its reader ends, without a panic.
func TestDamagedRecordings(t *testing.T) {
	names := slices.Sorted(maps.Keys(policies()))
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		w := newWorld(t, seed%10, policies()[names[seed%4]], 4, 4)
		w.rich = true
		w.live(40)
		frames := slices.Clone(w.frames)
		for range 1 + rnd.IntN(4) {
			i := rnd.IntN(len(frames))
			switch rnd.IntN(8) {
			case 0:
				frames = slices.Delete(frames, i, i+1)
			case 1:
				frames = slices.Insert(frames, i, frames[i])
			case 2:
				j := rnd.IntN(len(frames))
				frames[i], frames[j] = frames[j], frames[i]
			default:
				var v any
				text, _ := json.Marshal(frames[i])
				_ = json.Unmarshal(text, &v)
				text, _ = json.Marshal(damage(rnd, v))
				f := &record.Frame{}
				if json.Unmarshal(text, f) == nil {
					frames[i] = f
				}
			}
		}
		func() {
			defer func() {
				if p := recover(); p != nil {
					t.Errorf("seed %d: %v\n%s", seed, p, debug.Stack())
				}
			}()
			for _, part := range Parts(frames) {
				_, _ = CheckPart(part)
			}
			h, err := Read(frames, begin, w.now)
			if err != nil {
				return
			}
			for _, text := range []string{"resource_pools.gpu.preemption=true", "nodes.gpu+=3x8", "resource_pools.gpu.scheduler.type=fair_share", "resource_pools.gpu.scheduler.half_life=1h"} {
				c, err := ParseChange(text)
				if err != nil {
					t.Fatal(err)
				}
				_, _ = h.Simulate([]Change{c})
			}
		}()
	}
}
