package budget

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/fault"
)

func TestAdmit(t *testing.T) {
	b := Budget{Bytes: 100 << 20}
	const mb = 1 << 20
	for _, test := range []struct {
		use  Use
		more int64
		want bool
	}{
		{Use{Owners: 1}, 50 * mb, true},
		{Use{Owners: 1}, 51 * mb, false},
		{Use{Owner: 40 * mb, All: 40 * mb, Owners: 1}, 10 * mb, true},
		{Use{Owner: 40 * mb, All: 40 * mb, Owners: 1}, 11 * mb, false},
		{Use{Owner: 90 * mb, All: 90 * mb, Owners: 1}, 0, true},           // it asks for nothing
		{Use{Owner: 90 * mb, All: 90 * mb, Owners: 1}, 1, false},          // from before the bound
		{Use{Owner: 0, All: 100 * mb, Owners: 3}, 30 * mb, true},          // others use all of it, and more than their part
		{Use{Owner: 0, All: 100 * mb, Owners: 3}, 40 * mb, false},         // more than an equal part
		{Use{Owner: 20 * mb, All: 100 * mb, Owners: 4}, 10 * mb, false},   // likewise
		{Use{Owner: 20 * mb, All: 1000 * mb, Owners: 4}, 5 * mb, true},    // shrunk since
		{Use{Owner: 20 * mb, All: 1000 * mb, Owners: 100}, 5 * mb, false}, // each has a hundredth
	} {
		err := b.Admit(test.use, test.more)
		if (err == nil) != test.want || err != nil && !fault.Is(err, fault.TooMany) {
			t.Errorf("%+v and %d MiB: %v", test.use, test.more/mb, err)
		}
	}
	err := b.Admit(Use{Owner: 40 * mb, All: 40 * mb, Owners: 1}, 11*mb)
	for _, part := range []string{"take 40.0 MiB", "takes 11.0 MiB more", "50.0 MiB are available", "end experiments", "search_memory_mb"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q lacks %q", err, part)
		}
	}
	if err := (Budget{}).Admit(Use{Owner: 1 << 50}, 1<<50); err != nil {
		t.Errorf("without a limit: %v", err)
	}
}

func TestChoose(t *testing.T) {
	for name, test := range map[string]struct {
		budget int64
		claims []Claim
		want   string
	}{
		"all fit":               {10, []Claim{{1, 1, 5, true}, {2, 2, 5, false}}, ""},
		"no limit":              {0, []Claim{{1, 1, 1 << 60, true}}, ""},
		"the newest go":         {10, []Claim{{3, 1, 4, true}, {1, 1, 4, true}, {2, 1, 4, true}}, "3"},
		"paused ones go first":  {10, []Claim{{1, 1, 4, false}, {2, 1, 4, false}, {3, 1, 4, true}}, "2"},
		"the small owner stays": {10, []Claim{{1, 1, 3, true}, {2, 1, 3, true}, {3, 1, 3, true}, {4, 2, 3, true}}, "3"},
		"too large for all":     {10, []Claim{{1, 1, 11, true}, {2, 2, 5, true}}, "1"},
		"alone above its level": {10, []Claim{{1, 1, 8, true}, {2, 2, 1, true}, {3, 2, 1, true}, {4, 2, 8, true}}, "4"},
		"a paused flood":        {10, []Claim{{1, 1, 9, false}, {2, 1, 9, false}, {3, 2, 9, true}}, "1 2"},
	} {
		out := Budget{Bytes: test.budget}.Choose(test.claims)
		if got := strings.Trim(fmt.Sprint(slices.Sorted(maps.Keys(out))), "[]"); got != test.want {
			t.Errorf("%s: %s are left out, want %s", name, got, test.want)
		}
	}
}

// TestChooseIsFair: the chosen searches fit. An owner who needs at most an equal part keeps all running
// searches, regardless of the other owners.
func TestChooseIsFair(t *testing.T) {
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 1))
		b := Budget{Bytes: 1 + rng.Int64N(1000)}
		owners := 1 + rng.IntN(6)
		claims := make([]Claim, rng.IntN(40))
		needs := map[int]int64{}
		for i := range claims {
			claims[i] = Claim{ID: i, Owner: rng.IntN(owners), Bytes: 1 + rng.Int64N(200), Needed: rng.IntN(2) == 0}
			if claims[i].Needed {
				needs[claims[i].Owner] += claims[i].Bytes
			}
		}
		out := b.Choose(claims)
		var sum int64
		for _, c := range claims {
			if !out[c.ID] {
				sum += c.Bytes
			} else if c.Needed && needs[c.Owner] <= b.Bytes/int64(owners) {
				t.Fatalf("seed %d: owner %d needs %d of %d among %d owners, and lost %d", seed, c.Owner, needs[c.Owner], b.Bytes, owners, c.Bytes)
			}
		}
		if sum > b.Bytes {
			t.Fatalf("seed %d: %d do not fit into %d", seed, sum, b.Bytes)
		}
		rng.Shuffle(len(claims), func(i, j int) { claims[i], claims[j] = claims[j], claims[i] })
		if again := b.Choose(claims); !maps.Equal(out, again) {
			t.Fatalf("seed %d: another order, another choice: %v, %v", seed, out, again)
		}
	}
}
