package task

import (
	"path"
	"strings"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/optional"
	v1 "github.com/detent-ml/detent/master/v1"
)

// SignIn says how tasks sign in to object storage for which their configuration has no
// keys: by Vault, else by their identities, else by what their nodes have.
type SignIn struct {
	Vault       Vault
	WebIdentity WebIdentity
	Region      string
}

// Vault is where Vault gives credentials out; without a role it gives none.
type Vault struct {
	Role      string // with which tasks sign in to Vault
	Engine    string // for AWS
	Namespace string
}

// WebIdentity is how a store trusts the identities that Nomad gives tasks; without a
// role it does not.
type WebIdentity struct {
	RoleARN     string
	Audience    string
	STSEndpoint string
}

// By says how tasks sign in to a storage: by keys in its configuration or by what the
// node has (""), by Vault, or by their identities.
func (s SignIn) By(storage expconf.CheckpointStorage) v1.SignInBy {
	switch {
	case storage.Type != expconf.S3 || storage.AccessKey != nil:
		return ""
	case s.Vault.Role != "":
		return v1.SignInByVault
	case s.WebIdentity.RoleARN != "":
		return v1.SignInByWebIdentity
	}
	return ""
}

// Needed tells whether work with a storage needs credentials that Vault gives out.
func (s SignIn) Needed(storage expconf.CheckpointStorage) bool {
	return s.By(storage) == v1.SignInByVault
}

// NeededBy tells whether tasks of a type wait while Vault is away: which storages these
// read is known only when they are described.
func (s SignIn) NeededBy(taskType string) bool { return taskType == Tensorboard || taskType == Removal }

// told is what a runner is told of it.
func (s SignIn) told(storage expconf.CheckpointStorage) *v1.Credentials {
	by := s.By(storage)
	if by == "" {
		return nil
	}
	c := &v1.Credentials{By: by, Region: s.Region}
	if by == v1.SignInByWebIdentity {
		c.RoleARN, c.STSEndpoint = s.WebIdentity.RoleARN, s.WebIdentity.STSEndpoint
	}
	return c
}

// inJob is what of it stands in the job of an attempt.
func (s SignIn) inJob(a *Attempt) *jobspecs.Credentials {
	storages := a.storages()
	if a.Source != nil {
		storages = append(storages, *a.Source)
	}
	for _, storage := range storages {
		switch s.By(storage) {
		case v1.SignInByVault:
			return &jobspecs.Credentials{Role: s.Vault.Role, Engine: s.Vault.Engine, Namespace: s.Vault.Namespace}
		case v1.SignInByWebIdentity:
			return &jobspecs.Credentials{Audience: s.WebIdentity.Audience}
		}
	}
	return nil
}

// storages are those that an attempt reads or writes: its experiment's, or those of
// what a TensorBoard shows.
func (a *Attempt) storages() []expconf.CheckpointStorage {
	var list []expconf.CheckpointStorage
	if a.Experiment != nil {
		list = append(list, a.Experiment.CheckpointStorage)
	}
	for _, shown := range a.Shown {
		list = append(list, shown.Config.CheckpointStorage)
	}
	return list
}

// A Location is a part of a bucket: all that lies below a prefix.
type Location struct {
	Bucket string
	Prefix string // without slashes at its ends
}

// LocationOf is where a storage is.
func LocationOf(s expconf.CheckpointStorage) Location {
	return Location{Bucket: s.Bucket, Prefix: strings.Trim(optional.Value(s.Prefix), "/")}
}

// Grants are what an attempt may do in object storage by credentials of Vault's.
type Grants struct {
	Write  []Location // and read, list and delete
	Read   []Location // and list
	Delete []Location // and list
}

// grants of an attempt: a trial writes its experiment's storage and reads the checkpoint
// that it starts from, a removal deletes, a TensorBoard reads.
func (s SignIn) grants(a *Attempt) Grants {
	var g Grants
	for _, storage := range a.storages() {
		switch {
		case !s.Needed(storage):
		case a.Removes():
			g.Delete = append(g.Delete, LocationOf(storage))
		case a.IsTrial():
			g.Write = append(g.Write, LocationOf(storage))
		default:
			g.Read = append(g.Read, LocationOf(storage))
		}
	}
	if a.Source != nil && s.Needed(*a.Source) {
		location := LocationOf(*a.Source)
		location.Prefix = path.Join(location.Prefix, *a.WarmStart)
		g.Read = append(g.Read, location)
	}
	return g
}
