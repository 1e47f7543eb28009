package api

import (
	"fmt"
	"strings"
	"testing"
)

// TestGlobsOfManyCheckpoints: each checkpoint has its own copy of the globs, so that both together have a limit.
func TestGlobsOfManyCheckpoints(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	ids := make([]string, 5000)
	for i := range ids {
		ids[i] = fmt.Sprintf(`"00000000-0000-4000-8000-%012d"`, i)
	}
	body := func(n, globs int) string {
		list := strings.TrimSuffix(strings.Repeat(`"`+strings.Repeat("g", 1000)+`",`, globs), ",")
		return fmt.Sprintf(`{"checkpointUuids":[%s],"checkpointGlobs":[%s]}`, strings.Join(ids[:n], ","), list)
	}
	me.post("/api/v1/checkpoints/rm", body(5000, 100)).says(400, "for 5000 checkpoints they have 500000000 bytes together, and 1048576 are possible")
	me.post("/api/v1/checkpoints/rm", body(11, 100)).says(400, "for 11 checkpoints they have 1100000 bytes")
	me.post("/api/v1/checkpoints/rm", body(10, 100)).says(404, "checkpoint")
}
