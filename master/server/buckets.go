package server

import (
	"context"
	"io"
	"slices"

	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/objects"
	"github.com/detent-ml/detent/master/optional"
)

// bucket opens the storage of an experiment for reading. An experiment's configuration could
// name any address in the master's network, so the master reads only stores that the operators
// have listed; with its own credentials it reads only the cluster's storage.
func (m *master) bucket(ctx context.Context, s expconf.CheckpointStorage) (checkpoints.Bucket, error) {
	switch s.Type {
	case expconf.GCS:
		return m.gcsBucket(s), nil
	case expconf.Azure:
		return m.azureBucket(ctx, s)
	}
	return m.s3Bucket(ctx, s)
}

// mayRead is the hint if a store rejects the master's credentials.
const mayRead = "allow the master's role to read it, or download directly, with your own credentials"

// gcsBucket opens a bucket of Google Cloud Storage with the master's own credentials: those in
// Vault, or else those of its machine.
func (m *master) gcsBucket(s expconf.CheckpointStorage) checkpoints.Bucket {
	name, _ := s.Place()
	o := objects.GCS{Bucket: name, Patience: objects.Patience{Refused: mayRead}}
	if m.vault != nil && m.cfg.Vault.GCSSecret != "" {
		o.Credentials = func(ctx context.Context) ([]byte, error) { return m.vault.Secret(ctx, m.cfg.Vault.GCSSecret) }
	}
	return bucket{objects.OpenGCS(o)}
}

func azureFields(s expconf.CheckpointStorage) objects.AzureFields {
	return objects.AzureFields{ConnectionString: optional.Value(s.ConnectionString), AccountURL: optional.Value(s.AccountURL), Credential: optional.Value(s.Credential)}
}

// azureBucket opens a container of the cluster's Azure account, or of an account that the
// operators have listed.
func (m *master) azureBucket(ctx context.Context, s expconf.CheckpointStorage) (checkpoints.Bucket, error) {
	account, err := azureFields(s).Account()
	if err != nil {
		return nil, err
	}
	own, container, err := m.ownAccount(account)
	if err != nil {
		return nil, err
	}
	name, _ := s.Place()
	switch {
	case account.Signed() && (own || account.IsMicrosofts() || slices.ContainsFunc(m.cfg.CheckpointEndpoints, func(known string) bool { return sameStore(known, account.URL) })):
	case account.Signed():
		return nil, notRead(account.URL)
	case !own || name != container: // the master may have access to files that are not checkpoints
		return nil, notOwn(account.URL + "/" + name)
	case m.vault != nil && m.cfg.Vault.AzureSecret != "":
		var secret []byte
		if secret, err = m.vault.Secret(ctx, m.cfg.Vault.AzureSecret); err == nil {
			account, err = account.SignedBy(secret)
		}
	default:
		account, err = account.SignedByEnvironment()
	}
	if err != nil {
		return nil, err
	}
	b, err := objects.OpenAzure(objects.Azure{Container: name, AzureAccount: account, Patience: objects.Patience{Refused: mayRead}})
	if err != nil {
		return nil, err
	}
	return bucket{b}, nil
}

// ownAccount reports whether an account is the one of the cluster's storage, and the name of
// the cluster's container.
func (m *master) ownAccount(account objects.AzureAccount) (is bool, container string, err error) {
	s, err := m.cfg.storage()
	if err != nil || s.Type != expconf.Azure {
		return false, "", err
	}
	own, err := azureFields(s).Account()
	container, _ = s.Place()
	return err == nil && sameStore(own.URL, account.URL), container, err
}

func notRead(named string) error {
	return fault.New(fault.Unimplemented, "the checkpoint is in a store at %s, which this master does not read: "+
		"download it directly, with credentials of your own; operators name further stores in checkpoint_endpoints", named)
}

func notOwn(named string) error {
	return fault.New(fault.Unimplemented, "the checkpoint is in a store at %s, which is not the cluster's store: "+
		"download it directly, with your own credentials", named)
}

func (m *master) s3Bucket(ctx context.Context, s expconf.CheckpointStorage) (checkpoints.Bucket, error) {
	named := optional.Value(s.EndpointURL)
	endpoint, own, err := m.cfg.checkpointEndpoint(named)
	if err != nil {
		return nil, err
	}
	o := objects.Store{Bucket: s.Bucket, Endpoint: endpoint, Region: m.cfg.S3Region, Patience: objects.Patience{Refused: mayRead}}
	switch {
	case endpoint == "" && named != "":
		return nil, notRead(named)
	case s.AccessKey != nil:
		keys := objects.Keys{AccessKey: *s.AccessKey, SecretKey: optional.Value(s.SecretKey)}
		o.Keys = func(context.Context) (objects.Keys, error) { return keys, nil }
		return openBucket(ctx, o)
	case !own:
		return nil, notOwn(named)
	}
	if m.vault != nil && m.cfg.Vault.RoleARN != "" {
		o.Keys = func(ctx context.Context) (objects.Keys, error) {
			k, err := m.vault.Reader(ctx)
			return objects.Keys{AccessKey: k.AccessKey, SecretKey: k.SecretKey, SessionToken: k.SessionToken, Expires: k.Expires}, err
		}
	}
	return openBucket(ctx, o)
}

func openBucket(ctx context.Context, o objects.Store) (checkpoints.Bucket, error) {
	b, err := objects.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	return bucket{b}, nil
}

// bucket adapts object storage to the interface of the API.
type bucket struct{ *objects.Bucket }

var _ checkpoints.WritableBucket = bucket{}

func (b bucket) Get(ctx context.Context, key string) (io.ReadCloser, checkpoints.Object, error) {
	body, o, err := b.Bucket.Get(ctx, key)
	return body, checkpoints.Object{Key: o.Key, Size: o.Size, Modified: o.Modified}, err
}
