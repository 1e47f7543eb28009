package job

import (
	"testing"
	"time"

	"github.com/detent-ml/detent/cli/internal/table"
	"github.com/detent-ml/detent/master/v1"
)

// TestEstimatedStart: the last cell but one is when a job may start, or why that is not known.
func TestEstimatedStart(t *testing.T) {
	at := time.Date(2027, 5, 6, 9, 8, 7, 0, time.FixedZone("", 7200))
	for _, x := range []struct {
		job  v1.RBACJob
		want any
	}{
		{v1.RBACJob{Full: &v1.Job{EstimatedStart: &at}}, "2027-05-06 07:08:07+0000"},
		{v1.RBACJob{Full: &v1.Job{StartUnknown: "the start is too far in the future"}}, "not known: the start is too far in the future"},
		{v1.RBACJob{Full: &v1.Job{}}, table.NA},
		{v1.RBACJob{Limited: &v1.LimitedJob{}}, table.NA},
	} {
		row := cells(x.job, true, at)
		if got := row[len(row)-2]; got != x.want {
			t.Errorf("%q, want %q", got, x.want)
		}
	}
}
