package main

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/detent-ml/detent/plugins/notice/cloud"
)

// TestPlan: what changes in the metadata of a node, for each pair of what they say and what the cloud says.
func TestPlan(t *testing.T) {
	at := time.Date(2026, 11, 30, 12, 2, 0, 0, time.UTC)
	none := (*cloud.Notice)(nil)
	timed, timeless := &cloud.Notice{At: at, Why: "spot"}, &cloud.Notice{Why: "advice"}
	counted := &cloud.Notice{At: at, Why: "spot", Counted: true}
	ours := func(said, why string) map[string]string {
		return map[string]string{"detent.leaving": said, "detent.leaving.why": "det-notice: " + why, "rack": "r1"}
	}
	theirs := func(said string) map[string]string { return map[string]string{"detent.leaving": said} }
	const keeps, withdraws = "", "withdraws"
	set := func(said, why string) string { return said + " det-notice: " + why }
	for _, c := range []struct {
		what   string
		meta   map[string]string
		notice *cloud.Notice
		want   string
	}{
		{"nothing and nothing", nil, none, keeps},
		{"a notice", nil, timed, set("2026-11-30T12:02:00Z", "spot")},
		{"a notice without a time", nil, timeless, set("unknown", "advice")},
		{"it is there", ours("2026-11-30T12:02:00Z", "spot"), timed, keeps},
		{"it has no time, and is there", ours("unknown", "advice"), timeless, keeps},
		{"it was withdrawn", ours("2026-11-30T12:02:00Z", "spot"), none, withdraws},
		{"of the time before the machine was stopped", ours("2025-01-01T00:00:00Z", "spot"), none, withdraws},
		{"the cloud has another time", ours("2026-11-30T12:01:00Z", "spot"), timed, set("2026-11-30T12:02:00Z", "spot")},
		{"the process was restarted, and counts from later", ours("2026-11-30T12:01:50Z", "spot"), counted, keeps},
		{"it counts, and was later", ours("2026-11-30T12:02:10Z", "spot"), counted, set("2026-11-30T12:02:00Z", "spot")},
		{"advice becomes a notice", ours("unknown", "advice"), timed, set("2026-11-30T12:02:00Z", "spot")},
		{"an operator's", theirs("2026-11-30T12:02:00Z"), none, keeps},
		{"an operator's is earlier", theirs("2026-11-30T12:01:00Z"), timed, keeps},
		{"an operator's is earlier, as a number", theirs("1796040060"), timed, keeps},
		{"an operator's is later", theirs("2026-11-30T18:00:00Z"), timed, set("2026-11-30T12:02:00Z", "spot")},
		{"an operator's has no time", theirs("soon"), timed, set("2026-11-30T12:02:00Z", "spot")},
		{"neither has a time", theirs("soon"), timeless, keeps},
		{"only an operator's has a time", theirs("2026-11-30T18:00:00Z"), timeless, keeps},
		{"an operator's that is empty is none", theirs(""), timeless, set("unknown", "advice")},
		{"an operator's with a reason", map[string]string{"detent.leaving": "soon", "detent.leaving.why": "the rack moves"}, none, keeps},
	} {
		changes := plan(maps.Clone(c.meta), c.notice)
		got := keeps
		switch value, why := changes["detent.leaving"], changes["detent.leaving.why"]; {
		case len(changes) == 2 && value == nil && why == nil:
			got = withdraws
		case len(changes) == 2 && value != nil && why != nil:
			got = fmt.Sprint(*value, " ", *why)
		case len(changes) > 0:
			got = fmt.Sprint(changes)
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}
