package rig

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

// OnlyCheckpoint returns the single checkpoint of an experiment.
func (r *Rig) OnlyCheckpoint(t *testing.T, id int) v1.Checkpoint {
	t.Helper()
	list, err := client.List(t.Context(), r.Client, v1.ListExperimentCheckpoints, client.Page{}, nil, id)
	if err != nil || len(list) != 1 {
		t.Fatalf("%d checkpoints of experiment %d: %v", len(list), id, err)
	}
	return list[0]
}

// Collecting is the configuration of an experiment that keeps its two best checkpoints and
// the newest one.
const Collecting = `
name: collecting
entrypoint: python3 train.py
searcher: {name: single, metric: loss, max_length: {batches: 4}}
max_restarts: 0
checkpoint_storage: {save_experiment_best: 0, save_trial_best: 2, save_trial_latest: 1}
`

// CollectingFiles returns the code of that experiment.
func CollectingFiles(t testing.TB) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "rig", "testdata", "collect", "train.py"))
	if err != nil {
		t.Fatal(err)
	}
	return Script(string(text))
}

// bySteps lists the checkpoints of an experiment as "1 DELETED, 2 COMPLETED", and gives their ids by steps.
func (r *Rig) bySteps(t testing.TB, id int) (states string, uuids map[int]string) {
	t.Helper()
	list, err := client.List(t.Context(), r.Client, v1.ListExperimentCheckpoints, client.Page{}, &v1.GetCheckpointsRequest{SortByAttr: "SORT_BY_BATCH_NUMBER"}, id)
	if err != nil {
		t.Fatal(err)
	}
	uuids = map[int]string{}
	var words []string
	for _, k := range list {
		var m struct {
			Steps int `json:"steps_completed"`
		}
		if err := k.Metadata.Into(&m); err != nil {
			t.Fatal(err)
		}
		uuids[m.Steps] = k.UUID
		words = append(words, fmt.Sprintf("%d %s", m.Steps, strings.TrimPrefix(string(k.State), "STATE_")))
	}
	return strings.Join(words, ", "), uuids
}

// Become waits until the checkpoints of an experiment are in these states, for example
// "1 DELETED, 2 COMPLETED" (steps and state), and returns their ids by steps.
func (r *Rig) Become(t testing.TB, id int, want string) map[int]string {
	t.Helper()
	var uuids map[int]string
	Eventually(t, "checkpoints become "+want, func() (bool, error) {
		var states string
		states, uuids = r.bySteps(t, id)
		return states == want, fmt.Errorf("the checkpoints are %s", states)
	})
	return uuids
}
