package jobspecs

import (
	"slices"

	"github.com/hashicorp/nomad/api"
)

// The volumes that a pool's job names are those that operators offer: the job's own
// volume_mounts are in every task, the others in tasks that ask for them.

// volumes are those that a member mounts. A volume that nobody writes to is asked for to
// be read, so that several jobs may have it.
func (t *Task) volumes() map[string]*api.VolumeRequest {
	var out map[string]*api.VolumeRequest
	for _, m := range t.volumeMounts() {
		offered := t.base().TaskGroups[0].Volumes[*m.Volume]
		if offered == nil {
			continue // problems has said so
		}
		if out == nil {
			out = map[string]*api.VolumeRequest{}
		}
		v := out[*m.Volume]
		if v == nil {
			v = new(api.VolumeRequest)
			*v = *offered
			v.Name, v.ReadOnly = *m.Volume, true
			out[v.Name] = v
		}
		v.ReadOnly = offered.ReadOnly || v.ReadOnly && m.ReadOnly != nil && *m.ReadOnly
	}
	return out
}

// volumeMounts are the pool's own, and those that the experiment asks for. What the
// operators mount to be read, nobody mounts to be written.
func (t *Task) volumeMounts() []*api.VolumeMount {
	group := t.base().TaskGroups[0]
	mounts := slices.Clone(group.Tasks[0].VolumeMounts)
	for _, v := range t.Overlay.Volumes {
		readOnly := v.ReadOnly || group.Volumes[v.Name] != nil && group.Volumes[v.Name].ReadOnly ||
			slices.ContainsFunc(group.Tasks[0].VolumeMounts, func(m *api.VolumeMount) bool {
				return *m.Volume == v.Name && m.ReadOnly != nil && *m.ReadOnly
			})
		mounts = append(mounts, &api.VolumeMount{Volume: new(v.Name), Destination: new(v.Path), ReadOnly: new(readOnly)})
	}
	return mounts
}
