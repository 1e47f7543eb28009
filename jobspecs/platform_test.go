package jobspecs_test

import (
	"strings"
	"testing"

	"github.com/detent-ml/detent/jobspecs"
)

// TestAMemberOfAnotherPlatform: a member with a runner of its own fetches that one; the other members' parts of the job are as they were.
func TestAMemberOfAnotherPlatform(t *testing.T) {
	const sum = "60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752"
	gang := cases()["gang"]
	before, err := jobspecs.Render(gang)
	if err != nil {
		t.Fatal(err)
	}
	gang.Members[1].Runner = &jobspecs.Runner{URL: "http://10.0.0.5:8080/runner/" + sum + "/linux-arm64", SHA256: sum}
	job, err := jobspecs.Render(gang)
	if err != nil {
		t.Fatal(err)
	}
	for rank := range gang.Members {
		want := before.TaskGroups[rank].Tasks[0].Artifacts[0]
		got := job.TaskGroups[rank].Tasks[0].Artifacts[0]
		if rank == 0 && (*got.GetterSource != *want.GetterSource || got.GetterOptions["checksum"] != want.GetterOptions["checksum"]) {
			t.Errorf("the member of the masters' platform fetches %s", *got.GetterSource)
		}
		if rank == 1 && (!strings.HasSuffix(*got.GetterSource, "/linux-arm64") || got.GetterOptions["checksum"] != "sha256:"+sum) {
			t.Errorf("the member of the other platform fetches %s (%v)", *got.GetterSource, got.GetterOptions)
		}
	}
}
