package updates

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	good := `{"sync_id":"1","known":{"projects":"1-3"},"subscribe":{"projects":{"workspace_ids":[1],"since":7},"models":{"user_ids":[2]}}}`
	r, err := Parse([]byte(good))
	if err != nil || r.SyncID != "1" || r.Known.Projects != "1-3" || r.Subscribe.Projects.Since != 7 || r.Subscribe.Models.UserIDs[0] != 2 || r.Subscribe.Versions != nil {
		t.Errorf("%+v, %v", r, err)
	}
	if !r.Subscribe.Versions.Empty() || r.Subscribe.Projects.Empty() || !(&Filter{Since: 3}).Empty() {
		t.Error("a subscription without ids is empty, and only that")
	}
	many := strings.TrimSuffix(strings.Repeat("1,", maxIDs+1), ",")
	for text, why := range map[string]string{
		`{`:                               "not valid JSON",
		`{"subscribe":{}}`:                "sync_id: a text of 1 to 100 bytes",
		`{"sync_id":3}`:                   "not valid JSON",
		`{"sync_id":"` + many + `"}`:      "sync_id: a text of 1 to 100 bytes",
		`{"sync_id":"1","subscribe":[1]}`: "not valid JSON",
		`{"sync_id":"1","subscribe":{"projects":{"workspace_ids":[0]}}}`:             "subscribe.projects: 0 is not an id",
		`{"sync_id":"1","subscribe":{"models":{"model_ids":[4294967296]}}}`:          "subscribe.models: 4294967296 is not an id",
		`{"sync_id":"1","subscribe":{"modelversions":{"model_ids":[` + many + `]}}}`: "subscribe.modelversions: 1001 ids; 1000 are allowed",
		`{"sync_id":"1","subscribe":{"projects":{"user_ids":[1]}}}`:                  "ids that select no projects",
		`{"sync_id":"1","subscribe":{"models":{"project_ids":[1]}}}`:                 "ids that select no models",
		`{"sync_id":"1","subscribe":{"modelversions":{"workspace_ids":[1]}}}`:        "ids that select no modelversions",
		`{"sync_id":"1","subscribe":{"models":{"since":-1}}}`:                        "subscribe.models.since: -1 is less than 0",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%.80s: %v; want %q", text, err, why)
		}
	}
}

func TestTold(t *testing.T) {
	for known, want := range map[string]string{"": "", "4": "4", "1-3,7": "1-3,7", "7,1-3,2": "1-3,7", "5-5": "5"} {
		told, err := Told(known, 9)
		ids := make([]int, len(told))
		for i, r := range told {
			if ids[i] = r.ID; r.Seq != 9 {
				t.Errorf("%q: %+v", known, r)
			}
		}
		if got := Ranges(ids); err != nil || got != want {
			t.Errorf("%q: %q, %v", known, got, err)
		}
	}
	for _, known := range []string{",", "a", "1-", "-1", "3-1", "0", "1-2-3", "1, 2", "99999999999999999999", "1-2147483648"} {
		if told, err := Told(known, 0); err == nil || !strings.Contains(err.Error(), "neither an id nor a range") {
			t.Errorf("%q: %v, %v", known, told, err)
		}
	}
	for _, known := range []string{"1-2147483647", fmt.Sprintf("1-%d", MaxRows+1), strings.Repeat("1-10000,", 2) + "5"} {
		if told, err := Told(known, 0); err == nil || !strings.Contains(err.Error(), "more than 20000 ids") {
			t.Errorf("%q: %d rows, %v", known, len(told), err)
		}
	}
}

// TestDiff draws two lists and applies their difference to the first: it becomes the second.
func TestDiff(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	draw := func() []Row {
		var list []Row
		for id := 1; id <= 12; id++ {
			if rnd.IntN(2) == 0 {
				list = append(list, Row{id, int64(rnd.IntN(3))})
			}
		}
		return list
	}
	for range 5000 {
		told, now := draw(), draw()
		gone, changed := Diff(told, now)
		if !slices.IsSorted(gone) || !slices.IsSorted(changed) {
			t.Fatalf("%v → %v: %v, %v are not ordered", told, now, gone, changed)
		}
		for id := 1; id <= 12; id++ {
			before := slices.IndexFunc(told, func(r Row) bool { return r.ID == id })
			after := slices.IndexFunc(now, func(r Row) bool { return r.ID == id })
			wantGone := before >= 0 && after < 0
			wantChanged := after >= 0 && (before < 0 || now[after].Seq > told[before].Seq)
			if slices.Contains(gone, id) != wantGone || slices.Contains(changed, id) != wantChanged {
				t.Fatalf("%v → %v: gone %v, changed %v", told, now, gone, changed)
			}
		}
	}
}

// FuzzParse: no message makes the parser panic, and no list of known ids is larger than the bound.
func FuzzParse(f *testing.F) {
	f.Add(`{"sync_id":"1","known":{"projects":"1-3,7"},"subscribe":{"projects":{"workspace_ids":[1],"since":7}}}`)
	f.Add(`{"sync_id":"1","known":{"models":"2147483647-1"},"subscribe":null}`)
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Parse([]byte(text))
		if err != nil {
			return
		}
		for _, known := range []string{r.Known.Projects, r.Known.Models, r.Known.Versions} {
			if told, err := Told(known, 0); err == nil && len(told) > MaxRows {
				t.Errorf("%q has %d rows", known, len(told))
			}
		}
	})
}
