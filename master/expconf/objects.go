package expconf

import (
	"cmp"
	"path"
	"strings"

	"github.com/detent-ml/detent/master/optional"
)

// IsObjects reports whether a storage is an object storage, which cannot be mounted.
func (s CheckpointStorage) IsObjects() bool {
	return s.Type == S3 || s.Type == GCS || s.Type == Azure
}

// Place returns the bucket of an object storage and the prefix below which the files lie,
// without slashes at its ends. For Azure the bucket is the container; as in Determined's
// package, a prefix may follow its name.
func (s CheckpointStorage) Place() (bucket, prefix string) {
	if s.Type == Azure {
		bucket, prefix, _ = strings.Cut(strings.Trim(s.Container, "/"), "/")
		return bucket, prefix
	}
	return s.Bucket, strings.Trim(path.Clean("/"+optional.Value(s.Prefix)), "/")
}

// HasKeys reports whether the section of a storage contains credentials.
func (s CheckpointStorage) HasKeys() bool {
	return s.AccessKey != nil || s.ConnectionString != nil || s.Credential != nil || strings.Contains(optional.Value(s.AccountURL), "?")
}

// secrets are what may be a credential: keys, and addresses with more than PlainAddress leaves.
func (s CheckpointStorage) secrets() [6]string {
	address := func(p *string) string {
		if text := optional.Value(p); text != PlainAddress(text) {
			return text
		}
		return ""
	}
	return [6]string{optional.Value(s.AccessKey), optional.Value(s.SecretKey), optional.Value(s.ConnectionString), optional.Value(s.Credential), address(s.AccountURL), address(s.EndpointURL)}
}

// HasSecrets reports whether a storage contains what may be a credential, HasKeys or not.
func (s CheckpointStorage) HasSecrets() bool { return s.secrets() != [6]string{} }

// SameSecrets reports whether two storages contain the same ones.
func (s CheckpointStorage) SameSecrets(other CheckpointStorage) bool {
	return s.secrets() == other.secrets()
}

// SignedLike copies the credentials of one storage into another, if both use the same account
// of Azure; otherwise it changes nothing.
func SignedLike(storage map[string]any, from, keyed CheckpointStorage) map[string]any {
	if from.Type != Azure || keyed.Type != Azure || !keyed.HasKeys() || from.account() != keyed.account() {
		return storage
	}
	out := WithoutKeys(storage)
	delete(out, "account_url")
	for name, value := range map[string]*string{"connection_string": keyed.ConnectionString, "account_url": keyed.AccountURL, "credential": keyed.Credential} {
		if value != nil {
			out[name] = *value
		}
	}
	return out
}

// account is the address of the Azure storage account, without credentials.
func (s CheckpointStorage) account() string {
	return accountOf(optional.Value(s.AccountURL), optional.Value(s.ConnectionString))
}

// accountOf is the address of a storage account. If a connection string has only the name of
// the account, the address is Azure's default for that name.
func accountOf(address, connection string) string {
	for _, part := range strings.Split(connection, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch strings.ToLower(name) {
		case "blobendpoint":
			address = value
		case "accountname":
			address = cmp.Or(address, "https://"+value+".blob.core.windows.net")
		}
	}
	return strings.ToLower(strings.TrimRight(PlainAddress(address), "/"))
}

// PlainAddress returns an address without what may be a credential: its query, its fragment, and what is before its host. These are the
// parts that the API hides.
func PlainAddress(address string) string {
	if i := strings.IndexAny(address, "?#"); i >= 0 {
		address = address[:i]
	}
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		scheme, rest = "", address
	}
	rest = rest[strings.LastIndexByte(rest, '@')+1:]
	if !ok {
		return rest
	}
	return scheme + "://" + rest
}

// WithoutKeys removes the credentials from a storage that a program named; the location stays.
func WithoutKeys(storage map[string]any) map[string]any {
	out := make(map[string]any, len(storage))
	for key, value := range storage {
		text, _ := value.(string)
		switch key {
		case "access_key", "secret_key", "credential":
		case "connection_string":
			if text != "" {
				out["account_url"] = accountOf("", text)
			}
		case "account_url", "endpoint_url":
			if text != "" {
				out[key] = PlainAddress(text)
			}
		default:
			out[key] = value
		}
	}
	return out
}
