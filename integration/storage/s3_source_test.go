package storage

import (
	"strconv"
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/v1"
)

// startsFrom: an experiment starts from a checkpoint of another user. Its keys can read this checkpoint
// and no other one.
func (r *s3rig) startsFrom(t *testing.T, alice, bob *rig.Rig, stored v1.Checkpoint) {
	config := strings.Replace(r.config("jail", "source.py"), "metric: loss", "metric: loss, source_checkpoint_uuid: "+stored.UUID, 1)
	id := alice.Submit(t, config, program(t, "source.py"))
	alice.WaitState(t, id, v1.ExperimentStateCompleted)
	rig.Holds(t, "its log", alice.Log(t, id), "restored bob 24000", "could not list", "could not change")
	if got := archive(t, bob, stored.UUID); len(got["weights"]) != 24000 {
		t.Errorf("the checkpoint has %d bytes of weights now", len(got["weights"]))
	}
	own := alice.OnlyCheckpoint(t, id)
	if prefix, _ := prefixOf(t, alice, id); prefix != strconv.Itoa(id) || own.UUID == stored.UUID {
		t.Errorf("the new experiment's own checkpoint is below %q: %+v", prefix, own)
	}
}
