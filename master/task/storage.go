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

// Vault has the places where Vault issues credentials; without a role it issues none.
type Vault struct {
	Role      string // with which tasks sign in to Vault
	Engine    string // for S3: the path of the AWS engine; "" if it issues none
	Namespace string
	// Paths of secrets in version 2 of the kv engine, with the credentials of a kind of storage.
	GCSSecret, AzureSecret string
}

// secretFor is the path of the secret with the credentials of a kind of storage.
func (v Vault) secretFor(kind string) string {
	switch kind {
	case expconf.GCS:
		return v.GCSSecret
	case expconf.Azure:
		return v.AzureSecret
	}
	return ""
}

// WebIdentity describes how a store trusts the workload identities that Nomad issues to tasks;
// without a role the store does not trust them.
type WebIdentity struct {
	RoleARN     string
	Audience    string
	STSEndpoint string
}

// By says how tasks sign in to a storage: by keys in its configuration or by what the
// node has (""), by Vault, or by their identities.
func (s SignIn) By(storage expconf.CheckpointStorage) v1.SignInBy {
	inS3 := storage.Type == expconf.S3
	switch {
	case storage.HasKeys():
		return ""
	case inS3 && s.Vault.Engine != "", s.Vault.secretFor(storage.Type) != "":
		return v1.SignInByVault
	case inS3 && s.WebIdentity.RoleARN != "":
		return v1.SignInByWebIdentity
	}
	return ""
}

// Needed reports whether work with a storage needs credentials that Vault provides.
func (s SignIn) Needed(storage expconf.CheckpointStorage) bool {
	return s.By(storage) == v1.SignInByVault
}

// NeededBy reports whether tasks of a type wait while Vault is unavailable. The storages that such a
// task reads are known only when its job is described.
func (s SignIn) NeededBy(taskType string) bool { return taskType == Tensorboard || taskType == Removal }

// told returns a storage as the runner receives it.
func (s SignIn) told(c *v1.Credentials, storage expconf.CheckpointStorage) *v1.Credentials {
	by := s.By(storage)
	if by == "" {
		return c
	}
	if c == nil {
		c = &v1.Credentials{}
	}
	switch storage.Type {
	case expconf.GCS:
		c.GCS = true
	case expconf.Azure:
		c.Azure = true
	default:
		c.By, c.Region = by, s.Region
		if by == v1.SignInByWebIdentity {
			c.RoleARN, c.STSEndpoint = s.WebIdentity.RoleARN, s.WebIdentity.STSEndpoint
		}
	}
	return c
}

// inJob is the part of the sign-in that the job of an attempt contains.
func (s SignIn) inJob(a *Attempt) *jobspecs.Credentials {
	storages := a.storages()
	if a.Source != nil {
		storages = append(storages, *a.Source)
	}
	var c jobspecs.Credentials
	for _, storage := range storages {
		switch s.By(storage) {
		case v1.SignInByVault:
			c.Role, c.Namespace = s.Vault.Role, s.Vault.Namespace
			switch storage.Type {
			case expconf.GCS:
				c.GCSSecret = s.Vault.GCSSecret
			case expconf.Azure:
				c.AzureSecret = s.Vault.AzureSecret
			default:
				c.Engine = s.Vault.Engine
			}
		case v1.SignInByWebIdentity:
			c.Audience = s.WebIdentity.Audience
		}
	}
	if c == (jobspecs.Credentials{}) {
		return nil
	}
	return &c
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

// A Location is a part of a bucket: all that is under a prefix.
type Location struct {
	Bucket string
	Prefix string // without slashes at its ends
}

// LocationOf returns the location of a storage in S3.
func LocationOf(s expconf.CheckpointStorage) Location {
	return Location{Bucket: s.Bucket, Prefix: strings.Trim(optional.Value(s.Prefix), "/")}
}

// Grants are the rights of an attempt in S3 with the credentials that Vault issues. For other kinds of
// object storage all attempts use the same secret.
type Grants struct {
	Write  []Location // and read, list and delete
	Read   []Location // and list
	Delete []Location // and list
}

// grants returns the rights of an attempt: a trial writes to its experiment's storage and reads the
// checkpoint that it starts from, a removal deletes, a TensorBoard reads.
func (s SignIn) grants(a *Attempt) Grants {
	var g Grants
	for _, storage := range a.storages() {
		switch {
		case storage.Type != expconf.S3 || !s.Needed(storage):
		case a.Removes():
			g.Delete = append(g.Delete, LocationOf(storage))
		case a.IsTrial():
			g.Write = append(g.Write, LocationOf(storage))
		default:
			g.Read = append(g.Read, LocationOf(storage))
		}
	}
	if a.Source != nil && a.Source.Type == expconf.S3 && s.Needed(*a.Source) {
		location := LocationOf(*a.Source)
		location.Prefix = path.Join(location.Prefix, *a.WarmStart)
		g.Read = append(g.Read, location)
	}
	return g
}
