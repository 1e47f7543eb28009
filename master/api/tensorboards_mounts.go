package api

import (
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/store"
)

// TensorboardMounts are the folders of its node that a TensorBoard has to see.
// Under a driver that mounts, they are in its job.
func TensorboardMounts(clusterID string, shown []store.ShownTrial) (expconf.BindMounts, error) {
	list, _, err := shownExperiments(shown)
	if err != nil {
		return nil, err
	}
	_, mounts, err := expconf.TensorboardSources(clusterID, list)
	return mounts, err
}
