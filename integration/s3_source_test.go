package integration

import (
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/v1"
)

// startsFrom: an experiment starts from a checkpoint of somebody else's, which its
// keys reach, and reach no further.
func (r *s3rig) startsFrom(t *testing.T, alice, bob *rig, stored v1.Checkpoint) {
	config := strings.Replace(r.config("jail", "source.py"), "metric: loss", "metric: loss, source_checkpoint_uuid: "+stored.UUID, 1)
	id := alice.submit(t, config, program(t, "source.py"))
	alice.waitState(t, id, v1.ExperimentStateCompleted)
	holds(t, "its log", alice.log(t, id), "restored bob 24000", "could not list", "could not change")
	if got := bob.archive(t, stored.UUID); len(got["weights"]) != 24000 {
		t.Errorf("the checkpoint has %d bytes of weights now", len(got["weights"]))
	}
	own := alice.onlyCheckpoint(t, id)
	if prefix, _ := alice.prefixOf(t, id); prefix != itoa(id) || own.UUID == stored.UUID {
		t.Errorf("its own lies at %q: %+v", prefix, own)
	}
}
