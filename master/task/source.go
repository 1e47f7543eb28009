package task

import (
	"encoding/json"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/expconf/address"
	"github.com/detent-ml/detent/master/optional"
)

// source adds the storage of the checkpoint that the program starts from, if it differs from the
// storage of the task: the checkpoint's id, and the storage as a configuration has it. It adds
// credentials only if the task has them anyway.
func (b *specBuilder) source(own expconf.CheckpointStorage) error {
	a := b.a
	if a.Source == nil || a.Source.SameFiles(own) {
		return nil
	}
	from := *a.Source
	var parts struct {
		Storage map[string]any `json:"checkpoint_storage"`
	}
	if err := json.Unmarshal(a.WarmConfig, &parts); err != nil {
		return err
	}
	switch {
	case from.Type == expconf.S3 && own.Type == expconf.S3 && own.AccessKey != nil && own.Bucket == from.Bucket && optional.Value(own.EndpointURL) == optional.Value(from.EndpointURL):
		parts.Storage["access_key"], parts.Storage["secret_key"] = *own.AccessKey, optional.Value(own.SecretKey)
	case a.WarmOwner != a.OwnerID:
		parts.Storage = expconf.SignedLike(address.WithoutKeys(parts.Storage), from, own)
	}
	b.signIn(from)
	told, err := json.Marshal(map[string]any{*a.WarmStart: parts.Storage})
	b.spec.Env["DET_CHECKPOINT_SOURCES"] = string(told)
	return err
}
