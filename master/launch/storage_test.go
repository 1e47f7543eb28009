package launch

import (
	"fmt"
	"strings"
	"testing"

	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/workspaces"
)

// TestAStorageBesideOthers: no experiment stores its files inside the folder with the TensorBoard files of all experiments, nor inside a
// checkpoint, where it could add files to what belongs to somebody else. What the operators choose is theirs.
func TestAStorageBesideOthers(t *testing.T) {
	const cluster, checkpoint = "11111111-2222-4333-8444-555555555555", "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"
	w, l, _ := launchers(t)
	l.Cluster.Site.ClusterID = cluster
	for _, c := range []struct{ storage, says string }{
		{"{type: s3, bucket: b, prefix: team/5/" + cluster + "/tensorboard/experiment/5/trial/9}", cluster},
		{"{type: gcs, bucket: b, prefix: /team//" + strings.ToUpper(cluster) + "/}", "TensorBoard files"},
		{"{type: azure, container: c/" + cluster + "/tensorboard, connection_string: x}", "TensorBoard files"},
		{"{type: shared_fs, host_path: /tmp, storage_path: ckpt/" + cluster + "/tensorboard/experiment/5}", "TensorBoard files"},
		{"{type: directory, container_path: /data/" + cluster + "}", "TensorBoard files"},
		{"{type: s3, bucket: b, prefix: team/5/" + checkpoint + "}", "is that of a checkpoint"},
		{"{type: azure, container: c/" + checkpoint + ", connection_string: x}", "is that of a checkpoint"},
		{"{type: s3, bucket: b, prefix: team/5}", ""},
		{"{type: s3, bucket: b, prefix: " + strings.ReplaceAll(checkpoint, "-", "") + "}", ""},
		{"{type: directory, container_path: /data/" + checkpoint + "}", ""},
		{"{type: s3, bucket: b, prefix: ours/99999999-bbbb-4ccc-8ddd-eeeeeeeeeeee/team}", ""},                          // the cluster's policy has it
		{"{type: s3, bucket: b, prefix: theirs/99999999-bbbb-4ccc-8ddd-eeeeeeeeeeee/team}", "is that of a checkpoint"}, // a workspace's policy has it
	} {
		for _, unmanaged := range []bool{false, true} {
			policy := ofCluster(workspaces.WorkloadExperiment, "invariant_config: {max_restarts: 1}")
			if strings.Contains(c.storage, "99999999-") {
				if strings.Contains(c.storage, "theirs/") {
					policy.WorkspaceID = new(1)
				}
				policy.Source = fmt.Sprintf("invariant_config: {checkpoint_storage: %s}", c.storage)
			}
			w.policies(policy)
			config := oneTrial + "checkpoint_storage: " + c.storage + "\n"
			_, err := l.Create(t.Context(), me, &v1.CreateExperimentRequest{Config: &config, ProjectID: new(4), Unmanaged: &unmanaged})
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s (unmanaged: %v): %v", c.storage, unmanaged, err)
			}
		}
	}
}
