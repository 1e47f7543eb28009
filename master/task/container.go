package task

import (
	"fmt"
	"path"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/pool"
)

// Tasks of pools with a container driver run in images. The settings of a container come from
// the pool, and from the task's configuration, which was checked against the pool's limits
// at the submission.

// shmBytes is the default size of /dev/shm: Docker's default of 64 MB is too small for the
// workers of PyTorch's data loaders.
const shmBytes = 4 << 30

// contain adds the settings of a container to an attempt's job.
func (s *Site) contain(j *Job, a *Attempt, of *pool.Pool) error {
	own, env := of.Containers, a.environment()
	shown, err := s.shownMounts(a)
	if err != nil {
		return err
	}
	device := a.Device(of)
	c := &jobspecs.Container{Image: env.Image.For(device), ForcePull: env.ForcePullImage,
		PullTimeout: s.PullTimeout, User: own.User, HardMemory: own.HardMemory,
		ShmBytes: shmBytes, NoGPU: device == expconf.CPU, Mounts: append(a.mounts(of.Limits, shown), a.homeMounts(of)...), Hosts: own.Hosts}
	if of.Base().TaskGroups[0].Tasks[0].Config["shm_size"] != nil || of.Driver == pool.Podman {
		c.ShmBytes = 0 // the pool's job sets it, or the driver may not support it
	}
	if of.Driver == pool.Podman {
		c.Hosts = nil // the same
	}
	if a.Account != "" {
		c.User = a.Account
	}
	if size := s.DefaultsIn(of).ShmSizeBytes; size != nil {
		c.ShmBytes = int64(*size)
	}
	if size := a.shmSize(); size != nil {
		c.ShmBytes = int64(*size)
	}
	c.Add, c.Drop = env.ContainerCapabilities()
	for _, d := range a.devices() {
		c.Devices = append(c.Devices, jobspecs.DeviceFile{Source: d.HostPath, Target: d.ContainerPath, Permissions: optional.Value(d.Mode)})
	}
	j.Container = c
	return j.signInToRegistry(c.Image, env.RegistryAuth, own.Registry)
}

// shownMounts returns the folders of the node that a TensorBoard must see.
func (s *Site) shownMounts(a *Attempt) (expconf.BindMounts, error) {
	_, mounts, err := expconf.TensorboardSources(s.ClusterID, a.Shown)
	return mounts, err
}

// mounts returns the mounts of an attempt: those of its configuration, and the folder of its checkpoints or of the
// experiments that it shows. A task that removes files has the mounts of the trials; the driver does not create
// missing folders for it. Paths that the pool lets tasks only read are mounted read-only, whatever the configuration
// says.
func (a *Attempt) mounts(limits *expconf.ContainerLimits, shown expconf.BindMounts) []jobspecs.Mount {
	var list []jobspecs.Mount
	for _, b := range append(a.bindMounts().InContainer(), shown.InContainer()...) {
		list = append(list, jobspecs.Mount{Source: path.Clean(b.HostPath), Target: b.Target, ReadOnly: optional.Value(b.ReadOnly) || limits.ReadOnly(b.BindMount), Propagation: optional.Value(b.Propagation)})
	}
	if a.Experiment == nil {
		return list
	}
	if storage := a.Experiment.CheckpointStorage; storage.Type == expconf.SharedFS {
		list = append(list, jobspecs.Mount{Source: path.Clean(storage.HostPath), Target: expconf.SharedFSMount, Propagation: storage.Propagation, Create: !a.Removes()})
	}
	return list
}

// signInToRegistry sets how the node signs in to the image's registry: with the credentials of
// the task's configuration, in a Nomad variable that only this job may read, or with those of
// the pool. Credentials of a server go to no other one: the user chooses the image, and the driver sends them to whatever registry it names.
//
// A task can use only one Vault role. If that is the role for its checkpoints, and the pool's
// credentials need another, the master reads the credentials for the job (Job.Login).
func (j *Job) signInToRegistry(image string, auth *expconf.RegistryAuth, own pool.Registry) error {
	kept := func(server string) *jobspecs.Registry {
		return &jobspecs.Registry{Provider: jobspecs.SecretsInNomad, Path: jobspecs.VariablePath(j.AllocationID), Server: server}
	}
	switch {
	case auth != nil && auth.ServerAddress != "" && !jobspecs.InRegistry(image, auth.ServerAddress):
	case auth == nil && !jobspecs.InRegistry(image, own.Server):
	case auth != nil:
		username, password, err := auth.Credentials()
		if err != nil {
			return fmt.Errorf("environment.registry_auth: %w", err)
		}
		j.SignInWith(username, password)
		j.Container.Registry = kept(auth.ServerAddress)
	case own.VaultPath != "" && j.Credentials != nil && j.Credentials.Role != "" && own.VaultRole != j.Credentials.Role:
		j.Login = own.VaultPath
		j.Container.Registry = kept(own.Server)
	case own.VaultPath != "":
		j.Container.Registry = &jobspecs.Registry{Provider: jobspecs.SecretsInVault, Path: own.VaultPath, Engine: own.VaultEngine,
			Role: own.VaultRole, Server: own.Server}
	}
	return nil
}
