package experiments

import (
	"crypto/sha256"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/cache"
	"github.com/detent-ml/detent/master/expconf"
	v1 "github.com/detent-ml/detent/master/v1"
)

// ShownConfigs shows the configurations of experiments to those who may see them. What is hidden in a configuration depends on nothing but
// its text, so a master decides it once for each text and keeps the decision: a list has thousands of configurations, and most
// have nothing that is hidden from anybody.
type ShownConfigs struct {
	secrecy *cache.Cache[[sha256.Size]byte, expconf.Secrecy]
	texts   *cache.Cache[[sha256.Size]byte, string] // short ones, as others than their owner see them
}

// Limits of what is kept, about a megabyte each.
const (
	maxShownConfigs = 10_000
	maxShownTexts   = 500
	maxShownText    = 2 << 10
)

// NewShownConfigs returns the ShownConfigs of a master.
func NewShownConfigs() *ShownConfigs {
	return &ShownConfigs{secrecy: cache.New[[sha256.Size]byte, expconf.Secrecy](0, maxShownConfigs),
		texts: cache.New[[sha256.Size]byte, string](0, maxShownTexts)}
}

// Config is a stored configuration as its owner and admins see it (own), or as others do. It is empty if this release cannot read the
// configuration.
func (s *ShownConfigs) Config(stored []byte, own bool) v1.Struct {
	key := sha256.Sum256(stored)
	whole := func(secrecy expconf.Secrecy) bool {
		return secrecy == expconf.NothingHidden || own && secrecy == expconf.HiddenFromOthers
	}
	if secrecy, _, known := s.secrecy.Get(key, time.Time{}); known && whole(secrecy) {
		return stored
	}
	shown, secrecy, err := expconf.ShownConfig(stored, own)
	if err != nil {
		return v1.Struct(`{}`)
	}
	s.secrecy.Put(key, secrecy, time.Time{})
	if whole(secrecy) {
		return stored
	}
	return shown
}

// text is a submitted text as others than its owner see it; false if this release cannot show it.
func (s *ShownConfigs) text(submitted string) (string, bool) {
	key := sha256.Sum256([]byte(submitted))
	if shown, _, known := s.texts.Get(key, time.Time{}); known {
		return shown, true
	}
	shown, ok := expconf.ShownText(submitted)
	if ok && len(shown) <= maxShownText {
		s.texts.Put(key, shown, time.Time{})
	}
	return shown, ok
}

// withConfig adds an experiment's configuration, and its submitted text: the owner and admins see the text as it was submitted, with its
// comments and secrets, and others what its fields say, without what is hidden from them.
func (d Deps) withConfig(w v1.Experiment, e Experiment, who auth.Who) v1.Experiment {
	own := auth.Owns(who, e.Object())
	w.Config, w.OriginalConfig = d.Configs.Config(e.Config, own), e.OriginalConfig
	if own {
		return w
	}
	text, ok := d.Configs.text(e.OriginalConfig)
	if !ok {
		text = string(w.Config)
	}
	w.OriginalConfig = text
	return w
}
