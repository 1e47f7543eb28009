package nodes_test

import (
	"testing"
	"time"

	"github.com/detent-ml/detent/master/client"
	v1 "github.com/detent-ml/detent/master/v1"
)

// TestOrphansAreListed: admins see orphans with the time at which the master will stop each.
func TestOrphansAreListed(t *testing.T) {
	r := newRig(t)
	list := func(name string) (string, error) {
		c, err := client.New(client.Options{Master: r.URL, Token: name})
		if err != nil {
			t.Fatal(err)
		}
		found, err := client.Call(t.Context(), c, v1.ListOrphans)
		text := ""
		for _, o := range found.Orphans {
			text += o.JobID + " of " + o.AllocationID + " stops after " + o.StopAt.Sub(o.SeenAt).String() + "\n"
			if age := time.Since(o.SeenAt); age < 9*time.Minute || o.SubmittedAt.After(o.SeenAt) {
				t.Errorf("%+v", o)
			}
		}
		return text, err
	}
	if got, err := list("admin"); err != nil || got != "" {
		t.Errorf("without orphans: %q %v", got, err)
	}
	for _, id := range []string{"b.1", "a.1"} {
		if err := r.DB.Exec(t.Context(), `INSERT INTO orphans (allocation_id, job_id, submitted_at, seen_at)
			VALUES ($1, 'det-' || $1, now() - interval '1 day', now() - interval '10 minutes')`, id); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := list("admin"); err != nil || got != "det-b.1 of b.1 stops after 1h0m0s\ndet-a.1 of a.1 stops after 1h0m0s\n" {
		t.Errorf("%q %v", got, err)
	}
	if _, err := list("determined"); err == nil {
		t.Error("a user who is not an admin can list orphans")
	}
}
