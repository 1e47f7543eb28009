package api

import (
	"strings"
	"testing"

	v1 "github.com/detent-ml/detent/master/v1"
)

// TestAbsentCalls: a call of Determined's that has no meaning here is answered with its reason, and only to users.
func TestAbsentCalls(t *testing.T) {
	r := newRig(t)
	admin := r.user("admin")
	for _, l := range v1.Absent {
		path := strings.ReplaceAll(l.Pattern(), ":id", "1")
		admin.do(l.Method, path, "").says(501, l.Why[:20])
		r.anyone().do(l.Method, path, "").says(401)
	}
	if got := string(r.anyone().get("/api/v1/master/telemetry").ok().body); got != `{"enabled":false,"segmentKey":""}` {
		t.Errorf("telemetry: %s", got)
	}
}
